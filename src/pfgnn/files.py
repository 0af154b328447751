"""Reading and writing JSON files, and writing files atomically."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pfgnn.errors import InputError


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file, or raise an InputError if the file does not hold one."""
    try:
        content = json.loads(path.read_text())
    except ValueError as error:  # also raised for a wrong encoding
        raise InputError(f"{path} must hold JSON, but it does not: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold a JSON object, but it holds a {type(content).__name__}")
    return content


def write_json(path: Path, content: object) -> None:
    """Write JSON atomically: if this fails, no partly written file is left."""
    write_atomically(path, lambda temporary: temporary.write_text(json.dumps(content, indent=2) + "\n"))


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: ``write`` fills a temporary file, which is then renamed to ``path``.

    Args:
        path: File to write. Its folder is created if needed.
        write: Called with the path of the temporary file, which has the same suffix as ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        temporary.unlink(missing_ok=True)  # a killed process with the same process id may have left one
        write(temporary)
        temporary.replace(path)
    except OSError as error:  # the message shall name ``path``, not the temporary file
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
