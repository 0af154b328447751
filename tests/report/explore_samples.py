"""Graphs, and the explorer's page of them."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pfgnn.graphs import (
    Graph,
    cfi_pair,
    circulant,
    csl,
    disjoint_union,
    individualise,
    orbits,
    paley,
    random_graph,
    random_regular,
    random_tree,
    rook,
    shrikhande,
)
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.refinement import edge_labels, initial_colours, refine
from pfgnn.report.exact_search import search_here
from pfgnn.report.explore import Shown, write_page
from pfgnn.report.explore_input import Sample

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

CELLS = """() => Object.values(Object.groupBy(document.querySelectorAll('#picture .vertex'),
    (vertex) => vertex.querySelector('.disc').getAttribute('fill')))
    .map((cell) => cell.map((vertex) => Number(vertex.dataset.vertex)))"""


def page_of(path: Path, graphs: list[Graph]) -> Path:
    """The page of some graphs."""
    shown = [Shown(Sample(f"graph {i}", g), search_here(g)) for i, g in enumerate(graphs)]
    write_page(path, "The graphs of a test.", shown)
    return path


def hexagon_and_triangles() -> list[Graph]:
    """Two graphs that 1-WL cannot tell apart."""
    return [circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))]


def many_graphs(rng: np.random.Generator) -> list[Graph]:
    """Regular, strongly regular, random and labelled graphs, trees, and graphs with large groups."""
    graphs = [*hexagon_and_triangles(), shrikhande(), rook(4), paley(13), csl(41, 5), *cfi_pair(circulant(5, [1, 2]))]
    graphs += [Graph.from_edges(1, []), Graph.from_edges(30, []), Graph.from_edges(25, [(0, v) for v in range(1, 25)])]
    graphs += [disjoint_union(*[circulant(4, [1])] * 5)]
    for n in (5, 8, 12, 20, 40):
        graphs += [random_graph(n, 3 * n // 2, rng), random_tree(n, rng), random_regular(2 * (n // 2), 3, rng)]
        plain = random_graph(n, 2 * n - 3, rng)
        x, edge_attr = rng.integers(0, 2, (n, 1)), rng.integers(0, 3, (plain.num_edges, 1))
        graphs.append(Graph(n, plain.edges, x, edge_attr))
    return graphs


def wl_rounds(graph: Graph, colours: IntArray) -> list[list[set[int]]]:
    """The cells after each round of 1-WL by its definition, as sorted lists of sets, until nothing changes."""
    indptr, indices, edge_ids = graph.neighbours
    labels = edge_labels(graph)[edge_ids].tolist()
    names = colours.tolist()
    rounds = [_cells(names)]
    while True:
        seen = []
        for v in range(graph.num_nodes):
            arcs = range(indptr[v], indptr[v + 1])
            seen.append((names[v], tuple(sorted((labels[arc], names[indices[arc]]) for arc in arcs))))
        rank = {signature: i for i, signature in enumerate(sorted(set(seen)))}
        names = [rank[signature] for signature in seen]
        if _cells(names) == rounds[-1]:
            return rounds
        rounds.append(_cells(names))


def _cells(names: list[int]) -> list[set[int]]:
    return sorted(({v for v, name in enumerate(names) if name == one} for one in set(names)), key=min)


def cells_of(colours: list[int]) -> list[set[int]]:
    """The cells of a colouring, as sorted lists of sets."""
    return _cells(colours)


def walk(graph: Graph, path: list[int]) -> tuple[IntArray, IntArray, IntArray]:
    """The start of the last refinement of a path, its result, and the orbits that fix the path."""
    start = initial_colours(graph)
    colours = refine(graph)
    marked = np.zeros((graph.num_nodes, 1 + len(path)), dtype=np.int64)
    marked[:, 0] = start
    for step, vertex in enumerate(path, start=1):
        marked[vertex, step] = 1
        start = individualise(colours, np.array([vertex]))[0]
        colours = refine(graph, start)
    return start, colours, orbits(Graph(graph.num_nodes, graph.edges, marked, graph.edge_attr))


def drawn_cells(page: "Page") -> list[set[int]]:
    """The vertices that are drawn in the same colour."""
    return sorted(map(set, page.evaluate(CELLS)), key=min)


def vertex(page: "Page", number: int) -> "Locator":
    """A vertex of the picture."""
    return page.locator(f"#picture .vertex[data-vertex='{number}']")
