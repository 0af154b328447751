"""Registries: the parts of a model by the names that a config gives them."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from pfgnn.argument_checks import choose
from pfgnn.errors import InputError

Part = TypeVar("Part")


class Registry(Mapping[str, "type[Part]"], Generic[Part]):
    """Classes of one kind by name. The decorator ``@REGISTRY.register("name")`` adds a class.

    Args:
        kind: What the classes are, in one word, such as "backbone".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._classes: dict[str, type[Part]] = {}

    def register(self, name: str) -> "Callable[[type[Part]], type[Part]]":
        """A decorator that adds a class to the registry under a name."""

        def enter(made: type[Part]) -> type[Part]:
            if name in self._classes:
                raise InputError(f"the {self.kind} {name!r} must be registered only once, but there is one already")
            self._classes[name] = made
            return made

        return enter

    def make(
        self,
        name: str,
        settings: Mapping[str, Any],
        always: Mapping[str, Any] | None = None,
        lazy: Mapping[str, Callable[[], Any]] | None = None,
    ) -> Part:
        """Make an object of the class with this name.

        Args:
            name: The name in the registry.
            settings: Arguments by name. Only those that the constructor has are passed.
            always: Arguments that every class of this kind gets.
            lazy: Functions that make further arguments, by name. They are called only for arguments that the
                constructor has.
        """
        made = choose(self.kind, name, self)
        named = inspect.signature(made).parameters
        own = {key: value for key, value in settings.items() if key in named}
        own |= {key: make() for key, make in (lazy or {}).items() if key in named}
        return made(**(always or {}), **own)

    def __getitem__(self, name: str) -> "type[Part]":
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)
