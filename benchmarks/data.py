"""pfgnn's Loader against PyG's DataLoader, on ZINC with batch size 64 and one CPU thread: `python -m benchmarks.data`.

Times are CPU seconds of this process. The two loaders take turns, so that both are affected if the machine becomes
slower or faster. The result is the median ratio.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.loader import DataLoader

from pfgnn.data import Dataset, Loader, load
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json

ROUNDS = 15
RESULT = Path("results/bench/data.json")

# Opens a packed file, reads all its arrays, and prints by how many bytes the memory of the process grew.
MEMORY = """
import sys
from pathlib import Path
from pfgnn.data import Dataset, Loader
def resident(): return 4096 * int(Path("/proc/self/statm").read_text().split()[1])
list(Loader(Dataset.open(sys.argv[2])))  # loads what is only loaded on first use
before = resident()
dataset = Dataset.open(sys.argv[1])
for array in dataset.arrays().values(): array.sum()
print(resident() - before)
"""


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call of ``work``."""
    start = time.process_time()
    work()
    return time.process_time() - start


def opening(name: str, folder: Path) -> dict[str, float]:
    """CPU seconds to open a packed dataset, and its memory relative to the file size after all arrays were read."""
    path, small = folder / f"{name}.pfgnn", folder / "connectivity.pfgnn"
    load(name).save(path)
    load("connectivity").save(small)
    Dataset.open(path)
    seconds = statistics.median(cpu_seconds(lambda: Dataset.open(path)) for _ in range(ROUNDS))
    grown = subprocess.run([sys.executable, "-c", MEMORY, path, small], check=True, capture_output=True, text=True)
    return {"seconds": seconds, "bytes": path.stat().st_size, "memory ratio": int(grown.stdout) / path.stat().st_size}


def main() -> None:
    """Measure, print, and write the record."""
    torch.set_num_threads(1)
    zinc = load("zinc")
    graphs = zinc.subset(zinc.splits["train"]).to_pyg()
    theirs = DataLoader(graphs, batch_size=64, shuffle=True)
    ours = Loader(zinc, zinc.splits["train"], batch_size=64, shuffle=True)
    rounds = []
    for _ in range(ROUNDS + 1):  # the first round is a warm-up
        pair = [
            cpu_seconds(lambda: sum(b.num_graphs for b in theirs)),
            cpu_seconds(lambda: sum(b.num_graphs for b in ours)),
        ]
        rounds.append(pair)
    slow, fast = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
    ratios = sorted(a / b for a, b in rounds[1:])
    with tempfile.TemporaryDirectory() as folder:
        opened = {name: opening(name, Path(folder)) for name in ("zinc", "qm9")}
    record = {
        **provenance(torch.device("cpu")),
        "zinc epoch, batch 64": {
            "PyG DataLoader, CPU seconds": slow,
            "pfgnn Loader, CPU seconds": fast,
            "ratio": {"median": statistics.median(ratios), "min": ratios[0], "max": ratios[-1], "rounds": ROUNDS},
        },
        "open": opened,
    }
    write_json(RESULT, record)
    table = Table("what", "CPU seconds", "ratio")
    table.add_row("ZINC epoch, PyG DataLoader", f"{slow:.3f}", "1")
    spread = f"{statistics.median(ratios):.1f} × faster ({ratios[0]:.1f} to {ratios[-1]:.1f})"
    table.add_row("ZINC epoch, pfgnn Loader", f"{fast:.4f}", spread)
    for name, facts in opened.items():
        table.add_row(f"open packed {name}", f"{facts['seconds']:.4f}", f"memory {facts['memory ratio']:.2f} × file")
    Console().print(table)


if __name__ == "__main__":
    main()
