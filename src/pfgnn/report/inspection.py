"""What `pfgnn inspect` prints: exact facts about the graphs of a file, by 1-WL and by their true symmetries."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

import pfgnn
from pfgnn.errors import InputError, counted, shown
from pfgnn.files import ending
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import from_line, graph6_lines, read_graph6, to_graph6, to_sparse6
from pfgnn.graphs.nauty import is_installed
from pfgnn.graphs.smiles import from_smiles, read_smiles, smiles_lines
from pfgnn.report.exact_search import Found, Missing, search_here

GRAPH6, MOLECULES = (".g6", ".s6"), (".smi", ".smiles")
MOST_FOR_GRAPH6 = 5000  # nodes; a larger graph is written as sparse6, for graph6 has a bit for each pair of nodes


class Facts(NamedTuple):
    """Facts about one graph. What was not found is None.

    Fields:
        nodes: Number of nodes.
        edges: Number of edges.
        colours: Number of colours of 1-WL.
        orbits: Number of orbits of the nodes.
        wl_class: Number of the class of graphs that 1-WL cannot tell apart, from 1.
        isomorphism_class: Number of the class of isomorphic graphs, from 1.
        automorphisms: Number of automorphisms.
        labelling: The canonical labelling of the nodes.
        missing: Why something was not found; None if all was found.
    """

    nodes: int
    edges: int
    colours: int | None
    orbits: int | None
    wl_class: int | None
    isomorphism_class: int | None
    automorphisms: int | None
    labelling: tuple[int, ...] | None
    missing: Missing | None = None

    @property
    def counts(self) -> tuple[int | None, ...]:
        """The numbers, without the labelling."""
        return self[:7]


def read_files(paths: Sequence[Path], most: int) -> tuple[list[tuple[Path, Graph]], int]:
    """Read the graphs of several files, each with its file.

    Args:
        paths: The files, see :func:`read_graphs`.
        most: Number of graphs to read, from the first.

    Returns:
        The graphs that were read, and the number of graphs in all files.
    """
    found: list[tuple[Path, Graph]] = []
    total = 0
    for path in paths:
        graphs, there = read_graphs(path, most - len(found))
        found += [(path, graph) for graph in graphs]
        total += there
    return found, total


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


def read_good_graphs(path: Path) -> tuple[list[Graph], int]:
    """Read the graphs of a file of graph6, sparse6 or SMILES, and leave out the lines that cannot be read.

    Args:
        path: The file.

    Returns:
        The graphs that were read, and the number of lines with a graph. At least one line can be read.
    """
    molecules = ending(path) in MOLECULES
    texts = [smiles for _, smiles, _ in smiles_lines(path)] if molecules else [body for _, body in graph6_lines(path)]
    graphs = []
    for text in texts:
        with suppress(ValueError, MemoryError):
            graphs.append(from_smiles(text) if molecules else from_line(text))
    if not graphs:
        raise InputError(f"{path} must hold one graph per line, but {counted(len(texts), 'line')} cannot be read")
    return graphs, len(texts)


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
            found.labelling,
            found.missing,
        )


def _class(known: dict[bytes, int], certificate: bytes | None) -> int | None:
    """The number of a certificate's class. A new one gets the next number."""
    return None if certificate is None else known.setdefault(certificate, len(known) + 1)


def canonical_text(graph: Graph, search: Callable[[Graph], Found] = search_here) -> str | None:
    """The canonical form of a graph without its labels, in graph6, or in sparse6 if it is large. None if not found.

    The texts of two graphs are equal if and only if the graphs are isomorphic, labels aside. Other versions of pfgnn,
    and pfgnn without pynauty, may choose another form.

    Args:
        graph: The graph.
        search: Finds the symmetries of a graph.
    """
    bare = Graph(graph.num_nodes, graph.edges)
    labelling = search(bare).labelling
    if labelling is None:
        return None
    form = bare.relabel(labelling)
    return to_graph6(form) if form.num_nodes <= MOST_FOR_GRAPH6 else to_sparse6(form)


def canonical_method() -> str:
    """What chooses the canonical forms: nauty with its version, or the search of pfgnn itself with its version.

    Two methods, and two versions of one, may choose other forms of the same graph.
    """
    return f"nauty (pynauty {version('pynauty')})" if is_installed() else f"pfgnn {pfgnn.__version__}, without pynauty"


def isomorphism_between(graphs: Sequence[Graph], facts: Sequence[Facts]) -> tuple[int, ...] | None:
    """The node of the second graph that each node of the first one becomes. None if they are not isomorphic.

    Args:
        graphs: Two graphs.
        facts: Their facts, with labellings.
    """
    (left, right), (first, second) = graphs, facts
    if first.labelling is None or second.labelling is None:
        raise InputError("facts must have the labellings of both graphs, but one was not found")
    if (left.num_nodes, left.num_edges) != (right.num_nodes, right.num_edges):
        return None
    mapping = np.argsort(second.labelling)[np.array(first.labelling)]
    return tuple(mapping.tolist()) if left.relabel(mapping) == right else None


def count_text(number: int | None) -> str:
    """A number with all its digits; "?" if it is unknown."""
    return "?" if number is None else f"{Decimal(number):f}"  # Python refuses to print ints of thousands of digits
