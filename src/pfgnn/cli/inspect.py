"""The command inspect."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from pfgnn.cli.console import console


def inspect(
    path: Annotated[Path, typer.Argument(help="File of graph6 or sparse6 (.g6, .s6) or SMILES (.smi, .smiles).")],
    tree: Annotated[
        Path | None, typer.Option(help="Picture to write, with the search tree of the first graph.")
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="Depth to which the tree is drawn.")] = 2,
) -> None:
    """Show exact facts about each graph of a file: 1-WL colours, orbits, automorphisms, isomorphism class."""
    from pfgnn.report.inspection import gather_facts, read_graphs

    graphs = read_graphs(path)
    columns = ("graph", "nodes", "edges", "1-WL colours", "orbits", "symmetries", "1-WL class", "class")
    table = Table(*columns, title=escape(str(path)))
    for number, facts in enumerate(gather_facts(graphs), start=1):
        table.add_row(*map(str, (number, *facts)))
    console.print(table)
    if tree is not None:
        from pfgnn.report.picture import plot_search_tree

        plot_search_tree(graphs[0], depth, tree)
        console.print(f"Wrote {tree}.", markup=False)
