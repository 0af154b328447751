"""One large graph through a node-level model: `python -m benchmarks.large_graph --device cpu`.

Times and peak memory of an inference and of a training step by the number of vertices, with all particles at once and
in chunks. The time is the best of two. On a CPU it is the CPU time of one thread, so that other work on the machine
changes it little, and each measurement has a process of its own. As in the commands, the C library keeps freed memory
for the next tensors.
"""

import argparse
import json
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity, profile

from benchmarks.measure import Record, memory
from benchmarks.scaling import linear_fit
from benchmarks.steps import release, synchronise
from pfgnn.cli.threads import keep_memory
from pfgnn.data import Dataset
from pfgnn.data.batch import GraphBatch
from pfgnn.data.loader import Resident
from pfgnn.data.task import Task
from pfgnn.errors import explain, is_bug
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.graphs import random_graph
from pfgnn.model import GIN, PFGNN
from pfgnn.report.picture import save_picture

RESULT = Path("results/bench/large-graph.json")
SIZES = (12_500, 25_000, 50_000, 100_000)
EDGES = 5  # edges per vertex
PARTICLES, CHUNKS = 16, (1, 4, 16)
CLASSES = 5
WHAT = ("inference", "training step")
MEASURED = ("best ms", "peak MiB", "held MiB")  # time; memory of the tensors; memory of the process


class Case(NamedTuple):
    """What is measured.

    Fields:
        device: "cpu" or "cuda".
        width: D.
        nodes: Number of vertices.
        chunk: Particles at a time.
        training: Whether to measure a training step; otherwise an inference.
        rounds: How often it is timed, after a warm-up.
    """

    device: str
    width: int
    nodes: int
    chunk: int
    training: bool
    rounds: int


def make_batch(nodes: int) -> GraphBatch:
    """A random graph with a class for each vertex, as a batch of one graph on the CPU."""
    rng = np.random.default_rng(0)
    graph = random_graph(nodes, EDGES * nodes, rng)
    task = Task("node", CLASSES, "cross_entropy", "accuracy")
    return Resident(Dataset.from_graphs([graph], rng.integers(CLASSES, size=nodes), task)).collate([0])


def make_model(width: int) -> PFGNN:
    """Our method at node level, with a norm that needs no other particle."""
    torch.manual_seed(0)
    first, rest = (GIN(width, layers=layers, norm="mark", feed_forward=True) for layers in (1, 4))
    return PFGNN(first, CLASSES, particles=PARTICLES, step_backbone=rest, level="node")


def measure(case: Case) -> Record:
    """Time and memory of one case, see ``MEASURED``; None for each of them if the memory is too small."""
    device = torch.device(case.device)
    torch.set_num_threads(1)
    keep_memory()
    batch, model = make_batch(case.nodes), make_model(case.width).to(device).train(case.training)
    batch = batch.with_fields(**{name: tensor.to(device) for name, tensor in batch.tensors().items()})
    assert batch.y is not None
    y = batch.y[:, 0]

    def work() -> None:
        with torch.set_grad_enabled(case.training):
            output = model(batch, seed=1, chunk=case.chunk)
        if case.training:
            model.zero_grad()
            cross_entropy(output.prediction, y).backward()

    try:
        _limit_memory(device)
        release(device)
        work()
        seconds = [_seconds(work, device) for _ in range(case.rounds)]
        peaks = _peaks(work, device)
    except Exception as error:
        if is_bug(error) or "memory" not in explain(error):
            raise
        return dict.fromkeys(MEASURED)
    return dict(zip(MEASURED, (1000 * min(seconds), *peaks), strict=True))


def _seconds(work: Callable[[], None], device: torch.device) -> float:
    clock = time.perf_counter if device.type == "cuda" else time.process_time
    synchronise(device)
    begin = clock()
    work()
    synchronise(device)
    return clock() - begin


