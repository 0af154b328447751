"""Graphs that the user gives in Python, as a dataset: with targets for a fit, or without for a finished run."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from pfgnn.data.arrays import Array, check_items
from pfgnn.data.conversion import integer_categories
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import FEATURES, from_smiles, pack_molecules
from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError, MissingPackageError, shown, warn
from pfgnn.experiments.needs import Needs
from pfgnn.graphs.convert import from_networkx_list
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import from_line
from pfgnn.graphs.smiles import parse_smiles

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

GivenGraph: TypeAlias = Union[str, Graph, "nx.Graph", "Data"]
KINDS = "SMILES, graph6, Graphs, networkx graphs or PyG Data"
LOOKED_AT = 1000  # texts that decide whether a list holds SMILES or graph6
MOST_CATEGORIES = 1000  # integer features from here on are numbers


def pack_labelled(graphs: Iterable[GivenGraph], y: Array, task: Task, features: str = "ogb") -> Dataset:
    """A dataset of graphs with targets. All graphs must be of one kind.

    Integer features from 0 are categories. The node attributes x0, x1, ... and the edge attributes e0, e1, ... of
    networkx graphs are features. Other attributes get a warning.

    Args:
        graphs: SMILES, graph6 or sparse6 strings, Graphs, networkx graphs, PyG ``Data``, or a Dataset, whose own
            targets are replaced.
        y: Targets, [G, C].
        task: What they mean.
        features: Features of molecules: ogb, zinc or qm9.
    """
    if isinstance(graphs, Dataset):
        return replace(graphs, y=y, task=task, splits={}, pairs=None, key=None)
    items: list[Any] = check_items("graphs", graphs)
    if not items:
        raise InputError("graphs must hold at least one graph, but it is empty")
    first = items[0]
    if isinstance(first, str):
        texts = check_items("graphs", items, str)
        if not _are_graph6(texts):
            return from_smiles(texts, y, features, task)
        items[:] = _read_graph6(texts)
        first = items[0]
    if isinstance(first, Graph):
        dataset = Dataset.from_graphs(items, y, task)
    elif hasattr(first, "edge_index"):
        dataset = replace(Dataset.from_pyg(items, task, y=y), key=None)
    elif hasattr(first, "nodes"):
        _, data = next(iter(first.nodes(data=True)), (None, {}))
        *_, of_edge = next(iter(first.edges(data=True)), (None, None, {}))
        names = _columns("x", data), _columns("e", of_edge)
        dataset = Dataset.from_networkx(items, y, *names, task=task)
        _warn_of_unused(items, *names)
    else:
        raise InputTypeError(f"graphs must hold {KINDS}, but item 0 is a {type(first).__name__}")
    nodes, edges = integer_categories([dataset], MOST_CATEGORIES)
    return replace(dataset, node_categories=nodes, edge_categories=edges)


def pack_graphs(graphs: Iterable[GivenGraph], needs: Needs) -> Dataset:
    """A dataset of graphs that are all of one kind. The targets are placeholders.

    Args:
        graphs: SMILES, graph6 or sparse6 strings, Graphs, networkx graphs, PyG ``Data`` or a Dataset. Texts are SMILES
            if the run was trained on molecules, else graph6 or sparse6.
        needs: What the run needs.
    """
    if isinstance(graphs, Dataset):
        y = needs.targets(graphs.node_counts.tolist())
        return replace(graphs, y=y, task=needs.task, splits={}, pairs=None)
    items: list[Any] = check_items("graphs", graphs)
    if not items:
        raise InputError("graphs must hold at least one graph, but it is empty")
    first = items[0]
    if isinstance(first, str):
        texts = check_items("graphs", items, str)
        if needs.molecules is not None:
            return _pack_smiles(texts, needs.molecules, needs)
        items[:] = _read_graph6(texts, "; it is read as graph6, because the run was not trained on molecules")
        first = items[0]
    _check_molecule(first, needs)
    if isinstance(first, Graph):
        y = needs.targets([graph.num_nodes for graph in check_items("graphs", items, Graph)])
        return Dataset.from_graphs(items, y, needs.task, **categories_of(items, needs))
    if hasattr(first, "edge_index"):
        y = needs.targets([int(graph.num_nodes) for graph in items])
        return Dataset.from_pyg(items, needs.task, y=y, **categories_of(items, needs))
    if hasattr(first, "nodes"):
        nodes = [f"x{column}" for column in range(needs.node_columns)] or None
        edges = [f"e{column}" for column in range(needs.edge_columns)] or None
        read = from_networkx_list(items, nodes, edges)
        _warn_of_unused(items, nodes, edges)
        return Dataset.from_graphs(
            read,
            needs.targets([graph.num_nodes for graph in read]),
            needs.task,
            node_categories=needs.node_categories,
            edge_categories=needs.edge_categories,
        )
    raise InputTypeError(f"graphs must hold {KINDS}, but item 0 is a {type(first).__name__}")


def _pack_smiles(smiles: list[str], features: str, needs: Needs) -> Dataset:
    molecules = []
    for number, text in enumerate(smiles):
        try:
            molecules.append(FEATURES[features].featurise(text))
        except ValueError as error:
            raise InputError(f"item {number} of graphs cannot be used: {error}") from None
    return pack_molecules(molecules, needs.targets([len(molecule.x) for molecule in molecules]), features, needs.task)


def _are_graph6(texts: list[str]) -> bool:
    """Whether texts are graph6 or sparse6: all can be read as this, and not all as SMILES."""
    looked_at = texts[:LOOKED_AT]
    try:
        for text in looked_at:
            from_line(text)
    except ValueError:
        return False
    try:
        for text in looked_at:
            parse_smiles(text)
    except (ValueError, MissingPackageError):
        return True
    return False


def _read_graph6(texts: list[str], why: str = "") -> list[Graph]:
    """The graphs of texts. ``why`` ends the message of an error: why they are read as graph6."""
    graphs = []
    for number, text in enumerate(texts):
        try:
            graphs.append(from_line(text))
        except ValueError as error:
            raise InputError(f"item {number} of graphs cannot be used: {error}{why}") from None
    return graphs


def _check_molecule(graph: Any, needs: Needs) -> None:
    """Raise an InputError for a graph without node features, if the run was trained on molecules."""
    nodes = getattr(graph, "nodes", None)
    if needs.molecules is None or not (nodes is not None or hasattr(graph, "x")):
        return
    bare = getattr(graph, "x", None) is None if nodes is None else "x0" not in next(iter(nodes.data()), (0, {}))[1]
    if bare:
        raise InputError(
            "graphs must be SMILES, or have the features of molecules, because the model was fitted on molecules, "
            f"but item 0 is a {type(graph).__name__} without node features"
        )


def _warn_of_unused(graphs: Sequence["nx.Graph"], nodes: Sequence[str] | None, edges: Sequence[str] | None) -> None:
    """Warn of attributes of networkx graphs that are not read.

    Args:
        graphs: The graphs.
        nodes: Names of the node attributes that are read.
        edges: Names of the edge attributes that are read.
    """
    for what, letter, read in (("node", "x", nodes), ("edge", "e", edges)):
        views = (graph.nodes.data() if what == "node" else graph.edges.data() for graph in graphs)
        unused = {str(name) for view in views for *_, data in view for name in data} - set(read or ())
        if unused:
            names = f"{letter}0, {letter}1, ..."
            warn(
                f"the {what} attributes {shown(sorted(unused))} of the networkx graphs are not used, because features "
                f"are called {names}; pfgnn.data.Dataset.from_networkx(graphs, y, {what}_attrs=[...]) takes any names",
            )


def _columns(letter: str, attributes: dict[str, Any]) -> list[str] | None:
    """The names x0, x1, ... as far as a node or edge has them; None if it has none."""
    names: list[str] = []
    while f"{letter}{len(names)}" in attributes:
        names.append(f"{letter}{len(names)}")
    return names or None


def categories_of(graphs: Sequence[Any], needs: Needs) -> dict[str, Any]:
    """The numbers of categories, if the features of the graphs have as many columns.

    Args:
        graphs: Graphs or PyG ``Data``. A graph without edges may lack edge features, so the first that has some counts.
        needs: Knows the categories.
    """
    found = {}
    for name, feature, categories in (
        ("node_categories", "x", needs.node_categories),
        ("edge_categories", "edge_attr", needs.edge_categories),
    ):
        values = next((of for graph in graphs if (of := getattr(graph, feature, None)) is not None), None)
        columns = 0 if values is None else 1 if values.ndim == 1 else values.shape[1]
        found[name] = categories if categories is not None and len(categories) == columns else None
    return found
