"""The command fit as a user meets it, from a table to predictions with intervals."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.test_train import Command, pfgnn
from tests.estimators.samples import GRAPHS, KINDS, SIZES

from pfgnn.data import Dataset
from pfgnn.graphs import to_graph6

__all__ = ["pfgnn"]

QUICK = ["--device", "cpu", "--no-report", *(f"--set={setting}" for setting in ("training.epochs=4", "model.width=8"))]
MOLECULES = ["C" * length + end for length in range(1, 11) for end in ("O", "N", "Cl", "F", "C(=O)O", "c1ccccc1")]


def table(path: Path, rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture
def molecules(tmp_path: Path) -> Path:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    rows = [(f"m{number}", text, len(text)) for number, text in enumerate(MOLECULES)]
    return table(tmp_path / "molecules.csv", [("id", "structure", "length"), *rows])


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_from_a_table_to_intervals(pfgnn: Command, molecules: Path, tmp_path: Path) -> None:
    status, out, err = pfgnn("fit", molecules, "--target", "length", "--out", "model", *QUICK)
    assert status == 0, err
    assert "SMILES column: structure." in out
    assert "Graphs: 30 train, 10 validation, 10 calibration, 10 test." in out
    assert "Test: mean absolute error " in out
    assert "Interval: 90 % of the true values lie within ± " in out
    assert "log_mae" not in out
    tested = read(tmp_path / "model" / "test_predictions.csv")
    assert len(tested) == 10
    assert all(float(row["true length"]) == len(row["smiles"]) for row in tested)
    for row in tested:  # the line of the file, and its other columns
        assert molecules.read_text().splitlines()[int(row["line"]) - 1].startswith(f"{row['id']},{row['smiles']},")
    record = json.loads((tmp_path / "model" / "record.json").read_text())
    mae = np.mean([abs(float(row["true length"]) - float(row["predicted length"])) for row in tested])
    assert record["results"]["test"]["value"] == pytest.approx(mae, rel=1e-4)
    parts = read(tmp_path / "model" / "parts.csv")
    assert sorted(int(row["graph"]) for row in parts if row["part"] == "test") == [int(row["graph"]) for row in tested]

    own = [path.name for path in (tmp_path / "model").iterdir() if path.is_file()]
    assert "report.html" in own or "parts.csv" in own
    for name in own:  # none of them is replaced
        before = (tmp_path / "model" / name).read_bytes()
        status, _, err = pfgnn("predict", "model", molecules, "--out", f"model/{name}")
        wanted = f"pfgnn: model/{name} must not be a file of the run or model in model; choose another name\n"
        assert (status, err) == (2, wanted)
        assert (tmp_path / "model" / name).read_bytes() == before
    status, _, err = pfgnn("explain", "model", "CCO", "--out", "model/parts.csv")
    assert (status, err.startswith("pfgnn: model/parts.csv must not be")) == (2, True)
    status, out, err = pfgnn("predict", "model", molecules, "--device", "cpu", "--out", "new.csv")
    assert status == 0, err
    predicted = read(tmp_path / "new.csv")
    assert [row["structure"] for row in predicted] == MOLECULES
    for row in predicted:
        low, high = (float(row[f"predicted length, {end} end of 90 % interval"]) for end in ("lower", "upper"))
        assert low < float(row["predicted length"]) < high
    (tmp_path / "large.smi").write_text("C" * 40 + "\n" + "C" * 41 + "\n")
    status, out, err = pfgnn("predict", "model", "large.smi", "--coverage", "0.5", "--device", "cpu")
    assert "2 graphs are unlike the training data (larger than all training molecules: 2 graphs, such as graph 0" in out
    assert "50 % interval" in (tmp_path / "predictions.csv").read_text()
    status, out, err = pfgnn("predict", "model", "large.smi", "--coverage", "0.99", "--device", "cpu")
    assert (status, "needs at least 99 graphs for calibration, but there are 10" in err) == (2, True)


def test_a_split_by_scaffold(pfgnn: Command, molecules: Path, tmp_path: Path) -> None:
    rings = [
        "c1ccccc1",
        "C1CCCCC1",
        "c1ccncc1",
        "C1CC1",
        "C1CCC1",
        "c1ccoc1",
        "C1CCNCC1",
        "C1CCOCC1",
        "c1ccsc1",
        "C1CO1",
    ]
    rows = [(tail + ring, len(tail)) for ring in rings for tail in ("C", "CC", "CCC", "CCCC", "N", "O")]
    source = table(tmp_path / "rings.csv", [("SMILES", "tail"), *rows])
    status, _, err = pfgnn("fit", source, "--split", "scaffold", "--task", "regression", *QUICK)
    assert status == 0, err
    from pfgnn.data.molecules import scaffold

    parts: dict[str, set[str]] = {}
    for row in read(tmp_path / "rings-model" / "parts.csv"):
        parts.setdefault(row["part"], set()).add(scaffold(row["smiles"]))
    held = parts["validation"] | parts["calibration"]
    assert not parts["train"] & held
    assert not parts["test"] & (held | parts["train"])


@pytest.mark.slow
def test_a_column_of_parts(pfgnn: Command, tmp_path: Path) -> None:
    """Without validation, this part is drawn from the training part, as the calibration part is."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    part = ["test" if number % 5 == 0 else "train" for number in range(len(MOLECULES))]
    rows = [(text, len(text), of) for text, of in zip(MOLECULES, part, strict=True)]
    path = table(tmp_path / "molecules.csv", [("smiles", "length", "part"), *rows])
    status, out, err = pfgnn("fit", path, "--split-column", "part", "--out", "model", *QUICK)
    assert status == 0, err
    assert "Parts: 48 train, 12 test, as column 'part' names them." in out
    assert "Graphs: 30 train, 9 validation, 9 calibration, 12 test." in out
    found = read(tmp_path / "model" / "parts.csv")
    assert all((row["part"] == "test") == (row["input part"] == "test") for row in found)
    status, _, err = pfgnn("fit", path, "--out", "model", "--resume", *QUICK)
    assert status == 0, err  # the training is done, so the option need not be given again
    for options, said in (
        (["--split", "scaffold"], "--split must not be given with --split-column, which names the parts"),
        (["--test-fraction", "0.2"], "--test-fraction must not be given with --split-column"),
        (["--split-column", "length"], "--target must be another column than that of the parts"),
    ):
        status, _, err = pfgnn("fit", path, "--target", "length", "--out", "no", "--split-column", "part", *options)
        assert (status, said in err) == (2, True), err
    path.write_text(path.read_text().replace(",test", ",val"))
    status, _, err = pfgnn("fit", path, "--split-column", "part", "--out", "no", *QUICK)
    assert "must name test graphs, but it names only train, validation" in err
    assert not (tmp_path / "no").exists()


