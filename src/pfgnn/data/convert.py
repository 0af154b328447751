"""Convert the user's own graphs into a dataset: from tables of SMILES, graph6, TU folders or JSON lines."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Unpack

from pfgnn.data.conversion import Conversion, Settings, find_categories
from pfgnn.data.convert_pieces import Columns, Reject, merge, read_pieces
from pfgnn.data.dataset import Dataset
from pfgnn.data.graph_files import Source
from pfgnn.data.tu import read_tu
from pfgnn.workers import available_cores

__all__ = ["Converted", "Progress", "Reject", "convert", "convert_source"]

Progress = Callable[[int, int], None]


class Converted(NamedTuple):
    """The result of a conversion.

    Attributes:
        dataset: The graphs, in the order of the file.
        rejects: The lines that were skipped.
        smiles: SMILES of each graph, length G, for a split by scaffold. Empty for other kinds than csv and smi.
        lines: Number of the line of each graph in the file, from 1, length G. Empty for a TU folder.
        targets: Names of the columns of the targets, if the file has them.
    """

    dataset: Dataset
    rejects: list[Reject]
    smiles: list[str]
    lines: list[int]
    targets: tuple[str, ...] = ()


def convert(
    path: str | Path, *, progress: Progress | None = None, processes: int | None = None, **settings: Unpack[Settings]
) -> Converted:
    """Read graphs with their targets into one dataset.

    An empty target, or NaN, is unknown; in JSON it is null. ``dataset.about`` says which target and task were chosen,
    and why.

    Args:
        path: The file or folder, see :class:`pfgnn.data.conversion.Conversion`.
        progress: Called again and again with the number of lines done and the number of all lines.
        processes: Number of processes that read large files; by default one for each core. They are spawned, so a
            script needs an ``if __name__ == "__main__"`` guard.
        settings: Such as ``targets`` and ``features``, see :class:`pfgnn.data.conversion.Conversion`.
    """
    conversion = Conversion(path, **settings)
    if conversion.kind == "tu":
        return Converted(read_tu(conversion.file), [], [], [])
    done = convert_source(conversion, conversion.source(), progress, processes or available_cores())
    splits, about = conversion.named_parts(done.rejects)
    return done._replace(dataset=replace(done.dataset, splits=splits, about={**done.dataset.about, **about}))


def convert_source(conversion: Conversion, source: Source, progress: Progress | None, processes: int) -> Converted:
    """Convert a file that was read once. See :func:`convert`."""
    rejects: list[Reject] = []
    smiles: list[str] = []
    lines: list[int] = []
    datasets: list[Dataset] = []
    columns: Columns = {}
    done = 0
    with closing(read_pieces(source, processes)) as pieces:
        for piece in pieces:
            rejects += piece.rejects
            smiles += piece.smiles
            lines += piece.read
            datasets += [] if piece.dataset is None else [piece.dataset]
            columns, done = piece.columns, done + piece.lines
            if progress is not None:
                progress(done, source.total)
    conversion.check(rejects, len(datasets))
    dataset = merge(datasets, columns)
    decided = conversion.decide(source, [dataset.y])
    finished = conversion.finish(dataset, source, decided, find_categories(source, [dataset]))
    return Converted(finished, rejects, smiles, lines, source.targets)
