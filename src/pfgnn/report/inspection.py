"""What `pfgnn inspect` prints: exact facts about the graphs of a file, by 1-WL and by their true symmetries."""

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pfgnn.errors import InputError, shown
from pfgnn.files import ending
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import graph6_lines, read_graph6
from pfgnn.graphs.smiles import read_smiles, smiles_lines
from pfgnn.report.exact_search import Found, search_here

GRAPH6, MOLECULES = (".g6", ".s6"), (".smi", ".smiles")
MOST_DIGITS = 300  # a larger number is rounded when it is printed


class Facts(NamedTuple):
    """Facts about one graph. What was not found in time is None.

    Fields:
        nodes: Number of nodes.
        edges: Number of edges.
        colours: Number of colours of 1-WL.
        orbits: Number of orbits of the nodes.
        wl_class: Number of the class of graphs that 1-WL cannot tell apart, from 1.
        isomorphism_class: Number of the class of isomorphic graphs, from 1.
        automorphisms: Number of automorphisms.
    """

    nodes: int
    edges: int
    colours: int | None
    orbits: int | None
    wl_class: int | None
    isomorphism_class: int | None
    automorphisms: int | None


def read_graphs(path: Path, most: int | None = None) -> tuple[list[Graph], int]:
    """Read the graphs of a file. The ending of its name decides between graph6, sparse6 and SMILES.

    Args:
        path: The file.
        most: Number of graphs to read, from the first; None for all.

    Returns:
        The graphs that were read, and the number of graphs in the file.
    """
    if ending(path) not in (*GRAPH6, *MOLECULES):
        known = ", ".join((*GRAPH6, *MOLECULES))
        raise InputError(f"{path} must end in one of {known}, but it ends in {shown(path.suffix)}")
    molecules = ending(path) in MOLECULES
    total = sum(1 for _ in (smiles_lines(path) if molecules else graph6_lines(path)))
    if not total:
        raise InputError(f"{path} must hold one graph per line, but it holds no graph")
    return (read_smiles if molecules else read_graph6)(path, most), total


def gather_facts(graphs: Iterable[Graph], search: Callable[[Graph], Found] = search_here) -> Iterator[Facts]:
    """The facts about each graph, one after another. Classes are numbered in order of appearance.

    Args:
        graphs: The graphs.
        search: Finds the symmetries of a graph.
    """
    wl_classes: dict[bytes, int] = {}
    classes: dict[bytes, int] = {}
    for graph in graphs:
        found = search(graph)
        yield Facts(
            graph.num_nodes,
            graph.num_edges,
            found.colours,
            found.orbits,
            _class(wl_classes, found.wl_certificate),
            _class(classes, found.certificate),
            found.automorphisms,
        )


def _class(known: dict[bytes, int], certificate: bytes | None) -> int | None:
    """The number of a certificate's class. A new one gets the next number."""
    return None if certificate is None else known.setdefault(certificate, len(known) + 1)


def count_text(number: int | None) -> str:
    """A number as text: all its digits, or a rounded value if it has hundreds of them; "?" if it is unknown."""
    if number is None:
        return "?"
    if number < 10**MOST_DIGITS:
        return str(number)
    exponent, mantissa = divmod(math.log10(number), 1)
    return f"about {10**mantissa:.4f}e{exponent:.0f}"
