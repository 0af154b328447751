import gzip
import time
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from pfgnn.graphs import Graph, cfi_pair, circulant, from_graph6, is_isomorphic, random_regular, rook, shrikhande
from pfgnn.report.exact_search import Found, Searcher, search_here
from pfgnn.report.inspection import (
    canonical_text,
    count_text,
    gather_facts,
    isomorphism_between,
    read_files,
    read_graphs,
)


def test_facts_on_pairs_that_1_wl_confuses() -> None:
    graphs = [rook(4), shrikhande(), shrikhande().relabel(list(range(15, -1, -1))), circulant(16, [1, 2, 3])]
    facts = list(gather_facts(graphs))
    assert [f.automorphisms for f in facts] == [1152, 192, 192, 32]
    assert [f.isomorphism_class for f in facts] == [1, 2, 2, 3]
    assert [f.wl_class for f in facts] == [1] * 4
    assert [f.colours for f in facts] == [1] * 4
    left, right = gather_facts(list(cfi_pair(from_graph6("C~"))))
    assert left.wl_class == right.wl_class
    assert left.isomorphism_class != right.isomorphism_class


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "empty.g6").write_text("\n")
    with pytest.raises(ValueError, match=r"empty.g6 must hold one graph per line, but it holds no graph"):
        read_graphs(tmp_path / "empty.g6")
    with pytest.raises(ValueError, match=r"must end in one of .g6, .s6, .smi, .smiles, but it ends in '.txt'"):
        read_graphs(tmp_path / "graphs.txt")
    (tmp_path / "claim.s6").write_text(":~~??]`G?\n")
    with pytest.raises(ValueError, match=r"claim.s6, line 1: a text of 9 characters must have at most 100000 nodes"):
        read_graphs(tmp_path / "claim.s6")


def test_only_the_first_graphs_are_read(tmp_path: Path) -> None:
    (tmp_path / "many.g6.gz").write_bytes(gzip.compress(b"A_\n\nA?\nwrong!\n"))
    graphs, total = read_graphs(tmp_path / "many.g6.gz", 2)
    assert ([graph.num_edges for graph in graphs], total) == ([1, 0], 3)


def test_facts_come_one_by_one() -> None:
    asked: list[Graph] = []

    def search(graph: Graph) -> Found:
        asked.append(graph)
        return Found(colours=1) if len(asked) == 2 else search_here(graph)

    facts = gather_facts([rook(4), rook(4), rook(4)], search)
    assert next(facts).isomorphism_class == 1
    assert len(asked) == 1
    assert tuple(next(facts)) == (16, 48, 1, None, None, None, None, None, None)
    assert next(facts).isomorphism_class == 1


@pytest.mark.slow
def test_a_search_that_takes_too_long_is_stopped() -> None:
    hard = random_regular(5000, 3, np.random.default_rng(0))  # minutes
    with Searcher(0.5) as search:
        begun = time.monotonic()
        found = search(hard)
        assert (found.orbits, found.missing) == (None, "time")
        assert time.monotonic() - begun < 20
        assert search(rook(4)) == search_here(rook(4))


def test_another_process_finds_the_same() -> None:
    with Searcher(60) as search:
        assert [search(graph) for graph in (rook(4), shrikhande())] == [search_here(rook(4)), search_here(shrikhande())]
        process = search.process
        assert process is not None
        process.kill()
        process.join()
        assert search(rook(4)) == Found(missing="died")  # it was lost with its process
        assert search(rook(4)) == search_here(rook(4))


def test_numbers_are_never_cut() -> None:
    numbers = {"?": None, "1": 1, str(factorial(100)): factorial(100)}
    for text, number in numbers.items():
        assert count_text(number) == text
    huge = count_text(factorial(3000))  # Python itself refuses to print it
    assert (len(huge), huge[:5], huge[-748:]) == (9131, "41493", "0" * 748)
    assert count_text(10**5000 + 7) == "1" + "0" * 4999 + "7"


def test_canonical_texts_are_equal_for_isomorphic_graphs_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = rook(4)
    texts = [canonical_text(other) for other in (graph, graph.relabel(rng.permutation(16)), shrikhande())]
    assert texts[0] == texts[1] != texts[2]
    assert texts[0] is not None
    assert is_isomorphic(from_graph6(texts[0]), graph)
    labelled = Graph(16, graph.edges, rng.integers(2, size=(16, 1)))
    assert canonical_text(labelled) == texts[0]
    assert canonical_text(graph, lambda graph: Found()) is None


def test_an_isomorphism_is_a_map_of_nodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = random_regular(12, 3, rng)
    right, other = left.relabel(rng.permutation(12)), random_regular(14, 3, rng)
    first, second, third = gather_facts([left, right, other])
    mapping = isomorphism_between([left, right], [first, second])
    assert mapping is not None
    assert left.relabel(mapping) == right
    assert isomorphism_between([left, other], [first, third]) is None
    pair = [rook(4), shrikhande()]
    assert isomorphism_between(pair, list(gather_facts(pair))) is None


def test_graphs_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.g6").write_text("A_\nA?\n")
    (tmp_path / "b.g6").write_text("Bw\nC~\n")
    found, total = read_files([tmp_path / "a.g6", tmp_path / "b.g6"], 3)
    assert total == 4
    assert [(path.name, graph.num_nodes) for path, graph in found] == [("a.g6", 2), ("a.g6", 2), ("b.g6", 3)]
