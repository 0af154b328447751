"""A run that pfgnn 0.2.0 wrote can be opened. `old_run` is never made again: it shows that old files stay readable."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from pfgnn import Graph, load_run
from pfgnn.errors import InputError
from pfgnn.files import write_json
from pfgnn.training.checkpoint_file import BEST

OLD = Path(__file__).with_name("old_run")
GRAPHS = [
    Graph.from_edges(3, [(0, 1), (1, 2)], np.array([[0], [2], [1]]), np.array([[1], [0]])),
    Graph.from_edges(
        4, [(0, 1), (1, 2), (2, 3), (3, 0)], np.array([[0], [1], [0], [1]]), np.array([[0], [1], [0], [1]])
    ),
]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "run"))


def test_an_old_run_has_its_predictions() -> None:
    want = torch.tensor(json.loads((OLD / "predictions.json").read_text()), dtype=torch.float64)
    found = load_run(OLD, "cpu").predict(GRAPHS, draws=4, seed=3).mean
    torch.testing.assert_close(found, want, rtol=1e-4, atol=0)
    assert not torch.allclose(want[0], want[1], rtol=1e-4)  # the control: the graphs differ by more than the tolerance


def test_a_newer_record_gets_a_sentence(copied: Path) -> None:
    record = json.loads((copied / "record.json").read_text())
    write_json(copied / "record.json", {**record, "format": 2, "config": "of a shape that nobody knows yet"})
    newer = (
        r"record.json must have a format of at most 1, but it has 2: a newer version of pfgnn wrote it; install that"
    )
    with pytest.raises(InputError, match=newer):
        load_run(copied)


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.5])
def test_a_format_that_is_none(copied: Path, version: object) -> None:
    record = json.loads((copied / "record.json").read_text())
    write_json(copied / "record.json", {**record, "format": version})
    with pytest.raises(InputError, match=r"record\.json must have a format of 1 to 1, but it has"):
        load_run(copied)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("pfgnn checkpoint 2", "must have a format of at most 1, but it has 2: a newer version of pfgnn wrote it"),
        ("pfgnn checkpoint x", "must be a checkpoint of pfgnn, but its header says format 'pfgnn checkpoint x'"),
        ("something else 1", "must be a checkpoint of pfgnn, but its header says format 'something else 1'"),
    ],
)
def test_weights_of_another_format(copied: Path, header: str, sentence: str) -> None:
    with safe_open(copied / BEST, framework="pt") as file:
        meta, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, copied / BEST, {**meta, "format": header})
    with pytest.raises(InputError, match=sentence):
        load_run(copied, "cpu")
