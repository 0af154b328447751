"""A table is run once, in parts if need be, and its records are gathered."""

import json
import signal
import subprocess
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.experiments.reproduce_samples import CONFIG, Stage
from tests.experiments.test_run_progress import line, write_metrics

from pfgnn.errors import DivergedError
from pfgnn.experiments import reproduce as running
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping
from pfgnn.experiments.plan import Job
from pfgnn.experiments.reproduce import Progress
from pfgnn.experiments.run_progress import Running
from pfgnn.files import write_json


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def test_every_run_is_run_once_and_gathered(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)
    seen: list[Progress] = []
    assert stage.reproduce(jobs=3, progress=seen.append) == []
    assert seen == [Progress(done, 0, 0, 7) for done in range(8)]

    assert stage.calls() == sorted(
        [
            *(f"train tiny.yaml seed={seed} data.fold={fold} --resume" for seed in (0, 1) for fold in (0, 1)),
            *(f"train tiny.yaml model.steps=0 seed={seed} data.fold=0 --resume" for seed in (0, 1, 2)),
        ]
    )
    assert stage.keys("a") == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert stage.keys("b") == [(0, 0), (1, 0), (2, 0)]
    gathered = json.loads((stage.folder / "results" / "tiny" / "a.json").read_text())
    assert gathered["runs"][3] == {"seed": 1, "fold": 1, "commit": "c", "results": [2, "1"]}
    assert gathered["config"]["model"]["width"] == 4
    assert "seed" not in gathered["config"]
    assert "fold" not in gathered["config"]["data"]
    assert stage.reproduce() == []
    assert len(stage.calls()) == 7


def test_the_runs_have_as_many_threads_as_is_said(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)
    assert stage.reproduce(threads=3, seeds=1, rows=["b"]) == []
    [run] = json.loads((stage.folder / "results" / "tiny" / "b.json").read_text())["runs"]
    assert run["results"][1] == "3"


def test_what_is_gathered_or_finished_is_not_run_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)
    stage.reproduce(rows=["a"], seeds=1)
    assert stage.keys("a") == [(0, 0), (0, 1)]
    (stage.folder / "results" / "tiny" / "a.json").unlink()  # the run directories are still there
    stage.reproduce(rows=["?"], seeds=2, jobs=2)
    assert len(stage.calls()) == 2 + 2 + 2
    assert stage.keys("a") == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert stage.keys("b") == [(0, 0), (1, 0)]


def test_failures_are_told_and_the_others_run_on(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch, seed_0="fail", seed_1="silent")
    seen: list[Progress] = []
    failures = stage.reproduce(rows=["b"], progress=seen.append)
    failures.sort()
    assert [failure.reason for failure in failures] == [
        "exit status 2: pfgnn: the loss is NaN",
        "exit status 0, but there is no record: nothing on stderr",
    ]
    assert failures[0].run.endswith("runs/tiny/b/seed0-fold0")
    assert seen[-1] == Progress(1, 2, 0, 3)
    assert stage.keys("b") == [(2, 0)]
    stage.how()
    assert stage.reproduce(rows=["b"]) == []
    assert stage.keys("b") == [(0, 0), (1, 0), (2, 0)]


