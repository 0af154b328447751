"""Names of a package that are imported when they are first used, so that importing the package stays fast."""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of a package whose names are imported on first use.

    Python calls it for each name that the package does not have yet (PEP 562). Give the type checker the same names
    by imports under ``TYPE_CHECKING``.

    Args:
        package: its ``__name__``.
        homes: for each name the module that defines it.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find
