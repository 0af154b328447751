"""Several commands reproduce one table: each leaves to the others what they do."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.experiments.reproduce_samples import Stage

from pfgnn.errors import InputError
from pfgnn.experiments import reproduce as running
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping
from pfgnn.experiments.reproduce import Progress
from pfgnn.experiments.run_lock import locked
from pfgnn.files import write_json


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_a_run_that_another_command_has_just_ended_is_no_failure(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def run(config: Config, directory: Path, **options: object) -> None:
        calls.append(config.seed)
        if len(calls) == 1:  # when it is asked again, the directory is free
            raise InputError(f"{directory} must not be in use, but process 1 trains in it")
        write_json(directory / "record.json", {"config": config_mapping(config), "seed": config.seed, "results": {}})

    monkeypatch.setattr("pfgnn.experiments.run.run", run)
    assert stage.reproduce(rows=["b"], seeds=1, jobs=1) == []
    assert calls == [0, 0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_of_another_command_is_left_to_it(stage: Stage, monkeypatch: pytest.MonkeyPatch, jobs: int) -> None:
    stage.stub(monkeypatch)
    monkeypatch.setattr(running, "PAUSE", 0.01)
    monkeypatch.setattr("pfgnn.experiments.run.run", lambda config, directory, **options: record(config, directory))
    seen: list[Progress] = []

    def record(config: Config, directory: Path) -> None:
        write_json(directory / "record.json", {"config": config_mapping(config), "seed": config.seed, "results": {}})

    def progress(now: Progress) -> None:
        seen.append(now)
        if now.elsewhere:  # all others are done
            other.close()

    with ExitStack() as other:
        other.enter_context(locked(stage.folder / "runs" / "tiny" / "b" / "seed0-fold0"))
        assert stage.reproduce(rows=["b"], jobs=jobs, progress=progress) == []
    assert Progress(2, 0, 1, 3) in seen
    assert seen[-1] == Progress(3, 0, 0, 3)
    assert stage.keys("b") == [(0, 0), (1, 0), (2, 0)]


def test_a_run_that_another_command_began_a_moment_before_is_no_failure(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "PAUSE", 0.01)
    asked: list[bool] = []

    def begun(directory: Path) -> bool:
        asked.append(len(asked) == 1)  # free when the run is chosen, and in use when it has failed
        return asked[-1]

    def run(config: Config, directory: Path, **options: object) -> None:
        if len(asked) == 1:
            raise InputError(f"{directory} must not be in use")
        write_json(directory / "record.json", {"config": config_mapping(config), "seed": config.seed, "results": {}})

    monkeypatch.setattr(running, "is_in_use", begun)
    monkeypatch.setattr("pfgnn.experiments.run.run", run)
    assert stage.reproduce(rows=["b"], seeds=1, jobs=1) == []
    assert stage.keys("b") == [(0, 0)]
