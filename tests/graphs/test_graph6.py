from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.suite import slow

from pfgnn.graphs import (
    Graph,
    from_graph6,
    from_networkx,
    from_sparse6,
    random_graph,
    read_graph6,
    to_graph6,
    to_networkx,
    to_sparse6,
)

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 61, 62, 63, 64, slow(65), slow(130)]


@pytest.mark.parametrize("n", SIZES)
def test_both_formats_agree_with_networkx(n: int) -> None:
    rng = np.random.default_rng(n)
    for density in (0.0, 0.05, 0.3, 1.0):
        for _ in range(5):
            graph = random_graph(n, int(density * n * (n - 1) / 2), rng)
            other = to_networkx(graph)
            graph6 = nx.to_graph6_bytes(other, header=False).decode().strip()
            assert to_graph6(graph) == graph6
            assert from_graph6(graph6) == graph
            assert from_sparse6(nx.to_sparse6_bytes(other, header=False).decode()) == graph
            sparse6 = to_sparse6(graph)
            assert from_sparse6(sparse6) == graph
            assert from_networkx(nx.from_sparse6_bytes(sparse6.encode())) == graph


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_sparse6_padding_at_powers_of_two(n: int) -> None:
    for edges in ([(0, n - 2)] if n > 2 else [], [(0, n - 1)], [(u, n - 2) for u in range(n - 2)]):
        graph = Graph.from_edges(n, edges)
        assert from_sparse6(to_sparse6(graph)) == graph
        assert from_networkx(nx.from_sparse6_bytes(to_sparse6(graph).encode())) == graph


def test_large_sizes_use_the_longer_encodings() -> None:
    medium = Graph.from_edges(300, [(0, 299)])
    assert to_graph6(medium).startswith("~")
    assert from_graph6(to_graph6(medium)) == medium
    large = Graph.from_edges(258048, [(3, 258047), (0, 17)])
    assert to_sparse6(large).startswith(":~~")
    assert from_sparse6(to_sparse6(large)) == large


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("D?", "graph6 text has 1 byte after its size, but a graph of 5 nodes takes 2"),
        ("D???", "graph6 text has 3 bytes after its size, but a graph of 5 nodes takes 2"),
        ("D?@", "padding bits that are not zero"),
        ("D?!", "character '!' at place 3"),
        ("", "text has 0 bytes, but its number of nodes alone takes 1"),
        ("~?", "text has 2 bytes, but its number of nodes alone takes 4"),
        ("?", "num_nodes is 0"),
    ],
)
def test_bad_graph6_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_graph6(text)


def test_bad_sparse6_is_refused() -> None:
    with pytest.raises(ValueError, match="must start with ':'"):
        from_sparse6("D?{")
    loop = nx.Graph([(0, 1), (1, 1)])
    with pytest.raises(ValueError, match="self-loop at node 1"):
        from_sparse6(nx.to_sparse6_bytes(loop, header=False).decode())
    double = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    with pytest.raises(ValueError, match="duplicate edge"):
        from_sparse6(nx.to_sparse6_bytes(double, header=False).decode())


def test_read_graph6_mixes_formats_and_skips_blank_lines(tmp_path: Path) -> None:
    graph = Graph.from_edges(5, [(0, 2), (0, 4), (1, 3), (3, 4)])
    file = tmp_path / "graphs.g6"
    file.write_text(f">>graph6<<{to_graph6(graph)}\n\n>>sparse6<<{to_sparse6(graph)}\n{to_graph6(graph)}\n")
    assert read_graph6(file) == [graph] * 3
    file.write_text(f"{to_graph6(graph)}\n\nD?\n")
    with pytest.raises(ValueError, match=r"^graphs.g6, line 3: graph6 text has 1 byte"):
        read_graph6(file)
