"""Check a dataset: compare its counts, label statistics and content hash with known facts."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from pfgnn.data.arrays import Array, rows_of, shrink
from pfgnn.data.dataset import Dataset
from pfgnn.data.shards import Shards

Facts = dict[str, Any]

# Known facts about each dataset. A hash covers all arrays and splits of the dataset as read here, a parts hash the
# splits only: the graphs of CSL are generated, but its folds are published. One part of LCC is generated, so each of
# its other parts has its own hash.
FACTS: dict[str, Facts] = {
    "csl": {
        "graphs": 150,
        "nodes": 6150,
        "edges": 24600,
        "fold 0 train": 90,
        "fold 0 validation": 30,
        "fold 0 test": 30,
        "parts hash": "a179bfc85a6266b14b9b0e1769664bcaf8ff78e29e9b831df16ec22c9b492fcd",
    }
    | {f"fold {fold} test of class {c}": 3 for fold in range(5) for c in range(10)},
    "sr25": {"graphs": 15, "nodes": 375, "edges": 4500, "pairs": 105},
    "exp": {
        "graphs": 1200,
        "edges": 132260,
        "pairs": 600,
        "fold 0 train": 972,
        "fold 0 validation": 108,
        "fold 0 test": 120,
        "hash": "6aaf8aacdb6fb81002316d1df81fcc85e563d9cce09180e9ddbc6a23476894fe",
    },
    "brec": {
        "graphs": 800,
        "pairs": 400,
        "basic": 120,
        "simple_regular": 100,
        "strongly_regular": 100,
        "extension": 200,
        "cfi": 200,
        "4_vertex_condition": 40,
        "distance_regular": 40,
        "hash": "a82e813595d62931a6b501178ab4c6b3f41e3cfe4ddd31d27399e5a5f7f50cce",
    },
    "triangles": {
        "graphs": 45000,
        "edges": 2 * 1473512,
        "hash": "40a7bcb99959ec9860d5a056a149ec2e234b8f2db87360461e841141278fdd3c",
    }
    | {f"train of class {c}": 3000 for c in range(10)}
    | {f"{part} of class {c}": 500 for part in ("validation", "test", "test-large") for c in range(10)},
    "lcc": {
        "train": 1000,
        "train of class 0": 15774,
        "train of class 1": 4090,
        "train of class 2": 136,
        "test": 1000,
        "test of class 0": 15727,
        "test of class 1": 4115,
        "test of class 2": 158,
        "test-large": 1000,
        "nodes": 140000,
        "train hash": "b06397e19b8e38c11dc4d63b04b068de0dc225d43303f12144fb887e0e6d5469",
        "test hash": "6040ca7c9f868ec491094a340d91f3c5b8891d8acee10293986d2176d2a3ad58",
    },
    "connectivity": {"graphs": 140, "nodes": 2800, "train of class 1": 50, "test of class 1": 20},
    "planarity": {"graphs": 140, "nodes": 2800, "train of class 1": 50, "test of class 1": 20},
    "bipartiteness": {"graphs": 140, "nodes": 2800, "train of class 1": 50, "test of class 1": 20},
    "zinc": {
        "graphs": 12000,
        "nodes": 277864,
        "edges": 597970,
        "train": 10000,
        "train y mean": 0.01533,
        "train y std": 2.01091,
        "validation": 1000,
        "validation y mean": 0.03145,
        "validation y std": 1.98562,
        "test": 1000,
        "test y mean": 0.01241,
        "test y std": 2.01801,
        "hash": "fda7e4273c1810333fb0e2f76ea9a67ad12edbbf159a64c194ca098128d998e4",
    },
    "alchemy": {
        "train": 10000,
        "validation": 1000,
        "test": 1000,
        "parts hash": "ee96031dbb2af0a3c2f92f19d32c6473d6af639ac327959dc3acdaaa6e72bc76",
    },
    "qm9": {
        "graphs": 130831,
        "nodes": 2359210,
        "validation": 10000,
        "test": 10000,
        "hash": "d0de2ad5d5b3febf05412ebb44b0289b5271a8a264c7b6641d1d4033f2116851",
    },
    "qm9-film": {
        "graphs": 130831,
        "nodes": 2359210,
        "validation": 10000,
        "test": 10000,
        "hash": "88fdb211320daafcf49a6f33fa643020af4fd60123c0341ddeb7dbe89e1cfc8a",
    },
    "molhiv": {
        "graphs": 41127,
        "nodes": 1049163,
        "edges": 2259376,
        "train": 32901,
        "train of class 1": 1232,
        "validation": 4113,
        "validation of class 1": 81,
        "test": 4113,
        "test of class 1": 130,
        "hash": "23dbf9070141a5559286a60e7bcadf5a2245bfb3654e67f122682e1b7e5a8a20",
    },
}


class Check(NamedTuple):
    """One fact with its expected and its found value. A value is an int, a float or a string."""

    fact: str
    expected: Any
    found: Any

    @property
    def holds(self) -> bool:
        """Whether both values agree. Floats are compared to five decimals, as they are published."""
        if isinstance(self.expected, float) and isinstance(self.found, float):
            return abs(self.expected - self.found) < 1e-5
        return self.expected == self.found


def verify(dataset: Dataset) -> list[Check]:
    """Compare every known fact about the dataset with what is found. Empty if nothing is known about it."""
    found = statistics(dataset)
    for part in ("train", "test"):  # if a dataset is partly generated, each part that is read has its own hash
        if f"{part} hash" in FACTS.get(dataset.name, {}) and part in dataset.splits:
            found[f"{part} hash"] = content_hash(dataset.subset(dataset.splits[part]))
    return [Check(fact, expected, found.get(fact)) for fact, expected in FACTS.get(dataset.name, {}).items()]


def statistics(dataset: Dataset | Shards) -> Facts:
    """Facts about the dataset: counts, hashes, and for each part its size and its class counts or target moments.

    Shards have a checksum in place of the hashes, so that they are not read whole.
    """
    facts: Facts = {
        "graphs": len(dataset),
        "nodes": int(dataset.node_counts.sum(dtype=np.int64)),
        "edges": int(dataset.edge_counts.sum(dtype=np.int64)),
    }
    if isinstance(dataset, Dataset) and dataset.pairs is not None:
        facts["pairs"] = len(dataset.pairs)
    for part, graphs in dataset.splits.items():
        facts[part] = len(graphs)
        if not len(graphs):
            continue
        y = dataset.y[rows_of(dataset.node_counts, graphs) if dataset.task.level == "node" else graphs]
        if (unknown := np.isnan(y)).any():
            facts[f"{part} unknown targets"] = int(unknown.sum())
        if y.dtype.kind in "iub" and dataset.task.level != "pair":
            facts |= {f"{part} of class {c}": int((y == c).sum()) for c in range(int(y.max()) + 1)}
        elif y.shape[1] == 1 and (~unknown).sum() > 1:  # the deviation of one number is not defined
            wide = y[~unknown].astype(np.float64)
            facts |= {
                f"{part} y mean": round(float(np.nanmean(wide)), 5),
                f"{part} y std": round(float(np.nanstd(wide, ddof=1)), 5),
            }
    if isinstance(dataset, Shards):
        return {**facts, "shards": len(dataset.shards), "checksum": dataset.checksum}
    return {**facts, "parts hash": _hash(_parts(dataset)), "hash": content_hash(dataset)}


def content_hash(dataset: Dataset) -> str:
    """SHA-256 of the names, dtypes, shapes and bytes of all arrays and splits."""
    return _hash({**dataset.arrays(), **_parts(dataset)})


def _parts(dataset: Dataset) -> dict[str, Array]:
    return {f"split:{part}": graphs for part, graphs in dataset.splits.items()}


def _hash(arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        small = np.ascontiguousarray(shrink(array))
        digest.update(f"{name} {small.dtype.str} {small.shape}".encode())
        digest.update(small.tobytes())
    return digest.hexdigest()
