"""The command inspect."""

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, print_json, say
from pfgnn.cli.options import Seconds
from pfgnn.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pfgnn.graphs.graph import Graph
    from pfgnn.report.inspection import Facts

STANDARD_INPUT = Path("-")
COLUMNS = ("graph", "nodes", "edges", "1-WL colours", "orbits", "1-WL class", "class", "symmetries")


def inspect(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Files of graph6 or sparse6 (.g6, .s6) or SMILES (.smi, .smiles); - is graph6 from standard input."
        ),
    ],
    tree: Annotated[
        Path | None, typer.Option(help="Picture to write, with the search tree of the first graph.")
    ] = None,
    depth: Annotated[int, typer.Option(min=0, help="Depth to which the tree is drawn, if it is not too deep.")] = 2,
    graphs: Annotated[int, typer.Option(min=1, help="Number of graphs to show, from the first.")] = 1000,
    seconds: Seconds = 10,
    canonical: Annotated[
        bool,
        typer.Option(
            "--canonical",
            help="Show the canonical form of each graph too, in graph6 without labels. Compare forms only if the same "
            "version of nauty chose them, or of pfgnn if pynauty is not installed.",
        ),
    ] = False,
    isomorphism: Annotated[
        tuple[int, int] | None,
        typer.Option(help="Numbers of two graphs, from 0, as in the first column: map the nodes of one to the other."),
    ] = None,
    json: Json = False,
) -> None:
    """Show exact facts about each graph of some files: 1-WL colours, orbits, automorphisms, isomorphism class.

    Classes compare all graphs of all files. Graphs and nodes are counted from 0.
    """
    from pfgnn.report.exact_search import Searcher
    from pfgnn.report.inspection import canonical_method, canonical_text, gather_facts

    found, total = _read(paths, graphs)
    if isomorphism is not None:
        _check_numbers(isomorphism, len(found))
    if tree is not None:
        _draw(found[0][1], depth, tree, quiet=json)
    if not json:
        say("  ".join([*COLUMNS, *(["canonical form"] if canonical else [])]))
    shown_on = console if console.is_terminal else errors
    facts: list[Facts] = []
    forms: list[str | None] = []
    with (
        Progress(*bar_columns("searching"), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar,
        Searcher(seconds) as search,
    ):
        task = bar.add_task("", total=len(found))
        for number, fact in enumerate(gather_facts((graph for _, graph in found), search)):
            path, graph = found[number]
            facts.append(fact)
            forms.append(canonical_text(graph, search) if canonical else None)
            if not json:
                if len(paths) > 1 and (number == 0 or path != found[number - 1][0]):
                    say(f"{path}:")
                say(_row(number, fact, [forms[-1] or "?"] if canonical else []))
            bar.update(task, completed=number + 1)
    mapping = None if isomorphism is None else _map(isomorphism, [graph for _, graph in found], facts)
    if json:
        rows = [_object(path, fact, form, canonical) for (path, _), fact, form in zip(found, facts, forms, strict=True)]
        ask = {} if isomorphism is None else {"isomorphism": {"graphs": list(isomorphism), "map": mapping}}
        method = {"canonical_method": canonical_method()} if canonical else {}
        print_json({"graphs_in_files": total, **method, "graphs": rows, **ask})
        return
    for line in _reasons(facts, seconds):
        say(line)
    if canonical:
        say(f"Canonical forms by {canonical_method()}. Compare them only with forms by the same method and version.")
    if total > len(found):
        say(f"These are the first {len(found)} of {total} graphs; --graphs shows more.")
    if isomorphism is not None:
        first, second = isomorphism
        how = "are not isomorphic" if mapping is None else "are isomorphic: " + _pairs(mapping)
        say(f"Graphs {first} and {second} {how}.")


def _read(paths: list[Path], most: int) -> "tuple[list[tuple[Path, Graph]], int]":
    """The graphs of the files, each with its file, and the number of all graphs. The file - is standard input."""
    from pfgnn.report.inspection import read_files

    if STANDARD_INPUT not in paths:
        return read_files(paths, most)
    with tempfile.TemporaryDirectory(prefix="pfgnn-") as folder:
        stored = Path(folder) / "standard-input.g6"  # it is read twice: for the number of graphs, and for the graphs
        stored.write_bytes(sys.stdin.buffer.read())
        try:
            found, total = read_files([stored if path == STANDARD_INPUT else path for path in paths], most)
        except InputError as error:
            said = str(error).replace(f"{folder}{os.sep}", "").replace(stored.name, "standard input")
            raise InputError(said) from None
    return [(STANDARD_INPUT if path == stored else path, graph) for path, graph in found], total


def _reasons(facts: "list[Facts]", seconds: float) -> "Iterator[str]":
    """Why something is missing in the table, one sentence for each reason."""
    if any(fact.missing == "time" for fact in facts):
        yield f"?: not found in {seconds:g} seconds; --seconds gives more time."
    if died := [number for number, fact in enumerate(facts) if fact.missing == "died"]:
        which = f"graph {died[0]}" if len(died) == 1 else f"graphs {', '.join(map(str, died))}"
        yield f"?: of {which}, the process of the exact search died, perhaps for lack of memory."


def _row(number: int, facts: "Facts", more: "Sequence[str]") -> str:
    """The cells of a row. The last columns are as wide as they need to be, so that no number is cut."""
    from pfgnn.report.inspection import count_text

    *cells, last = map(count_text, (number, *facts.counts))
    row = [f"{cell:>{len(name)}}" for cell, name in zip(cells, COLUMNS, strict=False)]
    return "  ".join([*row, last, *more])


def _object(path: Path, facts: "Facts", form: str | None, canonical: bool) -> dict[str, Any]:
    """The facts about a graph for JSON. The number of symmetries is a text, since many programs round large numbers."""
    from pfgnn.report.exact_search import why_missing
    from pfgnn.report.inspection import count_text

    order = None if facts.automorphisms is None else count_text(facts.automorphisms)
    plain = {name: value for name, value in facts._asdict().items() if name not in ("labelling", "missing")}
    if facts.missing is not None:
        plain["missing"] = why_missing(facts.missing)
    return {"file": str(path), **plain, "automorphisms": order, **({"canonical": form} if canonical else {})}


def _check_numbers(numbers: tuple[int, int], total: int) -> None:
    for number in numbers:
        if not 0 <= number < total:
            raise InputError(f"--isomorphism must name two graphs in 0..{total - 1}, but one is {number}")


def _map(numbers: tuple[int, int], graphs: "list[Graph]", facts: "list[Facts]") -> tuple[int, ...] | None:
    from pfgnn.report.exact_search import why_missing
    from pfgnn.report.inspection import isomorphism_between

    for number in numbers:
        missing = facts[number].missing
        if missing is not None:
            more = "; --seconds gives it more time" if missing == "time" else ""
            raise InputError(f"--isomorphism needs the symmetries of graph {number}, but {why_missing(missing)}{more}")
    return isomorphism_between([graphs[n] for n in numbers], [facts[n] for n in numbers])


def _pairs(mapping: tuple[int, ...]) -> str:
    return ", ".join(f"{node} → {image}" for node, image in enumerate(mapping))


def _draw(graph: "Graph", depth: int, path: Path, quiet: bool) -> None:
    from pfgnn.report.picture import plot_search_tree

    drawn = plot_search_tree(graph, depth, path)
    levels = f" down to level {drawn} instead of {depth}" if drawn < depth else ""
    if not quiet:
        say(f"Wrote {path}{levels}.")
