"""Training from shards that stay on the disk, compared with the training steps alone.

    python -m benchmarks.streaming make --graphs 4000000 --out DIR
    python -m benchmarks.streaming epoch DIR

The first command writes random molecules as shards. The second one measures and writes results/bench/streaming.json.
It leaves the shards on the disk, even if they would fit into the device's memory. On a CPU the model and its batches
are smaller.
"""

import argparse
import itertools
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.many_molecules import many_molecules
from benchmarks.measure import Record
from benchmarks.shapes import OURS
from benchmarks.steps import Effort, make_trainer, release, synchronise, time_steps
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import GraphStore, Resident
from pfgnn.data.shard_writer import GRAPHS, write_shards
from pfgnn.data.shards import Shards
from pfgnn.data.streamed import Streamed
from pfgnn.experiments.build import describe
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.training.batches import Examples
from pfgnn.training.config import Precision
from pfgnn.training.devices import open_devices
from pfgnn.training.loop import Trainer
from pfgnn.workers import available_cores, ordered_map

RESULT = Path("results/bench/streaming.json")
HELD_OUT = 0.01  # share of the graphs that are the validation part
WARM_UPS = 400  # steps before the measurement, so that CUDA graphs exist for the shapes that occur often
SECONDS_BETWEEN_LOOKS = 0.05  # at the memory of the process


def make(graphs: int, out: Path, processes: int, per_shard: int = GRAPHS) -> Shards:
    """Write a folder of random molecules.

    Args:
        graphs: Number of molecules.
        out: The folder.
        processes: Number of processes that make them.
        per_shard: Molecules in a shard.
    """
    begins = range(0, graphs, per_shard)
    made = ordered_map(partial(_make_shard, graphs, per_shard), begins, processes)
    cut = graphs - int(HELD_OUT * graphs)
    return write_shards(out, made, {"train": np.arange(cut), "validation": np.arange(cut, graphs)})


