"""What the training graphs of a model were like, and which new graphs are unlike all of them.

A model says nothing sensible about a category that it never saw, such as an element: the weights that read it were
never trained. It needs no torch, for it goes to small processes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, rows_of
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES, MISC, Column
from pfgnn.data.shards import Shards
from pfgnn.files import reading
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.smiles import rdkit_modules

MOST_REASONS = 3  # of one graph

Values = list[list[int]]


class Seen(NamedTuple):
    """What the training graphs were like.

    Fields:
        smallest: Number of vertices of the smallest one.
        largest: Number of vertices of the largest one.
        nodes: The categories that occur, for each column of x; empty if they are not known, or no categories.
        edges: The same for edge_attr.
    """

    smallest: int
    largest: int
    nodes: Values
    edges: Values

    @staticmethod
    def of(dataset: Dataset | Shards, train: IntArray) -> "Seen":
        """What some graphs are like. The categories of a folder of shards are not looked at.

        Args:
            dataset: The graphs.
            train: Numbers of the training graphs.
        """
        graphs = np.unique(train)
        sizes = dataset.node_counts[graphs]
        nodes, edges = Values(), Values()
        if isinstance(dataset, Dataset):
            nodes = seen_values(dataset.x, dataset.node_categories, rows_of(dataset.node_counts, graphs))
            edges = seen_values(dataset.edge_attr, dataset.edge_categories, rows_of(dataset.edge_counts, graphs))
        return Seen(int(sizes.min()), int(sizes.max()), nodes, edges)

    @staticmethod
    def read(path: Path, record: Mapping[str, Any]) -> "Seen | None":
        """What the record of a run says; None if the run is of a version that did not record it.

        Args:
            path: File of the record, for messages.
            record: The record.
        """
        if "seen" not in record:
            return None
        with reading(path, "be the record of a run"):
            smallest, largest, *columns = (record["seen"][name] for name in Seen._fields)
            nodes, edges = ([[int(value) for value in column] for column in of] for of in columns)
            return Seen(int(smallest), int(largest), nodes, edges)

    def outside(self, dataset: Dataset, features: str | None) -> list[str]:
        """For each graph, why it is unlike all training graphs, such as "element U"; "" if it is not.

        Args:
            dataset: The graphs, before encodings are added.
            features: Name of the features of molecules; None for other graphs.
        """
        atoms, bonds = (FEATURES[features].atoms, FEATURES[features].bonds) if features is not None else (None, None)
        reasons: list[list[str]] = [[] for _ in range(len(dataset))]
        graphs = np.arange(len(dataset))
        for what, values, known, counts, columns in (
            ("node", dataset.x, self.nodes, dataset.node_counts, atoms),
            ("edge", dataset.edge_attr, self.edges, dataset.edge_counts, bonds),
        ):
            if values is None or len(known) != values.shape[1]:
                continue
            graph = np.repeat(graphs, counts)
            for number, allowed in enumerate(known):
                new = np.flatnonzero(~np.isin(values[:, number], allowed))
                for place, value in sorted(set(zip(graph[new].tolist(), values[new, number].tolist(), strict=True))):
                    column = None if columns is None else columns[number]
                    reasons[place].append(_name(what, number, value, column))
        kind = "graphs" if features is None else "molecules"
        for place in np.flatnonzero(dataset.node_counts > self.largest).tolist():
            reasons[place].insert(0, f"larger than all training {kind}")
        for place in np.flatnonzero(dataset.node_counts < self.smallest).tolist():
            reasons[place].append(f"smaller than all training {kind}")
        return [", ".join(dict.fromkeys(of[:MOST_REASONS])) for of in reasons]


def seen_values(values: Array | None, categories: Sequence[int] | None, rows: IntArray) -> Values:
    """The categories of each column that occur in some rows; empty if the columns are no categories.

    Args:
        values: Features, [N, F].
        categories: Number of categories of each column; None if the columns are numbers.
        rows: Numbers of the rows.
    """
    if values is None or categories is None:
        return []
    chosen = values[rows]
    return [np.unique(column).astype(np.int64).tolist() for column in chosen.T]


def _name(what: str, number: int, value: int, column: Column | None) -> str:
    """What a category is called.

    Args:
        what: "node" or "edge".
        number: Number of the column.
        value: The category.
        column: The column of a feature of molecules; None for other features.
    """
    if column is None:
        return f"{what} feature {number} = {value}"
    text = column.values[value - column.first] if value >= column.first else MISC
    if column.name == "atomic number":
        chem, _ = rdkit_modules()
        return "unknown element" if text == MISC else f"element {chem.GetPeriodicTable().GetElementSymbol(int(text))}"
    if text in ("True", "False"):
        return column.name if text == "True" else f"not {column.name}"
    return f"{column.name} {'other' if text == MISC else text}"
