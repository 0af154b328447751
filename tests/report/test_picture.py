from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from pfgnn.graphs import circulant, from_graph6, random_regular
from pfgnn.graphs.strongly_regular import sr25
from pfgnn.report.picture import plot_search_tree, save_picture


def test_the_tree_lowers_its_depth_by_itself(tmp_path: Path) -> None:
    assert plot_search_tree(circulant(6, [1]), 2, tmp_path / "tree.png") == 2
    assert (tmp_path / "tree.png").read_bytes().startswith(b"\x89PNG")
    assert plot_search_tree(from_graph6("E???"), 40, tmp_path / "deep.png") == 5  # no factorial of levels is walked


def share_of_colour(path: Path) -> float:
    """The share of the pixels that are neither white nor grey."""
    pixels = imread(path)[:, :, :3]
    return float((np.ptp(pixels, axis=2) > 0.1).mean())


@pytest.mark.slow
@pytest.mark.parametrize("n", [25, 120, 500])
def test_one_sees_something_of_a_large_graph(tmp_path: Path, n: int) -> None:
    graph = sr25()[3] if n == 25 else random_regular(n, 3, np.random.default_rng(0))
    plot_search_tree(graph, 2, tmp_path / "tree.png")
    assert share_of_colour(tmp_path / "tree.png") > 0.01
    height, width = imread(tmp_path / "tree.png").shape[:2]
    assert max(height, width) < 6000


def test_a_graph_that_is_too_large_to_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can be drawn for at most 1000 vertices, but the graph has 1001"):
        plot_search_tree(circulant(1001, [1]), 1, tmp_path / "tree.png")
    assert not (tmp_path / "tree.png").exists()


def test_an_ending_that_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"picture.xyz must end in one of .* to be a picture"):
        save_picture(Figure(), tmp_path / "picture.xyz")
