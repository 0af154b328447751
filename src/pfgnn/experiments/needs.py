"""What a finished run needs new graphs to be. It needs no torch, for it goes to small processes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.encodings import ring_walk_columns
from pfgnn.data.molecules import FEATURES
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, counted
from pfgnn.experiments.config import DataConfig
from pfgnn.experiments.prepare import prepare
from pfgnn.experiments.seen import Seen
from pfgnn.graphs.arrays import IntArray


class Needs(NamedTuple):
    """What a run needs new graphs to be.

    Fields:
        task: Task of the run.
        in_channels: Node features that its model reads, see :class:`pfgnn.model.PFGNN`.
        edge_channels: Edge features that its model reads.
        data: Says which encodings the graphs get.
        reads_edges: Whether the model reads edge features.
        seen: What the training graphs were like, if that is known.
        of_nodes: Number of categories of each column of x, before encodings; None if they are not known.
        of_edges: The same for edge_attr, before lengths.
    """

    task: Task
    in_channels: int | tuple[int, ...]
    edge_channels: int | tuple[int, ...] | None
    data: DataConfig
    reads_edges: bool
    seen: Seen | None = None
    of_nodes: tuple[int, ...] | None = None
    of_edges: tuple[int, ...] | None = None

    @property
    def encoded(self) -> int:
        """Number of columns of encodings in the node features."""
        return self.data.random_walks + ring_walk_columns(self.data.ring_walks)

    @property
    def molecules(self) -> str | None:
        """The name of the molecule features that the run was trained on. None if it was trained on others."""
        for name, features in FEATURES.items():
            # With encodings, the categories are stored as one-hot columns.
            channels = sum(features.node_categories) + self.encoded if self.encoded else features.node_categories
            if channels == self.in_channels:
                return name
        return None

    @property
    def node_categories(self) -> tuple[int, ...] | None:
        """Number of categories of each column of x, before encodings. None if they are continuous or not known."""
        if isinstance(self.in_channels, tuple):
            return self.in_channels
        if self.of_nodes is not None:
            return self.of_nodes
        return None if self.molecules is None else FEATURES[self.molecules].node_categories

    @property
    def edge_categories(self) -> tuple[int, ...] | None:
        """Number of categories of each column of edge_attr. None if they are continuous or not known."""
        return self.edge_channels if isinstance(self.edge_channels, tuple) else self.of_edges

    @property
    def node_columns(self) -> int:
        """Number of columns of x, before encodings."""
        if self.node_categories is not None:
            return len(self.node_categories)
        return self.in_channels - self.encoded if isinstance(self.in_channels, int) else 0

    @property
    def edge_columns(self) -> int:
        """Number of columns of edge_attr, before lengths."""
        if self.edge_categories is not None:
            return len(self.edge_categories)
        lengths = 0 if self.data.positions == "none" else 1
        return self.edge_channels - lengths if isinstance(self.edge_channels, int) else 0

    def check_molecules(self) -> str:
        """The name of the molecule features. Raises an InputError if the run was trained on others."""
        if self.molecules is None:
            raise InputError("the run must be trained on features of molecules to predict from SMILES, but it is not")
        return self.molecules

    def outside(self, dataset: Dataset) -> list[str] | None:
        """For each graph why it is unlike the training graphs, see :class:`Seen`; None if these are not known.

        Args:
            dataset: The graphs, before :meth:`fit`.
        """
        return None if self.seen is None else self.seen.outside(dataset, self.molecules)

    def targets(self, nodes: Sequence[int]) -> IntArray:
        """Placeholders for the targets of new graphs with these numbers of nodes."""
        rows = sum(nodes) if self.task.level == "node" else len(nodes)
        return np.zeros((rows, 1 if self.task.loss in CLASS_LOSSES else self.task.outputs), dtype=np.int64)

    def fit(self, dataset: Dataset, what: str) -> Dataset:
        """Prepare graphs for the model. Raises an InputError if they do not have the features of the run.

        Args:
            dataset: The graphs.
            what: Where they come from, for the message.
        """
        if self.data.positions != "none" and dataset.pos is None:
            raise InputError(f"{what} must have positions of nodes, as the training graphs had, but they have none")
        made = prepare(dataset, self.data, self.reads_edges, cached=False)
        for name, want, came in (
            ("node", self.in_channels, made.in_channels),
            ("edge", self.edge_channels, made.edge_channels),
        ):
            if want != came:
                raise InputError(
                    f"{what} must have the {name} features that the run was trained on, {_shown(want)}, but it has "
                    f"{_shown(came)}"
                )
        return made


def _shown(channels: int | tuple[int, ...] | None) -> str:
    """Features in words."""
    if isinstance(channels, tuple):
        return f"categories with {' and '.join(map(str, channels))} values"
    return counted(channels, "number") if channels else "none"
