"""Convert a file of graphs into a packed file, or a large one into a folder of shards, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Unpack

from pfgnn.argument_checks import choose
from pfgnn.data.conversion import Conversion, Parts, Settings, find_categories
from pfgnn.data.convert import Progress, convert_source
from pfgnn.data.convert_pieces import Piece, Reject, read_pieces
from pfgnn.data.graph_files import Source
from pfgnn.data.molecules import scaffold
from pfgnn.data.shard_writer import write_shards
from pfgnn.data.splits import random_split, scaffold_split
from pfgnn.data.tu import read_tu
from pfgnn.data.unfinished import Unfinished
from pfgnn.errors import InputError, shown
from pfgnn.files import write_atomically
from pfgnn.workers import available_cores

LINES, BYTES = 2**16, 2**26  # a shard is full if it has so many lines, or graphs of this size
LARGE = 2 * LINES  # lines; a file with more becomes a folder of shards
SHOWN = 20  # rejected lines that are returned
MOLECULES = ("csv", "smi")  # kinds of files that hold SMILES


class Outcome(NamedTuple):
    """What a conversion has written.

    Attributes:
        graphs: Number of graphs.
        rejected: Number of rejected lines.
        first: The first rejected lines.
        about: What was chosen, and why.
        shards: Number of shards; 0 for one packed file.
    """

    graphs: int
    rejected: int
    first: list[Reject]
    about: dict[str, str]
    shards: int = 0


def convert_file(
    path: str | Path,
    out: str | Path,
    *,
    rejects: str | Path | None = None,
    shares: Sequence[float] | None = None,
    split: str = "random",
    seed: int = 0,
    progress: Progress | None = None,
    processes: int | None = None,
    **settings: Unpack[Settings],
) -> Outcome:
    """Convert a file of graphs into a packed file. If it has more than ``LARGE`` lines, into a folder of shards.

    A large file is read piece by piece. What is done is kept beside ``out``, in a folder that ends in .unfinished. If
    the conversion is stopped, the same call goes on, and its result has the same bits.

    Args:
        path: The file or folder, see :class:`pfgnn.data.conversion.Conversion`.
        out: File or folder to write.
        rejects: File to write all rejected lines to, with reasons.
        shares: Shares of train, validation and test; None for no parts.
        split: How the parts are drawn: "random", or "scaffold", which keeps molecules of one scaffold together.
        seed: Seed of random parts.
        progress: See :func:`pfgnn.data.convert.convert`.
        processes: See :func:`pfgnn.data.convert.convert`.
        settings: See :func:`pfgnn.data.convert.convert`.
    """
    conversion, target = Conversion(path, **settings), Path(out)
    workers = processes or available_cores()
    draw = partial(_draw_parts, conversion, shares, split, seed)
    if shares is not None and conversion.split_column is not None:
        named = shown(conversion.split_column)
        raise InputError(f"--split must not be given with --split-column, whose column {named} names the parts")
    if split == "scaffold" and conversion.kind not in MOLECULES:
        kinds = " or ".join(MOLECULES)
        raise InputError(
            f"--split scaffold is for molecules, of the kind {kinds}, but {path} is of the kind {conversion.kind}"
        )
    smiles: list[str] = []
    if conversion.kind == "tu":
        dataset, lines = read_tu(conversion.file), list[Reject]()
    else:
        source = conversion.source()
        if source.total > LARGE:
            return _convert_large(conversion, source, target, rejects, draw, progress, workers)
        dataset, lines, smiles, *_ = convert_source(conversion, source, progress, workers)
    splits, about = draw(len(dataset), lambda: smiles, lines)
    dataset = replace(dataset, splits=splits, about={**dataset.about, **about})
    dataset.save(target)
    write_rejects(rejects, lines)
    return Outcome(len(dataset), len(lines), lines[:SHOWN], dict(dataset.about))


def _convert_large(
    conversion: Conversion,
    source: Source,
    out: Path,
    rejects: str | Path | None,
    draw: Callable[[int, Callable[[], Iterable[str]], Iterable[Reject]], Parts],
    progress: Progress | None,
    processes: int,
) -> Outcome:
    if out.exists():
        raise InputError(f"{out} must not exist, because a large file becomes a new folder of shards; choose another")
    unfinished = Unfinished(out.with_name(f"{out.name}.unfinished"), conversion)
    conversion.check(unfinished.rejects())
    done = unfinished.lines
    block: list[Piece] = []
    with closing(read_pieces(source, processes, done, unfinished.columns)) as pieces:
        for piece in pieces:
            conversion.check(piece.rejects)
            block.append(piece)
            done += piece.lines
            if _is_full(block) or done == source.total:
                unfinished.add(block)
                block = []
            if progress is not None:
                progress(done, source.total)
    conversion.check(unfinished.rejects(), unfinished.graphs)
    decided = conversion.decide(source, unfinished.labels())
    categories = find_categories(source, unfinished.datasets())
    splits, about = draw(unfinished.graphs, lambda: _all_smiles(source, unfinished.rejects()), unfinished.rejects())
    decided = decided._replace(about={**decided.about, **about})
    finished = (conversion.finish(dataset, source, decided, categories) for dataset in unfinished.datasets())
    shards = write_shards(out, finished, splits)
    write_rejects(rejects, unfinished.rejects())
    rejected = sum(stored.rejects for stored in unfinished.blocks)
    first = list(islice(unfinished.rejects(), SHOWN))
    unfinished.remove()
    return Outcome(len(shards), rejected, first, dict(shards.about), len(shards.shards))


def _all_smiles(source: Source, rejects: Iterable[Reject]) -> Iterator[str]:
    """The SMILES of all lines that were not rejected. The file is read again, so they are not kept in memory."""
    rejected = {reject.line for reject in rejects}
    assert source.smiles is not None
    return (source.smiles(content) for line, content in source.items() if line not in rejected)


def _draw_parts(
    conversion: Conversion,
    shares: Sequence[float] | None,
    split: str,
    seed: int,
    graphs: int,
    smiles: Callable[[], Iterable[str]],
    rejects: Iterable[Reject],
) -> Parts:
    """The parts of a dataset, and a note about them. Raises an InputError if a part would be empty.

    Args:
        conversion: May name a column of parts.
        shares: See :func:`convert_file`.
        split: See :func:`convert_file`.
        seed: See :func:`convert_file`.
        graphs: Number of its graphs.
        smiles: Gives the SMILES of each graph. It is called for a split by scaffold only.
        rejects: The rejected lines.
    """
    if shares is None:
        return conversion.named_parts(rejects)
    by_scaffold = choose("split", split, {"random": False, "scaffold": True})
    splits = (
        scaffold_split([scaffold(one) for one in smiles()], shares)
        if by_scaffold
        else random_split(graphs, shares, seed)
    )
    sizes = ", ".join(f"{len(part)} {kind}" for kind, part in splits.items())
    if not all(map(len, splits.values())):
        raise InputError(f"--split needs more graphs, for {graphs} graphs of {conversion.name} give: {sizes}")
    return splits, {"parts": f"{sizes}, {'by scaffold' if by_scaffold else f'at random with seed {seed}'}"}


def _is_full(block: Sequence[Piece]) -> bool:
    """Whether pieces fill a shard. This does not depend on what comes before them, so it is the same after a stop."""
    arrays = [array for piece in block if piece.dataset is not None for array in piece.dataset.arrays().values()]
    return sum(piece.lines for piece in block) >= LINES or sum(array.nbytes for array in arrays) >= BYTES


def write_rejects(path: str | Path | None, rejects: Iterable[Reject]) -> None:
    """Write rejected lines to a file, each as "line N: reason". Does nothing if ``path`` is None."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(f"line {reject.line}: {reject.reason}\n" for reject in rejects)

    if path is not None:
        write_atomically(Path(path), write)
