"""A random forest as a run of a table."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import Dataset, Task, load
from pfgnn.data.load import load_smiles
from pfgnn.errors import InputError, MissingPackageError
from pfgnn.experiments.config import Config, ForestConfig
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.forest import Forest
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import read_record
from pfgnn.experiments.shipped import CONFIGS
from pfgnn.experiments.tables import TABLES

pytest.importorskip("rdkit", reason="needs the extra chem")
pytest.importorskip("sklearn", reason="needs scikit-learn")

TASK = Task("graph", 1, "binary_cross_entropy", "roc_auc")
# Half of the molecules have a nitrogen.
SMILES = [f"{'C' * n}{'N' if n % 2 else 'O'}{'C' * (n % 5)}" for n in range(1, 41)]
PARTS = {"train": np.arange(24), "validation": np.arange(24, 32), "test": np.arange(32, 40)}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The config of table 7's row with few trees. Its dataset is a small one, whose target is whether there is N."""
    y = np.array([["N" in smiles] for smiles in SMILES], dtype=np.int64)
    Dataset.from_smiles(SMILES, y, task=TASK, name="molhiv", splits=PARTS).save(tmp_path / "molhiv.pfgnn")
    (tmp_path / "molhiv").mkdir()
    write_smiles(tmp_path, SMILES)
    monkeypatch.setenv("PFGNN_DATA", str(tmp_path))
    row = next(row for row in TABLES["table7"].rows if row.name == "random-forest")
    return read_config(CONFIGS / row.config, [*row.overrides, "model.forest.trees=10"])


def write_smiles(folder: Path, smiles: list[str]) -> None:
    (folder / "molhiv" / "molhiv_smiles.csv.gz").write_text("\n".join(["smiles", *smiles]) + "\n")


def test_the_record_has_validation_and_test_of_the_seed(config: Config, tmp_path: Path) -> None:
    record = run(config, tmp_path / "run")
    assert record == read_record(tmp_path / "run") == run(config, tmp_path / "run", resume="last")
    for part in ("validation", "test"):
        assert record["results"][part]["metric"] == "roc_auc"
        assert record["results"][part]["value"] > 0.9
    assert record["packages"].keys() == {"rdkit", "scikit-learn"}
    assert record["parameters"] >= 3 * 10  # a tree has at least a node and two leaves


def test_a_forest_follows_from_its_seed() -> None:
    y = np.random.default_rng(0).integers(2, size=(40, 1))
    predictions = [Forest(ForestConfig(trees=10), TASK, seed).fit(SMILES, y).predict(SMILES) for seed in (0, 0, 1)]
    assert (predictions[0] == predictions[1]).all()
    assert (predictions[0] != predictions[2]).any()


def test_the_forest_is_trained_on_the_training_part_alone(config: Config, tmp_path: Path) -> None:
    """With the opposite targets there, the forest is wrong everywhere else."""
    data = load("molhiv")
    y = data.y.copy()
    y[PARTS["train"]] = 1 - y[PARTS["train"]]
    replace(data, y=y).save(tmp_path / "molhiv.pfgnn")
    results = run(config, tmp_path / "run")["results"]
    assert max(results[part]["value"] for part in ("validation", "test")) < 0.1


def test_a_forest_keeps_no_weights(config: Config, tmp_path: Path) -> None:
    run(config, tmp_path / "run")
    with pytest.raises(InputError, match="must be a trained network, but it is a random forest, which keeps no weight"):
        load_run(tmp_path / "run", "cpu")


def test_what_a_forest_cannot_use_is_refused(config: Config, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dataset, backbone, start and weights must be None with model\.kind forest"):
        run(config, tmp_path / "run", weights=np.ones(40))
    assert not (tmp_path / "run").exists()


def test_smiles_that_do_not_fit_are_named(config: Config, tmp_path: Path) -> None:
    write_smiles(tmp_path, SMILES[1:])
    with pytest.raises(InputError, match="must have a row for each of the 40 graphs of molhiv, but it has 39"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run" / "config.yaml").exists()
    (tmp_path / "molhiv" / "molhiv_smiles.csv.gz").unlink()
    with pytest.raises(InputError, match=r"set PFGNN_DATA=FOLDER, with molhiv_smiles\.csv\.gz in FOLDER/molhiv"):
        load_smiles("molhiv", 40)
    with pytest.raises(InputError, match="must be one with SMILES, molhiv, but it is 'zinc'"):
        load_smiles("zinc", 40)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.ensemble", None)
    with pytest.raises(MissingPackageError, match=re.escape("install it with: pip install pfgnn[sklearn]")):
        Forest(ForestConfig(), TASK, 0)


def test_a_molecule_with_odd_valences_has_a_fingerprint() -> None:
    """RDKit refuses some metal complexes of molhiv. As a control, what is no molecule at all is refused here too."""
    odd = "O=C1O[Al]23(OC1=O)(OC(=O)C(=O)O2)OC(=O)C(=O)O3"
    forest = Forest(ForestConfig(trees=5), TASK, 0).fit(["CCO", odd] * 4, np.array([[0], [1]] * 4))
    assert forest.predict([odd]) > 0 > forest.predict(["CCO"])
    with pytest.raises(InputError, match="is not a valid molecule"):
        forest.predict(["CC("])
