"""The consoles that the commands print to: one for their output, one for errors."""

import shlex
import sys

from rich.console import Console

console = Console()
errors = Console(stderr=True, soft_wrap=True)


def said_again(*more: str) -> str:
    """The command that the user gave, with further options that it does not have yet."""
    given = sys.argv[1:]
    return shlex.join(["pfgnn", *given, *(option for option in more if option not in given)])
