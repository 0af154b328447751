"""The file results/TABLE/ROW.json, which holds the records of all finished runs of a row."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pfgnn.errors import InputError, cut
from pfgnn.experiments.run_lock import one_at_a_time
from pfgnn.files import read_json, write_json

Record = dict[str, Any]  # a run's record.json
Key = tuple[int, int | None]  # seed and fold


@dataclass(frozen=True)
class Gathered:
    """All finished runs of a row.

    Args:
        table: Name of the table, which is the name of the folder.
        row: Name of the row, which is the name of the file without .json.
        config: Config of all runs, without seed and fold.
        runs: Records of the runs, without the config, but with seed and fold. They are sorted by seed and fold.
    """

    table: str
    row: str
    config: Record
    runs: list[Record]

    def run_keys(self) -> set[Key]:
        """The seed and the fold of each run."""
        return {(run["seed"], run["fold"]) for run in self.runs}


def shared_config(config: Mapping[str, Any]) -> Record:
    """The values of a config, without seed and fold."""
    data = {key: value for key, value in config["data"].items() if key != "fold"}
    return {**{key: value for key, value in config.items() if key != "seed"}, "data": data}


def read_gathered(path: Path) -> Gathered:
    """Read a file that :func:`gather` wrote."""
    content = read_json(path)
    place = {"table": path.parent.name, "row": path.stem}
    runs = content.get("runs")
    if (
        content.keys() != {"table", "row", "config", "runs"}
        or not isinstance(content["config"], dict)
        or not isinstance(runs, list)
        or not all(isinstance(run, dict) and {"seed", "fold"} <= run.keys() for run in runs)
        or not all(isinstance(run["seed"], int) and isinstance(run["fold"], int | None) for run in runs)
    ):
        raise InputError(
            f"{path} must hold the runs of a row (table, row, config, and runs with seed and fold), "
            "as `pfgnn reproduce` writes them, but it holds something else"
        )
    if any(content[key] != value for key, value in place.items()):
        raise InputError(
            f"{path} must hold row {place['row']} of {place['table']}, "
            f"but it holds row {cut(str(content['row']), 100)} of {cut(str(content['table']), 100)}"
        )
    return Gathered(**content)


def gather(path: Path, config: Mapping[str, Any], record: Record) -> None:
    """Add the record of a finished run to the file of its row. A crash leaves the old file as it was.

    Args:
        path: File of the row.
        config: All settings of the run.
        record: Record of the run.
    """
    seed, fold = config["seed"], config["data"]["fold"]
    run = {
        "seed": seed,
        "fold": fold,
        **{name: record[name] for name in record if name not in ("config", "seed", "seen")},
    }
    with one_at_a_time(path.parent):  # another process may add to the same file
        others = read_gathered(path).runs if path.exists() else []
        runs = [run, *(other for other in others if (other["seed"], other["fold"]) != (seed, fold))]
        runs.sort(key=lambda run: (run["seed"], run["fold"] or 0))
        write_json(path, asdict(Gathered(path.parent.name, path.stem, shared_config(config), runs)))
