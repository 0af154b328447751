"""What fit refuses, warns of and says before it trains, and how a stopped fit goes on."""

from pathlib import Path

import pytest
from tests.cli.test_fit import MOLECULES, QUICK, molecules, read, table
from tests.cli.test_train import Command, pfgnn
from tests.experiments.test_fit_steps import ROOK, SHRIKHANDE

from pfgnn.data import Dataset

__all__ = ["molecules", "pfgnn"]


def stopped(pfgnn: Command, monkeypatch: pytest.MonkeyPatch, *words: object) -> None:
    """Fit, and stop after the training, before the calibration."""
    from pfgnn.experiments import fit

    with monkeypatch.context() as broken:
        broken.setattr(fit, "calibrate", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        status, _, err = pfgnn("fit", *words)
    assert status == 130, err


@pytest.fixture
def two_targets(tmp_path: Path) -> Path:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    rows = [(text, len(text), 1000.0 * text.count("C")) for text in MOLECULES]
    return table(tmp_path / "two.csv", [("smiles", "length", "carbons"), *rows])


def test_a_stopped_fit_is_resumed_with_the_same_options(
    pfgnn: Command, two_targets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(pfgnn, monkeypatch, two_targets, "--target", "length", "--out", "model", *QUICK)
    table(tmp_path / "other.csv", [("smiles", "length"), ("CC", 2)])
    record = tmp_path / "model" / "record.json"
    kept = record.read_text()
    record.unlink()  # as if it was stopped in the training
    for words, sentence in (
        ([two_targets, "--target", "carbons", *QUICK], "model is a fit of length, but --target is carbons; give the"),
        ([two_targets, *QUICK], "model is a fit of length, but --target is not given;"),
        ([two_targets, "--target", "length", *QUICK[:-1]], "with --set training.epochs=4, model.width=8, but --set is"),
        ([two_targets, "--target", "length", "--seed", "3", *QUICK], "a fit with no --seed, but --seed is 3;"),
        (["other.csv", "--target", "length", *QUICK], "two.csv, but the file is other.csv; choose another --out"),
    ):
        status, _, err = pfgnn("fit", "--resume", *words, "--out", "model")
        assert (status, sentence in err) == (2, True), err
        assert len(err.splitlines()) == 1

    record.write_text(kept)
    status, out, err = pfgnn("predict", "model", two_targets, "--device", "cpu")
    assert status == 0, err
    again = f"pfgnn fit {two_targets} --out model --resume --target=length --set=training.epochs=4 --set=model.width=8"
    assert f"There are no intervals: the fit has not finished; go on with: {again}." in out

    # After the training, only options that are given are compared.
    status, _, err = pfgnn("fit", "--resume", two_targets, "--seed", "3", "--out", "model", "--no-report")
    assert (status, "a fit with no --seed, but --seed is 3" in err) == (2, True)
    status, _, err = pfgnn("fit", "--resume", two_targets, "--out", "model", "--no-report", "--device", "cpu")
    assert status == 0, err
    (tmp_path / "model" / "best.safetensors").write_bytes(b"cut")
    status, _, err = pfgnn("predict", "model", two_targets, "--device", "cpu")
    assert (
        status,
        f"train the model again with: pfgnn fit {two_targets} --out model-again --target=length" in err,
    ) == (
        2,
        True,
    )
    record.unlink()
    status, _, err = pfgnn("predict", "model", two_targets, "--device", "cpu")
    assert (status, f"its run has not finished; go on with: {again}" in err) == (2, True)


def test_each_of_several_targets_has_a_line(pfgnn: Command, two_targets: Path, tmp_path: Path) -> None:
    lines = two_targets.read_text().splitlines()
    two_targets.write_text("\n".join([*lines, "CCOC,,", "CCNC,,"]))
    targets = ["--target", "length", "--target", "carbons"]
    status, out, err = pfgnn("fit", two_targets, *targets, "--out", "model", *QUICK)
    assert status == 0, err
    assert "Warning: 2 graphs have no target and are left out." in out
    for said in ("Test of length: mean absolute error ", "Test of carbons: mean", "Interval of carbons: 90 % of the"):
        assert said in out


def test_a_target_with_gaps_does_not_take_the_intervals_of_others(pfgnn: Command, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    rows = [(text, len(text), text.count("C") if number % 3 == 0 else "") for number, text in enumerate(MOLECULES)]
    gaps = table(tmp_path / "gaps.csv", [("smiles", "length", "carbons"), *rows])
    targets = ["--target", "length", "--target", "carbons"]
    status, out, err = pfgnn("fit", gaps, *targets, "--out", "model", *QUICK)
    assert status == 0, err
    why = "1 target has no interval, because 90 % needs 9 graphs for calibration with a known value: "
    assert f"Warning: {why}carbons (" in out
    assert "Interval of length: 90 % of the" in out
    assert "Interval of carbons" not in out
    status, out, err = pfgnn("predict", "model", gaps, "--device", "cpu")
    assert status == 0, err
    assert f"But {why}predicted carbons (" in out
    for row in read(tmp_path / "predictions.csv"):
        assert float(row["predicted length, lower end of 90 % interval"]) < float(row["predicted length"])
        assert row["predicted carbons, lower end of 90 % interval"] == ""


def test_a_model_without_calibration_says_so(pfgnn: Command, molecules: Path) -> None:
    status, _, err = pfgnn(
        "fit", molecules, "--target", "length", "--out", "model", "--calibration-fraction", "0", *QUICK
    )
    assert status == 0, err
    _, out, _ = pfgnn("predict", "model", molecules, "--device", "cpu")
    assert (
        "There are no intervals: the model was fitted without graphs for calibration (--calibration-fraction)." in out
    )


def test_new_elements_are_told(pfgnn: Command, molecules: Path, tmp_path: Path) -> None:
    status, _, err = pfgnn("fit", molecules, "--target", "length", "--out", "model", *QUICK)
    assert status == 0, err
    table(tmp_path / "new.csv", [("name", "smiles"), ("salt", "[Na+].[Cl-]"), ("ethanol", "CCO"), ("u", "[U]")])
    status, out, err = pfgnn("predict", "model", "new.csv", "--device", "cpu")
    assert status == 0, err
    assert "Predicted 3 graphs" in out
    assert "Warning: 2 graphs are unlike the training data (" in out
    assert "element Na: graph 0; " in out
    salt, ethanol, uranium = (row["outside training"] for row in read(tmp_path / "predictions.csv"))
    assert salt.startswith("element Na, ")
    assert ethanol == ""
    assert uranium.startswith("element U")


def test_copies_of_a_molecule_stay_in_one_part(pfgnn: Command, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    chains = ["C" * length + end for length in range(1, 11) for end in ("O", "N", "F")]
    rows = [(text, len(text) + 0.5) for smiles in chains for text in (smiles, smiles[::-1])]
    source = table(tmp_path / "twice.csv", [("smiles", "length"), *rows])
    status, out, err = pfgnn("fit", source, "--out", "model", *QUICK)
    assert status == 0, err
    assert "in the training part too" not in out
    parts: dict[int, set[str]] = {}
    for number, row in enumerate(read(tmp_path / "model" / "parts.csv")):
        parts.setdefault(number // 2, set()).add(row["part"])
    assert all(len(of) == 1 for of in parts.values())


def test_the_folder_must_be_new(pfgnn: Command, molecules: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    status, _, err = pfgnn("fit", molecules, "--out", "mine", *QUICK)
    assert (status, "--out must be a new or an empty folder, but mine holds other files: 'notes.txt'" in err) == (
        2,
        True,
    )
    status, _, err = pfgnn("fit", molecules, "--out", "mine/notes.txt", *QUICK)
    assert (status, "mine/notes.txt must be a folder, but it is a file" in err) == (2, True)


def test_what_cannot_be_fitted_is_refused_without_a_bar(pfgnn: Command, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    source = table(tmp_path / "few.csv", [("smiles", "y"), ("C", 1.5), ("CC", 2.5), ("O", 0.5)])
    status, out, err = pfgnn("fit", source, *QUICK)
    assert (status, "at least 2 graphs to train on" in err) == (2, True)
    assert out == ""


def test_bad_lines_of_predict_are_listed(pfgnn: Command, molecules: Path, tmp_path: Path) -> None:
    status, _, err = pfgnn("fit", molecules, "--target", "length", "--out", "model", *QUICK)
    assert status == 0, err
    (tmp_path / "bad.csv").write_text("smiles\nCC\nC(C\nCCC\n" + 30 * "nope\n")
    status, _, err = pfgnn("predict", "model", "bad.csv", "--device", "cpu")
    assert status == 2
    assert "bad.csv: 31 of the lines 2 to 34 cannot be read (--on-error skip leaves out such lines): line 3: " in err
    assert err.rstrip().endswith(" more")
    status, out, err = pfgnn("predict", "model", "bad.csv", "--device", "cpu", "--on-error", "skip")
    assert status == 0, err
    assert "31 lines were rejected and have no prediction." in out
    assert "Predicted 2 graphs" in out


def test_two_marks_are_said_if_fit_chose_them(pfgnn: Command, tmp_path: Path) -> None:
    Dataset.from_graphs([ROOK, SHRIKHANDE] * 20, [0, 1] * 20).save(tmp_path / "regular.pfgnn")
    said = "look alike with one marked vertex, so each particle marks 2 (model.steps)."
    few = ["--set", "training.epochs=1", "--set", "model.particles=2", "--set", "evaluation.particles=2"]
    for chosen, words in ((True, few), (False, [*few, "--set", "model.steps=2"])):
        status, out, err = pfgnn("fit", "regular.pfgnn", "--out", f"model-{chosen}", *QUICK, *words)
        assert (status, said in out) == (0, chosen), err
