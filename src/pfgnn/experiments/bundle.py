"""A bundle: a zip file with the runs and records of tables that travel to another machine."""

import io
import json
import stat
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from pfgnn.argument_checks import check_positive
from pfgnn.errors import InputError, shown
from pfgnn.experiments.rows import run_folder
from pfgnn.experiments.run_directory import CONFIG, RECORD, read_record
from pfgnn.experiments.run_lock import is_in_use
from pfgnn.experiments.tables import TABLES, choose_tables, row_path
from pfgnn.files import check_version, read_json, reading, write_atomically
from pfgnn.training.checkpoint_names import BEST, LAST
from pfgnn.training.metrics_file import METRICS

# The version of a bundle. It grows when an older pfgnn could not read what a newer one writes.
FORMAT = 1
MANIFEST = "bundle.json"
RUNS, RESULTS = "runs", "results"  # folders in a bundle
MOST_WRITTEN = 2**30  # bytes of a bundle
MOST_READ = 4 * 2**30  # bytes after decompression; texts become several times as large
# All files of a run that travel. The last one that is there makes the run what it is, so this is also the order in
# which they are written to their place.
RUN_FILES = (CONFIG, METRICS, BEST, LAST, RECORD)


class Bundled(NamedTuple):
    """What was written.

    Fields:
        files: The bundles.
        finished: Number of finished runs.
        unfinished: Number of runs to go on with.
        rows: Number of rows with records.
        in_use: Runs that were left out, because a process trains in them.
    """

    files: tuple[Path, ...]
    finished: int
    unfinished: int
    rows: int
    in_use: tuple[Path, ...]


Unit = dict[str, Path]  # files by their names in the bundle; they stay together


