"""Lazy imports: the names of a package are imported on first use, so that importing the package stays fast."""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a ``__getattr__`` function for a package whose names are imported on first use.

    Python calls it for each name that the package does not have yet (PEP 562). For type checkers, import the same
    names under ``TYPE_CHECKING``.

    Args:
        package: ``__name__`` of the package.
        homes: For each name, the module that defines it.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find
