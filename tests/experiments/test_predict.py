"""Predictions of a finished run for new graphs."""

import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.experiments.prediction_samples import predict_run
from tests.experiments.run_samples import NODES, PARTS, TARGETS, packed, small
from tests.training.training_samples import CLASSES, graphs

from pfgnn.data import Dataset, Resident
from pfgnn.data.loader import Indices
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.experiments.config import EvaluationConfig, ModelConfig
from pfgnn.experiments.config_file import read_config, write_config
from pfgnn.experiments.finished_run import load_weights
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.prediction_table import Columns
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import read_record
from pfgnn.graphs import to_graph6
from pfgnn.model.rivals import Alone
from pfgnn.training.devices import open_devices
from pfgnn.training.evaluate import Draws, Forward, predict
from pfgnn.training.seeds import prediction_seed

LABELS = Task("graph", 2, "binary_cross_entropy", "roc_auc")
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CN", "CCC", "OCC=O"] * 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs by their kind; the data of each are beside it."""
    found = {}
    for name, task in {"classes": CLASSES, "nodes": NODES, "targets": TARGETS}.items():
        folder = tmp_path_factory.mktemp(name)
        config = small(packed(folder, task), {"epochs": 1, "standardise": task is TARGETS})
        run(config, folder / "run", device="cpu")
        found[name] = folder / "run"
    return found


