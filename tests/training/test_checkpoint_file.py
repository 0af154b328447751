"""Checkpoints: what is read is what was written, and nothing else is read."""

import errno
import json
import os
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tests.training.training_samples import CONFIG, trainer
from torch import nn

from pfgnn.model import GIN, PFGNN
from pfgnn.training.checkpoint_file import (
    BEST,
    FORMAT,
    LAST,
    PREVIOUS,
    Checkpoint,
    check_identity,
    keep_last,
    load_model,
    load_optimiser,
    named,
    optimiser_tensors,
    owned,
    read_checkpoint,
    write_checkpoint,
)

TENSORS = {
    "model.weight": torch.tensor([[0.1, -1.0], [float("inf"), 5e-324]], dtype=torch.float64),
    "model.half": torch.arange(6).to(torch.bfloat16).view(2, 3).T,  # not contiguous
    "steps": torch.tensor(2**60 + 1),
    "none": torch.zeros(0, 4),
}
STATE: dict[str, Any] = {"update": 12, "best": 0.1 + 0.2, "waited": None, "schedule": {"best": float("inf")}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_checkpoint(tmp_path / LAST, Checkpoint(TENSORS, STATE))
    return tmp_path / LAST


def test_what_is_read_is_what_was_written(path: Path) -> None:
    tensors, state = read_checkpoint(path)
    assert state == STATE
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_tensors_that_share_memory_are_kept_whole(tmp_path: Path) -> None:
    shared = torch.arange(4.0)
    write_checkpoint(tmp_path / LAST, Checkpoint({"one": shared, "two": shared[1:3]}, {}))
    assert read_checkpoint(tmp_path / LAST).tensors["two"].tolist() == [1, 2]


@pytest.mark.parametrize("length", [0, 4, 8, 9, 100, -1000, -100, -1])
def test_a_truncated_file_is_refused(path: Path, length: int) -> None:
    big = {**TENSORS, "big": torch.zeros(1000)}
    write_checkpoint(path, Checkpoint(big, STATE))
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"last\.safetensors must be a whole checkpoint, but it is truncated or no"):
        read_checkpoint(path)


def test_any_changed_byte_is_noticed(path: Path) -> None:
    """Or it changed nothing, such as one of the spaces that fill the header up."""
    whole = path.read_bytes()
    begin = 8 + int.from_bytes(whole[:8], "little")
    refused, sentences = 0, set()
    for place in range(len(whole)):
        for flip in (0x01, 0x0F):  # 0x0F makes another dtype of F32: I32
            path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            try:
                tensors, state = read_checkpoint(path)
            except ValueError as error:
                sentences.add(re.split("[,:]", str(error).removeprefix(f"{path} "))[0])
                refused += 1
                continue
            assert place < begin, f"byte {place} of {len(whole)}"
            assert state == STATE, f"byte {place}"
            assert tensors.keys() == TENSORS.keys()
            assert all(torch.equal(tensors[name], t) and tensors[name].dtype == t.dtype for name, t in TENSORS.items())
    assert refused > 1.9 * len(whole)
    assert sentences == {"must be a whole checkpoint", "must be a checkpoint of pfgnn", "is damaged"}


def foreign(path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, path)


def other_format(path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, path, {"format": "pt"})


def other_checksum(path: Path) -> None:
    save_file({"weight": torch.zeros(3)}, path, {"format": FORMAT, "state": "{}", "crc": "1"})


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps({"weight": 0}))


def torch_saved(path: Path) -> None:
    torch.save({"weight": torch.zeros(3)}, path)


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (foreign, "must be a checkpoint of pfgnn, but its header says format None"),
        (other_format, "must be a checkpoint of pfgnn, but its header says format 'pt'"),
        (other_checksum, "is damaged: its checksum does not fit its content"),
        (pickled, "must be a whole checkpoint, but it is truncated or no checkpoint"),
        (torch_saved, "must be a whole checkpoint, but it is truncated or no checkpoint"),
        (Path.unlink, "must be a checkpoint, but there is no such file"),
    ],
)
def test_a_foreign_file_is_refused(path: Path, write: Callable[[Path], None], sentence: str) -> None:
    write(path)
    with pytest.raises(ValueError, match=f"^{path} {sentence}"):
        read_checkpoint(path)


def test_the_last_but_one_stays_as_the_previous(tmp_path: Path) -> None:
    for number in range(3):
        keep_last(tmp_path, Checkpoint({"number": torch.tensor(number)}, {}))
    numbers = {name: int(read_checkpoint(tmp_path / name).tensors["number"]) for name in (LAST, PREVIOUS)}
    assert numbers == {LAST: 2, PREVIOUS: 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == [LAST, PREVIOUS]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK])
