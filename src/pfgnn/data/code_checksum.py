"""A checksum of the code that makes datasets. It is part of the names of cached files, so that none goes stale."""

import hashlib
from functools import cache
from pathlib import Path

import numpy as np

import pfgnn

PACKAGE = Path(pfgnn.__file__).parent
FOLDERS = ("graphs", "ops", "data")  # all that a dataset is made with, see tests/test_layout.py


def code_checksum() -> str:
    """A checksum of the source code that makes datasets, and of the version of numpy, whose random numbers it draws."""
    return _checksum(PACKAGE, np.__version__)


def is_covered(function: object) -> bool:
    """Whether the checksum covers the code of a function. Code outside of pfgnn may change without it."""
    module: str = getattr(function, "__module__", None) or ""
    return module.startswith(tuple(f"pfgnn.{folder}." for folder in FOLDERS))


@cache
def _checksum(package: Path, *versions: str) -> str:
    found = hashlib.sha256("\0".join(versions).encode())
    for path in sorted(path for folder in FOLDERS for path in (package / folder).rglob("*.py")):
        for part in (path.relative_to(package).as_posix().encode(), path.read_bytes()):
            found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:16]
