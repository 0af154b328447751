"""pfgnn and the baselines on CPU cores, with the paper's model and with ours: `python -m benchmarks.cpu`.

The two take turns, so that both are affected if the machine becomes slower or faster. The result is the median ratio.
A profile then shows where pfgnn spends its time. The floor in the table is a lower bound on the time, computed by
:mod:`benchmarks.roofline` with rates measured in the same run.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile

from benchmarks.roofline import count, measure_rates
from benchmarks.shapes import OURS, ZINC, Shape
from benchmarks.steps import Effort, prepare
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.training.evaluate import predict

RESULT = Path("results/bench/cpu.json")
EFFORT = Effort(batches=1)
SHAPES = (ZINC, OURS)
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


def measure(shape: Shape, rounds: int, rates: Rates, effort: Effort, clocks: Clocks) -> Record:
    """Training steps and inference of both sides with one shape, and profiles of pfgnn.

    Args:
        shape: Model and graphs.
        rounds: Rounds of the two sides.
        rates: Rates of this machine.
        effort: How long to measure.
        clocks: The wall clock and the CPU clock.
    """
    with prepare(shape, "cpu", effort) as work:
        theirs, trainer, one = work.baseline(), work.trainer, work.batches[0]

        def infer() -> None:
            predict(trainer.forward, trainer.examples.data, trainer.examples.train, trainer.draws, 0)

        @torch.no_grad()
        def infer_theirs() -> None:
            theirs.model.eval()(one)

        def train() -> None:
            work.update(work.padded[0])

        return {
            "training step": in_turns(lambda: theirs(one), train, rounds, clocks)
            | {"roofline": count(work).to_json(rates)},
            "inference": in_turns(infer_theirs, infer, rounds, clocks)
            | {"roofline": count(work, training=False).to_json(rates)},
            "profile of a training step": top_operators(train),
            "profile of inference": top_operators(infer),
        }


def run(
    rounds: int,
    out: Path,
    console: Console,
    effort: Effort = EFFORT,
    clocks: Clocks = (time.perf_counter, time.process_time),
) -> Record:
    """Measure all shapes, write the record and print the tables.

    Args:
        rounds: Rounds of the two sides.
        out: Record to write.
        console: Console to print to.
        effort: How long to measure.
        clocks: The wall clock and the CPU clock.
    """
    rates = measure_rates(torch.device("cpu"), size=2048 // effort.divide, precisions=("float32",))
    found = {shape.name: measure(shape, rounds, rates, effort, clocks) for shape in SHAPES}
    record: Record = {**provenance(torch.device("cpu")), "threads": torch.get_num_threads(), "rates": rates}
    record["shapes"] = found
    write_json(out, record)
    console.print(record["device"])
    table = Table("what", "baseline s", "pfgnn s", "floor s", "times faster, wall", "times faster, CPU")
    for shape, of in found.items():
        for name in ("training step", "inference"):
            wall, cpu = of[name]["wall"], of[name]["CPU"]
            ratios = wall["times faster"], cpu["times faster"]
            spread = [f"{ratio['median']:.2f} ({ratio['min']:.2f} to {ratio['max']:.2f})" for ratio in ratios]
            floors = [ms for kind, ms in of[name]["roofline"].items() if kind.startswith("floor")]
            seconds = wall["baseline seconds"], wall["pfgnn seconds"], max(floors) / 1000
            table.add_row(f"{shape}: {name}", *(f"{value:.2f}" for value in seconds), *spread)
    console.print(table)
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
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads")
    parser.add_argument("--out", type=Path, default=RESULT, help="record to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    run(arguments.rounds, arguments.out, Console())


if __name__ == "__main__":
    main()
