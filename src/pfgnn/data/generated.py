"""The paper's synthetic datasets, drawn with a given random generator.

The size of a part is its number of graphs. The docstrings state how details are chosen that the paper does not specify.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.graphs import generators
from pfgnn.graphs.arrays import BoolArray, IntArray, least_connected
from pfgnn.graphs.convert import to_networkx
from pfgnn.graphs.generators import random_graph, random_regular, random_tree
from pfgnn.graphs.graph import Graph, disjoint_union

# Limits of the options, so that a typing error does not fill the memory or take days.
MOST_GRAPHS = 200_000
MOST_NODES = 1_000
MOST_PLANAR_NODES = 30

TRIANGLES_LABELS = range(1, 11)
TRIANGLES_NODES = range(4, 26)  # numbers of nodes in train, validation and test
TRIANGLES_LARGE_NODES = range(26, 101)


class Generated(NamedTuple):
    """Graphs with labels.

    Attributes:
        graphs: G graphs with N nodes in all, one part after another.
        labels: One label per graph, shape [G], or one per node, graph after graph, shape [N].
        splits: Graph numbers of each part. Empty if the dataset has no parts.
    """

    graphs: list[Graph]
    labels: IntArray
    splits: dict[str, IntArray]


CSL_NODES = 41
CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)  # the ten classes of Murphy et al., ICML 2019


def csl(
    rng: np.random.Generator, nodes: int = CSL_NODES, skips: Sequence[int] = CSL_SKIPS, copies: int = 15
) -> Generated:
    """CSL: randomly relabelled circular skip link graphs, one class after another, without parts.

    Args:
        rng: Source of the random relabellings.
        nodes: Number of nodes of each graph.
        skips: Skip length of each class. The label of a graph is the index of its skip length.
        copies: Number of graphs of each class.
    """
    _check_counts(least=0, copies=copies)
    _check_counts(least=1, most=MOST_NODES, nodes=nodes)
    _check_counts(least=0, graphs=copies * len(skips))
    if len(set(skips)) < len(skips):
        raise InputError(f"skips must hold each skip once, but it is {tuple(skips)}")
    originals = [generators.csl(nodes, skip) for skip in skips]
    graphs = [graph.relabel(rng.permutation(nodes)) for graph in originals for _ in range(copies)]
    return Generated(graphs, np.repeat(np.arange(len(skips)), copies), {})


def triangles(
    rng: np.random.Generator, train: int = 30000, validation: int = 5000, test: int = 5000, test_large: int = 5000
) -> Generated:
    """TRIANGLES: graphs labelled with their number of triangles. The labels of a part are 1, ..., 10, 1, ..., 10, ...

    The number of nodes n is uniform in 4..25, or in 26..100 for test_large. The number of edges is floor((1 + r) n),
    with r uniform in [0, 1), but at most n (n - 1) / 2. All graphs with the same n and number of edges are equally
    likely. For each label the first distinct graphs drawn are kept. Those with 4..25 nodes are assigned to train,
    validation and test at random.

    Args:
        rng: Source of all random draws.
        train: Size of train, a multiple of 10.
        validation: Size of validation, a multiple of 10.
        test: Size of the test part with 4..25 nodes (orig), a multiple of 10.
        test_large: Size of the test part with 26..100 nodes, a multiple of 10.
    """
    labels = len(TRIANGLES_LABELS)
    _check_counts(least=0, multiple=labels, train=train, validation=validation, test=test, test_large=test_large)
    sizes = {"train": train, "validation": validation, "test": test, "test-large": test_large}
    graphs = _graphs_with_triangles(train + validation + test, TRIANGLES_NODES, rng)
    graphs += _graphs_with_triangles(test_large, TRIANGLES_LARGE_NODES, rng)
    return Generated(graphs, np.resize(TRIANGLES_LABELS, len(graphs)), consecutive(sizes))


def lcc(
    rng: np.random.Generator,
    train: int = 1000,
    test: int = 1000,
    test_large: int = 1000,
    nodes: int = 20,
    large_nodes: int = 100,
) -> Generated:
    """LCC: random 3-regular graphs. The label of a node is the number of edges among its neighbours: 0, 1 or 2.

    This is 3 times its local clustering coefficient. All graphs are connected, as the published ones are. So the label
    3 does not occur: only the nodes of a component with 4 nodes have it.

    Args:
        rng: Source of all random draws.
        train: Size of train.
        test: Size of test set N.
        test_large: Size of test set X.
        nodes: Number of nodes of each graph of train and test, an even number of at least 6.
        large_nodes: Number of nodes of each graph of test_large, an even number of at least 6.
    """
    sizes = {"train": train, "test": test, "test-large": test_large}
    _check_counts(least=0, train=train, test=test, test_large=test_large)
    _check_counts(least=6, most=MOST_NODES, multiple=2, nodes=nodes, large_nodes=large_nodes)
    orders = [nodes] * (train + test) + [large_nodes] * test_large
    graphs = [_random_connected_cubic(n, rng) for n in orders]
    labels = [label for graph in graphs for label in _triangles_at(graph).tolist()]
    return Generated(graphs, np.array(labels, dtype=np.int64), consecutive(sizes))


def connectivity(rng: np.random.Generator, train: int = 100, test: int = 40, nodes: int = 20) -> Generated:
    """Connectivity: two random connected graphs side by side (label 0), then the same with an edge between them (1).

    Each of the two has half of the nodes. It is a uniform random tree with further edges. Their number is uniform from
    0 to its number of nodes, so the number of edges says little about the label.

    Args:
        rng: Source of all random draws.
        train: Size of train, an even number.
        test: Size of test, an even number.
        nodes: Number of nodes of each graph, at least 2.
    """
    _check_counts(least=2, most=MOST_NODES, nodes=nodes)

    def pair() -> tuple[Graph, Graph]:
        left, right = _random_connected(nodes // 2, rng), _random_connected(nodes - nodes // 2, rng)
        apart = disjoint_union(left, right)
        bridge = [rng.integers(nodes // 2), rng.integers(nodes // 2, nodes)]
        return apart, _add_edges(apart, np.array([bridge]))

    return _pairs(pair, train, test)


def planarity(rng: np.random.Generator, train: int = 100, test: int = 40, nodes: int = 20) -> Generated:
    """Planarity: random 3-regular graphs, alternately one that is not planar (label 0) and one that is (label 1).

    The graphs may be disconnected. All nodes have degree 3, so the degrees say nothing about the label. With 20 nodes,
    about one such graph in 17 is planar, with 30 nodes one in 1,300. With more nodes the search would not end.

    Args:
        rng: Source of all random draws.
        train: Size of train, an even number.
        test: Size of test, an even number.
        nodes: Number of nodes of each graph, an even number of 6 to 30.
    """
    _check_counts(least=6, most=MOST_PLANAR_NODES, multiple=2, nodes=nodes)

    import networkx as nx  # imported here, because it is slow to import

    def pair() -> tuple[Graph, Graph]:
        found: dict[bool, Graph] = {}
        while len(found) < 2:
            graph = random_regular(nodes, 3, rng)
            planar, _ = nx.check_planarity(to_networkx(graph))
            found.setdefault(planar, graph)
        return found[False], found[True]

    return _pairs(pair, train, test)


def bipartiteness(rng: np.random.Generator, train: int = 100, test: int = 40, nodes: int = 20) -> Generated:
    """Bipartiteness: a random bipartite graph with one more edge within a group (label 0), then between the groups (1).

    Each of the two groups has half of the n nodes. The number of edges of the bipartite graph is uniform in n..2n, but
    small enough that at least one pair between the groups is not joined. The edge within a group joins two nodes that
    a path connects already, so it closes a cycle of odd length.

    Args:
        rng: Source of all random draws.
        train: Size of train, an even number.
        test: Size of test, an even number.
        nodes: Number of nodes n of each graph, at least 4.
    """
    _check_counts(least=4, most=MOST_NODES, nodes=nodes)
    group = np.arange(nodes) < nodes // 2
    between = group[:, None] != group  # [n, n]

    def pair() -> tuple[Graph, Graph]:
        pairs = rng.permutation(np.argwhere(np.triu(between)))
        count = min(int(rng.integers(nodes, 2 * nodes + 1)), len(pairs) - 1)
        graph = Graph(nodes, pairs[:count])
        closing = np.argwhere(np.triu(_linked(graph) & ~between, 1))  # never empty: some node has two neighbours
        return _add_edges(graph, rng.choice(closing, size=1)), _add_edges(graph, pairs[count : count + 1])

    return _pairs(pair, train, test)


def _pairs(pair: Callable[[], tuple[Graph, Graph]], train: int, test: int) -> Generated:
    """A dataset from a function that draws a graph without a property (label 0) and one with it (label 1)."""
    _check_counts(least=0, multiple=2, train=train, test=test)
    graphs = [graph for _ in range((train + test) // 2) for graph in pair()]
    return Generated(graphs, np.arange(len(graphs)) % 2, consecutive({"train": train, "test": test}))


def consecutive(sizes: Mapping[str, int]) -> dict[str, IntArray]:
    """The graph numbers of parts that follow one another, from their sizes."""
    ends = np.cumsum(list(sizes.values()))
    return {part: np.arange(end - size, end) for (part, size), end in zip(sizes.items(), ends, strict=True)}


def _graphs_with_triangles(count: int, nodes: range, rng: np.random.Generator) -> list[Graph]:
    """Distinct graphs [count] for :func:`triangles`. Their numbers of triangles are 1, ..., 10, 1, ..., 10, ..."""
    share = count // len(TRIANGLES_LABELS)
    kept: dict[int, dict[Graph, None]] = {label: {} for label in TRIANGLES_LABELS}  # a set would not keep the order
    while any(len(graphs) < share for graphs in kept.values()):
        n = int(rng.integers(nodes.start, nodes.stop))
        m = min(int((1 + rng.random()) * n), n * (n - 1) // 2)
        graph = random_graph(n, m, rng)
        graphs = kept.get(_triangles_at(graph).sum() // 3)
        if graphs is not None and len(graphs) < share:
            graphs[graph] = None
    # There are few distinct small graphs, and they are drawn early. So the first graphs of a label are smaller.
    columns = [list(graphs) for graphs in kept.values()]
    for column in columns:
        rng.shuffle(column)
    return [graph for row in zip(*columns, strict=True) for graph in row]


def _random_connected(n: int, rng: np.random.Generator) -> Graph:
    """A random tree on n nodes with 0 to n further edges, or fewer if there are fewer free pairs."""
    tree = random_tree(n, rng)
    absent = np.argwhere(np.triu(~_adjacency(tree), 1))
    further = rng.integers(min(n, len(absent)) + 1)
    return _add_edges(tree, rng.choice(absent, size=further, replace=False))


def _random_connected_cubic(n: int, rng: np.random.Generator) -> Graph:
    while True:
        graph = random_regular(n, 3, rng)
        if not least_connected(n, graph.edges).any():  # all belong to the component of vertex 0
            return graph


def _add_edges(graph: Graph, edges: IntArray) -> Graph:
    """The graph with further edges [m, 2]."""
    return Graph(graph.num_nodes, np.concatenate([graph.edges, edges]))


def _adjacency(graph: Graph) -> BoolArray:
    """The adjacency matrix, shape [n, n]."""
    adjacency = np.zeros((graph.num_nodes, graph.num_nodes), dtype=np.bool_)
    u, v = graph.edges.T
    adjacency[u, v] = adjacency[v, u] = True
    return adjacency


def _triangles_at(graph: Graph) -> IntArray:
    """The number of triangles at each node, shape [n]. It equals the number of edges among the node's neighbours."""
    adjacency = _adjacency(graph).astype(np.float32)  # exact, and much faster to multiply than integers
    return (adjacency @ adjacency * adjacency).sum(axis=1).astype(np.int64) // 2


def _linked(graph: Graph) -> BoolArray:
    """Whether a path connects nodes i and j, shape [n, n]."""
    component = least_connected(graph.num_nodes, graph.edges)
    return component[:, None] == component


def _check_counts(*, least: int, most: int = MOST_GRAPHS, multiple: int = 1, **counts: int) -> None:
    """Raise an error unless each count is an integer in `least`..`most` and a multiple of `multiple`."""
    rule = f"at least {least}" + (f" and a multiple of {multiple}" if multiple > 1 else "")
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int | np.integer):
            raise InputTypeError(f"{name} must be an integer, not {type(count).__name__}")
        if count < least or count % multiple:
            raise InputError(f"{name} must be {rule}, but it is {shown(count)}")
        if count > most:
            raise InputError(f"{name} must be at most {most}, but it is {shown(count)}")
