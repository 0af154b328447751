"""Files are written whole or not at all."""

import json
import os
from collections.abc import Callable
from pathlib import Path


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
