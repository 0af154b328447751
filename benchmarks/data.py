"""Packed datasets against PyG's DataLoader, on ZINC, batch 64, one CPU thread: `python -m benchmarks.data`.

Times are CPU seconds of this process, medians over several epochs; what counts is their ratio.
"""

import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.loader import DataLoader

from pfgnn.data.batching import Loader
from pfgnn.data.dataset import Dataset
from pfgnn.data.load import load
from pfgnn.experiments.record import provenance
from pfgnn.files import write_json

EPOCHS = 7
RESULT = Path("results/bench/data.json")


def cpu_seconds(work: Callable[[], object], repeats: int = EPOCHS) -> float:
    """Median CPU time of the work, after one run to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def opening(name: str, folder: Path) -> dict[str, float]:
    """CPU seconds to open a packed dataset, and the memory it adds, as a multiple of the file's size."""
    path = folder / f"{name}.pfgnn"
    load(name).save(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = cpu_seconds(lambda: Dataset.open(path))
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return {"seconds": seconds, "bytes": path.stat().st_size, "memory ratio": grown / path.stat().st_size}


def main() -> None:
    """Measure, print, and write the record."""
    torch.set_num_threads(1)
    zinc = load("zinc")
    train = zinc.splits["train"].astype("int64")
    graphs = zinc.subset(train).to_pyg()
    theirs = cpu_seconds(lambda: sum(batch.num_graphs for batch in DataLoader(graphs, batch_size=64, shuffle=True)))
    loader = Loader(zinc, train, batch_size=64, shuffle=True)
    ours = cpu_seconds(lambda: sum(batch.num_graphs for batch in loader))
    with tempfile.TemporaryDirectory() as folder:
        opened = {name: opening(name, Path(folder)) for name in ("zinc", "qm9")}
    record = {
        **provenance(torch.device("cpu")),
        "epoch of ZINC, batch 64": {"PyG DataLoader": theirs, "pfgnn Loader": ours, "ratio": theirs / ours},
        "open": opened,
    }
    write_json(RESULT, record)
    table = Table("what", "CPU seconds", "ratio")
    table.add_row("ZINC epoch, PyG DataLoader", f"{theirs:.3f}", "1")
    table.add_row("ZINC epoch, pfgnn Loader", f"{ours:.4f}", f"{theirs / ours:.1f} × faster")
    for name, facts in opened.items():
        table.add_row(f"open packed {name}", f"{facts['seconds']:.4f}", f"memory {facts['memory ratio']:.2f} × file")
    Console().print(table)


if __name__ == "__main__":
    main()
