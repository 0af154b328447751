"""Speed of the exact algorithms on one CPU core: 1-WL on large graphs, canonical forms, automorphism groups.

    python -m benchmarks.graphs

writes results/bench/graphs.json. It needs the extra exact (pynauty), and the benchmark files in PFGNN_DATA.
"""

import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pynauty
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pfgnn.data import load
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.graphs import Graph, cfi_pair, circulant, disjoint_union, random_graph, random_regular, refine, search
from pfgnn.graphs.canonical import symmetry
from pfgnn.graphs.nauty import to_pynauty

RESULT = Path("results/bench/graphs.json")
SETS = ("csl", "sr25", "exp", "brec", "zinc")
MOST = 150  # graphs of a dataset; from a larger one, this many are taken at random
COLUMNS = ("own search", "pfgnn with nauty", "nauty alone")


def path(n: int) -> Graph:
    """A path, the worst case of 1-WL: n / 2 rounds."""
    return Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))


def refinements(rng: np.random.Generator) -> dict[str, Graph]:
    """Graphs for 1-WL, by name."""
    return {
        "100,000 nodes and 500,000 edges at random": random_graph(100_000, 500_000, rng),
        "path of 100,000 nodes": path(100_000),
    }


def searches(rng: np.random.Generator) -> dict[str, list[Graph]]:
    """Graphs for canonical forms and automorphism groups, by name."""
    rim, star = [(i, (i + 1) % 5) for i in range(5)], [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    petersen = Graph.from_edges(10, rim + star + [(i, i + 5) for i in range(5)])
    cases = {}
    for name in SETS:
        dataset = load(name)
        numbers = rng.choice(len(dataset), min(MOST, len(dataset)), replace=False)
        cases[name] = [dataset.graph(number) for number in numbers.tolist()]
    return cases | {
        "random, 8 nodes and 12 edges": [random_graph(8, 12, rng) for _ in range(MOST)],
        "CFI pair over Petersen": list(cfi_pair(petersen)),
        "random 3-regular, 1,000 nodes": [random_regular(1000, 3, rng)],
        "complete, 200 nodes": [Graph.from_edges(200, list(combinations(range(200), 2)))],
        "500 isolated nodes": [Graph.from_edges(500, [])],
        "star of 500 leaves": [Graph.from_edges(501, [(0, leaf) for leaf in range(1, 501)])],
        "100 triangles": [disjoint_union(*[circulant(3, [1])] * 100)],
    }


def cpu_seconds(work: Callable[[Any], object], arguments: list[Any]) -> float:
    """CPU seconds of ``work`` for one argument, on average."""
    start = time.process_time()
    for argument in arguments:
        work(argument)
    return (time.process_time() - start) / len(arguments)


def by_nauty_alone(graph: Any) -> None:
    """Run nauty itself on a graph of pynauty."""
    pynauty.canon_label(graph)
    pynauty.autgrp(graph)


def main() -> None:
    """Measure, print, and write the record."""
    rng = np.random.default_rng(0)
    refine(path(10)), symmetry(path(10)), search(path(10))  # loads what is only loaded on first use
    refined = {name: cpu_seconds(refine, [graph]) for name, graph in track(refinements(rng).items(), "1-WL")}
    searched = {}
    for name, graphs in track(searches(rng).items(), "forms and groups"):
        theirs = [to_pynauty(graph) for graph in graphs]
        times = cpu_seconds(search, graphs), cpu_seconds(symmetry, graphs), cpu_seconds(by_nauty_alone, theirs)
        searched[name] = {"graphs": len(graphs), **dict(zip(COLUMNS, times, strict=True))}
    write_json(RESULT, {**provenance(torch.device("cpu")), "1-WL seconds": refined, "seconds a graph": searched})
    table = Table("CPU milliseconds a graph", *COLUMNS)
    for name, seconds in refined.items():
        table.add_row(f"1-WL, {name}", f"{1e3 * seconds:.0f}")
    for name, row in searched.items():
        table.add_row(name, *(f"{1e3 * row[column]:.2f}" for column in COLUMNS))
    Console().print(table)


if __name__ == "__main__":
    main()
