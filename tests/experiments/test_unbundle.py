"""What a bundle holds comes to its place, and what is newer there stays."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.experiments.bundle_samples import (
    RUN,
    commits,
    finished,
    gathered,
    progress,
    unfinished,
    write_config,
)
from tests.experiments.reproduce_samples import Stage

from pfgnn.errors import InputError
from pfgnn.experiments import unbundle as module
from pfgnn.experiments.bundle import write_bundle
from pfgnn.experiments.run_lock import locked
from pfgnn.experiments.unbundle import Unbundled, unbundle
from pfgnn.files import write_atomically
from pfgnn.training.checkpoint_file import BEST, LAST, read_checkpoint

Write = Callable[[Path], None]
AWAY, HERE = Path("away"), Path("here")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)


def bundled(write: Write | None = None, weights: bool = False) -> Path:
    """Write a run away from here, and the bundle of all that is there."""
    if write is not None:
        write(AWAY / "runs" / RUN)
    write_bundle(Path("state.zip"), runs=AWAY / "runs", results=AWAY / "results", weights=weights)
    return Path("state.zip")


def put(*paths: Path) -> Unbundled:
    return unbundle(paths, runs=HERE / "runs", results=HERE / "results")


def weights_of(name: str) -> float:
    return float(read_checkpoint(HERE / "runs" / RUN / name).tensors["w"][0])


STATES: dict[str, Write] = {
    "nothing": lambda directory: None,
    "update 2": lambda directory: unfinished(directory, 2),
    "update 4": lambda directory: unfinished(directory, 4),
    "after the validation": lambda directory: unfinished(directory, 4, epoch=2),
    "finished": lambda directory: finished(directory),
}


@pytest.mark.parametrize("there", range(len(STATES)))
@pytest.mark.parametrize("arrives", range(1, len(STATES)))
def test_the_run_that_is_further_wins_whatever_the_clocks_say(there: int, arrives: int) -> None:
    states = list(STATES.values())
    states[there](HERE / "runs" / RUN)
    for path in (HERE / "runs" / RUN).glob("*"):
        os.utime(path, (2e9, 2e9) if arrives > there else (0, 0))
    before = {path.name: path.read_bytes() for path in (HERE / "runs" / RUN).glob("*")}
    done = put(bundled(states[arrives]))
    assert done == (Unbundled(1, 0, 0) if arrives > there else Unbundled(0, 1, 0))
    source = HERE if arrives <= there else AWAY
    want = before if source == HERE else {path.name: path.read_bytes() for path in (AWAY / "runs" / RUN).glob("*")}
    assert {path.name: path.read_bytes() for path in (HERE / "runs" / RUN).glob("*")} == want


def test_of_two_bundles_the_further_one_wins() -> None:
    older, newer = Path("older.zip"), Path("newer.zip")
    bundled(STATES["update 2"]).rename(older)
    bundled(STATES["update 4"]).rename(newer)
    assert put(newer, older) == Unbundled(1, 1, 0)
    assert progress(HERE / "runs" / RUN) == "update 4"


def test_the_weights_of_a_finished_run_may_follow_later() -> None:
    assert put(bundled(lambda directory: finished(directory, 7.0))) == Unbundled(1, 0, 0)
    assert not (HERE / "runs" / RUN / BEST).exists()
    assert put(bundled(weights=True)) == Unbundled(1, 0, 0)
    assert weights_of(BEST) == 7.0
    assert put(bundled()) == Unbundled(0, 1, 0)
    assert weights_of(BEST) == 7.0


def test_checkpoints_of_an_unfinished_run_do_not_stay_beside_a_record() -> None:
    unfinished(HERE / "runs" / RUN, 4)
    (HERE / "runs" / RUN / "previous.safetensors").touch()
    put(bundled(lambda directory: finished(directory, 7.0), weights=True))
    assert weights_of(BEST) == 7.0
    assert sorted(path.name for path in (HERE / "runs" / RUN).iterdir()) == [
        *("best.safetensors", "config.yaml", "metrics.jsonl", "record.json"),
    ]


def test_the_weights_of_a_run_that_was_finished_here_stay() -> None:
    unfinished(HERE / "runs" / RUN, 9, finished=True)
    finished(HERE / "runs" / RUN, 7.0)
    assert put(bundled(STATES["finished"])) == Unbundled(0, 1, 0)
    assert (weights_of(BEST), weights_of(LAST)) == (7.0, 9.0)


def test_a_damaged_checkpoint_is_replaced() -> None:
    unfinished(HERE / "runs" / RUN, 4)
    (HERE / "runs" / RUN / LAST).write_bytes(b"damaged")
    assert put(bundled(STATES["update 2"])) == Unbundled(1, 0, 0)
    assert progress(HERE / "runs" / RUN) == "update 2"


@pytest.mark.parametrize("before", ["nothing", "update 2"])
@pytest.mark.parametrize("after", ["update 4", "finished"])
def test_a_killed_command_leaves_the_old_run_or_the_new_one(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    path = bundled(STATES[after])
    directory = HERE / "runs" / RUN
    seen = []
    for moment in range(6):
        for file in directory.glob("*"):
            file.unlink()
        STATES[before](directory)
        left = moment

        def killed(path: Path, write: Write) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            write_atomically(path, write)

        monkeypatch.setattr(module, "write_atomically", killed)
        try:
            put(path)
        except KeyboardInterrupt:
            seen.append(progress(directory))
            if seen[-1].startswith("update"):  # its best weights can be read too, which a resumed run needs
                assert torch.isfinite(read_checkpoint(directory / BEST).tensors["w"]).all()
        monkeypatch.setattr(module, "write_atomically", write_atomically)
        put(path)
        assert progress(directory) == after
    assert len(seen) >= 3
    assert set(seen) == {before}  # the file that makes it the new run is written last


def test_what_a_killed_command_left_beside_a_record_is_removed() -> None:
    unfinished(HERE / "runs" / RUN, 4)
    finished(HERE / "runs" / RUN)
    assert put(bundled(STATES["finished"])) == Unbundled(0, 1, 0)
    assert not list((HERE / "runs" / RUN).glob("*.safetensors"))


def test_records_are_added_run_by_run() -> None:
    gathered(HERE / "results", (0, "here"), (2, "here"))
    gathered(AWAY / "results", (0, "away"), (1, "away"))
    assert put(bundled()) == Unbundled(0, 0, 1)
    assert commits(HERE / "results") == {0: "here", 1: "away", 2: "here"}
    assert put(bundled()) == Unbundled(0, 0, 0)


def test_records_come_to_an_empty_folder_as_they_are() -> None:
    gathered(AWAY / "results", (0, "away"), (1, "away"))
    assert put(bundled()) == Unbundled(0, 0, 2)
    file = Path("results", "tiny", "b.json")
    assert (HERE / file).read_bytes() == (AWAY / file).read_bytes()


def test_runs_and_records_of_another_config_are_refused() -> None:
    path = bundled(STATES["update 2"])
    write_config(HERE / "runs" / RUN, width=8)
    with pytest.raises(InputError, match=r"config.yaml must come from .* model.width is 8, not 4; move it away"):
        put(path)
    gathered(AWAY / "results", (0, "away"))
    gathered(HERE / "results", (1, "here"), width=8)
    with pytest.raises(InputError, match=r"b.json must come from .* model.width is 8, not 4; move it away"):
        put(bundled())
    assert commits(HERE / "results") == {1: "here"}


def test_a_run_that_is_in_use_is_not_touched() -> None:
    unfinished(HERE / "runs" / RUN, 2)
    with locked(HERE / "runs" / RUN), pytest.raises(InputError, match="must not be in use"):
        put(bundled(STATES["update 4"]))
    assert progress(HERE / "runs" / RUN) == "update 2"
