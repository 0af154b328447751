"""One process at a time trains in a run directory, and a dead one does not block it."""

import errno
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

import pytest
from tests.experiments.run_samples import packed, small

from pfgnn.experiments import run as running
from pfgnn.experiments import run_lock
from pfgnn.experiments.build import build_model
from pfgnn.experiments.demo import run_demo
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import Resume, check_directory
from pfgnn.experiments.run_lock import FILE, Holder, check_free, is_in_use, locked

IN_USE = rf"run must not be in use, but process {os.getpid()} on \S+, which began at \S+ \S+, trains in it; wait for it"
HOLD = """
import sys, time
from pathlib import Path
from pfgnn.experiments.run_lock import locked
with locked(Path(sys.argv[1])):
    print(flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lock, "BEAT", 0.02)
    monkeypatch.setattr(run_lock, "PATIENCE", 0.3)
    monkeypatch.setattr(run_lock, "ATTEMPTS", 2)


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, or one whose locks another machine does not see."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", refuse)


def leave(directory: Path, text: str) -> None:
    """The lock file of a process that is no more."""
    directory.mkdir(parents=True)
    (directory / FILE).write_text(text)


@contextmanager
def beating(path: Path) -> Iterator[None]:
    """The signs of life of another machine."""
    ends = threading.Event()

    def beat() -> None:
        while not ends.wait(0.02):
            os.utime(path)

    thread = threading.Thread(target=beat)
    thread.start()
    yield
    ends.set()
    thread.join()


def test_a_second_one_is_refused_with_who_holds_it_until_it_ends(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with locked(directory) as lock:
        with pytest.raises(ValueError, match=IN_USE), locked(directory):
            pass
        with pytest.raises(ValueError, match=IN_USE):
            check_free(directory)
        assert is_in_use(directory)
        lock.check()
        (directory / "config.yaml").touch()
    check_free(directory)
    assert not is_in_use(directory)
    with locked(directory):
        pass
    assert [path.name for path in directory.iterdir()] == ["config.yaml"]


def test_a_directory_that_stays_empty_is_removed(tmp_path: Path) -> None:
    with locked(tmp_path / "deep" / "run"):
        pass
    assert not (tmp_path / "deep" / "run").exists()
    (tmp_path / "old").mkdir()
    with locked(tmp_path / "old"):
        pass
    assert (tmp_path / "old").exists()


def test_the_lock_of_a_killed_process_is_taken_over_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lock, "PATIENCE", 1000.0)
    directory = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(directory)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(ValueError, match=f"process {process.pid} on"), locked(directory):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    assert json.loads((directory / FILE).read_text())["process"] == process.pid
    with locked(directory):
        assert json.loads((directory / FILE).read_text())["process"] == os.getpid()


def test_another_process_with_the_number_of_the_dead_one_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lock, "PATIENCE", 1000.0)
    leave(tmp_path / "run", json.dumps(asdict(replace(Holder(), process=os.getppid()))))  # which is alive
    with locked(tmp_path / "run"):
        pass


ELSEWHERE = json.dumps(asdict(Holder(host="elsewhere", machine="another", process=1)))


@pytest.mark.parametrize(
    "text",
    [ELSEWHERE, "{", "[]", '{"host": "a"}', "[" * 200_000],
    ids=["elsewhere", "half", "list", "other", "nested"],
)
def test_a_process_elsewhere_is_watched_and_counts_as_dead_without_signs_of_life(tmp_path: Path, text: str) -> None:
    leave(tmp_path / "run", text)
    begun = time.monotonic()
    with locked(tmp_path / "run"):
        assert time.monotonic() - begun >= 0.3
        assert json.loads((tmp_path / "run" / FILE).read_text())["process"] == os.getpid()


@pytest.mark.parametrize(("text", "who"), [(ELSEWHERE, "process 1 on elsewhere"), ("{", "another process")])
def test_a_process_elsewhere_that_lives_keeps_its_lock(tmp_path: Path, text: str, who: str) -> None:
    leave(tmp_path / "run", text)
    with (
        beating(tmp_path / "run" / FILE),
        pytest.raises(ValueError, match=f"run must not be in use, but {who}"),
        locked(tmp_path / "run"),
    ):
        pass
    with beating(tmp_path / "run" / FILE):
        assert is_in_use(tmp_path / "run")
    assert not is_in_use(tmp_path / "run")  # no signs of life any more
    assert (tmp_path / "run" / FILE).read_text() == text


def test_a_process_elsewhere_that_ends_while_it_is_watched(tmp_path: Path) -> None:
    leave(tmp_path / "run", ELSEWHERE)
    timer = threading.Timer(0.05, (tmp_path / "run" / FILE).unlink)
    timer.start()
    assert is_in_use(tmp_path / "run")
    timer.join()
    assert not is_in_use(tmp_path / "run")


def test_without_locks_of_files_the_signs_of_life_decide(tmp_path: Path, no_flock: None) -> None:
    with locked(tmp_path / "run"), pytest.raises(ValueError, match=IN_USE), locked(tmp_path / "run"):
        pass
    leave(tmp_path / "dead", json.dumps(asdict(Holder())))
    with locked(tmp_path / "dead"):
        pass


@pytest.mark.parametrize("removed", [True, False])
def test_who_lost_his_lock_is_told_and_leaves_it_alone(tmp_path: Path, removed: bool) -> None:
    """Such as after its machine was asleep for a night."""
    path = tmp_path / "run" / FILE
    with locked(tmp_path / "run") as lock:
        path.unlink()
        if not removed:
            path.write_text(ELSEWHERE)
        deadline = time.monotonic() + 10
        while not lock._lost and time.monotonic() < deadline:
            time.sleep(0.01)
        what = "it was removed" if removed else "process 1 on elsewhere, .* took it over"
        with pytest.raises(ValueError, match=rf"run\.lock must belong to this process, but {what}"):
            lock.check()
    assert removed or path.read_text() == ELSEWHERE


def test_a_run_that_goes_on_elsewhere_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfgnn.training.loop.SECONDS_BETWEEN_REPORTS", 0.0)
    path = tmp_path / "run" / FILE

    def taken_over(*_: object) -> None:
        path.write_text(ELSEWHERE)
        time.sleep(0.1)

    config = small(packed(tmp_path), {"epochs": 100})
    with pytest.raises(ValueError, match="took it over"):
        run(config, tmp_path / "run", device="cpu", report=taken_over)


def test_two_runs_do_not_share_a_directory(tmp_path: Path) -> None:
    config = small(packed(tmp_path))
    with locked(tmp_path / "run"):
        for resume in get_args(Resume):
            with pytest.raises(ValueError, match=IN_USE):
                run(config, tmp_path / "run", device="cpu", resume=resume)
    assert not (tmp_path / "run").exists()


def test_a_run_that_began_while_the_data_were_read_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(packed(tmp_path), {"epochs": 1})

    def overtaken(*arguments: object) -> object:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "config.yaml").write_text("of another")
        return build_model(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "build_model", overtaken)
    with pytest.raises(ValueError, match="must be a new directory, but it holds a run"):
        run(config, tmp_path / "run", device="cpu")
    assert (tmp_path / "run" / "config.yaml").read_text() == "of another"


def test_the_demo_does_not_remove_a_run_that_is_being_trained(tmp_path: Path) -> None:
    (tmp_path / "gin").mkdir()
    (tmp_path / "gin" / "config.yaml").touch()
    with locked(tmp_path / "gin"), pytest.raises(ValueError, match=re.escape("gin must not be in use")):
        run_demo(tmp_path, steps=1, particles=2, updates=1)
    assert (tmp_path / "gin" / "config.yaml").exists()


def test_a_lock_is_found_before_anything_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").touch()
    with locked(tmp_path / "run"), pytest.raises(ValueError, match=IN_USE):
        check_directory(tmp_path / "run", "no")  # and not the advice to resume it


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    directory = tmp_path / "run"
    with pytest.raises(OSError, match=re.escape(f"'{directory / FILE}'")), locked(directory):
        pass
    assert not directory.exists()