def test_without_hard_links_the_previous_one_is_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Such as on exFAT, on some network drives, and in some containers."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    for update in range(3):
        keep_last(tmp_path, Checkpoint({"number": torch.tensor(update)}, {}))
    numbers = {name: int(read_checkpoint(tmp_path / name).tensors["number"]) for name in (LAST, PREVIOUS)}
    assert numbers == {LAST: 2, PREVIOUS: 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == [LAST, PREVIOUS]


def test_what_a_killed_process_of_the_same_number_left_is_no_obstacle(tmp_path: Path) -> None:
    """In a container every run may have the process number 1."""
    keep_last(tmp_path, Checkpoint({"number": torch.tensor(0)}, {}))
    for stem in ("last", "previous"):
        (tmp_path / f".{stem}-{os.getpid()}.safetensors").write_bytes(b"half")
    keep_last(tmp_path, Checkpoint({"number": torch.tensor(1)}, {}))
    assert int(read_checkpoint(tmp_path / PREVIOUS).tensors["number"]) == 0
    assert int(read_checkpoint(tmp_path / LAST).tensors["number"]) == 1


def test_a_failed_write_leaves_the_last_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(target: Path, content: bytes) -> int:
        with target.open("wb") as file:
            file.write(content[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left on device") as caught:
            write_checkpoint(path, Checkpoint({}, {}))
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [LAST]


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "SGD"])
def test_an_optimiser_goes_on_where_it_was(kind: str) -> None:
    def made() -> tuple[nn.Linear, torch.optim.Optimizer]:
        torch.manual_seed(0)
        layer = nn.Linear(3, 2)
        optimiser: torch.optim.Optimizer = getattr(torch.optim, kind)(layer.parameters(), lr=0.1)
        return layer, optimiser

    def step(layer: nn.Linear, optimiser: torch.optim.Optimizer, value: float) -> None:
        optimiser.zero_grad()
        layer(torch.full((1, 3), value)).square().sum().backward()
        optimiser.step()

    layer, optimiser = made()
    step(layer, optimiser, 1.0)
    step(layer, optimiser, 3.0)
    again, later = made()
    again.load_state_dict(layer.state_dict())
    load_optimiser(later, {name: tensor.clone() for name, tensor in optimiser_tensors(optimiser).items()}, Path("it"))
    for each in ((layer, optimiser), (again, later)):
        step(*each, 2.0)
    assert torch.equal(layer.weight, again.weight)
    assert bool(optimiser_tensors(optimiser)) == (kind != "SGD")


def test_names_are_put_before_and_taken_away() -> None:
    tensors = {"a": torch.zeros(1), "model.b": torch.ones(1)}
    both = named("model", tensors) | named("other", tensors)
    assert owned("model", both).keys() == tensors.keys()


def test_a_model_of_another_shape_is_refused() -> None:
    tensors, path = nn.Linear(3, 2).state_dict(), Path("last.safetensors")
    with pytest.raises(ValueError, match=r"does not fit the model: weight has shape \[2, 3\], not \[2, 4\]"):
        load_model(nn.Linear(4, 2), tensors, path)
    with pytest.raises(ValueError, match="does not fit the model: bias is only in one of them"):
        load_model(nn.Linear(3, 2, bias=False), tensors, path)


def test_a_trainer_refuses_a_checkpoint_of_another_model_or_run(tmp_path: Path) -> None:
    trainer(tmp_path, replace(CONFIG, epochs=1)).train()
    other = PFGNN.paper(GIN(4, layers=1), 2, steps=2, particles=3)
    with pytest.raises(ValueError, match=r"best\.safetensors does not fit the model: .* has shape"):
        trainer(tmp_path, model=other).resume(tmp_path / BEST)
    with pytest.raises(ValueError, match=r"last\.safetensors belongs to another run: seed was 0 there, but is 1 here"):
        trainer(tmp_path, seed=1).resume(tmp_path / LAST)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({"config": {"model": {"width": 4}}, "data": "x"}, "config.model.width was 4 there, but is 8 here"),
        ({"config": {"model": {"width": 8}}, "data": "y"}, "data was 'y' there, but is 'x' here"),
        ({"config": {"model": {"width": 8, "old": 1}}, "data": "x"}, "config.model.old was 1 there, but is None here"),
        ({"config": {"model": None}, "data": "x"}, "config.model was None there, but is {'width': 8} here"),
    ],
)
def test_the_first_difference_of_two_runs_is_named(found: dict[str, Any], sentence: str) -> None:
    own = {"config": {"model": {"width": 8}}, "data": "x"}
    check_identity(Path("last"), json.loads(json.dumps(own)), own)
    with pytest.raises(ValueError, match=f"^last belongs to another run: {sentence}$"):
        check_identity(Path("last"), found, own)


def test_an_optimisers_state_of_other_parameters_is_refused() -> None:
    def made(*layers: nn.Module) -> torch.optim.Optimizer:
        parameters = [parameter for layer in layers for parameter in layer.parameters()]
        optimiser = torch.optim.Adam(parameters, lr=0.1)
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        optimiser.step()
        return optimiser

    small, large = nn.Linear(3, 2), nn.Linear(5, 2)
    tensors = optimiser_tensors(made(small, large))
    load_optimiser(made(small, large), tensors, Path("it"))
    for other in (made(large, small), made(small)):
        with pytest.raises(ValueError, match=r"it does not fit the optimiser: its state \d is not that of parameter"):
            load_optimiser(other, tensors, Path("it"))


def test_a_mean_that_another_machine_summed_up_is_the_same() -> None:
    check_identity(Path("last"), {"mean": 1.1205850405256195}, {"mean": 1.1205850405256197})
    with pytest.raises(
        ValueError, match=r"^last belongs to another run: mean was 1\.12 there, but is 1\.1200001 here$"
    ):
        check_identity(Path("last"), {"mean": 1.12}, {"mean": 1.1200001})
