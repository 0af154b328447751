"""Write a dataset in many packed files, see :mod:`pfgnn.data.shards`."""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import check_numbers, shrink
from pfgnn.data.dataset import Dataset
from pfgnn.data.packed import read_header, write_packed
from pfgnn.data.shards import FORMAT, INDEX, Shard, Shards
from pfgnn.errors import InputError, shown
from pfgnn.files import read_json, write_json

GRAPHS = 2**16  # graphs of a shard, if they are as small as molecules


def write_shards(
    path: str | Path, datasets: Iterable[Dataset], splits: Mapping[str, npt.ArrayLike] | None = None
) -> Shards:
    """Write a folder of shards, completely or not at all.

    Args:
        path: The folder. It must not exist.
        datasets: The content of each shard, one after another. All must have the same name, task and features. Their
            keys are kept, so they should differ between the shards. Their splits are not.
        splits: Graph numbers of each part. Graphs are numbered through all shards.
    """
    folder = Path(path)
    if folder.exists():
        raise InputError(f"{folder} must be a new folder, but it exists")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # a killed process may have left one
    partial.mkdir(parents=True)
    try:
        _write(partial, datasets)
        if splits is not None:
            set_parts(partial, splits)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Shards.open(folder)


def set_parts(path: str | Path, splits: Mapping[str, npt.ArrayLike]) -> Shards:
    """Set the parts of a folder of shards, in place of those that it has.

    Args:
        path: The folder.
        splits: Graph numbers of each part, such as :func:`pfgnn.data.splits.random_split` gives.
    """
    folder = Path(path)
    total = len(Shards.open(folder))
    parts = {name: shrink(check_numbers(f"the split {shown(name)}", graphs, total)) for name, graphs in splits.items()}
    new = folder / "parts.pfgnn"
    write_packed(new, parts, {})
    checksum = f"{read_header(new)[1]:08x}"
    new.replace(folder / f"parts-{checksum}.pfgnn")  # the old file stays until the index names the new one
    write_json(folder / INDEX, {**read_json(folder / INDEX), "parts": checksum})
    for old in folder.glob("parts-*.pfgnn"):
        if old.name != f"parts-{checksum}.pfgnn":
            old.unlink()
    return Shards.open(folder)


def _write(folder: Path, datasets: Iterable[Dataset]) -> None:
    """Write the shards and the index."""
    shards: list[Shard] = []
    dtypes: tuple[dict[str, set[str]], ...] = {}, {}  # of empty arrays, and of others
    index: dict[str, Any] = {}
    for number, dataset in enumerate(datasets):
        _check(dataset)
        path = folder / f"{number:05}.pfgnn"
        replace(dataset, splits={}).save(path)
        header, crc = read_header(path)
        shared = {key: header["meta"][key] for key in ("name", "task", "node_categories", "edge_categories", "about")}
        columns = {name: entry["shape"][1:] for name, entry in header["arrays"].items() if name != "edges"}
        index = index or {"format": FORMAT, **shared, "columns": columns}
        for key, value in {**shared, "columns": columns}.items():
            if value != index[key]:
                raise InputError(
                    f"all shards must have the same {key.replace('_', ' ')}, but shard {number} has "
                    f"{shown(value)}, not {shown(index[key])}"
                )
        for name, entry in header["arrays"].items():
            dtypes[0 not in entry["shape"]].setdefault(name, set()).add(entry["dtype"])
        nodes, edges = (int(of.sum(dtype=np.int64)) for of in (dataset.node_counts, dataset.edge_counts))
        shards.append(Shard(path.name, len(dataset), nodes, edges, path.stat().st_size, f"{crc:08x}"))
    if not shards:
        raise InputError(f"{folder.name} must have at least one graph, but there is none")
    del index["columns"]  # each shard knows them
    common = {name: np.result_type(*of).str for name, of in (dtypes[0] | dtypes[1]).items()}
    entries = [shard._asdict() for shard in shards]
    write_json(folder / INDEX, {**index, "dtypes": common, "parts": None, "shards": entries})


def _check(dataset: Dataset) -> None:
    if dataset.pairs is not None or dataset.task.loss == "none":
        raise InputError(f"{dataset.name} must have targets and no pairs to be written as shards; save it as one file")
