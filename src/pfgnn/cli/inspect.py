"""The command inspect."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console, errors

if TYPE_CHECKING:
    from pfgnn.graphs.graph import Graph

COLUMNS = ("graph", "nodes", "edges", "1-WL colours", "orbits", "1-WL class", "class", "symmetries")


def inspect(
    path: Annotated[Path, typer.Argument(help="File of graph6 or sparse6 (.g6, .s6) or SMILES (.smi, .smiles).")],
    tree: Annotated[
        Path | None, typer.Option(help="Picture to write, with the search tree of the first graph.")
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="Depth to which the tree is drawn, if it is not too deep.")] = 2,
    graphs: Annotated[int, typer.Option(min=1, help="Number of graphs to show, from the first.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.1, max=1e6, help="Time for the exact search of one graph.")] = 10,
) -> None:
    """Show exact facts about each graph of a file: 1-WL colours, orbits, automorphisms, isomorphism class."""
    from pfgnn.report.exact_search import Searcher
    from pfgnn.report.inspection import count_text, gather_facts, read_graphs

    found, total = read_graphs(path, graphs)
    if tree is not None:
        _draw(found[0], depth, tree)
    # Rows are printed as they are found. The last column is as wide as its numbers, so that none is cut.
    console.print("  ".join(COLUMNS), highlight=False, markup=False, soft_wrap=True)
    shown_on = console if console.is_terminal else errors
    unknown = False
    with (
        Progress(*bar_columns("searching"), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar,
        Searcher(seconds) as search,
    ):
        task = bar.add_task("", total=len(found))
        for number, facts in enumerate(gather_facts(found, search), start=1):
            unknown |= None in facts
            *cells, last = map(count_text, (number, *facts))
            row = [f"{cell:>{len(name)}}" for cell, name in zip(cells, COLUMNS, strict=False)]
            console.print("  ".join([*row, last]), highlight=False, markup=False, soft_wrap=True)
            bar.update(task, completed=number)
    if unknown:
        console.print(f"?: not found in {seconds:g} seconds; --seconds gives more time.", markup=False)
    if total > len(found):
        console.print(f"These are the first {len(found)} of {total} graphs; --graphs shows more.", markup=False)


def _draw(graph: "Graph", depth: int, path: Path) -> None:
    from pfgnn.report.picture import plot_search_tree

    drawn = plot_search_tree(graph, depth, path)
    levels = f" down to level {drawn} instead of {depth}" if drawn < depth else ""
    console.print(f"Wrote {path}{levels}.", markup=False, soft_wrap=True)
