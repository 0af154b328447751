"""The command parts."""

import inspect
import re

from rich.markup import escape

from pfgnn.cli.console import console, make_table


def parts() -> None:
    """List the parts of a model, with their names in a config."""
    from pfgnn.model.registries import SETTINGS

    shown = make_table("setting", "name", "class", "what it is")
    for setting, registry in SETTINGS.items():
        for place, (name, made) in enumerate(registry.items()):
            first = (inspect.getdoc(made) or "").partition("\n")[0]
            plain = re.sub(r":\w+:`(?:\w+\.)*(\w+)`", r"\1", first)  # cross-references as plain names
            shown.add_row("" if place else f"model.{setting}", name, made.__name__, escape(plain))
    console.print(shown)
