"""Graphs that the user gives in Python, as a dataset for a finished run."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from pfgnn.data.arrays import check_items
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES, pack_molecules
from pfgnn.errors import InputError, InputTypeError
from pfgnn.experiments.needs import Needs
from pfgnn.graphs.graph import Graph

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

GivenGraph: TypeAlias = Union[str, Graph, "nx.Graph", "Data"]


def pack_graphs(graphs: Iterable[GivenGraph], needs: Needs) -> Dataset:
    """A dataset of graphs that are all of one kind. The targets are placeholders.

    Args:
        graphs: SMILES, Graphs, networkx graphs or PyG ``Data``.
        needs: What the run needs.
    """
    items: list[Any] = check_items("graphs", graphs)
    if not items:
        raise InputError("graphs must hold at least one graph, but it is empty")
    first = items[0]
    if isinstance(first, str):
        return _pack_smiles(check_items("graphs", items, str), needs)
    if isinstance(first, Graph):
        y = needs.targets([graph.num_nodes for graph in check_items("graphs", items, Graph)])
        return Dataset.from_graphs(items, y, needs.task, **_categories(first, needs))
    if hasattr(first, "edge_index"):
        y = needs.targets([int(graph.num_nodes) for graph in items])
        return Dataset.from_pyg(items, needs.task, y=y, **_categories(first, needs))
    if hasattr(first, "nodes"):
        y = needs.targets([len(graph) for graph in items])
        nodes, edges = needs.node_columns, needs.edge_columns
        return Dataset.from_networkx(
            items,
            y,
            [f"x{column}" for column in range(nodes)] if nodes else None,
            [f"e{column}" for column in range(edges)] if edges else None,
            task=needs.task,
            node_categories=needs.node_categories,
            edge_categories=needs.edge_categories,
        )
    raise InputTypeError(
        f"graphs must hold SMILES, Graphs, networkx graphs or PyG Data, but item 0 is a {type(first).__name__}"
    )


def _pack_smiles(smiles: list[str], needs: Needs) -> Dataset:
    features = needs.check_molecules()
    molecules = []
    for number, text in enumerate(smiles):
        try:
            molecules.append(FEATURES[features].featurise(text))
        except ValueError as error:
            raise InputError(f"item {number} of graphs cannot be used: {error}") from None
    return pack_molecules(molecules, needs.targets([len(molecule.x) for molecule in molecules]), features, needs.task)


def _categories(graph: Any, needs: Needs) -> dict[str, Any]:
    """The numbers of categories, if the features of a graph have as many columns."""
    found = {}
    for name, values, categories in (
        ("node_categories", graph.x, needs.node_categories),
        ("edge_categories", graph.edge_attr, needs.edge_categories),
    ):
        columns = 0 if values is None else 1 if values.ndim == 1 else values.shape[1]
        found[name] = categories if categories is not None and len(categories) == columns else None
    return found
