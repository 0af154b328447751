import gzip
import time
from math import factorial
from pathlib import Path

import numpy as np
import pytest

from pfgnn.graphs import Graph, cfi_pair, circulant, from_graph6, random_regular, rook, shrikhande
from pfgnn.report.exact_search import Found, Searcher, search_here
from pfgnn.report.inspection import count_text, gather_facts, read_graphs


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
    assert next(facts) == (16, 48, 1, None, None, None, None)
    assert next(facts).isomorphism_class == 1


@pytest.mark.slow
def test_a_search_that_takes_too_long_is_stopped() -> None:
    hard = random_regular(5000, 3, np.random.default_rng(0))  # minutes
    with Searcher(0.5) as search:
        begun = time.monotonic()
        assert search(hard).orbits is None
        assert time.monotonic() - begun < 20
        assert search(rook(4)) == search_here(rook(4))


def test_another_process_finds_the_same() -> None:
    with Searcher(60) as search:
        assert [search(graph) for graph in (rook(4), shrikhande())] == [search_here(rook(4)), search_here(shrikhande())]
        process = search.process
        assert process is not None
        process.kill()
        process.join()
        assert search(rook(4)) == Found()  # it was lost with its process
        assert search(rook(4)) == search_here(rook(4))


def test_numbers_are_never_cut() -> None:
    numbers = {"?": None, "1": 1, str(factorial(100)): factorial(100)}
    numbers |= {"about 4.1494e9130": factorial(3000), "about 1.0000e300": 10**300}
    for text, number in numbers.items():
        assert count_text(number) == text
