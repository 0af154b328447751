"""Two processes do together what one does alone."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from tests.training import two_processes
from tests.training.two_processes import BATCHES, PARTS
from torch import Tensor

from pfgnn.training import checkpoint_file as checkpoint
from pfgnn.training.checkpoint_file import BEST, LAST, PREVIOUS
from pfgnn.training.devices import make_fabric

ROOT = Path(__file__).parents[2]


class Found(NamedTuple):
    """What came out: tensors and record of each process of two, and of one alone."""

    both: list[dict[str, Tensor]]
    records: list[dict[str, Any]]
    alone: dict[str, Tensor]
    record: dict[str, Any]
    folder: Path


def start(rank: int, port: int, folder: Path) -> subprocess.Popen[str]:
    """One of two processes, in the environment that torchrun sets."""
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0}
    names |= {"MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "test"}
    environment |= {name: str(value) for name, value in names.items()}
    command = [sys.executable, "-m", "tests.training.two_processes", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder, alone = tmp_path_factory.mktemp("two"), tmp_path_factory.mktemp("one")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = [start(rank, port, folder) for rank in range(2)]
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint, "write_checkpoint", checkpoint.write_checkpoint)  # which the work changes
            two_processes.work(alone)
        for process in started:
            message = process.communicate(timeout=240)[1]
            assert process.returncode == 0, message
    finally:
        for process in started:
            process.kill()
            process.communicate()
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


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("level", ["graph", "node"])
def test_every_graph_is_predicted_once_and_in_order(found: Found, level: str, part: str) -> None:
    want = found.alone[f"{level}-{part}"]
    for process in found.both:
        torch.testing.assert_close(process[f"{level}-{part}"], want)
    assert len(want.unique(dim=0)) > 1 or part == "one"


@pytest.mark.slow
def test_sums_means_and_rows_over_devices(found: Found) -> None:
    for process in found.both:
        assert (process["sum"].tolist(), process["mean"].tolist()) == ([3.0], [1.5])
        assert process["rows"].tolist() == [[1.0, 1.0, 1.0]] * 2
    assert (found.alone["sum"].tolist(), len(found.alone["rows"])) == ([1.0], 0)


@pytest.mark.slow
def test_all_processes_stop_together_whoever_gets_the_signal(found: Found) -> None:
    assert [int(process["stopped"]) for process in (*found.both, found.alone)] == [2, 2, 2]
    (folder,) = (folder for folder in found.folder.glob("stopped-*") if (folder / LAST).exists())
    assert folder.name == "stopped-2-0"
    assert checkpoint.read_checkpoint(folder / LAST).state["run"]["update"] == 2


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


def test_devices_that_are_not_there() -> None:
    with pytest.raises(ValueError, match="device must be one of auto, cpu, cuda, but it is 'gpu'"):
        make_fabric("gpu")
    with pytest.raises(ValueError, match="precision must be one of float32, tf32, bf16, but it is 'float64'"):
        make_fabric("cpu", "float64")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_cuda_it_is_not_taken_silently() -> None:
    with pytest.raises(ValueError, match="device is cuda, but torch sees no CUDA device; take cpu or auto"):
        make_fabric("cuda")
