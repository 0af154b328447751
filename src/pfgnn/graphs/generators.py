"""Graph families: small named graphs, random graphs, and pairs that 1-WL cannot tell apart."""

import heapq
from collections.abc import Iterable

import numpy as np

from pfgnn.argument_checks import check_positive, checked
from pfgnn.errors import InputError, shown
from pfgnn.graphs.arrays import pairs_at
from pfgnn.graphs.graph import Graph

# The largest graph that is generated. It takes some hundred megabytes.
MOST_NODES, MOST_EDGES = 1_000_000, 10_000_000


@checked
def circulant(n: int, jumps: Iterable[int]) -> Graph:
    """The circulant graph: nodes 0..n-1 on a circle, joined if they are `jump` places apart for one of the jumps.

    Args:
        n: Number of nodes.
        jumps: The jumps, each in 1..n//2.
    """
    check_positive("n", n, most=MOST_NODES)
    lengths = sorted({check_positive("jumps", jump) for jump in jumps})
    _check_edges(n * len(lengths))
    if any(not 1 <= jump <= n // 2 for jump in lengths):
        raise InputError(f"jumps must each lie in 1..{n // 2} for {n} nodes, but they are {lengths}")
    nodes = np.arange(n)
    edges = [np.stack([nodes, (nodes + jump) % n], axis=1) for jump in lengths]
    if lengths and 2 * lengths[-1] == n:
        edges[-1] = edges[-1][: n // 2]  # a jump of n / 2 gives each edge twice
    return Graph.from_edges(n, np.concatenate(edges) if edges else [])


@checked
def csl(n: int = 41, skip: int = 2) -> Graph:
    """The circular skip link graph: a cycle of n nodes plus the edges between nodes `skip` places apart."""
    check_positive("n", n, most=MOST_NODES)
    if not 2 <= skip < n / 2:
        raise InputError(f"skip must be at least 2 and less than {n / 2:g} for {n} nodes, but it is {skip}")
    return circulant(n, [1, skip])


@checked
def paley(q: int) -> Graph:
    """The Paley graph: nodes 0..q-1, joined if their difference is a square modulo q, a prime with q % 4 == 1."""
    check_positive("q", q, most=MOST_NODES)
    if q < 5 or q % 4 != 1 or any(q % divisor == 0 for divisor in range(2, int(q**0.5) + 1)):
        raise InputError(f"q must be a prime with q % 4 == 1, but it is {q}")
    _check_edges(q * (q - 1) // 4)
    squares = {i * i % q for i in range(1, q)}
    return circulant(q, {min(s, q - s) for s in squares})


@checked
def rook(k: int = 4) -> Graph:
    """The rook's graph: the squares of a k × k board, joined if a rook can move between them.

    The square in row r and column c is node k r + c.
    """
    check_positive("k", k, most=MOST_NODES)
    _check_edges(k * k * (k - 1))
    line, (one, other) = np.arange(k)[:, None], np.triu_indices(k, 1)
    ends = [(k * line + one, k * line + other), (k * one + line, k * other + line)]  # in a row, in a column
    return Graph.from_edges(k * k, np.concatenate([np.stack(pair, axis=-1).reshape(-1, 2) for pair in ends]))


@checked
def shrikhande() -> Graph:
    """The Shrikhande graph: strongly regular with the parameters of `rook(4)`, but not isomorphic to it.

    Node 4 r + c is the pair (r, c) modulo 4. Pairs are joined if they differ by ±(0, 1), ±(1, 0) or ±(1, 1).
    """
    row, column = np.divmod(np.arange(16), 4)
    edges = [
        np.stack([np.arange(16), 4 * ((row + down) % 4) + (column + right) % 4], axis=1)
        for down, right in [(0, 1), (1, 0), (1, 1)]
    ]
    return Graph(16, np.concatenate(edges))


@checked
def cfi(base: Graph, twisted: Iterable[int] = ()) -> Graph:
    """The graph of Cai, Fürer and Immerman (CFI) over a base graph, in its compact form without colours.

    Each base vertex v becomes one node (v, S) for every subset S of its incident edges with an even number of edges.
    These are 2^(d-1) nodes for degree d. Nodes are sorted by v, then by the bit mask of S. For a base edge e = uv,
    nodes (u, S) and (v, T) are joined if e is in both S and T or in neither. If e is twisted, they are joined if e is
    in exactly one of S and T.

    If the base is connected, only the parity of the number of twisted edges matters up to isomorphism.

    Args:
        base: The base graph. Its labels are ignored.
        twisted: Rows of `base.edges` that are twisted.
    """
    chosen = [check_positive("twisted", edge, least=0, most=base.num_edges - 1) for edge in twisted]
    copies = 2.0 ** np.maximum(base.degrees - 1, 0)  # nodes of each base vertex
    if base.num_edges * copies.sum() > MOST_EDGES:
        raise InputError(f"base must be smaller, but its CFI graph would have {copies.sum():.3g} nodes")
    _check_edges(int((copies[base.edges[:, 0]] * copies[base.edges[:, 1]]).sum() / 2))
    indptr, _, edge_ids = base.neighbours
    owners, subsets = [], []
    for vertex in range(base.num_nodes):
        incident = edge_ids[indptr[vertex] : indptr[vertex + 1]]
        masks = np.arange(2 ** len(incident))[:, None] >> np.arange(len(incident)) & 1  # [2^d, d]
        even = masks[masks.sum(axis=1) % 2 == 0]
        subset = np.zeros((len(even), base.num_edges), dtype=np.int64)
        subset[:, incident] = even
        owners += [vertex] * len(even)
        subsets.append(subset)
    owner, member = np.array(owners), np.concatenate(subsets)  # [n], [n, m]
    twist = np.zeros(base.num_edges, dtype=np.int64)
    twist[chosen] = 1
    edges = []
    for edge, (u, v) in enumerate(base.edges):
        left, right = np.flatnonzero(owner == u), np.flatnonzero(owner == v)
        joined = member[left, edge][:, None] ^ member[right, edge] == twist[edge]
        edges.append(np.stack([np.repeat(left, len(right)), np.tile(right, len(left))], axis=1)[joined.reshape(-1)])
    return Graph.from_edges(len(owner), np.concatenate(edges) if edges else [])


@checked
def cfi_pair(base: Graph) -> tuple[Graph, Graph]:
    """The CFI graphs over a base graph without a twisted edge and with one. They are never isomorphic.

    1-WL cannot tell them apart if the base has a cycle. k-WL cannot if the treewidth of the base is above k.

    Args:
        base: A connected graph with at least one edge.
    """
    if base.num_edges == 0 or not _is_connected(base):
        raise InputError(
            "base must be connected and have at least 1 edge, "
            f"but it has {base.num_nodes} nodes and {base.num_edges} edges"
        )
    return cfi(base), cfi(base, [0])


@checked
def random_graph(n: int, m: int, rng: np.random.Generator) -> Graph:
    """A random graph with n nodes and exactly m edges. All such graphs are equally likely."""
    check_positive("n", n, most=MOST_NODES)
    _check_edges(m)
    possible = n * (n - 1) // 2
    if not 0 <= m <= possible:
        raise InputError(f"m is {m}, but a graph with {n} nodes has between 0 and {possible} edges")
    if m == 0:
        return Graph.from_edges(n, [])
    return Graph(n, np.stack(pairs_at(rng.choice(possible, size=m, replace=False)), axis=1))


@checked
def random_tree(n: int, rng: np.random.Generator) -> Graph:
    """A random tree on n labelled nodes, decoded from a random Prüfer sequence. All such trees are equally likely."""
    check_positive("n", n, most=MOST_NODES)
    if n < 3:
        return Graph.from_edges(n, [(0, 1)] if n == 2 else [])
    sequence = rng.integers(n, size=n - 2)
    degree = np.bincount(sequence, minlength=n) + 1
    leaves = [int(v) for v in np.flatnonzero(degree == 1)]  # ascending, so it is a heap
    edges = []
    for parent in sequence.tolist():
        edges.append((heapq.heappop(leaves), parent))
        degree[parent] -= 1
        if degree[parent] == 1:
            heapq.heappush(leaves, parent)
    return Graph.from_edges(n, [*edges, (leaves[0], leaves[1])])


@checked
def random_regular(n: int, degree: int, rng: np.random.Generator) -> Graph:
    """A random graph in which each of n nodes has `degree` neighbours, close to uniform for small degrees.

    Every node gets `degree` stubs (half edges), and stubs are joined in random pairs. Stubs that would make a self-loop
    or a double edge are paired again among themselves. If a round joins no stubs, everything starts again.
    """
    check_positive("n", n, most=MOST_NODES)
    _check_edges(n * degree // 2)
    if not 0 <= degree < n or n * degree % 2:
        raise InputError(f"degree must lie in 0..{n - 1} for {n} nodes, with n · degree even, but it is {degree}")
    if 2 * degree >= n:  # the pairing rarely succeeds for a dense graph, but its complement is sparse
        return _complement(random_regular(n, n - 1 - degree, rng))
    while True:
        edges = _join_stubs(n, degree, rng)
        if edges is not None:
            return Graph.from_edges(n, sorted(edges))


def _join_stubs(n: int, degree: int, rng: np.random.Generator) -> set[tuple[int, int]] | None:
    """Pair stubs until none is left. Return the edges, or None if a round joins no stubs."""
    edges: set[tuple[int, int]] = set()
    stubs = np.repeat(np.arange(n), degree)
    while stubs.size:
        rng.shuffle(stubs)
        left = []
        for u, v in np.sort(stubs.reshape(-1, 2), axis=1).tolist():
            if u == v or (u, v) in edges:
                left += [u, v]
            else:
                edges.add((u, v))
        if len(left) == stubs.size:
            return None
        stubs = np.array(left, dtype=np.int64)
    return edges


def _check_edges(edges: int) -> None:
    if edges > MOST_EDGES:
        raise InputError(f"a generated graph must have at most {MOST_EDGES} edges, but it would have {shown(edges)}")


def _complement(graph: Graph) -> Graph:
    missing = np.triu(np.ones((graph.num_nodes, graph.num_nodes), dtype=np.bool_), 1)
    missing[graph.edges[:, 0], graph.edges[:, 1]] = False
    return Graph(graph.num_nodes, np.argwhere(missing))


def _is_connected(graph: Graph) -> bool:
    indptr, indices, _ = graph.neighbours
    reached, waiting = {0}, [0]
    while waiting:
        node = waiting.pop()
        fresh = set(indices[indptr[node] : indptr[node + 1]].tolist()) - reached
        reached |= fresh
        waiting += fresh
    return len(reached) == graph.num_nodes
