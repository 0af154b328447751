"""A reproduction with a limit of time stops with checkpoints, and the next one goes on."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.experiments.reproduce_samples import Stage

from pfgnn.errors import InputError
from pfgnn.experiments import budget
from pfgnn.experiments.budget import Budget
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping
from pfgnn.experiments.plan import plan
from pfgnn.experiments.reproduce import Progress
from pfgnn.experiments.run_process import RunProcess, stop
from pfgnn.experiments.run_progress import Running
from pfgnn.files import write_json
from pfgnn.interrupts import Stopped
from pfgnn.training.checkpoint_file import LAST, read_checkpoint

LATE = 1e6


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


class Clock:
    """Stands still until ``late`` is set."""

    late = False

    def __call__(self) -> float:
        return LATE if self.late else 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(budget, "monotonic", clock)
    return clock


def test_processes_are_stopped_when_the_time_is_up(stage: Stage, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch, seed_1="hang", seed_2="hang")
    seen: list[Progress] = []

    def progress(now: Progress) -> None:
        seen.append(now)
        clock.late = now.done == 1  # the others hang by now, or will

    assert stage.reproduce(rows=["b"], jobs=3, minutes=1, progress=progress) == []
    assert seen[-1] == Progress(1, 0, 0, 3)
    assert stage.keys("b") == [(0, 0)]
    clock.late = False
    stage.how()
    assert stage.reproduce(rows=["b"], minutes=1) == []
    assert stage.keys("b") == [(0, 0), (1, 0), (2, 0)]


def test_no_run_is_started_after_the_time(stage: Stage, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)

    def begin(jobs: Sequence[object]) -> None:
        clock.late = True

    for jobs in (1, 2):
        clock.late = False
        assert stage.reproduce(rows=["b"], jobs=jobs, minutes=1, begin=begin) == []
    assert stage.calls() == []


def test_a_run_that_ends_while_it_is_stopped_counts(
    stage: Stage, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.stub(monkeypatch)

    def wait(processes: list[object]) -> None:
        for process in processes:
            process.wait()  # type: ignore[attr-defined]

    monkeypatch.setattr("pfgnn.experiments.reproduce.stop", wait)
    monkeypatch.setattr("time.sleep", lambda seconds: setattr(clock, "late", True))  # after the start
    seen: list[Progress] = []
    assert stage.reproduce(rows=["b"], seeds=1, minutes=1, progress=seen.append) == []
    assert seen[-1] == Progress(1, 0, 0, 1)
    assert stage.keys("b") == [(0, 0)]


def test_a_process_has_started_when_it_writes_its_config(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch, seed_0="hang")
    configs = stage.folder / "configs"
    job = plan(["tiny"], out=stage.folder / "results", runs=stage.folder / "runs", configs=configs)[0]
    job.directory.mkdir(parents=True)
    (job.directory / "config.yaml").touch()
    os.utime(job.directory / "config.yaml", (0, 0))  # of an earlier packet
    run = RunProcess(job, configs, "cpu", 1)
    try:
        assert not run.begins_to_train()
        (job.directory / "config.yaml").write_text("")
        assert run.begins_to_train()
        assert not run.begins_to_train()  # it is told once
    finally:
        stop([run.process])
    assert run.has_ended()
    assert run.was_stopped()


def test_the_time_of_a_start_is_measured(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)
    noted: list[float] = []
    monkeypatch.setattr(Budget, "note_start", lambda self, begun: noted.append(begun))
    monkeypatch.setattr(RunProcess, "begins_to_train", lambda self: len(noted) == 1)
    stage.reproduce(rows=["b"], seeds=1)
    assert len(noted) == 2  # the command, and the run
    assert noted[0] < noted[1]


@pytest.mark.slow
def test_a_run_in_this_process_stops_with_a_checkpoint(stage: Stage, clock: Clock) -> None:
    """The clock jumps at the first update. What stops the run is the alarm that is set then."""
    text = (stage.folder / "configs" / "tiny.yaml").read_text()
    (stage.folder / "configs" / "tiny.yaml").write_text(text.replace("updates: 2", "epochs: 1000000"))

    def watch(runs: Sequence[Running]) -> None:
        clock.late = runs[0].update > 0

    row, updates = stage.folder / "runs" / "tiny" / "b", []
    for _ in range(2):
        clock.late = False
        seen: list[Progress] = []
        options = {"rows": ["b"], "seeds": 2, "jobs": 1, "device": "cpu", "minutes": 1}
        assert stage.reproduce(**options, watch=watch, progress=seen.append) == []
        assert seen[-1] == Progress(0, 0, 0, 2)
        updates.append(
            read_checkpoint(stage.folder / "runs" / "tiny" / "b" / "seed0-fold0" / LAST).state["run"]["update"]
        )
    assert 0 < updates[0] < updates[1]
    assert not (row / "seed1-fold0").exists()
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_the_alarm_is_off_after_each_run_and_other_signals_get_through(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float] = []

    def run(config: Config, directory: Path, **options: object) -> None:
        left.append(signal.getitimer(signal.ITIMER_REAL)[0])
        if config.seed == 1:
            raise Stopped(signal.SIGTERM)
        write_json(directory / "record.json", {"config": config_mapping(config), "seed": config.seed, "results": {}})

    monkeypatch.setattr("pfgnn.experiments.run.run", run)
    with pytest.raises(Stopped):
        stage.reproduce(rows=["b"], jobs=1, minutes=1)
    assert len(left) == 2
    assert all(0 < seconds <= 60 for seconds in left)
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_wrong_minutes_are_refused_before_anything_is_read(stage: Stage) -> None:
    with pytest.raises(InputError, match="minutes must be more than 0 and at most 1000000, but it is 0"):
        stage.reproduce(minutes=0, rows=["nope"])
