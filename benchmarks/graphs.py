"""The exact part on one CPU core, refinement of large graphs and canonical forms: `python -m benchmarks.graphs`."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

from pfgnn.experiments.record import provenance
from pfgnn.files import write_json
from pfgnn.graphs import Graph, cfi_pair, circulant, csl, random_graph, random_regular, refine, search
from pfgnn.graphs.strongly_regular import sr25

RESULT = Path("results/bench/graphs.json")


def path(n: int) -> Graph:
    """A path: the refinement's worst case, n / 2 rounds."""
    return Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))


def cases() -> dict[str, Callable[[], object]]:
    """What is measured, by name."""
    rng = np.random.default_rng(0)
    large, long, regular = random_graph(100_000, 500_000, rng), path(100_000), random_regular(1000, 3, rng)
    rim, star = [(i, (i + 1) % 5) for i in range(5)], [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    petersen = Graph.from_edges(10, rim + star + [(i, i + 5) for i in range(5)])
    return {
        "1-WL, 100,000 nodes and 500,000 edges at random": lambda: refine(large),
        "1-WL, path of 100,000 nodes": lambda: refine(long),
        "canonical forms, the 15 strongly regular graphs": lambda: [search(graph) for graph in sr25()],
        "canonical forms, the 10 CSL classes": lambda: [search(csl(41, s)) for s in (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)],
        "canonical forms, CFI pair over K4": lambda: [search(graph) for graph in cfi_pair(circulant(4, [1, 2]))],
        "canonical forms, CFI pair over Petersen": lambda: [search(graph) for graph in cfi_pair(petersen)],
        "canonical form, random 3-regular, 1,000 nodes": lambda: search(regular),
        "canonical form, 12 isolated nodes": lambda: search(Graph.from_edges(12, [])),
    }


def main() -> None:
    """Measure, print, and write the record."""
    sr25()  # made once, outside the times
    seconds = {}
    for name, work in track(cases().items(), "measuring"):
        start = time.process_time()
        work()
        seconds[name] = time.process_time() - start
    write_json(RESULT, {**provenance(torch.device("cpu")), "CPU seconds": seconds})
    table = Table("what", "CPU seconds")
    for name, value in seconds.items():
        table.add_row(name, f"{value:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
