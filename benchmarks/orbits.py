"""Counts the different paths of the search tree: vertices of the same orbit lead to isomorphic subtrees.

    python -m benchmarks.orbits

writes results/bench/orbits.json. It needs the extra exact (pynauty), and the benchmark files in PFGNN_DATA.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pynauty
import torch

from pfgnn.data import Dataset, load
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json

OUT = Path("results/bench/orbits.json")
MOST = 1000  # graphs of a dataset; from a larger one, this many are taken at random
SETS = {"csl": 2, "sr25": 2, "brec": 2, "exp": 1, "zinc": 1}  # dataset → largest number of steps T


def edge_lists(dataset: Dataset, seed: int = 0) -> Iterator[tuple[int, list[list[int]]]]:
    """The number of vertices and the edges of each graph, without features."""
    numbers = np.arange(len(dataset))
    if len(numbers) > MOST:
        numbers = np.sort(np.random.default_rng(seed).choice(numbers, MOST, replace=False))
    first = np.cumsum(dataset.edge_counts, dtype=np.int64) - dataset.edge_counts
    for i in numbers.tolist():
        edges = dataset.edges[:, int(first[i]) : int(first[i]) + int(dataset.edge_counts[i])]
        yield int(dataset.node_counts[i]), edges.T.tolist()


def orbits(n: int, edges: list[list[int]], marked: tuple[int, ...] = ()) -> list[int]:
    """One vertex of each orbit. Only automorphisms that fix the marked vertices count."""
    neighbours: dict[int, list[int]] = {v: [] for v in range(n)}
    for u, v in edges:
        neighbours[u].append(v)
    rest = set(range(n)) - set(marked)
    colours = [{v} for v in marked] + ([rest] if rest else [])
    graph = pynauty.Graph(n, adjacency_dict=neighbours, vertex_coloring=colours)
    return sorted(set(pynauty.autgrp(graph)[3]))


def different_paths(n: int, edges: list[list[int]], steps: int) -> int:
    """The number of paths of ``steps`` vertices, if only one vertex of each orbit is followed."""
    paths: list[tuple[int, ...]] = [()]
    for _ in range(steps):
        paths = [(*path, v) for path in paths for v in orbits(n, edges, path)]
    return len(paths)


def main() -> None:
    """Count, print, and write the record."""
    rows: list[dict[str, Any]] = []
    for name, most in SETS.items():
        graphs = list(edge_lists(load(name)))
        for steps in range(1, most + 1):
            begun = time.perf_counter()
            shares = [different_paths(n, edges, steps) / n**steps for n, edges in graphs]
            seconds = time.perf_counter() - begun
            share = float(np.mean(shares))
            rows.append({"data": name, "graphs": len(graphs), "steps": steps, "share": share, "seconds": seconds})
            print(f"{name}: T = {steps}: {100 * share:.1f} % of the paths differ ({seconds:.1f} s)")
    write_json(OUT, {**provenance(torch.device("cpu")), "rows": rows})


if __name__ == "__main__":
    main()
