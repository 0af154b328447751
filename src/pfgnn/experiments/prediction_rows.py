"""The rows of predictions: gaps for graphs that could not be read, and the place of each node."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import torch
from torch import Tensor

from pfgnn.data.convert import Reject
from pfgnn.errors import InputError
from pfgnn.experiments.new_graphs import NewGraphs
from pfgnn.experiments.prediction_table import Predictions


def some_pieces(
    path: Path, pieces: Iterator[Predictions], made: AbstractContextManager[object]
) -> Iterator[Predictions]:
    """The pieces. Raises an InputError at the end if all lines of the file were rejected.

    Args:
        path: The file.
        pieces: The predictions.
        made: Ends the processes that make graphs.
    """
    rejected: Reject | None = None
    only_rejects = True
    with made:
        for piece in pieces:
            rejected = rejected or next(iter(piece.rejects), None)
            only_rejects = only_rejects and bool(piece.mean.isnan().all())
            yield piece
    if rejected is not None and only_rejects:
        cause = f"all lines were rejected, line {rejected.line} since {rejected.reason}"
        raise InputError(f"{path} must have at least one graph, but it has none: {cause}")


def with_gaps(rows: Tensor, new: NewGraphs) -> Tensor:
    """One row for each graph of a piece, NaN for those that could not be read, [count, C]."""
    filled = rows.new_full((new.total, rows.shape[1]), torch.nan)
    filled[torch.from_numpy(new.read)] = rows
    return filled


def node_places(graphs: Tensor, counts: Tensor) -> Tensor:
    """The graph of each node and its number in the graph, [N, 2].

    Args:
        graphs: Number of each graph, [G].
        counts: Number of nodes of each graph, [G].
    """
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)
    return torch.stack([graphs.repeat_interleave(counts), torch.arange(len(first)) - first], 1)
