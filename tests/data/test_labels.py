"""Which column is the target, which labels are classes, and that nothing is chosen without a word."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data.convert import Converted, convert
from pfgnn.data.labels import Column
from pfgnn.data.task import Task

MOLECULES = ["CCO", "CC", "CCC", "CN", "CO", "C"]


def table(tmp_path: Path, **columns: list[Any]) -> Path:
    """A CSV file of six molecules."""
    path = tmp_path / "own.csv"
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def converted(tmp_path: Path, options: Any = None, /, **columns: list[Any]) -> Converted:
    pytest.importorskip("rdkit")
    return convert(table(tmp_path, smiles=MOLECULES, **columns), **(options or {}))


@pytest.mark.parametrize(
    "identifier",
    [
        {"id": [7, 3, 9, 1, 4, 2]},
        {"mol_id": [7, 3, 9, 1, 4, 2]},
        {"CompoundID": list("abcdef")},
        {"Unnamed: 0": [0.5, 1, 2, 3, 4, 5]},
        {"": [0, 1, 2, 3, 4, 5]},
        {"Name": ["a", "a", "a", "b", "b", "b"]},
        {"entry": [0, 1, 2, 3, 4, 5]},
        {"entry": [1, 2, 3, 4, 5, 6]},
        {"compound": ["ethanol", "ethane", "propane", "methylamine", "methanol", "methane"]},
        {"source": ["x"] * 6},
        {"remarks": [""] * 6},
    ],
)
def test_a_column_that_names_the_rows_is_no_target(tmp_path: Path, identifier: dict[str, list[Any]]) -> None:
    y = [0.5, 1, 2, 3.5, 4, 5]
    dataset = converted(tmp_path, **identifier, y=y).dataset
    assert dataset.y[:, 0].tolist() == y
    assert dataset.task == Task("graph", 1, "l1", "mae", ("y",))
    [name] = identifier
    assert dataset.about["target column"].startswith(f"'y', the only column that can be one; '{name}' ")


@pytest.mark.parametrize("name", ["valid", "acid", "pid_activity", "pKa", "snowy", "solubility", "grid", "casual"])
def test_names_that_only_end_like_an_identifier_can_be_targets(name: str) -> None:
    column = Column()
    for cell in ("0.5", "1", "2", "3.5", "4", "5"):
        column.add(cell)
    assert column.why_no_target(name) == ""


def test_several_columns_must_be_chosen_from(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"id": list(range(6)), "a": [0.5, 1, 2, 3, 4, 5], "b": [1, 0, 1, 0, 1, 0]}
    with pytest.raises(ValueError, match=r"own.csv must have one column that can be .*, but it has 2: a, b; choose"):
        converted(tmp_path, **columns)
    both = converted(tmp_path, {"targets": ["b", "a"]}, **columns).dataset
    assert both.task.targets == ("b", "a")
    assert both.about["target column"] == "b, a, as you chose"


def test_if_no_column_can_be_the_target_each_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"own.csv must have .*, but 'id' is named like .*, 'n' counts the rows; choose"
    ):
        converted(tmp_path, id=list("abcdef"), n=list(range(6)))
    chosen = converted(tmp_path, {"targets": ["n"]}, id=list("abcdef"), n=list(range(6))).dataset
    assert chosen.task == Task("graph", 1, "l1", "mae", ("n",))  # the numbers of the rows are no classes either


def test_texts_are_classes_in_the_order_of_the_alphabet(tmp_path: Path) -> None:
    dataset = converted(tmp_path, toxic=["yes", "no", "no", "maybe", "no", "yes"]).dataset
    assert dataset.task == Task("graph", 3, "cross_entropy", "accuracy", ("maybe", "no", "yes"))
    assert dataset.y[:, 0].tolist() == [2, 1, 1, 0, 1, 2]
    assert dataset.about["labels"] == "3 classes, because they are texts"
    assert dataset.about["classes"] == "maybe, no, yes"


def test_a_skipped_row_leaves_no_class_behind(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = table(tmp_path, smiles=["C1", "C", "CC", "CO"], kind=["a", "b", "c", "b"])
    dataset = convert(path, on_error="skip").dataset
    assert dataset.task.targets == ("b", "c")
    assert dataset.y[:, 0].tolist() == [0, 1, 0]


def test_one_text_among_numbers_is_a_mistake_and_no_class(tmp_path: Path) -> None:
    y = [0.5, 1, "1.2x", 3, 4, 5]
    with pytest.raises(ValueError, match=r"own.csv, line 4: column 'y' must be a finite number, but it is '1.2x'"):
        converted(tmp_path, y=y)
    classes = converted(tmp_path, {"task": "classification"}, y=y).dataset
    assert classes.task.targets == ("0.5", "1", "1.2x", "3", "4", "5")


@pytest.mark.parametrize(
    ("y", "task", "targets"),
    [
        ([0, 1, 1, 0, 1, 0], Task("graph", 2, "cross_entropy", "accuracy", ("y",)), None),
        ([0, 1, 1, 0, 1, 0], Task("graph", 1, "l1", "mae", ("y",)), "regression"),
        ([3, 1, 2, 0, 5, 4], Task("graph", 1, "l1", "mae", ("y",)), None),
        ([-1, 1, 1, -1, 1, 1], Task("graph", 2, "cross_entropy", "accuracy", ("-1", "1")), "classification"),
        ([0, 0, 0, 0, 0, 0], Task("graph", 1, "l1", "mae", ("y",)), None),
    ],
)
def test_integers_are_classes_or_numbers(tmp_path: Path, y: list[int], task: Task, targets: str | None) -> None:
    dataset = converted(tmp_path, {"task": targets}, y=y).dataset
    assert dataset.task == task
    if task.outputs == 1:
        assert dataset.about["labels"] == "numbers"
        assert dataset.y[:, 0].tolist() == y


def test_several_columns_of_0_and_1_are_labels(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {"a": [0, 1, 1, 0, 1, 0], "b": [1, "", 0, 0, 1, ""]}
    both = {"targets": ["a", "b"]}
    dataset = converted(tmp_path, both, **columns).dataset
    assert dataset.task == Task("graph", 2, "binary_cross_entropy", "roc_auc", ("a", "b"))
    np.testing.assert_array_equal(dataset.y[:, 1], [1, np.nan, 0, 0, 1, np.nan])
    assert dataset.about["labels"].startswith("2 labels of 0 and 1 for each graph (if they are numbers, choose")
    assert converted(tmp_path, {**both, "task": "regression"}, **columns).dataset.task.loss == "l1"
    chosen = converted(tmp_path, id=list(range(6)), **columns).dataset
    assert chosen.task == dataset.task
    assert chosen.about["target column"].startswith(
        "a, b, all columns that can be one, because they hold 0 and 1 alone"
    )
    columns["b"][0] = 2
    assert converted(tmp_path, both, **columns).dataset.task.loss == "l1"
    with pytest.raises(ValueError, match=r"several targets are a classification if all of them .*, but there is 2;"):
        converted(tmp_path, {**both, "task": "classification"}, **columns)


@pytest.mark.parametrize("unknown", ["", "nan", "NaN", "NA"])
def test_an_empty_cell_is_an_unknown_label(tmp_path: Path, unknown: str) -> None:
    numbers = converted(tmp_path, y=[0.5, unknown, 2, 3, 4, 5]).dataset
    assert np.isnan(numbers.y[:, 0]).tolist() == [False, True, False, False, False, False]
    assert numbers.about["unknown labels"] == "1 of 6"
    classes = converted(tmp_path, y=[0, 1, unknown, 1, 0, 1]).dataset
    assert classes.task == Task("graph", 2, "cross_entropy", "accuracy", ("y",))
    np.testing.assert_array_equal(classes.y[:, 0], [0, 1, np.nan, 1, 0, 1])
    texts = converted(tmp_path, y=["b", "a", unknown, "a", "b", "a"]).dataset
    np.testing.assert_array_equal(texts.y[:, 0], [1, 0, np.nan, 0, 1, 0])
    with pytest.raises(ValueError, match=r"own\.csv: every target must have a label .*, but 'b' has none"):
        converted(tmp_path, {"targets": ["a", "b"]}, a=[1] * 6, b=[unknown] * 6)


@pytest.mark.parametrize(
    ("options", "y", "sentence"),
    [
        (
            {"task": "regression"},
            list("ababab"),
            "task is regression, which takes numbers, but there are texts such as",
        ),
        ({"task": "classification"}, [1] * 6, "a classification must have at least 2 classes, but all labels are '1'"),
        ({"targets": []}, [1] * 6, "targets must name at least one column of .*own.csv, but it names none"),
    ],
)
def test_labels_that_do_not_fit_the_task(tmp_path: Path, options: dict[str, Any], y: list[Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        converted(tmp_path, options, y=y)


def test_labels_of_graph6_and_smiles_may_be_texts_too(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("yes\nno\n\nyes\n")
    (tmp_path / "own.g6").write_text("A_\nA?\nA_\nA_\n")
    dataset = convert(tmp_path / "own.g6", labels=tmp_path / "labels.txt").dataset
    assert dataset.task.targets == ("no", "yes")
    np.testing.assert_array_equal(dataset.y[:, 0], [1, 0, np.nan, 1])
    pytest.importorskip("rdkit")
    (tmp_path / "own.smi").write_text("C methane\nCC\nCCC\nCCO ethanol\n")
    done = convert(tmp_path / "own.smi", labels=tmp_path / "labels.txt")
    assert done.smiles == ["C", "CC", "CCC", "CCO"]
    np.testing.assert_array_equal(done.dataset.y, dataset.y)
    with pytest.raises(ValueError, match=r"own.smi has no targets of its own, so labels .* \(--labels FILE\)"):
        convert(tmp_path / "own.smi")


def test_null_is_an_unknown_label_in_json(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(
        '{"num_nodes": 1, "edges": [], "y": [1, null]}\n{"num_nodes": 1, "edges": [], "y": [2, 3]}'
    )
    np.testing.assert_array_equal(convert(tmp_path / "own.jsonl").dataset.y, [[1, np.nan], [2, 3]])


def test_decimal_commas(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "own.csv"
    path.write_text("nr;smiles;y\n1;CCO;1,5\n2;CC;None\n3;C;-2,125\n4;CN;#N/A\n5;CS;3\n6;CO;,5\n")
    dataset = convert(path).dataset
    np.testing.assert_array_equal(dataset.y[:, 0], [1.5, np.nan, -2.125, np.nan, 3, 0.5])
    assert dataset.task == Task("graph", 1, "l1", "mae", ("y",))
    assert dataset.about["decimal commas"] == ",5 is read as .5"


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["1,5", "2.5", "3"], "must all have decimal points, or all have commas, but there are '1,5' and '2.5'"),
        (["1,500", "2", "3"], "must have decimal .*, but '1,500' may be 1.500 or 1500"),
        (["1,5,0", "2", "3"], "line 2: column 'y' must be a finite number, but it is '1,5,0'"),
    ],
)
def test_commas_that_may_mean_something_else(tmp_path: Path, cells: list[str], sentence: str) -> None:
    pytest.importorskip("rdkit")
    path = tmp_path / "own.csv"
    path.write_text("smiles;y\n" + "".join(f"C;{cell}\n" for cell in cells))
    with pytest.raises(ValueError, match=sentence):
        convert(path)


def test_underscores_make_no_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 2: column 'y' must be a finite number, but it is '1_000'"):
        converted(tmp_path, y=["1_000", 2, 3, 4, 5, 6])
