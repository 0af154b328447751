from pathlib import Path

import pytest
from matplotlib.figure import Figure

from pfgnn.graphs import circulant, from_graph6
from pfgnn.report.picture import plot_search_tree, save_picture


def test_the_tree_is_drawn_up_to_a_width(tmp_path: Path) -> None:
    plot_search_tree(circulant(6, [1]), 2, tmp_path / "tree.png")
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="depth must be less than 3 here: level 3 has 120 colourings"):
        plot_search_tree(from_graph6("E???"), 40, tmp_path / "wide.png")  # at once: no factorial of levels is walked
    assert not (tmp_path / "wide.png").exists()


def test_an_ending_that_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"picture.xyz must end in one of .* to be a picture"):
        save_picture(Figure(), tmp_path / "picture.xyz")
