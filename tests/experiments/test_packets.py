"""A table that is reproduced in packets, on two machines in turn, has the same records as one without a stop."""

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.experiments.reproduce_samples import CONFIG, Stage

from pfgnn.experiments.bundle import write_bundle
from pfgnn.experiments.reproduce import Progress, reproduce
from pfgnn.experiments.run_progress import Running
from pfgnn.experiments.unbundle import unbundle
from pfgnn.training.checkpoint_file import BEST, read_checkpoint

RUNS = 3  # those of seed 0
EPOCHS = CONFIG.replace("updates: 2", "epochs: 3")


class Machine:
    """A folder of runs and a folder of records.

    Args:
        folder: Folder of both.
        configs: Folder of the configs.
    """

    def __init__(self, folder: Path, configs: Path) -> None:
        self.configs, self.runs, self.results = configs, folder / "runs", folder / "results"

    def packet(self, reports: int | None) -> int:
        """Reproduce until the time is up, which is after some reports of trainings; the number of runs left."""
        seen: list[Progress] = []
        failures = reproduce(
            ["tiny"],
            out=self.results,
            runs=self.runs,
            configs=self.configs,
            seeds=1,
            device="cpu",
            minutes=60,
            progress=seen.append,
            watch=alarm_after(reports),
        )
        assert failures == []
        return seen[-1].total - seen[-1].done

    def move_to(self, other: "Machine", path: Path) -> None:
        """Carry everything over in a bundle."""
        write_bundle(path, ["tiny"], runs=self.runs, results=self.results, weights=True)
        unbundle([path], runs=other.runs, results=other.results)

    def outcome(self) -> dict[str, Any]:
        """What must not depend on stops: the records without their times, and the best weights."""
        found: dict[str, Any] = {}
        for path in sorted(self.results.glob("tiny/*.json")):
            content = json.loads(path.read_text())
            for run in content["runs"]:
                del run["seconds"]
            found[path.name] = content
        for path in sorted(self.runs.glob(f"tiny/*/*/{BEST}")):
            found[str(path.relative_to(self.runs))] = {
                name: tensor.reshape(-1).view(torch.uint8).tolist()
                for name, tensor in read_checkpoint(path).tensors.items()
            }
        return found


def alarm_after(reports: int | None) -> Callable[[Sequence[Running]], None]:
    """Send the alarm of the time limit, which has an hour, at one of the reports of trainings."""
    count = 0

    def watch(runs: Sequence[Running]) -> None:
        nonlocal count
        count += runs[0].update > 0
        if count == reports:
            signal.raise_signal(signal.SIGALRM)

    return watch


@pytest.mark.slow
def test_packets_give_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(tmp_path, monkeypatch)
    configs = stage.folder / "configs"
    (configs / "tiny.yaml").write_text(EPOCHS)
    whole, first, second = (Machine(tmp_path / name, configs) for name in ("whole", "first", "second"))
    assert whole.packet(None) == 0

    assert first.packet(1) == RUNS  # in the first epoch of the first run
    first.move_to(second, tmp_path / "1.zip")
    assert 0 < second.packet(6) < RUNS  # in another run, after a validation
    second.move_to(first, tmp_path / "2.zip")
    assert first.packet(None) == 0
    assert first.outcome() == whole.outcome()
    assert len(whole.outcome()) == 2 + RUNS
