from pathlib import Path

import numpy as np
import pytest

from pfgnn.data.task import Task
from pfgnn.data.tu import alchemy, read_tu

# A triangle with a loose node, and an edge.
FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n3, 1\n1, 3\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "node_labels": "3\n3\n7\n5\n3\n7\n",
    "edge_labels": "1\n1\n2\n2\n1\n1\n2\n2\n",
}


def write(folder: Path, name: str = "SMALL", **changes: str | None) -> Path:
    """A folder of ``FILES`` with some of them changed, or left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, text in {**FILES, **changes}.items():
        if text is not None:
            (folder / f"{name}_{kind}.txt").write_text(text)
    return folder


def test_labels_become_categories_and_classes(tmp_path: Path) -> None:
    dataset = read_tu(write(tmp_path))
    assert (dataset.name, dataset.task) == ("SMALL", Task("graph", 2, "cross_entropy", "accuracy"))
    assert dataset.node_counts.tolist() == [4, 2]
    assert dataset.edge_counts.tolist() == [6, 2]
    assert dataset.edges.tolist() == [[1, 2, 0, 2, 0, 1, 1, 0], [0, 0, 1, 1, 2, 2, 0, 1]]
    assert dataset.x is not None
    assert dataset.edge_attr is not None
    assert dataset.x[:, 0].tolist() == [0, 0, 2, 1, 0, 2]
    assert dataset.edge_attr[:, 0].tolist() == [0, 0, 0, 1, 0, 1, 1, 1]
    assert (dataset.node_categories, dataset.edge_categories) == ((3,), (2,))
    assert dataset.y.tolist() == [[0], [1]]


def test_attributes_are_continuous_and_targets_of_regression(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        node_labels=None,
        edge_labels=None,
        graph_attributes="0.5, 1\n-2, 3e1\n",
        node_attributes="".join(f"{node}.5, 0\n" for node in range(6)),
        edge_attributes="1\n1\n2\n2\n3\n3\n4.5\n4.5\n",
    )
    dataset = read_tu(folder)
    assert dataset.task == Task("graph", 2, "l1", "mae")
    assert dataset.y.tolist() == [[0.5, 1], [-2, 30]]
    assert (dataset.in_channels, dataset.edge_channels) == (2, 1)
    assert dataset.edge_attr is not None
    assert dataset.edge_attr[:, 0].tolist() == [1, 3, 1, 2, 3, 2, 4.5, 4.5]
    assert read_tu(folder, attributes=False).in_channels == 0


def test_labels_stand_one_hot_behind_attributes(tmp_path: Path) -> None:
    dataset = read_tu(write(tmp_path, node_attributes="".join(f"{node}.5\n" for node in range(6))))
    assert dataset.node_categories is None
    assert dataset.x is not None
    assert dataset.x[:4].tolist() == [[0.5, 1, 0, 0], [1.5, 1, 0, 0], [2.5, 0, 0, 1], [3.5, 0, 1, 0]]
    assert read_tu(tmp_path, attributes=False).node_categories == (3,)


def test_loops_and_repeated_edges_are_left_out(tmp_path: Path) -> None:
    text = FILES["A"] + "4, 4\n1, 2\n"
    dataset = read_tu(write(tmp_path, A=text, edge_labels=FILES["edge_labels"] + "9\n9\n"))
    assert dataset.edge_counts.tolist() == [6, 2]
    assert dataset.edge_attr is not None
    assert 2 not in dataset.edge_attr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n2, 1\n4, 5\n5, 4\n"}, r"^SMALL_A.txt, line 3: edge 4, 5 joins two graphs$"),
        ({"A": "1, 2\n2, 1\n2, 3\n"}, r"^SMALL_A.txt, line 3: both directions must be .*, but edge 2, 3 has no"),
        ({"A": "1, 2\n0, 1\n"}, r"^SMALL_A.txt, line 2: edge 0, 1 is not between nodes 1..6$"),
        ({"A": "1, 2\n7, 1\n"}, r"^SMALL_A.txt, line 2: edge 7, 1 is not between nodes 1..6$"),
        ({"A": "1, 2\n2, one\n"}, r"^SMALL_A.txt, line 2: 'one' is not an integer$"),
        ({"A": "1, 2\n2, 1, 3\n"}, r"^SMALL_A.txt, line 2: there must be 2 entries, but there are 3$"),
        ({"A": "1, 2\n\n2, 1\n"}, r"^SMALL_A.txt, line 2: there must be 2 entries, but there are 1$"),
        ({"A": ""}, r"SMALL_A.txt must have at least one line, but it is empty$"),
        (
            {"graph_indicator": "1\n1\n1\n2\n1\n2\n"},
            r"^SMALL_graph_indicator.txt, line 5: the graphs must ascend .*, but graph 1",
        ),
        ({"graph_indicator": "1\n1\n1\n1\n3\n3\n"}, r"^SMALL_graph_indicator.txt, line 5: .* graph 3 is out of turn$"),
        ({"graph_indicator": "2\n2\n2\n2\n3\n3\n"}, r"^SMALL_graph_indicator.txt, line 1: .* graph 2 is out of turn$"),
        ({"graph_indicator": "0\n0\n0\n0\n1\n1\n"}, r"^SMALL_graph_indicator.txt, line 1: .* graph 0 is out of turn$"),
        ({"node_labels": "3\n3\n"}, r"SMALL_node_labels.txt must have 6 lines, one for each node, but it has 2$"),
        ({"node_labels": "3\n3\n1.5\n1\n1\n1\n"}, r"^SMALL_node_labels.txt, line 3: '1.5' is not an integer$"),
        ({"node_labels": "9" * 30}, r"^SMALL_node_labels.txt, line 1: '9{30}' is not an integer$"),
        ({"edge_labels": "1\n" * 9}, r"SMALL_edge_labels.txt must have 8 lines, one for each edge, but it has 9$"),
        ({"graph_labels": "1\n"}, r"SMALL_graph_labels.txt must have 2 lines, one for each graph, but it has 1$"),
        ({"graph_attributes": "nan\ninf\n"}, r"^SMALL_graph_attributes.txt, line 2: 'inf' is not a finite number$"),
        ({"graph_attributes": "nan\nnan\n"}, "y must have a value of every target, but target 0 is NaN in all rows"),
        ({"node_attributes": "nan\n" * 6}, r"^SMALL_node_attributes.txt, line 1: 'nan' is not a finite number$"),
        ({"node_attributes": "é\n"}, r"^SMALL_node_attributes.txt, line 1: '.*' is not a finite number$"),
    ],
)
def test_an_inconsistency_is_named_with_file_and_line(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_tu(write(tmp_path, **changes))


@pytest.mark.parametrize("kind", ["graph_indicator", "graph_labels"])
def test_a_missing_file_is_named(tmp_path: Path, kind: str) -> None:
    (write(tmp_path) / f"SMALL_{kind}.txt").unlink()
    with pytest.raises(FileNotFoundError, match=f"SMALL_{kind}.txt"):
        read_tu(tmp_path)


def test_a_folder_holds_one_dataset(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_tu(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"must have one file named NAME_A.txt, but it has 0$"):
        read_tu(tmp_path)
    write(write(tmp_path), "OTHER")
    with pytest.raises(ValueError, match=r"must have one file named NAME_A.txt, but it has 2$"):
        read_tu(tmp_path)


def write_alchemy(folder: Path, train: str = "7,2,7,5", validation: str = "2,3", test: str = "5") -> Path:
    """Eight molecules of two atoms in the format of alchemy_full, with 12 targets, and their index files."""
    write(
        folder / "alchemy_full",
        "alchemy_full",
        A="".join(f"{2 * graph + 1}, {2 * graph + 2}\n{2 * graph + 2}, {2 * graph + 1}\n" for graph in range(8)),
        graph_indicator="".join(f"{graph}\n{graph}\n" for graph in range(1, 9)),
        graph_labels=None,
        graph_attributes="".join(", ".join(str(graph**2 + c) for c in range(12)) + "\n" for graph in range(8)),
        node_labels="".join(f"{node % 6}\n" for node in range(16)),
        node_attributes="0.5, 0.5, 0.5\n" * 16,
        edge_labels="".join(f"{edge // 2 % 4}\n" for edge in range(16)),
    )
    for name, text in (("train", train), ("val", validation), ("test", test)):
        (folder / f"{name}_al_10.index").write_text(text)
    return folder


def test_alchemy_keeps_the_listed_parts_and_each_graph_once(tmp_path: Path) -> None:
    dataset = alchemy(write_alchemy(tmp_path))
    assert (dataset.name, dataset.task) == ("alchemy", Task("graph", 12, "l1", "mae"))
    assert len(dataset) == 4  # graphs 2, 3, 5 and 7
    assert {part: graphs.tolist() for part, graphs in dataset.splits.items()} == {
        "train": [3, 0, 3, 2],
        "validation": [0, 1],
        "test": [2],
    }
    assert (dataset.in_channels, dataset.edge_channels) == ((6,), (4,))
    assert dataset.x is not None
    assert dataset.x[:, 0].tolist() == [4, 5, 0, 1, 4, 5, 2, 3]
    whole = np.arange(8.0) ** 2
    standardised = (whole - whole.mean()) / whole.std(ddof=1)
    np.testing.assert_allclose(dataset.y, np.tile(standardised[[2, 3, 5, 7], None], 12))


def test_alchemy_names_a_wrong_or_missing_index(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"val_al_10.index must have graph numbers in 0..7, but it has 8$"):
        alchemy(write_alchemy(tmp_path, validation="1,8"))
    with pytest.raises(ValueError, match=r"^test_al_10.index, line 1: 'x' is not an integer$"):
        alchemy(write_alchemy(tmp_path, test="x"))
    (tmp_path / "train_al_10.index").unlink()
    with pytest.raises(FileNotFoundError, match=r"train_al_10.index"):
        alchemy(tmp_path)
