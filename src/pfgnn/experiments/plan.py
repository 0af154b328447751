"""The runs of a table that have to be done, and the records of those that are finished."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from pfgnn.argument_checks import check_positive
from pfgnn.errors import InputError
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_comparison import check_same
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.row_file import Record, gather, read_gathered
from pfgnn.experiments.rows import Row
from pfgnn.experiments.run_directory import RECORD
from pfgnn.experiments.tables import find_table, row_path
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
    name: str, *, out: Path, runs: Path, configs: Path, rows: Sequence[str] = (), seeds: int | None = None
) -> list[Job]:
    """The runs of a table that have to be done. Finished runs are gathered here.

    Args:
        name: Name of the table.
        out: See :func:`pfgnn.experiments.reproduce.reproduce`.
        runs: See :func:`pfgnn.experiments.reproduce.reproduce`.
        configs: See :func:`pfgnn.experiments.reproduce.reproduce`.
        rows: See :func:`pfgnn.experiments.reproduce.reproduce`.
        seeds: See :func:`pfgnn.experiments.reproduce.reproduce`.
    """
    table = find_table(name)
    check_positive("seeds", 1 if seeds is None else seeds)
    chosen = [row for row in table.rows if not rows or any(fnmatchcase(row.name, pattern) for pattern in rows)]
    if not chosen:
        names = ", ".join(row.name for row in table.rows)
        raise InputError(f"rows must match at least one of {names}, but they are {', '.join(rows)}")
    jobs = []
    for row in chosen:
        results = row_path(out, name, row)
        shared = _without_seed_and_fold(read_config(configs / row.config, row.overrides))
        gathered = set()
        if results.exists():
            found = read_gathered(results)
            check_same(found.config, shared, results)
            gathered = found.run_keys()
        for seed, fold in row.run_keys():
            if (seeds is None or seed < seeds) and (seed, fold) not in gathered:
                job = _job(row, seed, fold, row_path(runs, name, row).with_suffix(""), configs, results)
                if not gather_if_finished(job):
                    jobs.append(job)
    return jobs


def _job(row: Row, seed: int, fold: int | None, folder: Path, configs: Path, results: Path) -> Job:
    own = (f"seed={seed}",) if fold is None else (f"seed={seed}", f"data.fold={fold}")
    overrides = (*row.overrides, *own)
    config = read_config(configs / row.config, overrides)
    place = f"seed{seed}" if fold is None else f"seed{seed}-fold{fold}"
    return Job(row, config, overrides, folder / place, results)


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
