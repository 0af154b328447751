"""Readers of the published files. Each takes a folder and returns a dataset. See docs/data.md for the files."""

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pfgnn.data import generated
from pfgnn.data.arrays import Array
from pfgnn.data.dataset import Dataset
from pfgnn.data.generated import consecutive
from pfgnn.data.task import Task
from pfgnn.errors import InputError, shown
from pfgnn.files import read_json, read_text, reading
from pfgnn.graphs.arrays import ranges
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.graph6 import read_graph6

QM9_TARGETS = ("mu", "alpha", "homo", "lumo", "gap", "r2", "zpve", "u0", "u298", "h298", "g298", "cv")
TRIANGLES_TASK = Task("graph", 10, "cross_entropy", "accuracy")
LCC_TASK = Task("node", 3, "weighted_cross_entropy", "mean_roc_auc")
QM9_JOINT = Task("graph", 12, "l1", "mae", QM9_TARGETS)
# Number of categories of each atom and bond feature of OGB.
OGB_ATOMS = (119, 5, 12, 12, 10, 6, 6, 2, 2)
OGB_BONDS = (5, 6, 2)
MOST_BYTES = 2**32  # bytes of all arrays of an .npz file; a small file can claim far more


def zinc(folder: Path) -> Dataset:
    """ZINC-12K: 28 atom types, 3 bond types, penalised logP; the benchmark's split."""
    with arrays_of(folder / "zinc12k.npz") as file:
        return Dataset.from_arrays(
            "zinc",
            Task("graph", 1, "l1", "mae"),
            node_counts=file["num_nodes"],
            edge_counts=file["num_edges"],
            edges=file["edge_index"],
            x=file["atom_type"][:, None],
            edge_attr=file["bond_type"][:, None],
            y=file["y"][:, None],
            splits=consecutive(dict(zip(("train", "validation", "test"), file["split_sizes"], strict=True))),
            node_categories=(28,),
            edge_categories=(4,),
        )


def molhiv(folder: Path) -> Dataset:
    """ogbg-molhiv: OGB's 9 atom and 3 bond features, HIV activity; the scaffold split."""
    with arrays_of(folder / "molhiv_graphs.npz") as file:
        parts = {"train": "train_idx", "validation": "valid_idx", "test": "test_idx"}
        return Dataset.from_arrays(
            "molhiv",
            Task("graph", 1, "binary_cross_entropy", "roc_auc"),
            node_counts=file["num_nodes"],
            **both_directions(file["num_bonds"], file["edge_index"], file["edge_feat"]),
            x=file["node_feat"],
            y=file["label"][:, None],
            splits={part: file[name] for part, name in parts.items()},
            node_categories=OGB_ATOMS,
            edge_categories=OGB_BONDS,
        )


def triangles(folder: Path) -> Dataset:
    """TRIANGLES as published. The class is the number of triangles minus 1.

    There are no features, not even degrees, because some test degrees do not occur in training.
    """
    with arrays_of(folder / "triangles.npz") as file:
        parts = ("train", "validation", "test", "test-large")
        return Dataset.from_arrays(
            "triangles",
            TRIANGLES_TASK,
            node_counts=file["n_nodes"],
            **both_directions(file["n_edges"], file["edges"].T, None),
            y=file["y"][:, None].astype(np.int64) - 1,
            splits={part: np.flatnonzero(file["split"] == number) for number, part in enumerate(parts)},
        )


def exp(folder: Path) -> Dataset:
    """EXP: 600 pairs of formulas, one satisfiable and one not; ten folds of contiguous blocks, as published."""
    graphs, labels, _ = read_adjacency_lists(folder / "EXP.txt.gz", keep_types=True)
    return Dataset.from_graphs(
        graphs,
        labels,
        Task("graph", 2, "cross_entropy", "accuracy"),
        name="exp",
        pairs=np.arange(len(graphs)).reshape(-1, 2),
        splits=contiguous_folds(len(graphs), 10),
        node_categories=(2,),
    )


def lcc(folder: Path) -> Dataset:
    """LCC: random 3-regular graphs. The class of a node is the number of edges among its neighbours.

    The graphs of train and test have 20 nodes, those of test-large have 100. The published file for test-large (X)
    holds graphs of 20 nodes, so this part is generated, with seed 0.
    """
    large = generated.lcc(np.random.default_rng(0), train=0, test=0)
    (train, _, train_labels), (test, _, test_labels) = (
        read_adjacency_lists(folder / f"LCC_{part}.txt.gz") for part in ("train", "test")
    )
    return Dataset.from_graphs(
        [*train, *test, *large.graphs],
        np.concatenate([train_labels[:, 0], test_labels[:, 0], large.labels]),
        LCC_TASK,
        name="lcc",
        splits=consecutive({"train": len(train), "test": len(test), "test-large": len(large.graphs)}),
    )


