"""What travels in a bundle."""

import os
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.experiments.bundle_samples import RUN, finished, gathered, unfinished
from tests.experiments.reproduce_samples import Stage

from pfgnn.errors import InputError
from pfgnn.experiments import bundle
from pfgnn.experiments.bundle import Bundled, write_bundle
from pfgnn.experiments.run_lock import locked


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Stage(tmp_path, monkeypatch)
    return tmp_path / "runs"


def write(folder: Path, *names: str, most: int | None = None, weights: bool = False) -> Bundled:
    places = {"runs": folder / "runs", "results": folder / "results"}
    return write_bundle(folder / "state.zip", names, **places, most=most, weights=weights)


def entries(path: Path) -> list[str]:
    with ZipFile(path) as archive:
        return sorted(archive.namelist())


def test_an_unfinished_run_travels_with_what_it_needs_to_go_on(tmp_path: Path, runs: Path) -> None:
    unfinished(runs / RUN, 4)
    for name in ("previous.safetensors", "run.lock.old", "tensorboard"):
        (runs / RUN / name).write_text("not needed")
    (runs / RUN).with_suffix(".log").write_text("not needed")
    (runs / "tiny" / "b" / "seed1-fold0").mkdir()
    (runs / "tiny" / "b" / "seed1-fold0" / "config.yaml").touch()  # begun, but without a checkpoint
    unfinished(runs / "tiny" / "unknown" / "seed0", 4)
    assert write(tmp_path) == Bundled((tmp_path / "state.zip",), 0, 1, 0, ())
    names = ("best.safetensors", "config.yaml", "last.safetensors", "metrics.jsonl")
    assert entries(tmp_path / "state.zip") == ["bundle.json", *(f"runs/{RUN}/{name}" for name in names)]


@pytest.mark.parametrize(("weights", "more"), [(False, []), (True, ["best.safetensors"])])
def test_a_finished_run_travels_with_its_record(tmp_path: Path, runs: Path, weights: bool, more: list[str]) -> None:
    unfinished(runs / RUN, 4)
    finished(runs / RUN, weights=1.0)
    gathered(tmp_path / "results", (0, "c"))
    assert write(tmp_path, weights=weights)[1:] == (1, 0, 1, ())
    names = sorted(["config.yaml", "metrics.jsonl", "record.json", *more])
    assert entries(tmp_path / "state.zip") == [
        "bundle.json",
        "results/tiny/b.json",
        *(f"runs/{RUN}/{name}" for name in names),
    ]


def test_only_the_named_tables_travel(tmp_path: Path, runs: Path) -> None:
    unfinished(runs / RUN, 4)
    unfinished(runs / "table14" / "connectivity-gin" / "seed0", 4)
    assert write(tmp_path).unfinished == 2
    assert write(tmp_path, "table14").unfinished == 1
    assert not [name for name in entries(tmp_path / "state.zip") if "tiny" in name]
    with pytest.raises(InputError, match="must hold runs or records of these tables, but they hold none"):
        write(tmp_path, "zinc")


def test_a_run_that_is_in_use_is_left_out(tmp_path: Path, runs: Path) -> None:
    unfinished(runs / RUN, 4)
    unfinished(runs / "tiny" / "a" / "seed0-fold0", 4)
    with locked(runs / RUN):
        assert write(tmp_path)[1:] == (0, 1, 0, (runs / RUN,))
    assert not [name for name in entries(tmp_path / "state.zip") if RUN in name]


def test_a_bundle_is_divided_between_runs(tmp_path: Path, runs: Path) -> None:
    places = [f"tiny/{row}/seed{seed}-fold0" for row in "ab" for seed in (0, 1)]
    for place in places:
        unfinished(runs / place, 4)
        (runs / place / "best.safetensors").write_bytes(os.urandom(400_000))
    gathered(tmp_path / "results", (0, "c"))
    done = write(tmp_path, most=1)
    assert [path.name for path in done.files] == ["state-1.zip", "state-2.zip"]
    assert not (tmp_path / "state.zip").exists()
    found = [entries(path) for path in done.files]
    for names, path in zip(found, done.files, strict=True):
        assert "bundle.json" in names
        assert path.stat().st_size <= 2**20
    for place in places:
        assert sorted(sum(f"runs/{place}/" in name for name in names) for names in found) == [0, 4]
    (runs / places[2] / "best.safetensors").write_bytes(os.urandom(2**20))
    with pytest.raises(InputError, match=r"--most must leave room for .*runs/tiny/b/seed0-fold0, which needs 1.0"):
        write(tmp_path, most=1)


def test_the_limit_is_exact(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planned for a file is what it takes."""
    for place in (RUN, "tiny/a/seed0-fold0"):
        unfinished(runs / place, 4)
    size = write(tmp_path).files[0].stat().st_size
    monkeypatch.setattr(bundle, "MOST_WRITTEN", size)
    assert len(write(tmp_path, most=1).files) == 1
    monkeypatch.setattr(bundle, "MOST_WRITTEN", size - 1)
    assert len(write(tmp_path, most=1).files) == 2
    with pytest.raises(InputError, match=r"state.zip must have at most \d+ bytes, but it would have more"):
        write(tmp_path)


def test_the_same_content_gives_the_same_bundle(tmp_path: Path, runs: Path) -> None:
    unfinished(runs / RUN, 4)
    first = write(tmp_path).files[0].read_bytes()
    os.utime(runs / RUN / "config.yaml", (0, 10**9))
    assert write(tmp_path).files[0].read_bytes() == first


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the bundle must be a file that ends in .zip, but it is table4"):
        write_bundle(Path("table4"))
