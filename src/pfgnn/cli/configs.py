"""The command configs."""

from typing import Annotated

import typer
from rich.markup import escape

from pfgnn.cli.console import Json, console, make_table, print_json


def config_names(incomplete: str) -> list[str]:
    """The configs that a shell completes."""
    from pfgnn.experiments.shipped import shipped_configs

    return [name for name in shipped_configs() if name.startswith(incomplete)]


def configs(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a config or file, to print all that it sets.", autocompletion=config_names),
    ] = None,
    json: Json = False,
) -> None:
    """List the configs that come with pfgnn, or print one, as a start for your own."""
    from pfgnn.experiments.shipped import first_comment, shipped_configs

    if name is None:
        if json:
            print_json([{"name": of, "about": first_comment(path)} for of, path in shipped_configs().items()])
            return
        shown = make_table("name", "what it is")
        for found, path in shipped_configs().items():
            shown.add_row(found, escape(first_comment(path)))
        console.print(shown)
        return

    import yaml

    from pfgnn.experiments.config_file import read_settings

    if json:
        print_json(read_settings(name))
        return
    text = yaml.safe_dump(read_settings(name), sort_keys=False, allow_unicode=True)
    console.print(text, end="", markup=False, highlight=False, soft_wrap=True)
