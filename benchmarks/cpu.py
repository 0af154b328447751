"""pfgnn and the baselines on CPU cores, with the paper's model and with ours: `python -m benchmarks.cpu`.

The two take turns, so that both are affected if the machine becomes slower or faster. The result is the median ratio.
The baselines always compute in float32. A profile then shows where pfgnn spends its time. The floor in the table is a
lower bound on the time, computed by :mod:`benchmarks.roofline` with rates measured in the same run. As in the commands,
the C library keeps freed memory for the next tensors, on both sides.

At last one molecule is predicted from Python, as in :mod:`benchmarks.predict`.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from benchmarks.predict import like_zinc, predict_one, train
from benchmarks.roofline import best_seconds, count, measure_rates
from benchmarks.shapes import OURS, ZINC, Shape
from benchmarks.steps import Effort, prepare
from pfgnn.cli.threads import keep_memory
from pfgnn.data.task import Task
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.ops.cpu.mlp import ROWS, product
from pfgnn.training.config import Precision
from pfgnn.training.evaluate import predict

RESULT = Path("results/bench/cpu.json")
EFFORT = Effort(batches=1)
RUNS: tuple[tuple[Shape, Precision], ...] = ((ZINC, "float32"), (OURS, "float32"), (OURS, "bf16"))
TYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
Rates = dict[str, float]
Record = dict[str, Any]
Clocks = tuple[Callable[[], float], Callable[[], float]]  # wall clock, CPU time of this process


def in_turns(theirs: Callable[[], object], ours: Callable[[], object], rounds: int, clocks: Clocks) -> Record:
    """Wall and CPU seconds of both sides in turns, after one warm-up round, and the ratios of the rounds.

    Args:
        theirs: Work of the baseline.
        ours: Work of pfgnn.
        rounds: Number of rounds.
        clocks: The wall clock and the CPU clock.
    """
    found: dict[str, list[list[float]]] = {"wall": [], "CPU": []}
    for number in range(rounds + 1):
        spent = []
        for work in (theirs, ours):
            begin = [clock() for clock in clocks]
            work()
            spent.append([clock() - start for clock, start in zip(clocks, begin, strict=True)])
        if number:
            for kind, pair in zip(found, zip(*spent, strict=True), strict=True):
                found[kind].append(list(pair))
    record: Record = {}
    for kind, pairs in found.items():
        ratios = sorted(slow / fast for slow, fast in pairs)
        record[kind] = {
            "baseline seconds": statistics.median(slow for slow, _ in pairs),
            "pfgnn seconds": statistics.median(fast for _, fast in pairs),
            "times faster": {"median": statistics.median(ratios), "min": ratios[0], "max": ratios[-1]},
        }
    return record | {"rounds": rounds}


def top_operators(work: Callable[[], object], count: int = 10) -> list[Record]:
    """The ``count`` operators in which one call spends most of its time."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        work()
    averages = sorted(seen.key_averages(), key=lambda of: -of.self_cpu_time_total)
    total = sum(of.self_cpu_time_total for of in averages) or 1.0
    return [
        {
            "operator": of.key,
            "calls": of.count,
            "seconds": of.self_cpu_time_total / 1e6,
            "share": of.self_cpu_time_total / total,
        }
        for of in averages[:count]
    ]


def product_rate(dtype: torch.dtype, width: int) -> float:
    """Operations a second of the fastest matrix products we know: of one block of rows, which stays in the cache.

    Args:
        dtype: Type of the numbers.
        width: Columns of the block. The result has twice as many.
    """
    block, weight, bias = (torch.randn(shape).to(dtype) for shape in ((ROWS, width), (2 * width, width), (2 * width,)))
    return 4 * ROWS * width**2 / best_seconds(lambda: product(block, weight, bias), torch.device("cpu"), 0.3)


