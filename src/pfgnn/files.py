"""JSON files, and files that are written whole or not at all."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pfgnn.errors import InputError


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file, or a sentence where there is none."""
    try:
        content = json.loads(path.read_text())
    except ValueError as error:  # of the encoding too
        raise InputError(f"{path} must hold JSON, but it does not: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} must hold a JSON object, but it holds a {type(content).__name__}")
    return content


def write_json(path: Path, content: object) -> None:
    """Write JSON, whole or not at all."""
    write_atomically(path, lambda temporary: temporary.write_text(json.dumps(content, indent=2) + "\n"))


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a temporary file of the same ending, then rename it to ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        temporary.unlink(missing_ok=True)  # a killed process of the same number may have left one
        write(temporary)
        temporary.replace(path)
    except OSError as error:  # names the file that was asked for
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)
