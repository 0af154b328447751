"""Put the runs and records of bundles in their place. What is newer here stays."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pfgnn.errors import InputError, InputTypeError
from pfgnn.experiments.bundle import RESULTS, RUN_FILES, RUNS, extract_bundle
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_comparison import check_same
from pfgnn.experiments.config_file import config_mapping, parse_config, read_config
from pfgnn.experiments.row_file import gather, read_gathered
from pfgnn.experiments.run_directory import CONFIG, RECORD, read_record
from pfgnn.experiments.run_lock import locked
from pfgnn.files import reading, write_atomically
from pfgnn.training.checkpoint_names import BEST, LAST, PREVIOUS


class RunState(NamedTuple):
    """How far a run is. Of two states of a run, the larger one is the newer one.

    Fields:
        finished: Whether it has its record.
        update: Updates done so far; 0 if it is finished.
        epoch: Epochs done so far; 0 if it is finished.
        weights: Whether its weights are there.
    """

    finished: bool
    update: int
    epoch: int
    weights: bool


class Arrival(NamedTuple):
    """A run of a bundle.

    Fields:
        source: Folder with its files.
        directory: Its run directory here.
        state: How far it is.
    """

    source: Path
    directory: Path
    state: RunState


class Unbundled(NamedTuple):
    """What was put in place.

    Fields:
        runs: Runs that were new, or further than here.
        kept: Runs that are here, and at least as far.
        records: Records that were added.
    """

    runs: int
    kept: int
    records: int


def unbundle(paths: Sequence[Path], *, runs: Path = Path("runs"), results: Path = Path("results")) -> Unbundled:
    """Put the runs and records of bundles in their place. Nothing is written if something is wrong with a bundle.

    A run replaces the one that is here if it is further: it has more updates, or it is finished. Records are added to
    those of their row. A process that is killed meanwhile leaves each run as it was or as it should be.

    Args:
        paths: The bundles.
        runs: Folder of the run directories.
        results: Folder of the records.
    """
    with TemporaryDirectory(prefix="pfgnn-bundle-") as temporary:
        arrivals: list[Arrival] = []
        rows: list[tuple[Path, Path]] = []
        for number, path in enumerate(paths):
            folder = Path(temporary, str(number))
            with _naming(path, folder):
                extract_bundle(path, folder)
                arrivals += _arrivals(folder / RUNS, runs)
            found = sorted((folder / RESULTS).glob("*/*.json"))
            for file in found:
                target = results / file.relative_to(folder / RESULTS)
                with _naming(path, folder):
                    config = _row_config(file)
                if target.exists():
                    check_same(read_gathered(target).config, config, target)
                rows.append((file, target))
        for arrival in arrivals:
            if (there := arrival.directory / CONFIG).exists():
                here, wanted = read_config(there), read_config(arrival.source / CONFIG)
                if here != wanted:  # the comparison itself imports torch, which takes seconds
                    check_same(config_mapping(here), wanted, there)
        placed = [_place(arrival) for arrival in arrivals]
        added = sum(_merge(file, target) for file, target in rows)
    return Unbundled(sum(placed), len(placed) - sum(placed), added)


@contextmanager
def _naming(path: Path, folder: Path) -> Iterator[None]:
    """Let an error tell of a file in a bundle, and not of its copy in a folder."""
    try:
        yield
    except (InputError, InputTypeError) as error:
        said = str(error).replace(f"{folder}/", "")
        raise InputError(said if path.name in said else f"{path}: {said}") from error


def _arrivals(folder: Path, runs: Path) -> list[Arrival]:
    """The runs of a bundle that was extracted to a folder."""
    found = []
    for source in sorted(folder.glob("*/*/*")):
        state = _state(source)
        if state is None or not (source / CONFIG).exists():
            raise InputError(f"{source} must hold {CONFIG}, and {RECORD} or {LAST}, but it does not")
        read_config(source / CONFIG)
        found.append(Arrival(source, runs / source.relative_to(folder), state))
    return found


def _row_config(path: Path) -> Config:
    with reading(path, "hold the config of its row"):
        return parse_config(read_gathered(path).config)


def _state(directory: Path) -> RunState | None:
    """How far the run in a directory is; None if there is nothing to go on with."""
    if (directory / RECORD).exists():
        selected = BEST if read_record(directory)["selected"] == "best" else LAST
        return RunState(True, 0, 0, (directory / selected).exists())
    if not (directory / LAST).exists():
        return None
    from pfgnn.training.checkpoint_file import read_checkpoint  # imported here because it is slow

    state = read_checkpoint(directory / LAST).state
    with reading(directory / LAST, "be the checkpoint of a run"):
        if state["run"]["best"] is not None:
            read_checkpoint(directory / BEST)
        return RunState(False, int(state["run"]["update"]), int(state["run"]["epoch"]), True)


def _place(arrival: Arrival) -> bool:
    """Put a run in its place, unless the one there is at least as far. Return whether it was put there."""
    with locked(arrival.directory):
        _remove_stale(arrival.directory)
        there = None if _is_damaged(arrival.directory) else _state(arrival.directory)
        if there is not None and there >= arrival.state:
            return False
        arrived = [name for name in RUN_FILES if (arrival.source / name).exists()]
        for name in arrived:
            write_atomically(arrival.directory / name, partial(shutil.copyfile, arrival.source / name))
        _remove_stale(arrival.directory, keep=arrived)
        return True


def _is_damaged(directory: Path) -> bool:
    """Whether a run has no record, and nobody can go on with it."""
    if (directory / RECORD).exists() or not (directory / LAST).exists():
        return False
    from pfgnn.training.checkpoint_file import DamagedCheckpointError  # imported here because it is slow

    try:
        _state(directory)
    except DamagedCheckpointError:
        return True
    return False


def _remove_stale(directory: Path, keep: Sequence[str] = ()) -> None:
    """Remove the checkpoints of an unfinished run that a finished one has replaced. They are not its weights.

    Args:
        directory: Run directory.
        keep: Files that belong to the finished run.
    """
    last = directory / LAST
    if not (directory / RECORD).exists() or not last.exists() or LAST in keep:
        return
    from pfgnn.training.checkpoint_file import (  # imported here because it is slow
        DamagedCheckpointError,
        read_checkpoint,
    )

    try:
        stale = not read_checkpoint(last).state["run"]["finished"]
    except (DamagedCheckpointError, KeyError):
        stale = True
    for name in (BEST, PREVIOUS, LAST) if stale else ():  # the last one tells that they are stale, so it goes last
        if name not in keep:
            (directory / name).unlink(missing_ok=True)


def _merge(file: Path, target: Path) -> int:
    """Add the records of a row that are missing here. Return how many there were."""
    arrived = read_gathered(file)
    here = read_gathered(target).run_keys() if target.exists() else set()
    new = [run for run in arrived.runs if (run["seed"], run["fold"]) not in here]
    for run in new:
        config = {**arrived.config, "seed": run["seed"], "data": {**arrived.config["data"], "fold": run["fold"]}}
        gather(target, config, run)
    return len(new)