def _limit_memory(device: torch.device) -> None:
    """Let a process on a CPU fail if it asks for more than three quarters of the memory that is free."""
    if device.type == "cpu":
        page = os.sysconf("SC_PAGE_SIZE")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * page  # of the address space
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = 1024 * int(lines["MemAvailable"].removesuffix("kB"))  # with the caches of files, which make room
        resource.setrlimit(resource.RLIMIT_AS, (used + 3 * free // 4, resource.RLIM_INFINITY))


def _peaks(work: Callable[[], None], device: torch.device) -> tuple[float, float]:
    """The most memory that tensors have at a time, and that the process holds for them or anything else, in MiB."""
    if device.type == "cuda":
        found = memory(device)
        return found["peak MiB"], found["peak reserved MiB"]
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        work()
    assert seen.profiler is not None
    assert seen.profiler.kineto_results is not None
    total = peak = 0
    for event in seen.profiler.kineto_results.events():
        if event.name() == "[memory]":
            total += event.nbytes()
            peak = max(peak, total)
    return peak / 2**20, held


def alone(case: Case) -> Record:
    """Measure in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, case).result()


def run(
    device: str,
    out: Path,
    console: Console,
    width: int = 32,
    sizes: Sequence[int] = SIZES,
    rounds: int = 2,
    measured: Callable[[Case], Record] = alone,
) -> Record:
    """Measure all cases, write the record and the picture, and print the table.

    Args:
        device: "cpu" or "cuda".
        out: Record to write. What it has of the other device is kept.
        console: Console to print to.
        width: D.
        sizes: Numbers of vertices.
        rounds: How often each case is timed.
        measured: Measures a case.
    """
    record: Record = json.loads(out.read_text()) if out.exists() else {}
    about = {"width": width, "particles": PARTICLES, "edges per vertex": EDGES, "vertices": list(sizes)}
    found: Record = {**provenance(torch.device(device)), **about, **{what: {} for what in WHAT}}
    for what in WHAT:
        for chunk in CHUNKS:
            cases = [Case(device, width, n, chunk, what != "inference", rounds) for n in sizes]
            rows = [measured(case) for case in cases]
            of = {key: [row[key] for row in rows] for key in MEASURED}
            times = [ms for ms in of["best ms"] if ms is not None]
            fit = linear_fit(sizes[: len(times)], times) if len(times) > 1 else {}
            found[what][f"chunks of {chunk}"] = of | fit
            write_json(out, record := record | {device: found})
    draw(record, out.with_suffix(".png"))
    table = Table("what", *(f"{n:,}" for n in sizes))
    for what in WHAT:
        for chunk, of in found[what].items():
            cells = [
                "does not fit" if ms is None else f"{ms / 1000:.2f} s, {peak:,.0f} MiB (held {held:,.0f})"
                for ms, peak, held in zip(*(of[key] for key in MEASURED), strict=True)
            ]
            table.add_row(f"{what}, {chunk}", *cells)
    console.print(f"{found['device']}; K = {PARTICLES}, width {width}, {EDGES} edges per vertex; by vertices", table)
    return record


def draw(record: Record, path: Path) -> None:
    """Draw time and memory by the number of vertices, one row for each device."""
    figure = Figure(figsize=(10, 3.6 * len(record)), layout="constrained")
    for row, of in zip(figure.subplots(len(record), 2, squeeze=False), record.values(), strict=True):
        for axes, key, scale, label in zip(
            row, ("best ms", "peak MiB"), (1000, 1024), ("seconds", "GiB of tensors, peak"), strict=True
        ):
            for what, line in zip(WHAT, ("--", "-"), strict=True):
                for number, (chunk, values) in enumerate(of[what].items()):
                    points = [(n, v / scale) for n, v in zip(of["vertices"], values[key], strict=True) if v is not None]
                    if points:
                        axes.plot(*zip(*points, strict=True), f"o{line}", color=f"C{number}", label=f"{what}, {chunk}")
            axes.set(xlabel="vertices", ylabel=label, xlim=(0, None), ylim=(0, None), title=of["device"])
        row[0].legend(fontsize="small")
    save_picture(figure, path)


def main() -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--width", type=int, default=32, help="width of the model")
    parser.add_argument("--out", type=Path, default=RESULT, help="record to write")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # as in each measurement
    measured = alone if arguments.device == "cpu" else measure  # a GPU's memory can be freed within a process
    run(arguments.device, arguments.out, Console(), arguments.width, measured=measured)


if __name__ == "__main__":
    main()
