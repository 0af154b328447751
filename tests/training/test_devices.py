"""Two processes do together what one does alone."""

import atexit
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from tests.training import two_processes
from tests.training.training_samples import lines, weights
from tests.training.two_processes import BATCHES, PARTS, SHAPES
from torch import Tensor

from pfgnn.errors import LostProcessError
from pfgnn.training import checkpoint_file as checkpoint
from pfgnn.training import devices
from pfgnn.training.checkpoint_file import BEST, LAST, PREVIOUS
from pfgnn.training.devices import AnyDevice, open_devices, sum_over_devices

ROOT = Path(__file__).parents[2]


class Found(NamedTuple):
    """What came out: tensors and record of each process of two, and of one alone."""

    both: list[dict[str, Tensor]]
    records: list[dict[str, Any]]
    alone: dict[str, Tensor]
    record: dict[str, Any]
    folder: Path


def start(rank: int, port: int, device: str, folder: Path) -> subprocess.Popen[str]:
    """One of two processes, in the environment that torchrun sets on one node. With one GPU, they share it."""
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0}
    names |= {"MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "test"}
    environment |= {name: str(value) for name, value in names.items()}
    command = [sys.executable, "-m", "tests.training.two_processes", device, str(folder)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


@contextmanager
def two(device: str, folder: Path) -> Iterator[None]:
    """Two processes work while this block runs. At its end both are done."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [start(rank, port, device, folder) for rank in range(2)]
    try:
        yield
        for process in started:
            message = process.communicate(timeout=240)[1]
            assert process.returncode == 0, message
    finally:
        for process in started:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder, alone = tmp_path_factory.mktemp("two"), tmp_path_factory.mktemp("one")
    two_processes.lost(folder / "begun", open_devices("cpu"))  # which the two go on with
    with two("cpu", folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "write_checkpoint", checkpoint.write_checkpoint)  # which the work changes
        two_processes.work(alone)
    records = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    tensors = [load_file(folder / f"{rank}.safetensors") for rank in range(2)]
    return Found(
        tensors, records, load_file(alone / "0.safetensors"), json.loads((alone / "0.json").read_text()), folder
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", BATCHES)
def test_an_update_is_that_of_one_process(found: Found, case: str) -> None:
    names = [name for name in found.alone if name.startswith(f"{case}/")]
    largest = max(float(found.alone[name].abs().max()) for name in names)
    assert largest > 1e-4
    for name in names:
        for process in found.both:
            torch.testing.assert_close(process[name], found.alone[name], rtol=1e-5, atol=1e-9 * largest, msg=name)


def assert_same_updates(both: list[dict[str, Tensor]], alone: dict[str, Tensor], case: str) -> None:
    """The gradients of all updates agree; of the first one, if the weights change, and then the last weights do."""
    want = alone[f"{case}/gradients"][: 1 if SHAPES[case].rate else None]
    largest = float(want.abs().max())
    assert largest > 1e-4
    for process in both:
        assert len(process[f"{case}/gradients"]) == 6
        gradients = process[f"{case}/gradients"][: len(want)]
        torch.testing.assert_close(gradients, want, rtol=1e-4, atol=1e-4 * largest)
        apart = (process[f"{case}/weights"] - alone[f"{case}/weights"]).abs() > 1e-2 * SHAPES[case].rate
        assert float(apart.double().mean()) < 0.01  # Adam may make a whole step of nothing but rounding
    assert torch.equal(both[0][f"{case}/weights"], both[1][f"{case}/weights"])


@pytest.mark.slow
@pytest.mark.parametrize("case", SHAPES)
def test_updates_with_adam_are_those_of_one_process(found: Found, case: str) -> None:
    assert_same_updates(found.both, found.alone, case)


@pytest.mark.slow
@pytest.mark.cuda
def test_updates_replayed_on_a_gpu_are_those_of_one_process(tmp_path: Path) -> None:
    """Forward and backward pass, then clipping and optimiser; a policy loss needs a sum in between too."""
    folder, alone = tmp_path / "two", tmp_path / "one"
    for made in (folder, alone):
        made.mkdir()
    with two("cuda", folder):
        want = two_processes.on_one_shape(alone, open_devices("cuda"))
    both = [load_file(folder / f"{rank}.safetensors") for rank in range(2)]
    for case, shape in SHAPES.items():
        assert [process[f"{case}/captured"].tolist() for process in both] == [[3 if shape.gamma else 2]] * 2
        assert_same_updates(both, want, case)


@pytest.mark.slow
def test_a_run_that_lost_a_process_goes_on_with_another_number_of_devices(found: Found) -> None:
    """From two to one, and from one to two: up to rounding as if nothing had happened."""
    want = {name.removeprefix("gone on/"): t for name, t in found.alone.items() if name.startswith("gone on/")}
    assert checkpoint.read_checkpoint(found.folder / "lost" / LAST).state["run"]["update"] == 5
    fewer = two_processes.gone_on(found.folder / "lost", open_devices("cpu"))
    assert fewer.state.update == 8
    ends = [weights(fewer), *({name: process[f"gone on/{name}"] for name in want} for process in found.both)]
    for end in ends:
        for name, tensor in want.items():
            torch.testing.assert_close(end[name], tensor, rtol=1e-7, atol=1e-9, msg=name)
    assert [line["update"] for line in lines(found.folder / "lost")] == [4, 8]


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("level", ["graph", "node"])
def test_every_graph_is_predicted_once_and_in_order(found: Found, level: str, part: str) -> None:
    want = found.alone[f"{level}-{part}"]
    for process in found.both:
        torch.testing.assert_close(process[f"{level}-{part}"], want)
    assert len(want.unique(dim=0)) > 1 or part == "one"


@pytest.mark.slow
def test_means_and_rows_over_devices(found: Found) -> None:
    for process in found.both:
        assert process["mean"].tolist() == [1.5]
        assert process["rows"].tolist() == [[1.0, 1.0, 1.0]] * 2
    assert (found.alone["mean"].tolist(), len(found.alone["rows"])) == ([1.0], 0)


@pytest.mark.slow
def test_all_processes_stop_together_whoever_gets_the_signal(found: Found) -> None:
    assert [int(process["stopped"]) for process in (*found.both, found.alone)] == [3, 3, 2]
    (folder,) = (folder for folder in found.folder.glob("stopped-*") if (folder / LAST).exists())
    assert folder.name == "stopped-2-0"
    assert checkpoint.read_checkpoint(folder / LAST).state["run"]["update"] == 3


@pytest.mark.slow
def test_buffers_are_the_same_everywhere(found: Found) -> None:
    """Else each process would validate a model of its own."""
    one, other = found.both
    names = [name for name in one if name.startswith("normed/")]
    assert "normed/refine.0.backbone.norms.0.mean" in names
    assert [name for name in names if not torch.equal(one[name], other[name])] == []


@pytest.mark.slow
def test_a_run_is_that_of_one_process(found: Found) -> None:
    one, other = found.records
    assert one["results"] == other["results"]  # also where the best weights come late
    assert one["selected"] == "best"
    assert (one["devices"], found.record["devices"]) == (2, 1)
    for part, result in found.record["results"].items():
        mine = one["results"][part]
        assert (mine.keys(), mine["metric"]) == (result.keys(), result["metric"])
        for name in ("value", "draws", "scores"):  # weights agree up to rounding
            assert mine[name] == pytest.approx(result[name], rel=1e-4), name
        for name in ("std", "spread"):  # differences of such numbers
            assert mine[name] == pytest.approx(result[name], abs=1e-4 * result["value"]), name
    lines = [json.loads(line) for line in (found.folder / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == [3]


@pytest.mark.slow
def test_only_the_first_process_writes(found: Found) -> None:
    assert [path for path in (found.folder / "of-1").rglob("*") if path.suffix != ".pfgnn"] == []
    assert {path.name for path in (found.folder / "of-0" / "even").iterdir()} == {BEST, LAST, "metrics.jsonl"}
    names = {BEST, LAST, PREVIOUS, "metrics.jsonl", "config.yaml", "record.json"}
    assert {path.name for path in (found.folder / "run").iterdir()} == names


def test_a_stop_is_known_one_call_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "sum_over_devices", lambda tensor: None)
    anywhere = AnyDevice(open_devices("cpu"))
    assert [anywhere(here) for here in (False, True, False, False)] == [False, False, True, False]


@pytest.mark.parametrize("text", ["[gloo/transport/tcp/pair.cc:553] Connection closed by peer", "CUDA error"])
def test_a_lost_process_is_told(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(tensor: Tensor) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(torch.distributed, "all_reduce", fail)
    said = "all processes of a run must stay, but one was lost .*--resume goes on" if "gloo" in text else text
    with pytest.raises(LostProcessError if "gloo" in text else RuntimeError, match=said):
        sum_over_devices(torch.ones(1))


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
def test_only_threads_of_gloo_are_ended_at_the_exit(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a process that has lost another one may end with SIGABRT. NCCL would wait for the lost one."""
    opened: list[str] = []
    at_exit: list[object] = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(torch.distributed, "init_process_group", opened.append)
    monkeypatch.setattr(atexit, "register", at_exit.append)
    for name, answer in {"is_available": True, "device_count": 1, "set_device": None}.items():
        monkeypatch.setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    open_devices("cuda" if backend == "nccl" else "cpu")
    assert opened == [backend]
    assert at_exit == ([devices._end_threads] if backend == "gloo" else [])


def test_devices_that_are_not_there() -> None:
    for wrong in ("gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", 0):
        said = f"device must be one of auto, cpu, cuda, or such as cuda:1, but it is {wrong!r}"
        with pytest.raises(ValueError, match=said):
            open_devices(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="precision must be one of float32, tf32, bf16, but it is 'float64'"):
        open_devices("cpu", "float64")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_cuda_it_is_not_taken_silently() -> None:
    with pytest.raises(ValueError, match="device is cuda, but torch sees no CUDA device; take cpu or auto"):
        open_devices("cuda")
    with pytest.raises(ValueError, match="device is cuda:0, but torch sees no CUDA device; take cpu or auto"):
        open_devices("cuda:0")


def test_a_gpu_with_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a machine with two GPUs, which is made up."""
    taken: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    assert [open_devices(name).device.index for name in ("cuda:1", "cuda:0", "cuda", "auto")] == [1, 0, 0, 0]
    assert [of.index for of in taken] == [1, 0, 0, 0]
    assert open_devices("cpu").device == torch.device("cpu")
    with pytest.raises(ValueError, match="device is cuda:2, but torch sees 2 CUDA devices; they are cuda:0 to cuda:1"):
        open_devices("cuda:2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="device must be cuda or auto under torchrun, which numbers the GPUs"):
        open_devices("cuda:1")
    monkeypatch.undo()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="device is cuda:7, but torch sees 1 CUDA device; the only one is cuda:0"):
        open_devices("cuda:7")
