from pathlib import Path

import pytest

from pfgnn.graphs import cfi_pair, circulant, from_graph6, rook, shrikhande
from pfgnn.report.inspection import gather_facts, read_graphs


def test_facts_on_pairs_that_1_wl_confuses() -> None:
    facts = gather_facts(
        [rook(4), shrikhande(), shrikhande().relabel(list(range(15, -1, -1))), circulant(16, [1, 2, 3])]
    )
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