def measure(shape: Shape, precision: Precision, rounds: int, rates: Rates, effort: Effort, clocks: Clocks) -> Record:
    """Training steps and inference of both sides with one shape, and profiles of pfgnn.

    Args:
        shape: Model and graphs.
        precision: Precision of pfgnn.
        rounds: Rounds of the two sides.
        rates: Rates of this machine.
        effort: How long to measure.
        clocks: The wall clock and the CPU clock.
    """
    with prepare(shape, "cpu", effort, precision) as work:
        theirs, trainer, one = work.baseline(), work.trainer, work.batches[0]
        number_bytes = TYPES[precision].itemsize

        def infer() -> None:
            predict(trainer.forward, trainer.examples.data, trainer.examples.train, trainer.draws, 0)

        @torch.no_grad()
        def infer_theirs() -> None:
            theirs.model.eval()(one)

        def update() -> None:
            work.update(work.padded[0])

        record: Record = {
            "training step": in_turns(lambda: theirs(one), update, rounds, clocks),
            "inference": in_turns(infer_theirs, infer, rounds, clocks),
        }
        for name, of in record.items():
            counted = count(work, number_bytes, training=name == "training step")
            of["roofline"] = counted.to_json(rates)
            of["floor seconds"] = counted.floor(rates, precision)
        return record | {
            "profile of a training step": top_operators(update),
            "profile of inference": top_operators(infer),
        }


def one_molecule(calls: int) -> Record:
    """Milliseconds to predict one molecule from Python with a model like that of the config ours/zinc."""
    with tempfile.TemporaryDirectory() as name:
        return predict_one(train(Path(name), "zinc", Task("graph", 1, "l1", "mae"), like_zinc), calls)


def run(
    rounds: int,
    out: Path,
    console: Console,
    effort: Effort = EFFORT,
    clocks: Clocks = (time.perf_counter, time.process_time),
    calls: int = 100,
) -> Record:
    """Measure all shapes, write the record and print the tables.

    Args:
        rounds: Rounds of the two sides.
        out: Record to write.
        console: Console to print to.
        effort: How long to measure.
        clocks: The wall clock and the CPU clock.
        calls: Calls for one molecule.
    """
    rates = measure_rates(torch.device("cpu"), size=2048 // effort.divide, precisions=())
    for name, dtype in TYPES.items():
        rates[f"{name} operations a second"] = product_rate(dtype, OURS.model.width)
    found = {
        f"{shape.name}, {precision}": measure(shape, precision, rounds, rates, effort, clocks)
        for shape, precision in RUNS
    }
    record: Record = {**provenance(torch.device("cpu")), "threads": torch.get_num_threads(), "rates": rates}
    record["shapes"], record["one molecule"] = found, one_molecule(calls)
    write_json(out, record)
    console.print(record["device"])
    table = Table("what", "baseline s", "pfgnn s", "floor s", "times faster, wall", "times faster, CPU")
    for shape, of in found.items():
        for name in ("training step", "inference"):
            wall, cpu = of[name]["wall"], of[name]["CPU"]
            ratios = wall["times faster"], cpu["times faster"]
            spread = [f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})" for ratio in ratios]
            seconds = wall["baseline seconds"], wall["pfgnn seconds"], of[name]["floor seconds"]
            table.add_row(f"{shape}: {name}", *(f"{value:.2f}" for value in seconds), *spread)
    console.print(table)
    alone = record["one molecule"]["1 draws"]
    console.print(f"one molecule: {alone['median ms']:.1f} ms, of which {alone['median CPU ms']:.1f} ms of CPU")
    for shape, of in found.items():
        for name in ("profile of a training step", "profile of inference"):
            table = Table(f"{shape}: {name}", "calls", "seconds", "share")
            for one in of[name]:
                table.add_row(one["operator"], str(one["calls"]), f"{one['seconds']:.3f}", f"{one['share']:.1%}")
            console.print(table)
    return record


def main() -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured")
    parser.add_argument("--threads", type=int, default=1, help="number of CPU threads")
    parser.add_argument("--out", type=Path, default=RESULT, help="record to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_memory()
    run(arguments.rounds, arguments.out, Console())


if __name__ == "__main__":
    main()
