"""A dataset: a few flat arrays that hold all graphs, their splits and their task."""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import (
    Array,
    as_targets,
    check_arrays,
    check_edges,
    check_items,
    check_numbers,
    check_rows,
    guess_task,
    join_edges,
    rows_of,
    shrink,
)
from pfgnn.data.content import check_content, check_shapes, check_types
from pfgnn.data.packed import read_packed, write_packed
from pfgnn.data.task import Task
from pfgnn.errors import shown
from pfgnn.files import reading
from pfgnn.graphs.arrays import stack
from pfgnn.graphs.convert import from_networkx_list
from pfgnn.graphs.convert import from_pyg as pyg_graph
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import read_graph6

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

GRAPHS_AT_ONCE = 1024  # an iteration converts this many graphs to PyG at a time


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """G graphs with N nodes and E directed edges in all. Each array holds the rows of one graph after another.

    Args:
        name: Name of the dataset.
        task: What is predicted.
        node_counts: Number of nodes of each graph, shape [G].
        edge_counts: Number of directed edges of each graph, shape [G].
        edges: Source and target of each edge, shape [2, E]. Nodes are numbered within their graph. The edges of a graph
            are sorted by target, then by source.
        y: Targets, shape [G, C], or [N, C] for a task at node level. NaN means unknown.
        x: Node features, shape [N, F].
        edge_attr: Edge features, shape [E, Fe].
        pos: Node positions, shape [N, 3].
        pairs: Graph numbers of the pairs that the model must tell apart, shape [P, 2].
        key: A number per graph that its random draws depend on, shape [G]. By default 0, 1, 2, ...
        splits: Graph numbers of each part, such as "train" or "fold 3 train".
        node_categories: Number of categories of each column of x. None if the columns are continuous.
        edge_categories: Number of categories of each column of edge_attr. None if the columns are continuous.
        about: Source, citation and notes.
    """

    name: str
    task: Task
    node_counts: Array
    edge_counts: Array
    edges: Array
    y: Array
    x: Array | None = None
    edge_attr: Array | None = None
    pos: Array | None = None
    pairs: Array | None = None
    key: Array | None = None
    splits: Mapping[str, Array] = field(default_factory=dict)
    node_categories: tuple[int, ...] | None = None
    edge_categories: tuple[int, ...] | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_types(self)
        G = len(self.node_counts)
        object.__setattr__(self, "key", shrink(np.arange(G) if self.key is None else np.asarray(self.key)))
        check_shapes(self)
        parts = {name: check_numbers(f"the split {shown(name)}", graphs, G) for name, graphs in self.splits.items()}
        object.__setattr__(self, "splits", parts)
        check_content(self)

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.node_counts)

    @overload
    def __getitem__(self, index: SupportsIndex) -> "Data": ...
    @overload
    def __getitem__(self, index: slice | npt.ArrayLike) -> "Dataset": ...
    def __getitem__(self, index: Any) -> "Data | Dataset":
        """For one number a PyG ``Data``; for a slice or several graph numbers a dataset.

        Only a single number or a slice may count from the end.
        """
        if isinstance(index, slice):
            return self.subset(np.arange(len(self))[index])
        if np.ndim(index) > 0:
            return self.subset(index)
        place = operator.index(index)
        if not -len(self) <= place < len(self):
            raise IndexError(f"the graph number must lie in 0..{len(self) - 1}, but it is {place}")
        return self.subset([place % len(self)]).to_pyg()[0]

    def __iter__(self) -> Iterator["Data"]:
        """The graphs one after another, each as a PyG ``Data``."""
        for begin in range(0, len(self), GRAPHS_AT_ONCE):
            yield from self[begin : begin + GRAPHS_AT_ONCE].to_pyg()

    def __repr__(self) -> str:
        """One line: name, counts and task."""
        counts = f"{len(self):,} graphs, {int(self.node_counts.sum()):,} nodes, {int(self.edge_counts.sum()):,} edges"
        outputs = f"{self.task.outputs} output{'s' if self.task.outputs > 1 else ''}"
        return f"Dataset({self.name}: {counts}; {self.task.level} level, {outputs})"

    @property
    def in_channels(self) -> int | tuple[int, ...]:
        """The ``in_channels`` of a model: the category counts of x, or its number of columns, or 0 without x."""
        return self.node_categories or (0 if self.x is None else self.x.shape[1])

    @property
    def edge_channels(self) -> int | tuple[int, ...] | None:
        """The ``edge_channels`` of a model: the category counts of edge_attr, or its number of columns, or None."""
        return self.edge_categories or (None if self.edge_attr is None else self.edge_attr.shape[1])

    def arrays(self) -> dict[str, Array]:
        """All arrays that are not None, by name."""
        names = ("node_counts", "edge_counts", "edges", "y", "x", "edge_attr", "pos", "pairs", "key")
        found = {name: getattr(self, name) for name in names}
        return {name: array for name, array in found.items() if array is not None}

    def subset(self, graphs: npt.ArrayLike) -> "Dataset":
        """The graphs with the given numbers, in that order. They keep their keys; splits and pairs are removed."""
        chosen = check_numbers("graphs", graphs, len(self))
        nodes = rows_of(self.node_counts, chosen)
        edges = rows_of(self.edge_counts, chosen)
        of = {"x": nodes, "pos": nodes, "edge_attr": edges, "key": chosen, "node_counts": chosen, "edge_counts": chosen}
        of["y"] = nodes if self.task.level == "node" else chosen
        parts: dict[str, Any] = {name: array[of[name]] for name, array in self.arrays().items() if name in of}
        return replace(self, **parts, edges=self.edges[:, edges], splits={}, pairs=None)

    def without_edge_features(self) -> "Dataset":
        """The same dataset without edge features."""
        return replace(self, edge_attr=None, edge_categories=None)

    def save(self, path: str | Path) -> None:
        """Write one packed file, completely or not at all. Integers get the smallest dtype that holds them."""
        splits = {f"split:{name}": indices for name, indices in self.splits.items()}
        meta = {
            "name": self.name,
            "task": self.task.to_json(),
            "node_categories": self.node_categories,
            "edge_categories": self.edge_categories,
            "about": dict(self.about),
        }
        write_packed(Path(path), {name: shrink(a) for name, a in {**self.arrays(), **splits}.items()}, meta)

    @staticmethod
    def open(path: str | Path) -> "Dataset":
        """Map a packed file into memory. A truncated or damaged file, or one of another format, raises an error.

        A folder of shards is read whole. To leave it on the disk, open it with :class:`pfgnn.data.shards.Shards`.
        """
        if Path(path).is_dir():
            from pfgnn.data.shards import Shards

            return Shards.open(path).whole()
        with reading(Path(path), "be a packed dataset, as Dataset.save writes it"):
            arrays, meta = read_packed(Path(path))
            rest: dict[str, Any] = {name: a for name, a in arrays.items() if not name.startswith("split:")}
            splits = {name.removeprefix("split:"): a for name, a in arrays.items() if name not in rest}
            for name in ("node_categories", "edge_categories"):
                rest[name] = meta[name] and tuple(meta[name])
            return Dataset(meta["name"], Task.from_json(meta["task"]), **rest, splits=splits, about=meta["about"])

    @staticmethod
    def from_arrays(
        name: str, task: Task, *, node_counts: Array, edge_counts: Array, edges: Array, **parts: Any
    ) -> "Dataset":
        """A dataset from arrays. The edges of a graph may be in any order and are sorted by target, then by source.

        Integers get the smallest dtype that holds them. The arguments are those of the class.
        """
        check_arrays(node_counts=node_counts, edge_counts=edge_counts, edges=edges, edge_attr=parts.get("edge_attr"))
        check_edges(edges, parts.get("edge_attr"), int(edge_counts.sum()))
        check_rows("edge_counts", edge_counts, len(node_counts), "graphs", axes=1)
        graph = np.repeat(np.arange(len(edge_counts)), edge_counts)
        order = np.lexsort((edges[0], edges[1], graph))
        if parts.get("edge_attr") is not None:
            parts["edge_attr"] = parts["edge_attr"][order]
        arrays = {"node_counts": node_counts, "edge_counts": edge_counts, "edges": edges[:, order], **parts}
        small: dict[str, Any] = {key: shrink(a) if isinstance(a, np.ndarray) else a for key, a in arrays.items()}
        return Dataset(name, task, **small)

    @staticmethod
    def from_graphs(
        graphs: Iterable[Graph], y: npt.ArrayLike, task: Task | None = None, name: str = "graphs", **parts: Any
    ) -> "Dataset":
        """A dataset from undirected graphs. It holds each edge in both directions.

        Args:
            graphs: The graphs. Their labels become features.
            y: Targets, one row per graph, or one row per node for a task at node level.
            task: The task. By default guessed from y, see :func:`pfgnn.data.arrays.guess_task`.
            name: Name of the dataset.
            parts: Further arguments of the class, such as splits and category counts.
        """
        graphs = check_items("graphs", graphs, Graph)
        targets = as_targets(y)
        directed = [graph.directed() for graph in graphs]
        return Dataset.from_arrays(
            name,
            task or guess_task(targets),
            node_counts=np.array([graph.num_nodes for graph in graphs], dtype=np.int64),
            edge_counts=np.array([edges.shape[1] for edges, _ in directed], dtype=np.int64),
            edges=join_edges([edges for edges, _ in directed]),
            x=stack("x", [graph.x for graph in graphs]),
            edge_attr=stack("edge_attr", [attr for _, attr in directed]),
            y=targets,
            **parts,
        )

    @staticmethod
    def from_networkx(
        graphs: Iterable["nx.Graph"],
        y: npt.ArrayLike,
        node_attrs: Sequence[str] | None = None,
        edge_attrs: Sequence[str] | None = None,
        **options: Any,
    ) -> "Dataset":
        """A dataset from networkx graphs.

        Args:
            graphs: Simple undirected networkx graphs.
            y: Targets, as for :meth:`from_graphs`.
            node_attrs: Names of numeric node attributes that become the columns of x.
            edge_attrs: Names of numeric edge attributes that become the columns of edge_attr.
            options: Further arguments of :meth:`from_graphs`.
        """
        made = from_networkx_list(check_items("graphs", graphs), node_attrs, edge_attrs)
        return Dataset.from_graphs(made, y, **options)

    @staticmethod
    def from_graph6(path: str | Path, y: npt.ArrayLike, **options: Any) -> "Dataset":
        """A dataset from a file with one graph6 or sparse6 string per line.

        Args:
            path: The file.
            y: Targets, as for :meth:`from_graphs`.
            options: Further arguments of :meth:`from_graphs`.
        """
        return Dataset.from_graphs(read_graph6(path), y, **options)

    @staticmethod
    def from_pyg(data: Iterable["Data"], task: Task | None = None, name: str = "graphs", **parts: Any) -> "Dataset":
        """A dataset from PyG graphs, such as an InMemoryDataset. See :func:`pfgnn.data.pyg.from_pyg`."""
        from pfgnn.data.pyg import from_pyg

        return from_pyg(data, task, name, **parts)

    @staticmethod
    def from_smiles(
        smiles: Iterable[str],
        y: npt.ArrayLike,
        features: str = "ogb",
        task: Task | None = None,
        name: str = "molecules",
        processes: int = 1,
        **parts: Any,
    ) -> "Dataset":
        """A dataset from molecules. See :func:`pfgnn.data.molecules.from_smiles`."""
        from pfgnn.data.molecules import from_smiles

        return from_smiles(smiles, y, features, task, name, processes, **parts)

    def to_pyg(self) -> list["Data"]:
        """A list with one PyG ``Data`` for each graph. See :func:`pfgnn.data.pyg.to_pyg`."""
        from pfgnn.data.pyg import to_pyg

        return to_pyg(self)

    def graph(self, number: int) -> Graph:
        """One graph as a :class:`pfgnn.graphs.Graph`. Raises an error if its edges are not undirected."""
        return pyg_graph(self.subset([number]).to_pyg()[0])
