"""Classes of the graphs of a dataset, by 1-WL and by isomorphism, and vertices that 1-WL takes for equal.

The work is done in pieces, by several processes. First each graph gets a fingerprint. Then only graphs that share their
fingerprint are compared exactly, and orbits are searched only where they may differ from the cells of 1-WL.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards
from pfgnn.data.undirected import Undirected, graphs_of, induced, undirected
from pfgnn.graphs.arrays import BoolArray, IntArray, least_connected
from pfgnn.graphs.canonical import certificate, symmetry
from pfgnn.graphs.fingerprint import Hashes, fingerprints
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.refinement import colouring_certificate, refine
from pfgnn.workers import ordered_map

GRAPHS_A_PIECE = 1024
NODES_A_PIECE = 2**16  # a piece of large graphs ends here
MOST_SEARCHED = 2000  # vertices of a graph that is searched exactly; a regular one of this size takes ten seconds

Progress = Callable[[str, int, int], None]


class Survey(NamedTuple):
    """What was found about the G graphs of a dataset.

    Fields:
        wl_classes: Number of each graph's 1-WL class, from 0, shape [G].
        classes: Number of each graph's isomorphism class, from 0, shape [G].
        components: Number of connected components of each graph, shape [G].
        alike: Number of vertices of each graph whose 1-WL cell holds several orbits, shape [G]. It is 0 for a graph
            that is too large to be searched.
        unsearched: Whether a graph is too large for a search that it needs, shape [G]. Then its isomorphism class is
            taken to be its 1-WL class.
        vertices: Fingerprint of each vertex, shape [N], or [0] if they are not kept.
    """

    wl_classes: IntArray
    classes: IntArray
    components: IntArray
    alike: IntArray
    unsearched: BoolArray
    vertices: Hashes


class Piece(NamedTuple):
    """Graphs for another process, and the number of the first one."""

    first: int
    graphs: Dataset


class _Seen(NamedTuple):
    """What a process found about a piece. Its fields are those of :class:`Survey`, for graphs and fingerprints."""

    fingerprints: Hashes
    components: IntArray
    alike: IntArray
    unsearched: BoolArray
    vertices: Hashes


def survey(dataset: Dataset | Shards, processes: int, progress: Progress, keep_vertices: bool = False) -> Survey:
    """Look at all graphs of a dataset.

    Args:
        dataset: The graphs, which must be undirected.
        processes: Number of processes.
        progress: Called with what is done, the number of graphs done and the number of all graphs.
        keep_vertices: Whether to keep the fingerprints of all vertices.
    """
    total = len(dataset)
    seen: list[_Seen] = []
    done = 0
    progress("1-WL and orbits", 0, total)
    with closing(ordered_map(_look, pieces_of(dataset, np.arange(total)), processes)) as results:
        for found in results:
            seen.append(found if keep_vertices else found._replace(vertices=found.vertices[:0]))
            done += len(found.fingerprints)
            progress("1-WL and orbits", done, total)
    columns = [np.concatenate(column) for column in zip(*seen, strict=True)]
    prints, components, alike, unsearched, vertices = columns
    wl_classes, classes = _classes(dataset, prints, processes, progress)
    _, group, counts = np.unique(prints, return_inverse=True, return_counts=True)
    unsearched |= (counts[group] > 1) & (dataset.node_counts > MOST_SEARCHED)
    return Survey(wl_classes, classes, components, alike, unsearched, vertices)


def _classes(
    dataset: Dataset | Shards, prints: Hashes, processes: int, progress: Progress
) -> tuple[IntArray, IntArray]:
    """The 1-WL class and the isomorphism class of each graph, each [G], from their fingerprints."""
    _, group, counts = np.unique(prints, return_inverse=True, return_counts=True)
    shared = np.flatnonzero(counts[group] > 1)
    numbers: list[dict[bytes, int]] = [{}, {}]
    classes = np.zeros((2, len(prints)), dtype=np.int64)
    done = 0
    with closing(ordered_map(_certificates, pieces_of(dataset, shared, graphs=64), processes)) as results:
        for certificates in results:
            for found in certificates:
                for row, known, content in zip(classes, numbers, found, strict=True):
                    row[shared[done]] = known.setdefault(content, len(known))
                done += 1
            progress("graphs that look alike", done, len(shared))
    alone = counts[group] == 1
    for row, known in zip(classes, numbers, strict=True):
        row[alone] = len(known) + np.arange(int(alone.sum()))
    return classes[0], classes[1]


def pieces_of(dataset: Dataset | Shards, numbers: IntArray, graphs: int = GRAPHS_A_PIECE) -> Iterator[Piece]:
    """Some graphs of a dataset, piece by piece. The numbers ascend."""
    nodes = np.cumsum(dataset.node_counts[numbers].astype(np.int64))
    begin = 0
    while begin < len(numbers):
        before = int(nodes[begin - 1]) if begin else 0
        end = min(begin + graphs, max(begin + 1, int(np.searchsorted(nodes, before + NODES_A_PIECE, "right"))))
        chosen = numbers[begin:end]
        yield Piece(int(chosen[0]), dataset.subset(chosen))
        begin = end


def _look(piece: Piece) -> _Seen:
    """Fingerprints, components and orbits of the graphs of a piece. Runs in another process."""
    flat = undirected(piece.graphs, piece.first)
    found = fingerprints(*flat)
    graph = np.repeat(np.arange(len(flat.node_counts)), flat.node_counts)
    alike = np.zeros(len(flat.node_counts), dtype=np.int64)
    few = induced(flat, found.unsure, np.unique(found.vertices, return_inverse=True)[1])
    unsearched = few.node_counts > MOST_SEARCHED
    unsure = np.flatnonzero((few.node_counts > 0) & ~unsearched)
    split = unsure[np.array([_alike(one) > 0 for one in graphs_of(few, unsure)], dtype=np.bool_)]
    alike[split] = [_alike(one) for one in graphs_of(flat, split)]
    return _Seen(found.graphs, _components(flat, graph), alike, unsearched, found.vertices)


def _components(flat: Undirected, graph: IntArray) -> IntArray:
    """Number of connected components of each graph, shape [G]."""
    least = least_connected(len(graph), np.stack([flat.sources, flat.targets], axis=1))
    return np.bincount(graph[least == np.arange(len(graph))], minlength=len(flat.node_counts))


def _alike(graph: Graph) -> int:
    """Number of vertices whose 1-WL cell holds several orbits."""
    orbits = symmetry(graph).orbits
    if graph.x is not None and len(np.unique(orbits)) == len(np.unique(graph.x, axis=0)):
        return 0
    colours = refine(graph)
    orbits_of_cell = np.bincount(colours[np.unique(orbits)], minlength=graph.num_nodes)
    return int((orbits_of_cell[colours] > 1).sum())


def _certificates(piece: Piece) -> list[tuple[bytes, bytes]]:
    """What is equal for graphs that 1-WL cannot tell apart, and what is equal for isomorphic graphs."""
    flat = undirected(piece.graphs, piece.first)
    found = []
    for graph in graphs_of(flat, np.arange(len(flat.node_counts))):
        by_wl = _digest(colouring_certificate(graph, refine(graph)))
        found.append((by_wl, _digest(certificate(graph)) if graph.num_nodes <= MOST_SEARCHED else by_wl))
    return found


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]
