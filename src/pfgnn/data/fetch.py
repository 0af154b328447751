"""Download datasets with the dataset classes of PyG and OGB.

Each function takes a folder for the downloads, and the folders that are searched for datasets.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pfgnn.data import tu
from pfgnn.data.arrays import shrink
from pfgnn.data.dataset import Dataset
from pfgnn.data.generated import consecutive
from pfgnn.data.pyg import from_pyg
from pfgnn.data.readers import OGB_ATOMS, OGB_BONDS, QM9_JOINT, qm9_split
from pfgnn.data.task import Task

PYG_PARTS = {"train": "train", "validation": "val", "test": "test"}
HARTREE_IN_EV = 27.211386246  # PyG's QM9 has its energies in eV; here they are in hartree


def zinc(folder: Path, places: Sequence[Path]) -> Dataset:
    """ZINC-12K from PyG's class. Its three parts follow one another."""
    from torch_geometric.datasets import ZINC

    parts = {part: list(ZINC(str(folder / "ZINC"), subset=True, split=name)) for part, name in PYG_PARTS.items()}
    return from_pyg(
        [graph for graphs in parts.values() for graph in graphs],
        Task("graph", 1, "l1", "mae"),
        "zinc",
        splits=consecutive({part: len(graphs) for part, graphs in parts.items()}),
        node_categories=(28,),
        edge_categories=(4,),
    )


def molhiv(folder: Path, places: Sequence[Path]) -> Dataset:
    """ogbg-molhiv from OGB's class, with its scaffold split."""
    from ogb.graphproppred import PygGraphPropPredDataset

    source = PygGraphPropPredDataset("ogbg-molhiv", root=str(folder))
    split = source.get_idx_split()
    return from_pyg(
        source,
        Task("graph", 1, "binary_cross_entropy", "roc_auc"),
        "molhiv",
        splits={part: split[name].numpy() for part, name in {**PYG_PARTS, "validation": "valid"}.items()},
        node_categories=OGB_ATOMS,
        edge_categories=OGB_BONDS,
    )


def qm9(folder: Path, places: Sequence[Path]) -> Dataset:
    """QM9 from PyG's class, whose first five node columns are the atom types and whose edge columns the bond types."""
    from torch_geometric.datasets import QM9

    source = from_pyg(QM9(str(folder / "QM9")), Task("graph", 19, "l1", "mae"))
    assert source.x is not None
    assert source.edge_attr is not None
    y = source.y[:, :12].astype(np.float64)
    y[:, [2, 3, 4, 6, 7, 8, 9, 10]] /= HARTREE_IN_EV
    return replace(
        source,
        name="qm9",
        task=QM9_JOINT,
        y=y,
        x=shrink(source.x[:, :5].argmax(1)[:, None]),
        edge_attr=shrink(source.edge_attr.argmax(1)[:, None] + 1),
        splits=qm9_split(len(source)),
        node_categories=(5,),
        edge_categories=(5,),
    )


def alchemy(folder: Path, places: Sequence[Path]) -> Dataset:
    """ALCHEMY-12K: the molecules come from PyG's class, and the index files, in one of the places, select them."""
    from torch_geometric.datasets import TUDataset

    index = next((p / "alchemy12k" for p in places if (p / "alchemy12k" / "train_al_10.index").is_file()), None)
    if index is None:
        raise FileNotFoundError("its index files train_al_10.index, val_al_10.index, test_al_10.index were not found")
    return tu.alchemy(index, Path(TUDataset(str(folder), tu.ALCHEMY).raw_dir))
