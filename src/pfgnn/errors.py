"""Errors that pfgnn raises on purpose. Any other exception that leaves pfgnn is a bug.

Each class also derives from a built-in exception, so `except ValueError` still works.
"""

import sys


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


class DivergedError(PFGNNError, FloatingPointError):
    """The training diverged: its loss or gradient is no longer finite."""


def is_bug(error: Exception) -> bool:
    """Whether an error is a bug: neither a PFGNNError, nor an OSError, nor a lack of memory."""
    return not isinstance(error, PFGNNError | OSError) and not _out_of_memory(error)


def explain(error: Exception) -> str:
    """Describe an error to the user in one sentence. The sentence says if the error is a bug."""
    if isinstance(error, PFGNNError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
    message = " ".join(str(error).split())
    if _out_of_memory(error):
        return f"there is too little memory: {message}" if message else "there is too little memory"
    return f"this is a bug in pfgnn ({type(error).__name__}: {message})"


def _out_of_memory(error: Exception) -> bool:
    """Whether Python, numpy or torch ran out of memory. On a CPU only the message of torch's error says so."""
    torch = sys.modules.get("torch")
    on_device = torch is not None and isinstance(error, torch.OutOfMemoryError)
    return isinstance(error, MemoryError) or on_device or "DefaultCPUAllocator: can't allocate memory" in str(error)