def places(names: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """The run directories and the files of records of tables, each relative to its folder.

    Args:
        names: Names of the tables; all if there is none.
    """
    tables = choose_tables(names or list(TABLES))
    rows = [(row_path(Path(), name, row), row) for name in tables for row in TABLES[name].rows]
    directories = [path.with_suffix("") / run_folder(*key) for path, row in rows for key in row.run_keys()]
    return list(dict.fromkeys(directories)), list(dict.fromkeys(path for path, _ in rows))  # tables share some rows


def write_bundle(
    path: Path,
    names: Sequence[str] = (),
    *,
    runs: Path = Path("runs"),
    results: Path = Path("results"),
    most: int | None = None,
    weights: bool = False,
) -> Bundled:
    """Write what another machine needs to go on with tables.

    Of an unfinished run, these are its checkpoint, config and metrics; of a finished one its record, config and
    metrics. A run that was begun, but has no checkpoint yet, is left out.

    Args:
        path: File to write. With ``most``, NAME.zip becomes NAME-1.zip, NAME-2.zip and so on.
        names: Names of the tables; all if there is none.
        runs: Folder of the run directories.
        results: Folder of the records.
        most: Most MiB of one file; None for a single file. A run is never divided.
        weights: Whether to add the weights of finished runs.
    """
    if path.suffix != ".zip":
        raise InputError(f"the bundle must be a file that ends in .zip, but it is {path}")
    limit = MOST_WRITTEN if most is None else min(MOST_WRITTEN, 2**20 * check_positive("most", most))
    directories, rows = places(names)
    records = [{f"{RESULTS}/{row.as_posix()}": results / row} for row in rows if (results / row).exists()]
    finished: list[Unit] = []
    unfinished: list[Unit] = []
    in_use = []
    for directory in directories:
        if not (kept := _kept(runs / directory, weights)):
            continue
        if is_in_use(runs / directory):
            in_use.append(runs / directory)
            continue
        unit = {f"{RUNS}/{directory.as_posix()}/{name}": runs / directory / name for name in kept}
        (finished if RECORD in kept else unfinished).append(unit)
    units = [*records, *finished, *unfinished]
    if not units:
        raise InputError(f"{runs} or {results} must hold runs or records of these tables, but they hold none")
    groups = _divide(units, limit)
    if most is None and len(groups) > 1:
        raise InputError(f"{path} must have at most {MOST_WRITTEN} bytes, but it would have more; divide it by --most")
    files = [path] if most is None else [_numbered(path, number) for number in range(1, len(groups) + 1)]
    for file, group in zip(files, groups, strict=True):
        write_atomically(file, partial(_write, group))
    return Bundled(tuple(files), len(finished), len(unfinished), len(records), tuple(in_use))


def _kept(directory: Path, weights: bool) -> list[str]:
    """The files of a run that travel; none if nothing is there to go on with."""
    if (directory / RECORD).exists():
        record = read_record(directory)
        selected = (BEST if record["selected"] == "best" else LAST) if weights else None
        names = [name for name in RUN_FILES if name not in (BEST, LAST) or name == selected]
    else:
        names = list(RUN_FILES) if (directory / LAST).exists() else []
    return [name for name in names if (directory / name).exists()]


def _divide(units: Sequence[Unit], limit: int) -> list[list[Unit]]:
    """Divide what travels into files of at most ``limit`` bytes, in order."""
    empty = _size(())
    groups: list[list[Unit]] = [[]]
    used = empty
    for unit in units:
        size = _size([unit]) - empty
        if empty + size > limit:
            name = next(iter(unit.values()))
            place = name.parent if len(unit) > 1 else name
            raise InputError(
                f"--most must leave room for {place}, which needs {(empty + size) / 2**20:.2f} MiB, "
                f"but it is {limit / 2**20:g} MiB"
            )
        if used + size > limit:
            groups.append([])
            used = empty
        groups[-1].append(unit)
        used += size
    return groups


def _size(units: Sequence[Unit]) -> int:
    """The bytes of a bundle."""
    content = io.BytesIO()
    _write(units, content)
    return len(content.getvalue())


def _write(units: Sequence[Unit], target: Path | io.BytesIO) -> None:
    with ZipFile(target, "w") as archive:
        archive.writestr(_entry(MANIFEST), json.dumps({"format": FORMAT}))
        for unit in units:
            for name, file in unit.items():
                archive.writestr(_entry(name), file.read_bytes())


def _entry(name: str) -> ZipInfo:
    """The header of a file in a bundle. All have the same date, so that bundles of the same content are equal."""
    entry = ZipInfo(name)
    entry.external_attr = 0o644 << 16
    entry.compress_type = ZIP_STORED if name.endswith(".safetensors") else ZIP_DEFLATED  # weights hardly shrink
    return entry


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def extract_bundle(path: Path, folder: Path) -> None:
    """Check the names and sizes in a bundle, and write its files to a folder.

    Args:
        path: The bundle.
        folder: Folder to write to.
    """
    directories, rows = places(())
    allowed = {f"{RUNS}/{directory.as_posix()}/{name}" for directory in directories for name in RUN_FILES}
    allowed |= {f"{RESULTS}/{row.as_posix()}" for row in rows} | {MANIFEST}
    with reading(path, "be a bundle, as `pfgnn bundle` writes it"), ZipFile(path) as archive:
        entries = archive.infolist()
        seen: set[str] = set()
        for entry in entries:
            if entry.filename not in allowed or stat.S_ISLNK(entry.external_attr >> 16) or entry.filename in seen:
                what = "twice" if entry.filename in seen else "as a link" if entry.filename in allowed else "too"
                raise InputError(
                    f"{path} must hold runs and records of tables that this version of pfgnn knows, each once, "
                    f"but it holds {shown(entry.filename)} {what}"
                )
            seen.add(entry.filename)
        if (size := sum(entry.file_size for entry in entries)) > MOST_READ:
            raise InputError(f"{path} must hold at most {MOST_READ} bytes, but it claims {size}")
        for entry in entries:
            target = folder / entry.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, target.open("wb") as copy:
                copyfileobj(source, copy)
        if MANIFEST not in seen:
            raise InputError(f"{path} must be a bundle, as `pfgnn bundle` writes it, but it has no {MANIFEST}")
        check_version(path, read_json(folder / MANIFEST).get("format"), FORMAT)