def test_a_single_run_at_a_time_stays_in_this_process(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(config: Config, directory: Path, **options: object) -> None:
        if config.seed < 2:
            raise (DivergedError("the loss is no longer finite"), KeyError("loss"))[config.seed]
        write_json(directory / "record.json", {"config": config_mapping(config), "seed": config.seed, "results": {}})

    monkeypatch.setattr("pfgnn.experiments.run.run", run)
    failures = stage.reproduce(rows=["b"], jobs=1)
    assert [failure.reason for failure in failures] == [
        "the loss is no longer finite",
        "this is a bug in pfgnn (KeyError: 'loss')",
    ]
    assert stage.keys("b") == [(2, 0)]


@pytest.mark.slow
def test_a_run_in_this_process_is_watched(stage: Stage) -> None:
    missing: list[Job] = []
    seen: list[Running] = []
    options = {"rows": ["b"], "seeds": 1, "jobs": 1, "device": "cpu"}
    assert stage.reproduce(**options, begin=missing.extend, watch=seen.extend) == []
    assert [job.directory.name for job in missing] == ["seed0-fold0"]
    assert seen[0] == Running("b/seed0-fold0")
    assert seen[-1].update == seen[-1].updates == 2
    assert [run.update for run in seen] == sorted(run.update for run in seen)


def test_runs_in_other_processes_are_watched(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch, seed_0="hang")
    monkeypatch.setattr(running, "PAUSE", 0.0)
    directory = stage.folder / "runs" / "tiny" / "b" / "seed0-fold0"
    write_metrics(directory, line(4, 0.25))

    def watch(runs: list[Running]) -> None:
        if Running("b/seed0-fold0", 4, 10, 2, 0.5, 0.25) in runs:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage.reproduce(rows=["b"], watch=watch)


@pytest.mark.parametrize("kind", [MemoryError, torch.OutOfMemoryError])
def test_a_lack_of_memory_fails_one_run_and_the_next_one_has_its_memory(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    class Large:
        def __init__(self) -> None:
            self.itself = self  # as a model and its hooks refer to each other

    kept: list[weakref.ref[Large]] = []

    def run(config: Config, directory: Path, **options: object) -> None:
        assert all(large() is None for large in kept)
        large = Large()
        kept.append(weakref.ref(large))
        if config.seed < 2:
            raise kind("CUDA out of memory")
        write_json(directory / "record.json", {"config": config_mapping(config), "seed": config.seed, "results": {}})

    monkeypatch.setattr("pfgnn.experiments.run.run", run)
    failures = stage.reproduce(rows=["b"], jobs=1)
    assert [failure.reason for failure in failures] == ["there is too little memory: CUDA out of memory"] * 2
    assert stage.keys("b") == [(2, 0)]


def test_an_interrupt_stops_the_processes_and_the_next_call_goes_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.stub(monkeypatch, seed_1="hang", seed_2="hang")
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    def interrupt() -> None:
        while not ((stage.folder / "hanging").exists() and len(started) == 3):  # the first is gathered by then
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", start)
    thread = threading.Thread(target=interrupt)
    thread.start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            stage.reproduce(rows=["b"])
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert [process.returncode for process in started] == [0, -signal.SIGTERM, -signal.SIGTERM]
    assert stage.keys("b") == [(0, 0)]
    stage.how()
    assert stage.reproduce(rows=["b"]) == []
    assert stage.keys("b") == [(0, 0), (1, 0), (2, 0)]
    assert len(started) == 5


def test_records_of_another_config_are_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)
    stage.reproduce(rows=["b"], seeds=1)
    (stage.folder / "configs" / "tiny.yaml").write_text(CONFIG.replace("width: 4", "width: 8"))
    with pytest.raises(
        ValueError, match=r"b.json must come from the config of its row, but there model.width is 4, not 8"
    ):
        stage.reproduce(rows=["b"])
    (stage.folder / "results" / "tiny" / "b.json").unlink()
    with pytest.raises(ValueError, match=r"seed0-fold0/record.json must .* model.width is 4, not 8; move it away"):
        stage.reproduce(rows=["b"])
    assert len(stage.calls()) == 1


def test_a_record_of_another_config_is_a_failure(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.stub(monkeypatch)
    (stage.folder / "configs" / "tiny.yaml").write_text(CONFIG.replace("width: 4", "width: 8"))
    (failure,) = stage.reproduce(rows=["b"], seeds=1)
    assert "model.width is 4, not 8" in failure.reason


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rows": ["c*"]}, r"rows must each match the title of a row or one of a, b, but 'c\*' does not"),
        ({"jobs": 0}, "jobs must be at least 1, but it is 0"),
        ({"seeds": 0}, "seeds must be at least 1, but it is 0"),
        ({"device": "gpu"}, "device must be one of auto, cpu, cuda, or such as cuda:1, but it is 'gpu'"),
    ],
)
def test_wrong_options_get_a_sentence(stage: Stage, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        stage.reproduce(**options)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "b.json must hold JSON"),
        ("[]", "b.json must hold a JSON object, but it holds a list"),
        ('{"rows": []}', "b.json must hold the runs of a row"),
        ('{"table": "tiny", "row": "b", "config": {}, "runs": [{"seed": 0}]}', "b.json must hold the runs of a row"),
        (
            '{"table": "tiny", "row": "a", "config": {}, "runs": []}',
            "must hold row b of tiny, but it holds row a of tiny",
        ),
        ('{"table": "tiny", "row": "b", "config": {}, "runs": []}', "b.json must come from the config of its row, but"),
    ],
)
def test_a_broken_or_foreign_file_gets_a_sentence(stage: Stage, content: str, sentence: str) -> None:
    path = stage.folder / "results" / "tiny" / "b.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(ValueError, match=sentence):
        stage.reproduce(rows=["b"])
    assert path.read_text() == content
