"""The command parts."""

import inspect
import re

from rich.markup import escape

from pfgnn.cli.console import Json, console, make_table, print_json


def parts(json: Json = False) -> None:
    """List the parts of a model, with their names in a config."""
    from pfgnn.model.registries import SETTINGS

    found = [
        {"setting": f"model.{setting}", "name": name, "class": made.__name__, "about": _first_line(made)}
        for setting, registry in SETTINGS.items()
        for name, made in registry.items()
    ]
    if json:
        print_json(found)
        return
    shown = make_table("name", "what it is")
    setting = ""
    for part in found:
        if part["setting"] != setting:
            setting = part["setting"]
            shown.add_section()
            shown.add_row(setting, "")
        shown.add_row(f"  {part['name']}", escape(f"{part['about']} Class {part['class']}."))
    console.print(shown)


def _first_line(part: object) -> str:
    """The first line of a part's docstring, with cross-references as plain names."""
    return re.sub(r":\w+:`(?:\w+\.)*(\w+)`", r"\1", (inspect.getdoc(part) or "").partition("\n")[0])
