"""The command inspect."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, print_json
from pfgnn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pfgnn.graphs.graph import Graph
    from pfgnn.report.inspection import Facts

COLUMNS = ("graph", "nodes", "edges", "1-WL colours", "orbits", "1-WL class", "class", "symmetries")


def inspect(
    paths: Annotated[
        list[Path], typer.Argument(help="Files of graph6 or sparse6 (.g6, .s6) or SMILES (.smi, .smiles).")
    ],
    tree: Annotated[
        Path | None, typer.Option(help="Picture to write, with the search tree of the first graph.")
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="Depth to which the tree is drawn, if it is not too deep.")] = 2,
    graphs: Annotated[int, typer.Option(min=1, help="Number of graphs to show, from the first.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.1, max=1e6, help="Time for the exact search of one graph.")] = 10,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Show the canonical form of each graph too, in graph6 without labels.")
    ] = False,
    isomorphism: Annotated[
        tuple[int, int] | None,
        typer.Option(help="Numbers of two graphs, from 1, as in the first column: map the nodes of one to the other."),
    ] = None,
    json: Json = False,
) -> None:
    """Show exact facts about each graph of some files: 1-WL colours, orbits, automorphisms, isomorphism class.

    Classes compare all graphs of all files. Nodes are counted from 0.
    """
    from pfgnn.report.exact_search import Searcher
    from pfgnn.report.inspection import canonical_text, gather_facts, read_files

    found, total = read_files(paths, graphs)
    if isomorphism is not None:
        _check_numbers(isomorphism, len(found))
    if tree is not None:
        _draw(found[0][1], depth, tree, quiet=json)
    if not json:
        _say("  ".join([*COLUMNS, *(["canonical form"] if canonical else [])]))
    shown_on = console if console.is_terminal else errors
    facts: list[Facts] = []
    forms: list[str | None] = []
    with (
        Progress(*bar_columns("searching"), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar,
        Searcher(seconds) as search,
    ):
        task = bar.add_task("", total=len(found))
        for number, fact in enumerate(gather_facts((graph for _, graph in found), search), start=1):
            path, graph = found[number - 1]
            facts.append(fact)
            forms.append(canonical_text(graph, search) if canonical else None)
            if not json:
                if len(paths) > 1 and (number == 1 or path != found[number - 2][0]):
                    _say(f"{path}:")
                _say(_row(number, fact, [forms[-1] or "?"] if canonical else []))
            bar.update(task, completed=number)
    mapping = None if isomorphism is None else _map(isomorphism, [graph for _, graph in found], facts)
    if json:
        rows = [_object(path, fact, form, canonical) for (path, _), fact, form in zip(found, facts, forms, strict=True)]
        ask = {} if isomorphism is None else {"isomorphism": {"graphs": list(isomorphism), "map": mapping}}
        print_json({"graphs_in_files": total, "graphs": rows, **ask})
        return
    if any(None in fact for fact in facts):
        _say(f"?: not found in {seconds:g} seconds; --seconds gives more time.")
    if total > len(found):
        _say(f"These are the first {len(found)} of {total} graphs; --graphs shows more.")
    if isomorphism is not None:
        first, second = isomorphism
        how = "are not isomorphic" if mapping is None else "are isomorphic: " + _pairs(mapping)
        _say(f"Graphs {first} and {second} {how}")


def _row(number: int, facts: "Facts", more: "Sequence[str]") -> str:
    """The cells of a row. The last columns are as wide as they need to be, so that no number is cut."""
    from pfgnn.report.inspection import count_text

    *cells, last = map(count_text, (number, *facts.counts))
    row = [f"{cell:>{len(name)}}" for cell, name in zip(cells, COLUMNS, strict=False)]
    return "  ".join([*row, last, *more])


def _object(path: Path, facts: "Facts", form: str | None, canonical: bool) -> dict[str, Any]:
    """The facts about a graph for JSON. The number of symmetries is a text, since many programs round large numbers."""
    from pfgnn.report.inspection import count_text

    order = None if facts.automorphisms is None else count_text(facts.automorphisms)
    plain = {name: value for name, value in facts._asdict().items() if name != "labelling"}
    return {"file": str(path), **plain, "automorphisms": order, **({"canonical": form} if canonical else {})}


def _check_numbers(numbers: tuple[int, int], total: int) -> None:
    for number in numbers:
        if not 1 <= number <= total:
            raise InputError(f"--isomorphism must name two graphs in 1..{total}, but one is {number}")


def _map(numbers: tuple[int, int], graphs: "list[Graph]", facts: "list[Facts]") -> tuple[int, ...] | None:
    from pfgnn.report.inspection import isomorphism_between

    for number in numbers:
        if facts[number - 1].labelling is None:
            raise InputError(f"--isomorphism needs more time for graph {number}; --seconds gives it")
    return isomorphism_between([graphs[n - 1] for n in numbers], [facts[n - 1] for n in numbers])


def _pairs(mapping: tuple[int, ...]) -> str:
    return ", ".join(f"{node} → {image}" for node, image in enumerate(mapping))


def _draw(graph: "Graph", depth: int, path: Path, quiet: bool) -> None:
    from pfgnn.report.picture import plot_search_tree

    drawn = plot_search_tree(graph, depth, path)
    levels = f" down to level {drawn} instead of {depth}" if drawn < depth else ""
    if not quiet:
        _say(f"Wrote {path}{levels}.")


def _say(text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
