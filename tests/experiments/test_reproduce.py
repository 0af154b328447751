"""A table is run once, in parts if need be, and its records are gathered."""

import json
import signal
import subprocess
import sys
import threading
import time
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from pfgnn.errors import DivergedError, InputError
from pfgnn.experiments import reproduce as running
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.reproduce import Failure, Progress, reproduce
from pfgnn.experiments.row_file import read_gathered
from pfgnn.experiments.rows import ACCURACY, Row, TableSpec
from pfgnn.experiments.run_lock import locked
from pfgnn.experiments.tables import TABLES
from pfgnn.files import write_json

CONFIG = """
data: {name: csl, options: {copies: 5}, fold: 0}
model: {width: 4, layers: 1, steps: 1, particles: 2}
training: {updates: 2, batch_size: 10}
"""
# Stands for `pfgnn train`: it writes a record, or does what it is told for this seed.
STUB = """
import json, os, sys, time
from pathlib import Path

here, words = Path(__file__).parent, sys.argv[1:]
config, out = words[1], Path(words[words.index("--out") + 1])
settings = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
with (here / "calls").open("a") as calls:
    calls.write(" ".join([words[0], Path(config).name, *settings, words[-1]]) + "\\n")
how = json.loads((here / "how.json").read_text()).get(next(s for s in settings if s.startswith("seed")), "well")
if how == "hang":
    (here / "hanging").touch()
    time.sleep(600)
if how == "fail":
    print("first line\\npfgnn: the loss is NaN\\n", file=sys.stderr)
    sys.exit(2)
if how != "silent":
    out.mkdir(parents=True, exist_ok=True)
    record = json.loads((here / "records.json").read_text())[" ".join(settings)]
    record["results"] = [record["results"], os.environ.get("OMP_NUM_THREADS")]
    (out / "record.json").write_text(json.dumps(record))
"""


class Stage:
    """A folder with a table of one or two rows, a config, and a stub for the training."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "configs").mkdir()
        (folder / "configs" / "tiny.yaml").write_text(CONFIG)
        self.rows = (
            Row("A", "a", "tiny.yaml", (), ACCURACY, seeds=2, folds=2),
            Row("B", "b", "tiny.yaml", ("model.steps=0",), ACCURACY, seeds=3, folds=1),
        )
        monkeypatch.setitem(TABLES, "tiny", TableSpec("Tiny", self.rows))

    def stub(self, monkeypatch: pytest.MonkeyPatch, **how: str) -> None:
        (self.folder / "stub.py").write_text(STUB)
        monkeypatch.setattr(running, "PFGNN", (sys.executable, str(self.folder / "stub.py")))
        records = {}
        for row in self.rows:
            for seed, fold in row.run_keys():
                overrides = (*row.overrides, f"seed={seed}", f"data.fold={fold}")
                config = config_mapping(read_config(self.folder / "configs" / "tiny.yaml", overrides))
                records[" ".join(overrides)] = {
                    "commit": "c",
                    "seed": seed,
                    "config": config,
                    "results": seed + (fold or 0),
                }
        (self.folder / "records.json").write_text(json.dumps(records))
        self.how(**how)

    def how(self, **how: str) -> None:
        (self.folder / "how.json").write_text(json.dumps({key.replace("_", "="): value for key, value in how.items()}))

    def reproduce(self, **options: Any) -> list[Failure]:
        folder = self.folder
        options = {
            "out": folder / "results",
            "runs": folder / "runs",
            "configs": folder / "configs",
            "jobs": 2,
            **options,
        }
        return reproduce("tiny", **options)

    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return sorted(path.read_text().splitlines()) if path.exists() else []

    def keys(self, row: str) -> list[tuple[int, int | None]]:
        path = self.folder / "results" / "tiny" / f"{row}.json"
        return [(run["seed"], run["fold"]) for run in read_gathered(path).runs]


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
        ({"rows": ["c*"]}, r"rows must match at least one of a, b, but they are c\*"),
        ({"jobs": 0}, "jobs must be at least 1, but it is 0"),
        ({"seeds": 0}, "seeds must be at least 1, but it is 0"),
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
