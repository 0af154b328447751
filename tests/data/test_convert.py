import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data.convert import Converted, Reject, convert
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES
from pfgnn.data.task import Task
from pfgnn.graphs import Graph, circulant, csl, to_graph6, to_sparse6

CSV = "name,smiles,mu,gap\nwater,O,1.5,2\nmethanol, CO ,0.5,1\n\nammonia,N,-3,1e1\n"
JSON = {"num_nodes": 3, "edges": [[0, 1], [2, 1]], "x": [[1], [0], [2]], "edge_attr": [[0.5], [1.5]], "y": [1, 2.5]}


def write(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def csv(tmp_path: Path, text: str = CSV, **options: Any) -> Converted:
    pytest.importorskip("rdkit")
    return convert(write(tmp_path, "table.csv", text), **{"targets": ["mu", "gap"], "features": "qm9", **options})


def jsonl(tmp_path: Path, *objects: object, **options: Any) -> Converted:
    text = "\n".join(json.dumps(content) for content in objects)
    return convert(write(tmp_path, "graphs.jsonl", text), **options)


def graph6(tmp_path: Path, labels: str, **options: Any) -> Converted:
    graphs = [to_graph6(csl(8, 3)), ":" + to_sparse6(circulant(5, [1]))[1:], to_graph6(circulant(6, [2]))]
    path = write(tmp_path, "graphs.g6", ">>graph6<<" + "\n\n".join(graphs) + "\n")
    return convert(path, labels=write(tmp_path, "labels.txt", labels), **options)


def test_csv_gives_molecules_with_named_targets(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    dataset, rejects, smiles, *_ = csv(tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert (dataset.name, dataset.task) == ("table", Task("graph", 2, "l1", "mae", ("mu", "gap")))
    assert (dataset.in_channels, dataset.edge_channels) == ((5,), (5,))
    assert dataset.y.tolist() == [[1.5, 2], [0.5, 1], [-3, 10]]
    assert dataset.node_counts.tolist() == [3, 6, 4]
    methanol, expected = dataset.graph(1), FEATURES["qm9"].featurise("CO")
    assert methanol.x is not None
    assert np.array_equal(methanol.x, expected.x)
    assert methanol.edges.tolist() == expected.edge_index[:, ::2].T.tolist()
    assert (rejects, smiles) == ([], ["O", "CO", "N"])
    assert steps == [(3, 3)]


def test_csv_takes_all_other_columns_by_default_and_may_be_gzipped(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfSMILES,active\nC,1\nO,0\n"))
    dataset = convert(path, smiles_column="SMILES").dataset
    assert dataset.task == Task("graph", 2, "cross_entropy", "accuracy", ("active",))
    assert dataset.y.tolist() == [[1], [0]]
    assert dataset.in_channels == FEATURES["ogb"].node_categories


def test_csv_rejects_are_collected_by_line(tmp_path: Path) -> None:
    text = CSV + "bad,C1,1,1\nsulfur,S,1,1\nodd,C,one,1\nhuge,C,1,inf\nshort,C\ngood,C,1,1\n"
    dataset, rejects, smiles, *_ = csv(tmp_path, text, on_error="skip")
    assert (len(dataset), smiles) == (4, ["O", "CO", "N", "C"])
    assert rejects == [
        Reject(6, "smiles 'C1' is not a valid molecule"),
        Reject(7, "smiles 'S': atom type must be one of H, C, N, O, F, but it is S"),
        Reject(8, "column 'mu' must be a finite number, but it is 'one'"),
        Reject(9, "column 'gap' must be a finite number, but it is 'inf'"),
        Reject(10, "there are 2 entries, but the header has 4"),
    ]
    said = (
        r"^table.csv: 5 lines cannot be read \(--on-error skip .*: line 6: smiles 'C1' is not a valid molecule; line 7"
    )
    with pytest.raises(ValueError, match=said):
        csv(tmp_path, text)


@pytest.mark.parametrize(("values", "loss"), [((0.5, -1.5), "l1"), ((0, 1), "cross_entropy")])
def test_one_target_keeps_its_name(tmp_path: Path, values: tuple[float, float], loss: str) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    task = csv(tmp_path, f"smiles,logp\nCCO,{values[0]}\nC,{values[1]}\n", targets=["logp"]).dataset.task
    assert (task.loss, task.targets) == (loss, ("logp",))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            CSV,
            {"targets": ["homo"]},
            "has no column 'homo', but has: name, smiles, mu, gap; name a .* --target$",
        ),
        (CSV, {"targets": ["Gap"]}, r"has no column 'Gap', .*; did you mean --target gap\?$"),
        ("CCO,1.5\nCC,2\nC=O,3\n", {}, "must begin with a line of column names, but it begins with the molecule 'CCO'"),
        (CSV, {"smiles_column": "mol"}, "has no column 'mol', but has: .*, gap; name a column with --smiles-column$"),
        (CSV, {"smiles_column": "Smiles"}, r"has no column 'Smiles', .*; did you mean --smiles-column smiles\?$"),
        (
            CSV,
            {"targets": ["smiles"]},
            "--target must be another column than that of the SMILES, but both are 'smiles'$",
        ),
        ("a,b\n1,2\n", {}, "has no column 'smiles', but has: a, b; name a column with --smiles-column$"),
        ("smiles\nC\n", {"targets": None}, "must have at least one target besides column 'smiles', but it has none$"),
        ("smiles,mu,gap\n", {}, "table.csv must have at least one row below its header, but it has none$"),
        ("smiles,mu,gap\n , \n", {"targets": None}, "at least one row below its header, but it has none$"),
        ("smiles,mu,gap\nC1,0,0\n", {"on_error": "skip"}, "all lines were rejected, line 2 since smiles 'C1' is not"),
        ("", {}, "table.csv must have at least one line, but it is empty$"),
        (CSV, {"kind": "xml"}, "^kind must be one of csv, smi, graph6, jsonl, tu, but it is 'xml'$"),
        (CSV, {"features": "ecfp"}, "^features must be one of ogb, zinc, qm9, but it is 'ecfp'$"),
        (CSV, {"on_error": "ignore"}, "^on_error must be one of fail, skip, but it is 'ignore'$"),
        (CSV, {"task": "ranking"}, "^task must be one of classification, regression, but it is 'ranking'$"),
        (CSV, {"task": "classification"}, "several targets are a classification if all of them hold 0 and 1, but"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        csv(tmp_path, text, **options)


def test_processes_give_the_same_dataset_and_stop_at_the_first_reject(tmp_path: Path) -> None:
    text = "smiles,y\n" + "CCO,1\nc1ccccc1,0\n" * 600
    one, two = (csv(tmp_path, text, targets=["y"], processes=processes).dataset for processes in (1, 2))
    assert all(np.array_equal(array, two.arrays()[name]) for name, array in one.arrays().items())
    with pytest.raises(ValueError, match="line 2: smiles 'C1'"):
        csv(tmp_path, text.replace("CCO", "C1", 1), targets=["y"], processes=2)


def test_graph6_with_labels(tmp_path: Path) -> None:
    dataset = graph6(tmp_path, "0\n1\n0\n").dataset
    assert (dataset.name, dataset.task) == ("graphs", Task("graph", 2, "cross_entropy", "accuracy"))
    assert dataset.y.tolist() == [[0], [1], [0]]
    assert [dataset.graph(number) for number in range(3)] == [csl(8, 3), circulant(5, [1]), circulant(6, [2])]
    assert graph6(tmp_path, "0.5, 1\n1, 2\n0, -1").dataset.y.tolist() == [[0.5, 1], [1, 2], [0, -1]]


def test_graph6_rejects_are_collected_by_line(tmp_path: Path) -> None:
    assert graph6(tmp_path, "0\nx\n0,1", on_error="skip").rejects == [
        Reject(3, "its label in labels.txt must be a finite number, but it is 'x'"),
        Reject(5, "there must be as many labels for each graph, 1 in the first line of labels.txt, but here are 2"),
    ]
    assert graph6(tmp_path, "0,1\n0,x\n0,1", on_error="skip").rejects == [
        Reject(3, "label 2 in labels.txt must be a finite number, but it is 'x'"),
    ]
    path = write(tmp_path, "bad.g6", "A_\nA!\n")
    with pytest.raises(ValueError, match=r"^bad.g6, line 2: text has the character '!' at place 2"):
        convert(path, labels=write(tmp_path, "labels.txt", "0\n0"))


def test_graph6_needs_a_label_for_each_graph(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"labels.txt must have 3 lines, one for .* of .*graphs.g6, but it has 2$"):
        graph6(tmp_path, "0\n1\n")
    with pytest.raises(ValueError, match=r"graphs.g6 has no targets of its own, so labels .* \(--labels FILE\)"):
        convert(tmp_path / "graphs.g6")


def test_json_lines(tmp_path: Path) -> None:
    lone = {"num_nodes": 1, "edges": [], "x": [[3]], "edge_attr": [], "y": [0, 0]}
    dataset = jsonl(tmp_path, lone, JSON).dataset
    assert dataset.task == Task("graph", 2, "l1", "mae")
    assert (dataset.in_channels, dataset.edge_channels) == ((4,), 1)
    assert dataset.graph(1) == Graph.from_edges(3, [[0, 1], [1, 2]], [[1], [0], [2]], [[0.5], [1.5]])
    assert dataset.y.tolist() == [[0, 0], [1, 2.5]]
    bare = jsonl(tmp_path, {"num_nodes": 2, "edges": [[0, 1]], "y": 0.5}).dataset
    assert (bare.in_channels, bare.edge_channels, bare.y.tolist()) == (0, None, [[0.5]])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"x": [[1, 1]] * 3}, "x must have 1 columns like the graphs before, but it has 2"),
        ({"x": None}, "x must have 1 columns like the graphs before, but it has 0"),
        ({"edge_attr": None}, "edge_attr must have 1 columns like the graphs before, but it has 0"),
        ({"y": 1}, "y must have 2 columns like the graphs before, but it has 1"),
        ({"y": [1, "two"]}, "y must be a number, null or a list of them, but it is [1, 'two']"),
        ({"y": [1, float("nan")]}, "y must be finite, or null if it is unknown, but it is [1, nan]"),
        ({"x": [[1], [1, 2], [1]]}, "x must have the same number of columns in all rows, but their lengths differ"),
        ({"x": [[1]]}, "x must have one row for each of 3 nodes, but it has 1 rows"),
        ({"x": [["C"]] * 3}, "x must hold integers or floats of at most 64 bits, but it has dtype <U1"),
        ({"edges": [[0, 3], [1, 2]]}, "edges has edge (0, 3), which is out of range for 3 nodes"),
        ({"edges": [[0, 1], [1, 0]]}, "edges has the duplicate edge (0, 1), but a simple graph has each edge once"),
        ({"edge_attr": []}, "edge_attr must have one row for each of 2 edges, but it has 0 rows"),
        ({"edges": None}, "edges must have shape [m, 2], but it has []"),
        ({"num_nodes": 0}, "num_nodes is 0, but a graph has at least 1 node"),
        (
            {"z": 1},
            "the keys must be num_nodes, edges, y and, if wanted, x and edge_attr, but are: "
            "edge_attr, edges, num_nodes, x, y, z",
        ),
    ],
)
def test_json_rejects(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    dataset, rejects, *_ = jsonl(tmp_path, JSON, {**JSON, **change}, JSON, on_error="skip")
    assert len(dataset) == 2
    assert rejects == [Reject(2, reason)]


def test_lines_that_are_not_json_objects(tmp_path: Path) -> None:
    path = write(tmp_path, "graphs.jsonl", json.dumps(JSON) + "\n\n{\n[1]\n")
    assert convert(path, on_error="skip").rejects == [
        Reject(3, "this is not JSON: Expecting property name enclosed in double quotes at character 2"),
        Reject(4, "a graph must be an object of JSON, but this is [1]"),
    ]


@pytest.mark.parametrize(
    ("y", "task", "expected", "outputs"),
    [
        ([0, 1, 2], None, [0, 1, 2], 3),
        ([0, 1, 3], None, [0.0, 1.0, 3.0], 1),
        ([-1, 1, 1], "classification", [0, 1, 1], 2),
        ([0, 1, 1], "regression", [0.0, 1.0, 1.0], 1),
    ],
)
def test_classes_are_told_from_numbers(
    tmp_path: Path, y: list[int], task: str | None, expected: list[float], outputs: int
) -> None:
    dataset = jsonl(tmp_path, *({"num_nodes": 1, "edges": [], "y": value} for value in y), task=task).dataset
    assert dataset.y[:, 0].tolist() == expected
    assert dataset.task.outputs == outputs
    assert dataset.task.loss == ("l1" if outputs == 1 else "cross_entropy")


def test_a_folder_is_read_as_tu(tmp_path: Path) -> None:
    for kind, text in {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "5\n9\n"}.items():
        write(tmp_path, f"TINY_{kind}.txt", text)
    dataset, rejects, smiles, *_ = convert(tmp_path)
    assert (dataset.name, dataset.y.tolist(), rejects, smiles) == ("TINY", [[0], [1]], [], [])


def test_unreadable_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="missing"):
        convert(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        convert(tmp_path, kind="csv")
    path = write(tmp_path, "graphs.xml", "<graph/>")
    with pytest.raises(
        ValueError,
        match=r"graphs.xml must end in one of .csv, .tsv, .smi, .smiles, .g6, .s6, .jsonl, but it ends in '.xml'$",
    ):
        convert(path)
    with pytest.raises(ValueError, match=r"but it ends in '.xlsx'; a spreadsheet can be saved as CSV"):
        convert(write(tmp_path, "graphs.xlsx", ""))
    with pytest.raises(ValueError, match=r"but it ends in '.sdf'; RDKit's PandasTools can write its molecules"):
        convert(write(tmp_path, "graphs.sdf", ""))
    for name in ("table.csv", "table.csv.gz"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
        with pytest.raises(ValueError, match=r"table.csv(.gz)? must be text in UTF-8, but line 1 has the byte 0xff"):
            convert(tmp_path / name)


def test_a_converted_dataset_is_saved_and_opened(tmp_path: Path) -> None:
    dataset = jsonl(tmp_path, JSON, JSON).dataset
    dataset.save(tmp_path / "own.pfgnn")
    again = Dataset.open(tmp_path / "own.pfgnn")
    assert again.task == dataset.task
    assert again.graph(1) == dataset.graph(1)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("smiles,a,a\nCCO,1,2\n", {"targets": None}),
        ("smiles,smiles,a\nCCO,C,2\n", {"targets": ["a"]}),
        ("smiles,a\nCCO,1\n", {"targets": ["a", "a"]}),
    ],
)
def test_repeated_columns_are_refused(tmp_path: Path, text: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"each column must occur once in .*, but '.*' is repeated"):
        csv(tmp_path, text, **options)


def test_options_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"targets \(--target\) is for the kind csv, but .*\.jsonl is of the kind jsonl"
    ):
        jsonl(tmp_path, JSON, targets=["a"])
    with pytest.raises(ValueError, match=r"labels \(--labels\) is for the kind graph6 or smi, but"):
        jsonl(tmp_path, JSON, labels="labels.txt")


def test_a_line_that_breaks_the_parser_is_a_reject_like_any_other(tmp_path: Path) -> None:
    path = write(tmp_path, "graphs.jsonl", json.dumps(JSON) + "\n" + "[" * 100_000 + "\n")
    done = convert(path, on_error="skip")
    assert done.rejects == [Reject(2, "a graph must be an object of JSON, but this is nested too deeply")]
