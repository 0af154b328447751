"""What a command does when it is stopped: it prints the command that goes on."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT

import typer

from pfgnn.interrupts import ENDING, Stop, handled


@contextmanager
def going_on(*options: str, instead_of: Sequence[str] = (), folder: Path | None = None) -> Iterator[None]:
    """If Ctrl-C or a signal stops the block, print the command that goes on, and exit with 128 + the signal's number.

    Args:
        options: Options that this command needs.
        instead_of: Options of the stopped command that it must not have.
        folder: Where the results go. If it does not exist yet, there is nothing to go on with, and the command that
            begins again is printed. None if that does not matter.
    """

    def say(number: int) -> None:
        if os.environ.get("RANK", "0") == "0":  # under torchrun, one of the processes says it
            if folder is None or folder.exists():
                say_again("Stopped.", *options, instead_of=instead_of)
            else:
                _echo(f"Stopped before anything was written. Begin again with: {command_again()}")

    with last_words(say):
        yield


def say_again(said: str, *options: str, instead_of: Sequence[str] = ()) -> None:
    """Print the command that goes on, on stderr.

    Args:
        said: What is printed before it.
        options: See :func:`going_on`.
        instead_of: See :func:`going_on`.
    """
    _echo(f"{said} Go on with: {command_again(*options, instead_of=instead_of)}")


def _echo(said: str) -> None:
    # As bytes and not by rich, which would change tabs, and could not print every name of a file.
    typer.echo(os.fsencode(said), err=True)


@contextmanager
def last_words(say: Callable[[int], None]) -> Iterator[None]:
    """If Ctrl-C or a signal stops the block, exit with 128 + the signal's number.

    Args:
        say: Called with this number before, to print the last words.
    """
    try:
        with handled(Stop(say), SIGINT, *ENDING):
            yield
    except KeyboardInterrupt as error:
        number = getattr(error, "number", SIGINT)
        say(number)
        raise SystemExit(128 + number) from None


def command_again(*options: str, instead_of: Sequence[str] = ()) -> str:
    """The command that the user gave, quoted for a shell.

    Args:
        options: Options that it gets in addition, behind the name of the command.
        instead_of: Options that it loses.
    """
    given = [word for word in sys.argv[1:] if word not in (*options, *instead_of)]
    name = next(place for place, word in enumerate(given) if not word.startswith("-"))
    return shlex.join([*_program(), *given[: name + 1], *options, *given[name + 1 :]])


def _program() -> list[str]:
    """The words that start this program again."""
    world, local = (os.environ.get(name) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    if local is not None and local == world:
        return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", local, "-m", "pfgnn"]
    if local is not None:  # each node has options of its own
        return ["torchrun", "OPTIONS", "-m", "pfgnn"]
    script = Path(sys.argv[0])
    if script.name == "__main__.py" or not script.is_file():
        return [sys.executable, "-m", "pfgnn"]
    on_path = shutil.which(script.name)
    return [script.name if on_path is not None and script.samefile(on_path) else str(script)]