def brec(folder: Path) -> Dataset:
    """BREC: 400 pairs in categories. Each category is a split that holds its graphs."""
    graphs = read_graph6(folder / "brec.g6")
    meta = folder / "brec_meta.json"
    with reading(meta, "be the categories of BREC"):
        categories = read_json(meta)["fine_ranges"]
        splits = {name: np.arange(2 * first, 2 * last) for name, (first, last) in categories.items()}
    return Dataset.from_graphs(
        graphs,
        np.arange(len(graphs)) // 2,
        Task("pair", 16, "none", "pairs"),
        name="brec",
        pairs=np.arange(len(graphs)).reshape(-1, 2),
        splits=splits,
    )


def csl_folds(folder: Path) -> dict[str, Array]:
    """The five published folds of CSL: the graph numbers of each part."""
    folds = {}
    for part, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        path = folder / f"CSL_{name}.index"
        with reading(path, "be a file with a line of graph numbers for each fold"):
            for fold, line in enumerate(read_text(path).split()):
                folds[f"fold {fold} {part}"] = np.array(line.split(","), dtype=np.int64)
    return folds


def qm9(folder: Path) -> Dataset:
    """QM9 with 12 joint targets in the published units, atom types H, C, N, O, F, bonds and positions."""
    table, shared = _qm9(folder)
    y = np.stack([table[name] for name in QM9_TARGETS], axis=1)
    return Dataset.from_arrays("qm9", QM9_JOINT, **shared, y=y, splits=qm9_split(len(y)))


def qm9_split(count: int) -> dict[str, Array]:
    """A fixed random split: 10,000 molecules for validation, 10,000 for test and the others for training."""
    order = np.random.default_rng(0).permutation(count)
    return {"train": np.sort(order[20_000:]), "validation": order[:10_000], "test": order[10_000:20_000]}


def qm9_film(folder: Path) -> Dataset:
    """QM9 in GNN-FiLM's setting: its validation and test molecules, no positions, atomisation energies.

    The error of a target is measured in units of its chemical accuracy. The training list is not available, so all
    other molecules are used for training. These are a few hundred more than the 110,462 of the list.
    """
    table, shared = _qm9(folder)
    norm = folder / "film_norm.json"
    with reading(norm, "be the reference energies and units of GNN-FiLM"):
        content = read_json(norm)
        references = content["atom_reference_energies_hartree"]
        scales = tuple(target["chemical_accuracy_in_unit"] for target in content["targets"][:12])
    graph = np.repeat(np.arange(len(table["index"])), shared["node_counts"])
    for name, energy in (("u0", "U0"), ("u298", "U"), ("h298", "H"), ("g298", "G")):
        atoms = np.array(references[energy])[shared["x"][:, 0]]
        table[name] = table[name] - np.bincount(graph, atoms)
    del shared["pos"]
    place = np.full(int(table["index"].max()) + 1, -1)
    place[table["index"].astype(np.int64)] = np.arange(len(table["index"]))
    parts = {"validation": "valid", "test": "test"}
    splits = {part: place[_read_numbers(folder / f"film_{name}_ids.txt")] for part, name in parts.items()}
    splits["train"] = np.setdiff1d(np.arange(len(table["index"])), np.concatenate(list(splits.values())))
    return Dataset.from_arrays(
        "qm9-film",
        Task("graph", 12, "l1", "error_ratio", QM9_TARGETS, scales),
        **shared,
        y=np.stack([table[name] for name in QM9_TARGETS], axis=1),
        splits=splits,
    )


