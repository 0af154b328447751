"""What the training graphs of a model were like, and which new graphs are unlike all of them.

A model says nothing sensible about a category that it never saw, such as an element: the weights that read it were
never trained. It needs no torch, for it goes to small processes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES, MISC, Column
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.smiles import rdkit_modules

MOST_REASONS = 3  # of one graph

Values = list[list[int]]


class Seen(NamedTuple):
    """What the training graphs were like.

    Fields:
        largest: Number of vertices of the largest one.
        nodes: The categories that occur, for each column of x; empty if they are not known, or no categories.
        edges: The same for edge_attr.
    """

    largest: int
    nodes: Values
    edges: Values

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