@pytest.fixture(scope="module")
def graph6(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph6") / "new.g6"
    made = graphs(20)
    path.write_text("".join(f"{to_graph6(made.graph(number))}\n" for number in range(5)))
    return path


def test_classes_from_graph6_come_as_probabilities_with_their_standard_error(
    runs: dict[str, Path], graph6: Path
) -> None:
    found = predict_run(runs["classes"], graph6, draws=7, device="cpu")
    assert found.names == ["probability of class 0", "probability of class 1"]
    assert found.where.tolist() == [[number] for number in range(5)]
    torch.testing.assert_close(found.mean.sum(1), torch.ones(5, dtype=torch.float64))
    model = load_weights(runs["classes"], read_record(runs["classes"])).model
    data, forward = Resident(graphs(20).subset(range(5))), Forward(model, open_devices("cpu"))
    draws = [predict(forward, data, np.arange(5), Draws(prediction_seed(0), 7), number) for number in range(7)]
    each = torch.stack(draws).double().softmax(-1)
    torch.testing.assert_close(found.mean, each.mean(0))
    torch.testing.assert_close(found.error, each.std(0) / 7**0.5)
    assert (found.error > 0).all()


@pytest.mark.parametrize("kind", ["classes", "nodes"])
def test_only_graphs_with_more_paths_than_particles_are_drawn_again(
    runs: dict[str, Path], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control draws all of them again."""
    given = graphs(20).subset(range(8))
    K = int(np.median(given.node_counts))
    few = given.node_counts <= K
    assert 0 < few.sum() < 8
    trained = load_run(runs[kind], device="cpu")
    found = trained.predict(given, draws=4, particles=K)
    monkeypatch.setattr(trained, "is_exact", lambda sizes, particles: np.zeros(len(sizes), dtype=bool))
    control = trained.predict(given, draws=4, particles=K)
    rows = torch.from_numpy(np.repeat(few, given.node_counts) if kind == "nodes" else few)
    torch.testing.assert_close(found.mean, control.mean, rtol=1e-5, atol=1e-6)
    assert not found.error[rows].any()
    assert (found.error[~rows] > 0).any()
    torch.testing.assert_close(found.error[~rows], control.error[~rows], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "exact"),
    [
        ({}, [True, True, False]),
        ({"steps": 0}, [True, True, True]),
        ({"steps": 0, "sampling": "independent", "resample": "soft"}, [True, True, True]),
        ({"kind": "ppgn"}, [True, True, True]),
        ({"kind": "rni"}, [False, False, False]),
        ({"steps": 2}, [True, False, False]),
        ({"sampling": "independent"}, [False, False, False]),
        ({"individualise": "random"}, [False, False, False]),
        ({"resample": "soft"}, [False, False, False]),
    ],
)
def test_what_has_no_randomness(runs: dict[str, Path], changes: dict[str, Any], exact: list[bool]) -> None:
    trained = load_run(runs["classes"], device="cpu")
    trained.config = replace(trained.config, model=replace(trained.config.model, **changes))
    assert trained.is_exact(np.array([2, 5, 6]), 5).tolist() == exact


def test_weights_of_another_run_are_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    """They would predict something else without a word. The path of the data may differ, as after a move."""
    config = read_config(runs["classes"] / "config.yaml")
    run(replace(config, seed=config.seed + 1), tmp_path / "other", device="cpu")
    shutil.copytree(runs["classes"], tmp_path / "run")
    record = tmp_path / "run" / "record.json"
    record.write_text(record.read_text().replace(str(config.data.file), "/elsewhere/data.pfgnn"))
    load_run(tmp_path / "run", device="cpu")
    shutil.copyfile(tmp_path / "other" / "best.safetensors", tmp_path / "run" / "best.safetensors")
    with pytest.raises(
        InputError, match=r"best\.safetensors belongs to another run: config\.seed was 1 there, but is 0"
    ):
        load_run(tmp_path / "run", device="cpu")


def test_neighbouring_seeds_share_no_draw() -> None:
    drawn = [prediction_seed(seed) + number for seed in (*range(100), 2**31, 2**63 - 1) for number in range(64)]
    assert len(set(drawn)) == len(drawn)
    assert 0 <= min(drawn) <= max(drawn) < 2**63


def test_runs_of_neighbouring_seeds_draw_anew(runs: dict[str, Path], graph6: Path, tmp_path: Path) -> None:
    """Draw 1 of seed 0 must not be draw 0 of seed 1, or the means of both would be closer than they are precise."""
    shutil.copytree(runs["classes"], tmp_path / "next")
    config = read_config(tmp_path / "next" / "config.yaml")
    write_config(tmp_path / "next" / "config.yaml", replace(config, seed=config.seed + 1))  # with the same weights
    asked: list[int] = []

    def watched(
        forward: Forward, data: Resident, graphs: Indices, draws: Draws, number: int, names: Indices
    ) -> torch.Tensor:
        asked.append(draws.seed + number)
        return predict(forward, data, graphs, draws, number, names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pfgnn.experiments.predict.predict", watched)
        for run_directory in (runs["classes"], tmp_path / "next"):
            predict_run(run_directory, graph6, draws=4, device="cpu")
    assert len(set(asked)) == 8


def test_targets_come_in_their_own_units(runs: dict[str, Path]) -> None:
    data = runs["targets"].parent / "graph-l1.pfgnn"
    found = predict_run(runs["targets"], data, draws=2, device="cpu")
    assert found.names == ["predicted a", "predicted b", "predicted c"]
    assert found.mean.shape == (20, 3)
    assert ((found.mean > 70) & (found.mean < 130)).all()


def test_nodes_are_numbered_within_their_graph(runs: dict[str, Path], graph6: Path) -> None:
    for path in (graph6, runs["nodes"].parent / "node-weighted_cross_entropy.pfgnn"):
        found = predict_run(runs["nodes"], path, draws=2, device="cpu")
        counts = graphs(20, NODES).node_counts.tolist()[: 5 if path is graph6 else 20]
        assert found.where.tolist() == [[g, v] for g, n in enumerate(counts) for v in range(n)]
        assert found.mean.shape == (sum(counts), 2)


def test_more_particles_are_more_precise(tmp_path: Path, graph6: Path) -> None:
    """The weights are equal where nothing observes, so that the variance falls with K."""
    model = ModelConfig(width=8, layers=1, steps=1, particles=2, observe="none", resample="none")
    config = small(packed(tmp_path), {"epochs": 1}, model=model, evaluation=EvaluationConfig(particles=1))
    run(config, tmp_path / "run", device="cpu")
    few, many, same = (
        predict_run(tmp_path / "run", graph6, draws=16, particles=K, device="cpu") for K in (None, 64, 1)
    )
    assert torch.equal(few.mean, same.mean)
    assert many.error.mean() < few.error.mean() / 4


def test_a_model_without_draws_has_no_error(tmp_path: Path, graph6: Path) -> None:
    config = small(packed(tmp_path), {"epochs": 1}, model=ModelConfig(width=8, layers=1, steps=0))
    run(config, tmp_path / "run", device="cpu")
    assert isinstance(load_weights(tmp_path / "run", read_record(tmp_path / "run")).model, Alone)
    assert predict_run(tmp_path / "run", graph6, draws=3, device="cpu").error.max() < 1e-12


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on molecules with labels of two kinds."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    folder = tmp_path_factory.mktemp("molecules")
    parts = {"train": np.arange(10), "validation": np.arange(10, 14), "test": np.arange(14, 18)}
    y = np.stack([np.arange(18) % 2, np.arange(18) // 2 % 2], 1)
    Dataset.from_smiles(SMILES, y, "ogb", LABELS, splits=parts).save(folder / "molecules.pfgnn")
    model = ModelConfig(backbone="gine", width=8, layers=1, steps=1, particles=2)
    run(small(folder / "molecules.pfgnn", {"epochs": 1}, model=model), folder / "run", device="cpu")
    return folder / "run"


def test_molecules_from_a_table_for_a_run_with_encodings(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    parts = {"train": np.arange(10), "validation": np.arange(10, 14), "test": np.arange(14, 18)}
    made = Dataset.from_smiles(SMILES, np.arange(18.0)[:, None], "ogb", Task("graph", 1, "l1", "mae"), splits=parts)
    made.save(tmp_path / "molecules.pfgnn")
    config = small(tmp_path / "molecules.pfgnn", {"epochs": 1}, model=ModelConfig(width=8, layers=1, particles=2))
    run(replace(config, data=replace(config.data, random_walks=3)), tmp_path / "run", device="cpu")
    (tmp_path / "new.csv").write_text("smiles\n" + "\n".join(SMILES) + "\n")
    found = [predict_run(tmp_path / "run", tmp_path / name, draws=2) for name in ("new.csv", "molecules.pfgnn")]
    torch.testing.assert_close(found[0].mean, found[1].mean)


def test_molecules_from_a_table(molecules: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text('id,smiles,note\n1,"CCO","a, b"\n2,c1ccccc1,\n')
    found = predict_run(molecules, path, draws=4, device="cpu")
    assert found.carried == Columns(["id", "smiles", "note"], [["1", "CCO", "a, b"], ["2", "c1ccccc1", ""]])
    assert found.names == ["probability of target 0", "probability of target 1"]
    assert ((found.mean > 0) & (found.mean < 1)).all()
    packed_too = predict_run(molecules, molecules.parent / "molecules.pfgnn", draws=4, device="cpu")
    torch.testing.assert_close(found.mean, packed_too.mean[:2], rtol=1e-5, atol=1e-6)
    path.write_text("name\nCCO\n")
    named = predict_run(molecules, path, draws=4, smiles_column="name", device="cpu")
    torch.testing.assert_close(named.mean, found.mean[:1], rtol=1e-5, atol=1e-6)


def test_every_table_that_can_be_converted_can_be_predicted(molecules: Path, tmp_path: Path) -> None:
    text = "id; smiles\n1;CCO\n2;c1ccccc1\n"
    contents = {
        "plain.csv": text.replace("; ", ",").replace(";", ",").encode(),
        "bom.csv": f"\ufeff{text}".encode(),
        "zipped.csv.gz": gzip.compress(text.encode()),
        "bare.smi": b"CCO ethanol\nc1ccccc1\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    found = [predict_run(molecules, tmp_path / name, draws=2, device="cpu") for name in contents]
    for one in found[1:]:
        torch.testing.assert_close(one.mean, found[0].mean)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name\nethanol\n", r"new\.csv has no column 'smiles', but has: name"),
        ("", r"new\.csv must have at least one line, but it is empty"),
        ("smile\nethanol\n", r"new\.csv has no column 'smiles', .*; did you mean --smiles-column smile\?"),
        ("Smiles\nethanol\n", r"new\.csv, line 2: smiles 'ethanol' is not a valid molecule"),
        ("smiles\n", r"new\.csv must hold one molecule per line, but it holds no molecule"),
        (
            "smiles\nCCO\nC(C\n",
            r"new\.csv, line 3: smiles 'C\(C' is not a valid molecule",
        ),
        ("smiles\n" + 200_000 * "C", r"new\.csv, line 2: field larger than field limit"),
        ("id,smiles\n1,CCO\n2\n", r"new\.csv, line 3: there are 1 entries, but the header has 2"),
        ("smiles\nCCO\nCC,1\n", r"new\.csv, line 3: there are 2 entries, but the header has 1"),
        ("graph,smiles\n1,CCO\n", r"new\.csv must not have a column 'graph', for predictions have one; rename it"),
        ("smiles,probability of target 1\nC,1\n", r"must not have a column 'probability of target 1', for predictions"),
    ],
)
def test_wrong_tables_get_one_sentence(molecules: Path, tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "new.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        predict_run(molecules, tmp_path / "new.csv", device="cpu")


def test_other_features_are_refused(runs: dict[str, Path], molecules: Path, graph6: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"this model takes molecules \(SMILES\), but .*new\.g6 holds graph6"):
        predict_run(molecules, graph6, device="cpu")
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    with pytest.raises(ValueError, match="must be trained on features of molecules to predict from SMILES"):
        predict_run(runs["classes"], tmp_path / "new.csv", device="cpu")
    bare = Dataset.open(molecules.parent / "molecules.pfgnn").without_edge_features()
    bare.save(tmp_path / "bare.pfgnn")
    with pytest.raises(ValueError, match=r"bare\.pfgnn must have the edge features .* but it has none"):
        predict_run(molecules, tmp_path / "bare.pfgnn", device="cpu")


def test_edge_features_that_the_run_never_read_are_left_out(runs: dict[str, Path], tmp_path: Path) -> None:
    made = graphs(20)
    replace(made, edge_attr=np.zeros((int(made.edge_counts.sum()), 1), dtype=np.float32)).save(tmp_path / "more.pfgnn")
    made.save(tmp_path / "bare.pfgnn")
    one, other = (
        predict_run(runs["classes"], tmp_path / name, draws=2, device="cpu") for name in ("more.pfgnn", "bare.pfgnn")
    )
    torch.testing.assert_close(one.mean, other.mean)


@pytest.mark.parametrize(("trained", "other"), [("nodes", CLASSES), ("classes", NODES)])
def test_packed_data_of_another_level_are_refused(
    runs: dict[str, Path], tmp_path: Path, trained: str, other: Task
) -> None:
    replace(graphs(20, other), splits=PARTS).save(tmp_path / "other.pfgnn")
    want, came = ("node", "graph") if trained == "nodes" else ("graph", "node")
    with pytest.raises(ValueError, match=rf"other\.pfgnn must have a task at {want} level, .* it is at {came} level"):
        predict_run(runs[trained], tmp_path / "other.pfgnn", device="cpu")


def test_wrong_input_gets_one_sentence(runs: dict[str, Path], graph6: Path, tmp_path: Path) -> None:
    finished = runs["classes"]
    (tmp_path / "empty.g6").write_text("")
    with pytest.raises(ValueError, match=r"empty\.g6 must hold one graph per line, but it holds no graph"):
        predict_run(finished, tmp_path / "empty.g6", device="cpu")
    with pytest.raises(
        ValueError,
        match=r"must end in one of \.g6, \.s6, \.jsonl, \.csv, \.tsv, \.smi, \.smiles, \.pfgnn, but it ends in '\.txt'",
    ):
        predict_run(finished, tmp_path / "new.txt", device="cpu")
    with pytest.raises(FileNotFoundError):
        predict_run(finished, tmp_path / "missing.g6", device="cpu")
    with pytest.raises(ValueError, match="draws must be at least 2 for a standard error, but it is 1"):
        predict_run(finished, graph6, draws=1, device="cpu")
    with pytest.raises(ValueError, match="must hold a finished run, but no run is there"):
        predict_run(tmp_path, graph6, device="cpu")
    with pytest.raises(ValueError, match="particles must be at least 1, but it is 0"):
        predict_run(finished, graph6, particles=0, device="cpu")