def test_lines_that_rdkit_refuses(pfgnn: Command, molecules: Path, tmp_path: Path) -> None:
    lines = molecules.read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:5], "bad,C(C,3", "empty,,2", *lines[5:]]))
    status, _, err = pfgnn("fit", "bad.csv", "--target", "length", *QUICK)
    said = "bad.csv: 2 lines cannot be read (--on-error skip leaves out such lines): line 6: smiles 'C(C' is not"
    assert (status, said in err) == (2, True)
    assert not (tmp_path / "bad-model").exists()
    status, out, err = pfgnn("fit", "bad.csv", "--target", "length", "--on-error", "skip", *QUICK)
    assert status == 0, err
    assert "line 6: smiles 'C(C' is not a valid molecule" in out
    assert "60 graphs; 2 lines rejected." in out
    assert (tmp_path / "bad-model" / "rejects.txt").read_text().startswith("line 6: smiles 'C(C' is not a valid")


@pytest.mark.slow
def test_other_files(pfgnn: Command, tmp_path: Path) -> None:
    (tmp_path / "graphs.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in GRAPHS))
    (tmp_path / "labels.txt").write_text("".join(f"{kind}\n" for kind in KINDS))
    status, out, err = pfgnn("fit", "graphs.g6", "--labels", "labels.txt", *QUICK)
    assert status == 0, err
    assert "2 classes, because they are texts" in out
    assert "(95 % interval for all graphs like these: " in out
    assert {row["true class"] for row in read(tmp_path / "graphs-model" / "test_predictions.csv")} == {"path", "ring"}
    status, out, err = pfgnn("predict", "graphs-model", "graphs.g6", "--device", "cpu")
    assert status == 0, err
    assert "But path (5 graphs) and ring (5 graphs) count together, because a class needs 9 graphs" in " ".join(
        out.split()
    )
    status, out, err = pfgnn("predict", "graphs-model", "graphs.g6", "--coverage", "0.8", "--device", "cpu")
    assert "The sets hold the true class of 80 % of the graphs of each class, if they are like" in " ".join(out.split())
    status, out, err = pfgnn("predict", "graphs-model", "graphs.g6", "--device", "cpu")
    rows = read(tmp_path / "predictions.csv")
    assert list(rows[0])[1:4:2] == ["predicted class", "probability of path"]
    for row in rows:
        likeliest = max(("path", "ring"), key=lambda kind: float(row[f"probability of {kind}"]))
        assert row["predicted class"] == likeliest
        assert set(row["classes at 90 %"].split("; ")) <= {"(none)", "path", "ring"}

    lines: list[dict[str, Any]] = [
        {"num_nodes": 2, "edges": [[0, 1]], "edge_attr": [[kind]], "x": [[kind], [1]]} for kind in (0, 1)
    ]
    labelled = [{**line, "y": line["x"][0][0] + 0.5 * place} for place, line in enumerate(30 * lines)]
    (tmp_path / "own.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in labelled))
    status, _, err = pfgnn("fit", "own.jsonl", *QUICK)
    assert status == 0, err
    single = {"num_nodes": 1, "edges": [], "x": [[1]]}
    (tmp_path / "new.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (*lines, single)))
    status, _, err = pfgnn("predict", "own-model", "new.jsonl", "--device", "cpu")
    assert status == 0, err
    assert len(read(tmp_path / "predictions.csv")) == 3

    given = {"train": np.arange(40), "validation": np.arange(40, 50), "test": np.arange(50, 60)}
    Dataset.from_graphs(GRAPHS, SIZES, splits=given).save(tmp_path / "packed.pfgnn")
    status, out, err = pfgnn("fit", "packed.pfgnn", *QUICK)
    assert status == 0, err
    tested = read(tmp_path / "packed-model" / "test_predictions.csv")
    assert [int(row["graph"]) for row in tested] == list(range(50, 60))
    (tmp_path / "packed-model").rename(tmp_path / "moved")
    status, out, err = pfgnn("evaluate", "moved", "--device", "cpu")
    assert "Compared with the record: identical." in out, err
    shutil.copytree(tmp_path / "moved", tmp_path / "packed-model")  # where its data were; they change there
    Dataset.from_graphs(GRAPHS[::-1], SIZES[::-1], splits=given).save(tmp_path / "packed-model" / "data.pfgnn")
    status, out, err = pfgnn("evaluate", "moved", "--device", "cpu")
    assert "Compared with the record: identical." in out, err
    status, out, err = pfgnn("evaluate", "packed-model", "--device", "cpu")
    assert (status, "data.pfgnn must be the data of the run" in err) == (2, True)


def test_a_stopped_fit_goes_on(pfgnn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfgnn.experiments import fit

    Dataset.from_graphs(GRAPHS, SIZES).save(tmp_path / "packed.pfgnn")
    with monkeypatch.context() as broken:
        broken.setattr(fit, "calibrate", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        status, _, err = pfgnn("fit", "packed.pfgnn", *QUICK)
    assert status == 130
    assert "Go on with:" in err
    status, _, err = pfgnn("fit", "packed.pfgnn", *QUICK)
    assert (status, "must be a new directory, but it holds a run" in err) == (2, True)
    status, _, err = pfgnn("fit", "packed.pfgnn", "--resume", *QUICK)
    assert status == 0, err
    assert (tmp_path / "packed-model" / "calibration.json").exists()
    facts = tmp_path / "packed-model" / "fit.json"
    facts.write_text(facts.read_text().replace('"format": 1', '"format": 99'))
    status, _, err = pfgnn("predict", "packed-model", "packed.pfgnn")
    assert (
        status,
        "fit.json must have a format of at most 1, but it has 99: a newer version of pfgnn wrote it" in err,
    ) == (2, True)


GOOD = "smiles,y\n" + 9 * "C,1.5\nCC,2.5\n"
NAMES = "smiles,y\n" + "".join(f"{'C' * length},n{length}\n" for length in range(1, 30))
WRONG: list[tuple[str, list[str], str]] = [
    ("a,b\n1,2\n", [], "has no column 'smiles', but has: a, b"),
    ("smiles,y\n" + 9 * "C,1e160\nCC,9e160\n", [], "less than 1e+100, but they differ by 8e+160; multiply them by"),
    ("smiles,y\n" + 9 * "C,1e-320\nCC,3e-320\n", [], "differ by more than 1e-100 and less than 1e+100, but they"),
    ("smiles,y\n" + 9 * "C,-1e308\nCC,1e308\n", [], "less than 1e+100, but they differ by inf; multiply them by"),
    ("smiles,y\n" + 6 * "C,5\n", [], "at least 2 different values, but every graph has the value 5"),
    ("smiles,y\nC,1.5\nCC,2.5\nO,0.5\n", [], "there must be at least 2 graphs to train on, but of 3 graphs"),
    ("smiles,y\nC,on\nO,on\n", ["--task=classification"], "must have at least 2 classes, but all labels are 'on'"),
    ("smiles,y\nC,on\nO,off\n", ["--task=regression"], "which takes numbers, but there are texts such as"),
    (NAMES, ["--target=y"], "29 of its 29 texts differ, so they look like names; if they are classes, choose the task"),
    (GOOD, ["--target=smiles"], "--target must be another column than that of the SMILES, but both are 'smiles'"),
    ("smiles,y,z\nC,1,2\nCC,2,3\n", [], "must have one column that can be the target, but it has 2: y, z"),
    (GOOD, ["--split=time"], "--split must be one of random, scaffold, but it is 'time'"),
    (GOOD, ["--on-error=ignore"], "--on-error must be one of fail, skip, but it is 'ignore'"),
    (GOOD, ["--set=model.widht=3"], "model.widht is not a setting"),
    (GOOD, ["--set=training.epochs=x"], "training.epochs must be an integer or null, but it is 'x'"),
    (GOOD, ["--set=training=3"], "training must be a mapping of names to values, but it is 3"),
    (GOOD, ["--set=model.towers=3", "--set=model.backbone=pna"], "towers must divide"),
    (GOOD, ["--test-fraction=1.5"], "--test-fraction must be at least 0 and below 1"),
]


@pytest.mark.parametrize(("text", "options", "sentence"), WRONG)
def test_wrong_input_leaves_nothing(
    pfgnn: Command, tmp_path: Path, text: str, options: list[str], sentence: str
) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    (tmp_path / "wrong.csv").write_text(text)
    status, _, err = pfgnn("fit", "wrong.csv", *options)
    assert status == 2
    assert sentence in " ".join(err.split()), err
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.csv"]