def _make_shard(graphs: int, per_shard: int, first: int) -> Dataset:
    return many_molecules(min(per_shard, graphs - first), seed=0, number=first // per_shard, first=first)


class Memory:
    """Memory of this process in bytes.

    Attributes:
        before: At the beginning.
        peak: The most, with the pages of mapped files.
        private: The most, without the pages of mapped files.
    """

    def __init__(self) -> None:
        self.before = self.peak = self.private = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at the memory again and again, in a thread."""
        self.before, _ = _memory()
        done = threading.Event()

        def watch() -> None:
            while True:
                whole, private = _memory()
                self.peak, self.private = max(self.peak, whole), max(self.private, private)
                if done.wait(SECONDS_BETWEEN_LOOKS):
                    return

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def to_json(self) -> Record:
        """The numbers in MiB, by name."""
        found = {"before": self.before, "peak": self.peak, "peak without mapped files": self.private}
        return {f"{name} MiB": number / 2**20 for name, number in found.items()}


def _memory() -> tuple[int, int]:
    """Resident bytes of this process, and those of them that are not pages of files."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    whole, files = (1024 * int(fields[name].split()[0]) for name in ("VmRSS", "RssFile"))
    return whole, whole - files


def epoch(
    folder: Path, device: str, effort: Effort, warm_ups: int, batches: int | None, out: Path, console: Console
) -> Record:
    """Compare the time of training from the disk with that of the steps alone, print it, and write the record.

    Args:
        folder: The shards.
        device: "cuda" or "cpu".
        effort: How long to time the steps alone, and on how many batches.
        warm_ups: Steps before the measurement.
        batches: Number of batches of the epoch; None for all.
        out: Record to write.
        console: Console to print to.
    """
    devices = open_devices(device, _precision(device))
    torch.zeros(1, device=devices.device)  # a GPU's own libraries are in memory from now on
    memory = Memory()
    with memory.watched():
        begin = effort.clock()
        shards = Shards.open(folder)
        opened = effort.clock() - begin
        inputs = describe(shards, shards.splits["train"])
        with _trainer(shards, Streamed(shards, devices.device), inputs, device, effort) as trainer:
            streamed = _time(trainer, effort, warm_ups, batches)
            held = list(itertools.islice(trainer.loader.epoch(1), effort.batches))
            loading = _load(trainer, effort, batches)
            alone = time_steps(trainer._update, held, devices.device, effort)
    release(devices.device)
    with _trainer(shards, Resident(shards, devices.device), inputs, device, effort) as trainer:
        resident = _time(trainer, effort, warm_ups, batches)
    steps = streamed["steps"]
    record = {
        **provenance(devices.device),
        "graphs": len(shards),
        "shards": len(shards.shards),
        "bytes": sum(shard.bytes for shard in shards.shards),
        "cores": available_cores(),
        "precision": devices.precision,
        "batch": trainer.loader.batch_size,
        "seconds to open": opened,
        "streamed": streamed,
        "streamed, without steps": loading,
        "resident": resident,
        "steps alone": alone.to_json(),
        "streamed by steps alone": streamed["seconds"] / (steps * alone.in_a_row),
        "resident by steps alone": resident["seconds"] / (steps * alone.in_a_row),
        "memory of the process": memory.to_json(),
    }
    write_json(out, record)
    console.print(tabulate(record))
    return record


@contextmanager
def _trainer(shards: Shards, store: GraphStore, inputs: Inputs, device: str, effort: Effort) -> Iterator[Trainer]:
    examples = Examples(store, torch.from_numpy(shards.y), shards.splits["train"], None)
    with tempfile.TemporaryDirectory() as folder:
        precision = _precision(device)
        yield make_trainer(effort.fit(OURS), examples, inputs, open_devices(device, precision), Path(folder), precision)


def _precision(device: str) -> Precision:
    """The one with the fastest steps, which wait for their batches the soonest."""
    return "bf16" if device == "cuda" else "float32"


def _time(trainer: Trainer, effort: Effort, warm_ups: int, batches: int | None) -> Record:
    """The seconds of an epoch or its first batches, from the first to the last update, after a warm-up."""
    for batch in itertools.islice(trainer.loader.epoch(0), warm_ups):
        trainer._update(batch)
    synchronise(trainer.devices.device)
    begin, steps, first = effort.clock(), 0, 0.0
    for batch in itertools.islice(trainer.loader.epoch(1), batches):
        first = first or effort.clock() - begin
        trainer._update(batch)
        steps += 1
    synchronise(trainer.devices.device)
    seconds = effort.clock() - begin
    return {"steps": steps, "seconds": seconds, "ms a step": 1000 * seconds / steps, "seconds to the first": first}


def _load(trainer: Trainer, effort: Effort, batches: int | None) -> Record:
    """The seconds of making the same batches without using them."""
    begin = effort.clock()
    graphs = sum(batch.real_graphs for batch in itertools.islice(trainer.loader.epoch(1), batches))
    synchronise(trainer.devices.device)
    seconds = effort.clock() - begin
    return {"seconds": seconds, "graphs a second": graphs / seconds}


def tabulate(record: Record) -> Table:
    """The record as one table."""
    table = Table("what", "ms a step", "by the steps alone")
    table.add_row("steps alone, in a row", f"{record['steps alone']['in a row ms']:.3f}", "1")
    for name in ("resident", "streamed"):
        ratio = f"{record[f'{name} by steps alone']:.3f}"
        table.add_row(f"{name}, {record[name]['steps']} steps", f"{record[name]['ms a step']:.3f}", ratio)
    loading, memory = record["streamed, without steps"], record["memory of the process"]
    table.add_row("batches alone", "", f"{loading['graphs a second']:,.0f} graphs a second")
    for name, number in memory.items():
        table.add_row(f"memory, {name}", "", f"{number:.0f}")
    return table


def main() -> None:
    """Make shards, or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write random molecules as shards")
    making.add_argument("--graphs", type=int, default=4_000_000)
    making.add_argument("--out", type=Path, required=True, help="folder to write")
    making.add_argument("--processes", type=int, default=available_cores())
    timing = commands.add_parser("epoch", help="time an epoch from the disk, and the steps alone")
    timing.add_argument("folder", type=Path)
    timing.add_argument("--batches", type=int, help="batches of the epoch; default: all")
    timing.add_argument("--out", type=Path, default=RESULT, help=f"record to write; default: {RESULT}")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    if arguments.command == "make":
        print(make(arguments.graphs, arguments.out, arguments.processes))
    else:
        on_gpu = torch.cuda.is_available()
        effort = Effort(batches=64, least=256) if on_gpu else Effort(batches=16, divide=4)
        how = ("cuda", effort, WARM_UPS) if on_gpu else ("cpu", effort, 10)
        epoch(arguments.folder, *how, arguments.batches, arguments.out, Console())
    print(f"{time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
