"""The trained models that come with pfgnn: their cards, and that evaluation gives their recorded results again."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.process import pfgnn as command
from tests.suite import slow

import pfgnn
from pfgnn.data import Dataset
from pfgnn.experiments.build import build_model, load_data
from pfgnn.experiments.finished_run import load_weights
from pfgnn.experiments.pretrained import CARD, pretrained_models
from pfgnn.experiments.run_directory import read_record
from pfgnn.training import checkpoint_file as files
from pfgnn.training.checkpoint_file import Checkpoint

MODELS = pretrained_models()
MOST_BYTES = 25 * 10**6  # of all models together
QUICK = ("csl", "exp")  # evaluated in a few seconds; their metric is an accuracy
FROM_FILES = ("csl", "exp")  # their folds are published


def values(results: dict[str, Any]) -> dict[str, float]:
    """The metric of each part."""
    return {part: of["value"] for part, of in results["results"].items()}


def evaluated(model: str | Path, folder: Path, *options: str) -> dict[str, float]:
    """What the command evaluate prints. It is a process of its own, where memory is kept, which is much faster."""
    done = command("evaluate", model, "--device", "cpu", "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return values(json.loads(done.stdout))


@pytest.mark.parametrize("name", [slow(name) for name in QUICK])
def test_evaluation_gives_the_recorded_accuracy(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Accuracies are shares of graphs, so they are equal on every processor unless a graph is exactly on the edge."""
    if name in FROM_FILES:
        request.getfixturevalue("data_dir")
    recorded = values(read_record(MODELS[name]))
    assert evaluated(name, tmp_path) == recorded
    # The control: the same numbers in another order have no such accuracy.
    folder = tmp_path / "mixed"
    shutil.copytree(MODELS[name], folder)
    [path] = folder.glob("*.safetensors")
    tensors, state = files.read_checkpoint(path)
    generator = torch.Generator().manual_seed(0)
    mixed = {
        key: tensor.flatten()[torch.randperm(tensor.numel(), generator=generator)].view_as(tensor)
        for key, tensor in tensors.items()
    }
    files.write_checkpoint(path, Checkpoint(mixed, state))
    found = evaluated(folder, tmp_path, "--set", "evaluation.draws=1")
    assert all(found[part] < recorded[part] - 0.2 for part in recorded)


@pytest.mark.slow
def test_a_part_of_the_test_graphs_of_connectivity() -> None:
    """A whole evaluation takes 40 seconds. All graphs were right there, so those of any part must be right."""
    trained = pfgnn.load_pretrained("connectivity", "cpu")
    assert values(read_record(MODELS["connectivity"])) == {"test": 1.0}
    dataset = load_data(trained.config.data, trained.config.model)
    graphs = dataset.subset(dataset.splits["test"][:40])
    assert isinstance(graphs, Dataset)

    def accuracy() -> float:
        [found] = trained.outputs(graphs, draws=1)
        return float((found.argmax(1).numpy() == graphs.y[:, 0]).mean())

    assert accuracy() == 1
    # The control: the first weights of a training. Half of the graphs belong to each class.
    inputs = load_weights(MODELS["connectivity"], read_record(MODELS["connectivity"])).inputs
    trained.model.load_state_dict(build_model(trained.config.model, inputs, seed=1).state_dict())
    assert accuracy() < 0.8


@pytest.mark.slow
def test_evaluation_gives_the_recorded_errors_of_zinc(data_dir: Path, tmp_path: Path) -> None:
    """The training was in TF32, which rounds the inputs of products to 10 bits. A CPU does not round them."""
    recorded = values(read_record(MODELS["zinc"]))
    assert evaluated("zinc", tmp_path) == pytest.approx(recorded, abs=5e-4)


def test_molecules_are_read_as_those_of_zinc() -> None:
    """Caffeine, and the same molecule written in another way; hexane is a control, with another value."""
    pytest.importorskip("rdkit")
    found = pfgnn.load_pretrained("zinc", "cpu").predict(
        ["CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CCCCCCCCCC"]
    )
    torch.testing.assert_close(found.mean[0], found.mean[1], rtol=1e-3, atol=1e-3)
    assert (found.mean[0] - found.mean[2]).abs() > 0.5


@pytest.mark.parametrize("name", MODELS)
def test_a_card_agrees_with_its_record(name: str) -> None:
    record, card = read_record(MODELS[name]), (MODELS[name] / CARD).read_text()
    assert re.fullmatch("[0-9a-f]{40}", record["commit"])  # a clean commit, which anybody can look up
    for part, of in record["results"].items():
        assert f"{part} {of['metric']} {of['value']:.4g}" in card
    for fact in ("| licence | MIT |", f"{record['parameters']:,}", record["commit"], record["data"]):
        assert fact in card
    model = pfgnn.load_pretrained(name, "cpu").model
    assert sum(parameter.numel() for parameter in model.parameters()) == record["parameters"]


def test_all_models_together_are_small() -> None:
    stored = [path for folder in MODELS.values() for path in folder.iterdir()]
    assert stored
    assert sum(path.stat().st_size for path in stored) <= MOST_BYTES


def test_other_sizes_than_those_of_the_training_are_told() -> None:
    with pytest.warns(UserWarning, match="smaller than all training graphs: graph 0"):
        found = pfgnn.load_pretrained("connectivity", "cpu").predict([pfgnn.graphs.circulant(6, [1])], draws=1)
    assert found.outside == ["smaller than all training graphs"]
