"""The command line. Each group of commands has a module, and `app` combines them."""

import os
import signal
import sys

from pfgnn.interrupts import ENDING, Stop, handled

__all__ = ["main", "say_stopped"]


def main() -> None:
    """Run the command line as a process. Signals are handled from here on, also while all the rest is imported."""
    try:
        with handled(Stop(say_stopped, at_once=True), signal.SIGINT, *ENDING):
            from pfgnn.cli.app import main as run

            run()
    finally:  # all is said and done; nothing shall disturb Python while it cleans up
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def say_stopped(number: int) -> None:
    """Print which signal ended the command. Under torchrun, one of the processes does it."""
    if os.environ.get("RANK", "0") == "0":
        by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        print(f"pfgnn: stopped by {by}", file=sys.stderr, flush=True)
