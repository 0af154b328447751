"""pfgnn and the baseline on CPU cores, with the ZINC shape: `python -m benchmarks.cpu`.

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
from benchmarks.shapes import ZINC
from benchmarks.steps import Effort, prepare
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.training.evaluate import predict

RESULT = Path("results/bench/cpu.json")
EFFORT = Effort(batches=1)
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


def run(
    batch: int,
    rounds: int,
    out: Path,
    console: Console,
    effort: Effort = EFFORT,
    clocks: Clocks = (time.perf_counter, time.process_time),
) -> Record:
    """Measure training steps and inference, profile pfgnn, write the record and print the table.

    Args:
        batch: Graphs in a batch.
        rounds: Rounds of the two sides.
        out: Record to write.
        console: Console to print to.
        effort: How long to measure.
        clocks: The wall clock and the CPU clock.
    """
    shape = ZINC._replace(batch=batch, name=f"ZINC shape, batch {batch}")
    with prepare(shape, "cpu", effort) as work:
        theirs, trainer, one = work.baseline(), work.trainer, work.batches[0]

        def infer() -> None:
            predict(trainer.forward, trainer.examples.data, trainer.examples.train, trainer.draws, 0)

        @torch.no_grad()
        def infer_theirs() -> None:
            theirs.model.eval()(one)

        def train() -> None:
            work.update(work.padded[0])

        rates = measure_rates(torch.device("cpu"), size=2048 // effort.divide, precisions=("float32",))
        record: Record = {
            **provenance(torch.device("cpu")),
            "shape": shape.name,
            "rates": rates,
            "training step": in_turns(lambda: theirs(one), train, rounds, clocks)
            | {"roofline": count(work).to_json(rates)},
            "inference": in_turns(infer_theirs, infer, rounds, clocks)
            | {"roofline": count(work, training=False).to_json(rates)},
            "profile of a training step": top_operators(train),
            "profile of inference": top_operators(infer),
        }
    write_json(out, record)
    table = Table("what", "baseline s", "pfgnn s", "floor s", "times faster, wall", "times faster, CPU")
    for name in ("training step", "inference"):
        wall, cpu = record[name]["wall"], record[name]["CPU"]
        spread = [
            f"{t['median']:.2f} ({t['min']:.2f} to {t['max']:.2f})" for t in (wall["times faster"], cpu["times faster"])
        ]
        floors = [ms for kind, ms in record[name]["roofline"].items() if kind.startswith("floor")]
        seconds = wall["baseline seconds"], wall["pfgnn seconds"], max(floors) / 1000
        table.add_row(f"{name}, {shape.name}", *(f"{value:.2f}" for value in seconds), *spread)
    console.print(record["device"], table)
    for name in ("profile of a training step", "profile of inference"):
        table = Table(name, "calls", "seconds", "share")
        for of in record[name]:
            table.add_row(of["operator"], str(of["calls"]), f"{of['seconds']:.3f}", f"{of['share']:.1%}")
        console.print(table)
    return record


def main() -> None:
    """Measure, print, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64, help="graphs in a batch")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured")
    parser.add_argument("--threads", type=int, default=2, help="number of CPU threads")
    parser.add_argument("--out", type=Path, default=RESULT, help="record to write")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    run(arguments.batch, arguments.rounds, arguments.out, Console())


if __name__ == "__main__":
    main()