def _qm9(folder: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """The columns of the table of properties by name, and the arguments of Dataset that both settings of QM9 share."""
    kind = np.full(10, -1)
    kind[[1, 6, 7, 8, 9]] = np.arange(5)
    with arrays_of(folder / "qm9_atoms.npz") as atoms:
        nodes = {"node_counts": atoms["n_atoms"], "x": kind[atoms["z"]][:, None]}
    with arrays_of(folder / "qm9_bonds.npz") as bonds:
        edges = both_directions(bonds["n_bonds"], bonds["bonds"][:, :2].T, bonds["bonds"][:, 2:])
    positions = []
    for number in (1, 2):
        with arrays_of(folder / f"qm9_positions_{number}.npz") as file:
            positions.append(file["pos"])
    shared = {**nodes, **edges, "pos": np.concatenate(positions)}
    return read_table(folder / "qm9.csv.gz"), {**shared, "node_categories": (5,), "edge_categories": (5,)}


@contextmanager
def arrays_of(path: Path) -> Iterator[dict[str, Array]]:
    """The arrays of an .npz file by name. Every fault inside the ``with`` is told with the name of the file."""
    with reading(path, "be a file of arrays (.npz)"):
        if not zipfile.is_zipfile(path):  # numpy would advise to unpickle it
            raise InputError(f"{path} must be a file of arrays (.npz), but it is truncated or something else")
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > MOST_BYTES:
                raise InputError(f"{path} must hold at most {MOST_BYTES} bytes of arrays, but it claims {size}")
            if damaged := archive.testzip():  # numpy does not compare the checksums
                raise InputError(f"{path} is damaged: the checksum of {shown(damaged)} is wrong")
        with np.load(path, allow_pickle=False) as file:
            yield dict(file)


def _read_numbers(path: Path) -> Array:
    """The integers of a text file, one per line, shape [lines]."""
    with reading(path, "be a file with one number per line"):
        return np.array(read_text(path).split(), dtype=np.int64)


def read_table(path: Path) -> dict[str, Array]:
    """The numeric columns of a gzipped CSV file, by name."""
    with reading(path, "be a table of numbers (CSV)"):
        rows = csv.reader(io.StringIO(read_text(path), newline=""))
        header = next(rows)
        numeric = [place for place, name in enumerate(header) if name != "smiles"]
        text = io.StringIO("\n".join(",".join(row[place] for place in numeric) for row in rows))
        columns = np.loadtxt(text, delimiter=",", ndmin=2)
        return {header[place]: columns[:, number] for number, place in enumerate(numeric)}


def read_adjacency_lists(path: Path, keep_types: bool = False) -> tuple[list[Graph], Array, Array]:
    """Read a gzipped text file of graphs.

    The first line is the number of graphs G. A graph is a line "n y", its number of nodes and its label, and then a
    line "t d v1 ... vd" for each node: its type, its degree and its neighbours.

    Args:
        path: The file.
        keep_types: Whether the types become the node labels of the graphs.

    Returns:
        The graphs, their labels y, shape [G], and the types t of all nodes, shape [N, 1].
    """
    with reading(path, "be a file of adjacency lists"):
        lines = iter([[int(word) for word in line.split()] for line in read_text(path).splitlines()])
        [count] = next(lines)
        graphs, labels, types = [], [], []
        for _ in range(count):
            nodes, label = next(lines)
            rows = [next(lines) for _ in range(nodes)]
            edges = [(u, v) for u, (_, _, *near) in enumerate(rows) for v in near if u < v]
            kinds = [[kind] for kind, *_ in rows]
            graphs.append(Graph.from_edges(nodes, edges, kinds if keep_types else None))
            labels.append(label)
            types += kinds
        return graphs, np.array(labels), np.array(types)


def both_directions(counts: Array, edges: Array, features: Array | None) -> dict[str, Any]:
    """Turn undirected edges into directed ones. Returns the arguments of Dataset for edges.

    Args:
        counts: Number of undirected edges of each graph, shape [G].
        edges: Undirected edges, shape [2, m].
        features: Edge features, shape [m, Fe], or None.
    """
    wide = counts.astype(np.int64)
    first = np.cumsum(wide) - wide
    once = ranges(np.repeat(first, 2), np.repeat(wide, 2))  # all edges of a graph, then all of them again
    back = np.repeat(np.tile([False, True], len(wide)), np.repeat(wide, 2))
    return {
        "edge_counts": 2 * wide,
        "edges": np.where(back, edges[::-1, once], edges[:, once]),
        "edge_attr": None if features is None else features[once],
    }


def contiguous_folds(graphs: int, folds: int) -> dict[str, Array]:
    """Folds of contiguous blocks: fold i tests on block i of all graphs, and validates on block i of the others."""
    parts = {}
    for fold, test in enumerate(np.arange(graphs).reshape(folds, -1)):
        rest = np.delete(np.arange(graphs), test)
        validation = rest.reshape(folds, -1)[fold]
        parts[f"fold {fold} train"] = np.setdiff1d(rest, validation)
        parts[f"fold {fold} validation"] = validation
        parts[f"fold {fold} test"] = test
    return parts
