"""Errors that pfgnn raises on purpose. Any other exception that leaves pfgnn is a bug.

Each class also derives from a built-in exception, so `except ValueError` still works.
"""

import reprlib
import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_QUOTE = 80  # characters of a value that a message quotes
LONGEST_MESSAGE = 1000  # characters of a message that the user sees


class PFGNNError(Exception):
    """The base of all errors that pfgnn raises on purpose. The message is one sentence for the user."""


class InputError(PFGNNError, ValueError):
    """An argument, a setting or a file has a value that is not allowed."""


class InputTypeError(PFGNNError, TypeError):
    """An argument or a setting has a type that is not allowed."""


class MissingPackageError(PFGNNError, ImportError):
    """An optional package is needed, but not installed."""


class OutOfMemoryError(PFGNNError, MemoryError):
    """The device has too little memory for what is asked."""


class WorkerError(PFGNNError, RuntimeError):
    """A process that does a part of the work has died."""


class DivergedError(PFGNNError, FloatingPointError):
    """The training diverged: its loss or gradient is no longer finite."""


class LostProcessError(PFGNNError, ConnectionError):
    """A process of a run on several devices was lost."""


def shown(value: object) -> str:
    """A value as a message quotes it: on one line, and cut if it is long."""
    try:
        text = _QUOTE.repr(value)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        text = "an int that is too long to be printed"
    return cut(text, LONGEST_QUOTE)


def cut(text: str, most: int) -> str:
    """The text on one line, with an ellipsis at its end if it has more than ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def counted(number: int, one: str, several: str | None = None) -> str:
    """A number and its noun, such as "1 line" and "2,000 lines".

    Args:
        number: The number.
        one: The noun for 1.
        several: The noun for all other numbers; by default with an s.
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def nearest(name: object, names: Iterable[str]) -> str | None:
    """The most similar one of some names, whatever their case; None if none is similar."""
    folded = {other.casefold(): other for other in names}
    near = get_close_matches(str(name).casefold(), folded, n=1)
    return folded[near[0]] if near else None


def is_bug(error: Exception) -> bool:
    """Whether an error is a bug: neither a PFGNNError, nor an OSError, nor a lack of memory."""
    return not isinstance(error, PFGNNError | OSError) and not out_of_memory(error)


def explain(error: Exception) -> str:
    """Describe an error to the user in one sentence. The sentence says if the error is a bug."""
    message = cut(str(error), LONGEST_MESSAGE)
    if isinstance(error, PFGNNError):
        return message
    if isinstance(error, OSError):
        said = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or message
        return cut(said, LONGEST_MESSAGE)
    if out_of_memory(error):
        return f"there is too little memory: {message}" if message else "there is too little memory"
    return f"this is a bug in pfgnn ({type(error).__name__}: {message})"


def out_of_memory(error: Exception) -> bool:
    """Whether Python, numpy or torch ran out of memory. On a CPU only the message of torch's error says so."""
    torch = sys.modules.get("torch")
    on_device = torch is not None and isinstance(error, torch.OutOfMemoryError)
    return isinstance(error, MemoryError) or on_device or "DefaultCPUAllocator: can't allocate memory" in str(error)


def warn(text: str) -> None:
    """Warn with a UserWarning that points to the first caller outside pfgnn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def _quoting() -> reprlib.Repr:
    """A ``repr`` that stays short and quick for values of any size."""
    quote = reprlib.Repr()
    quote.maxstring = quote.maxother = quote.maxlong = LONGEST_QUOTE
    quote.maxlist = quote.maxtuple = quote.maxdict = quote.maxset = 20
    return quote


_QUOTE = _quoting()
