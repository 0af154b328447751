"""The runs of tables that have to be done, in order, and the records of those that are finished."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pfgnn.argument_checks import check_positive
from pfgnn.errors import InputError, shown
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_comparison import check_same
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.row_file import Record, gather, read_gathered
from pfgnn.experiments.rows import Row, run_folder
from pfgnn.experiments.run_directory import CONFIG, RECORD
from pfgnn.experiments.tables import TABLES, choose_tables, row_path
from pfgnn.files import read_json


@dataclass(frozen=True)
class Job:
    """One run of a row.

    Args:
        row: Row of the table.
        config: Config of the run, with the overrides.
        overrides: Overrides of the row, followed by the seed and the fold of the run.
        directory: Run directory.
        results: File of the row's gathered records.
    """

    row: Row
    config: Config
    overrides: tuple[str, ...]
    directory: Path
    results: Path


def plan(
    names: Sequence[str], *, out: Path, runs: Path, configs: Path, rows: Sequence[str] = (), seeds: int | None = None
) -> list[Job]:
    """The runs of tables that have to be done, the most important one first. Finished runs are gathered here.

    The tables come in the order given. Of a table, runs that were begun come first. All others go over the rows: the
    first seed and fold of every row, then the second of every row, and so on.

    Args:
        names: See :func:`pfgnn.experiments.reproduce.reproduce`.
        out: See :func:`pfgnn.experiments.reproduce.reproduce`.
        runs: See :func:`pfgnn.experiments.reproduce.reproduce`.
        configs: See :func:`pfgnn.experiments.reproduce.reproduce`.
        rows: See :func:`pfgnn.experiments.reproduce.reproduce`.
        seeds: See :func:`pfgnn.experiments.reproduce.reproduce`.
    """
    check_positive("seeds", 1 if seeds is None else seeds)
    tables = {name: _matching(TABLES[name].rows, rows) for name in choose_tables(names)}
    known = [row for name in tables for row in TABLES[name].rows]
    for pattern in rows:
        if not _matching(known, [pattern]):
            names = ", ".join(row.name for row in known)
            raise InputError(
                f"rows must each match the title of a row or one of {names}, but {shown(pattern)} does not"
            )
    jobs: dict[Path, Job] = {}  # by directory, because tables share some rows
    for name, chosen in tables.items():
        missing = [job for row in chosen for job in _missing(row, name, out, runs, configs, seeds)]
        for job in sorted(missing, key=_importance):
            jobs.setdefault(job.directory, job)
    return list(jobs.values())


def _matching(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """The rows whose title is one of the patterns, or whose name matches one; all without patterns."""
    return [row for row in rows if not patterns or any(row.title == p or fnmatchcase(row.name, p) for p in patterns)]


def _missing(row: Row, table: str, out: Path, runs: Path, configs: Path, seeds: int | None) -> list[Job]:
    """The runs of a row that have to be done."""
    results = row_path(out, table, row)
    shared = _without_seed_and_fold(read_config(configs / row.config, row.overrides))
    gathered = set()
    if results.exists():
        found = read_gathered(results)
        check_same(found.config, shared, results)
        gathered = found.run_keys()
    folder = row_path(runs, table, row).with_suffix("")
    left = [key for key in row.run_keys() if (seeds is None or key[0] < seeds) and key not in gathered]
    jobs = [_job(row, seed, fold, folder, configs, results) for seed, fold in left]
    return [job for job in jobs if not gather_if_finished(job)]


def _importance(job: Job) -> tuple[bool, int, int]:
    """Sorts the runs of a table: the smallest comes first."""
    return not (job.directory / CONFIG).exists(), job.config.seed, job.config.data.fold or 0


def _job(row: Row, seed: int, fold: int | None, folder: Path, configs: Path, results: Path) -> Job:
    own = (f"seed={seed}",) if fold is None else (f"seed={seed}", f"data.fold={fold}")
    overrides = (*row.overrides, *own)
    config = read_config(configs / row.config, overrides)
    return Job(row, config, overrides, folder / run_folder(seed, fold), results)


def gather_if_finished(job: Job) -> bool:
    """Gather the record of a run if there is one. Return whether there is one."""
    path = job.directory / RECORD
    if not path.exists():
        return False
    record: Record = read_json(path)
    if not isinstance(record.get("config"), dict):
        raise InputError(f"{path} must be the record of a run, but it has no config")
    check_same(record["config"], job.config, path)
    gather(job.results, config_mapping(job.config), record)
    return True


def _without_seed_and_fold(config: Config) -> Config:
    return replace(config, seed=0, data=replace(config.data, fold=None))
