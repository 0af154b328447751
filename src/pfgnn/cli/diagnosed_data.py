"""The graphs that the command diagnose is about: a named dataset, a packed file, or a file that is converted first."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pfgnn.argument_checks import choose
from pfgnn.errors import InputError
from pfgnn.files import ending

if TYPE_CHECKING:
    from pfgnn.data.dataset import Dataset
    from pfgnn.data.shards import Shards

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Options:
    """The options of the command that say how a file is read.

    Args:
        smiles_column: CSV: name of the column of SMILES; None to find it.
        target: CSV: names of the target columns; None to choose one.
        labels: graph6 and SMILES: file of the labels.
        on_error: "fail" or "skip".
        split_column: CSV: name of the column of parts.
    """

    smiles_column: str | None
    target: list[str] | None
    labels: Path | None
    on_error: str
    split_column: str | None

    def __post_init__(self) -> None:
        choose("--on-error", self.on_error, {"fail": None, "skip": None})

    def check_unused(self, data: str) -> None:
        """Raise if an option is given that a dataset with features and labels of its own does not have."""
        given = {"--target": self.target, "--labels": self.labels, "--split-column": self.split_column}
        for name, value in given.items():
            if value:
                raise InputError(f"{name} is for files that are converted, but {data} has its own targets and parts")


class Opened(NamedTuple):
    """Graphs to diagnose.

    Fields:
        dataset: The graphs.
        name: What to call them.
        skipped: Number of lines that could not be read and are left out.
    """

    dataset: "Dataset | Shards"
    name: str
    skipped: int = 0


@contextmanager
def opened(data: str, root: Path | None, options: Options, processes: int, progress: Progress) -> Iterator[Opened]:
    """The dataset with a name or in a file. A file of another format is converted into a temporary one.

    A file of graphs without labels can be diagnosed too: all that is said about targets is then left out.

    Args:
        data: Name or path.
        root: Folder to search for datasets first.
        options: How a file is read.
        processes: Number of processes.
        progress: Called with what is done, the number of lines done and the number of all lines.
    """
    from pfgnn.data.catalogue import ENTRIES, find_entry
    from pfgnn.data.load import load
    from pfgnn.data.shards import is_folder, open_packed
    from pfgnn.report.inspection import GRAPH6, MOLECULES

    path = Path(data)
    if data in ENTRIES or not (path.exists() or path.suffix or "/" in data):
        find_entry(data)
        options.check_unused(data)
        dataset = load(data, root)
        yield Opened(dataset, dataset.name)
    elif path.suffix == ".pfgnn" or is_folder(path):
        options.check_unused(data)
        packed = open_packed(path)
        yield Opened(packed, packed.name)
    elif options.labels is None and ending(path) in (*GRAPH6, *MOLECULES):
        path.stat()  # raises at once if there is no such file
        for name, value in {"--target": options.target, "--split-column": options.split_column}.items():
            if value:
                raise InputError(f"{name} is for CSV files, but {data} is none; --labels names a file of labels")
        yield _without_targets(path, options.on_error == "skip")
    else:
        with tempfile.TemporaryDirectory(prefix="pfgnn-") as folder:
            yield _converted(path, Path(folder), options, processes, progress)


def _without_targets(path: Path, skip: bool) -> Opened:
    """The graphs of a file of graph6 or SMILES. The task is to tell them apart."""
    from pfgnn.data.dataset import Dataset
    from pfgnn.data.task import Task
    from pfgnn.report.inspection import read_good_graphs, read_graphs

    graphs, lines = read_good_graphs(path) if skip else read_graphs(path)
    made = Dataset.from_graphs(graphs, [0] * len(graphs), Task("pair", 1, "none", "pairs"), name=path.name)
    return Opened(made, path.name, lines - len(graphs))


def _converted(path: Path, folder: Path, options: Options, processes: int, progress: Progress) -> Opened:
    """The graphs of a file of another format.

    Args:
        path: The file.
        folder: An empty folder for what is converted.
        options: How the file is read.
        processes: Number of processes.
        progress: Called with what is done.
    """
    from pfgnn.data.convert_file import convert_file
    from pfgnn.data.shards import open_packed

    path.stat()
    done = convert_file(
        path,
        folder / "converted.pfgnn",
        progress=lambda done, total: progress("reading", done, total),
        processes=processes,
        smiles_column=options.smiles_column,
        targets=options.target,
        labels=options.labels,
        on_error=options.on_error,
        split_column=options.split_column,
    )
    dataset = open_packed(folder / "converted.pfgnn")
    return Opened(dataset, path.name, done.rejected)
