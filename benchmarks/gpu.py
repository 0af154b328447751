"""Training steps on a GPU, compared with :mod:`benchmarks.baseline`: `python -m benchmarks.gpu`.

Each time is a median after a warm-up; each step is waited for. The floor beside it is a lower bound on the time,
computed by :mod:`benchmarks.roofline` with rates measured in the same run.
"""

import argparse
import itertools
import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.compiled import compiled
from benchmarks.measure import Rates, Record, measure
from benchmarks.roofline import measure_rates
from benchmarks.scaling import draw_scaling, scaling
from benchmarks.shapes import CSL, OURS, SR25, ZINC, ZINC_512, Shape
from benchmarks.steps import Effort, prepare, synchronise, time_steps
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.training.config import Precision

RESULT = Path("results/bench/gpu.json")
EPOCHS = 8  # epochs of the training that is timed
# The shapes that are measured in each precision.
FLOATS: dict[Precision, tuple[Shape, ...]] = {
    "float32": (ZINC, ZINC_512, OURS, CSL, SR25),
    "tf32": (ZINC, ZINC_512, OURS),
}
GOALS = {f"{ZINC.name}, tf32": 20, f"{ZINC_512.name}, tf32": 10}  # how many times faster the paper's shape must be


def compare(shape: Shape, device: str, effort: Effort, rates: Rates, precision: Precision) -> Record:
    """The baseline and pfgnn: times, ratio, floor and peak memory."""
    of = {side: measure(shape, device, effort, rates, side, precision) for side in ("baseline", "pfgnn")}
    theirs, ours = of["baseline"], of["pfgnn"]
    of["times faster"] = theirs["median ms"] / ours["median ms"]
    of["share of its memory"] = ours["peak MiB"] / (theirs["peak MiB"] or math.inf)
    return of


def steps(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Compare both sides for each shape in float32, and for the shapes of molecules in TF32 too."""
    found: Record = {}
    for precision, shapes in FLOATS.items():
        for shape in shapes:
            name = shape.name if precision == "float32" else f"{shape.name}, {precision}"
            found[name] = compare(shape, device, effort, rates, precision)
            yield found


def backbone(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Compare PF-GNN with its backbone alone, with two depths.

    One backbone has as many layers as PF-GNN before its first step, the other as many as PF-GNN in all.
    """
    layers = ZINC.model.layers, ZINC.model.layers + ZINC.model.steps * (ZINC.model.step_layers or 1)
    shapes = {"PF-GNN": ZINC} | {f"backbone of {n} layers": ZINC.resized(steps=0, layers=n) for n in layers}
    found: Record = {}
    for precision in FLOATS:
        of = {name: measure(shape, device, effort, rates, precision=precision) for name, shape in shapes.items()}
        for name in list(shapes)[1:]:
            of[name]["PF-GNN by this"] = of["PF-GNN"]["median ms"] / of[name]["median ms"]
        found[precision] = of
        yield found


def epoch(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Compare the time of whole epochs, with loading, with the number of steps times the time of a step.

    Earlier epochs are the warm-up, so that CUDA graphs exist for the batch sizes. The ratio to the time of steps in a
    row is the stricter one.
    """
    with prepare(ZINC, device, effort, graphs=effort.graphs) as work:
        loader, seconds = work.trainer.loader, []
        for number in range(effort.warm_ups + 5):
            begin = effort.clock()
            for batch in loader.epoch(number):
                work.update(batch)
            synchronise(work.device)
            seconds.append(effort.clock() - begin)
        batches = list(loader.epoch(effort.warm_ups))  # the batches of an epoch that was run above
        timing = time_steps(work.update, batches, work.device, replace(effort, warm_ups=1, least=2 * len(batches)))
    total = statistics.median(seconds[-5:])
    yield {
        "graphs": effort.graphs,
        "steps": len(batches),
        "epochs seconds": seconds,
        "epoch seconds": total,
        "step": timing.to_json(),
        "by steps in a row": total / (len(batches) * timing.in_a_row),
        "by steps waited for": total / (len(batches) * timing.median),
    }


def training(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Time a training of ZINC's size with a validation after each epoch, and estimate the time of 500 epochs."""
    found: Record = {}
    for precision in FLOATS:
        graphs, held_out = 5 * effort.graphs, effort.graphs // 2  # 10,240 and 1,024, ZINC has 10,000 and 1,000
        with prepare(ZINC, device, effort, precision, graphs=graphs, validation=held_out, epochs=EPOCHS) as work:
            work.trainer.train()
            lines = work.trainer.metrics.path.read_text().splitlines()
        ends = [json.loads(line)["seconds"] for line in lines]
        seconds = [end - begin for begin, end in itertools.pairwise(ends)]  # without the first, which captures graphs
        epoch = statistics.median(seconds)
        found[precision] = {"graphs": graphs, "validation graphs": held_out, "epochs seconds": [ends[0], *seconds]}
        found[precision] |= {"epoch seconds": epoch, "500 epochs minutes": 500 * epoch / 60}
        yield found


def bf16(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Measure pfgnn in bf16."""
    found: Record = {}
    for shape in (ZINC, ZINC_512, OURS):
        found[shape.name] = measure(shape, device, effort, rates, precision="bf16")
        yield found


PARTS: dict[str, Callable[[str, Effort, Rates], Iterator[Record]]] = {
    "steps": steps,
    "bf16": bf16,
    "backbone": backbone,
    "epoch": epoch,
    "training": training,
    "scaling": scaling,
    "compiled": compiled,
}


def tabulate(record: Record) -> Table:
    """The record as one table."""
    table = Table("what", "ms a step", "floor ms", "beside")

    def row(what: str, of: Record, beside: str) -> None:
        table.add_row(what, f"{of['median ms']:.2f}", f"{of['floor ms']:.2f}" if "floor ms" in of else "", beside)

    for name, of in record.get("steps", {}).items():
        row(f"{name}, baseline", of["baseline"], f"{of['baseline']['peak MiB']:.0f} MiB")
        share = f"{of['pfgnn']['peak MiB']:.0f} MiB, {of['share of its memory']:.2f} of it"
        row(f"{name}, pfgnn", of["pfgnn"], f"{of['times faster']:.1f} × faster, {share}")
    for name, of in record.get("bf16", {}).items():
        row(f"{name}, bf16", of, f"{of['peak MiB']:.0f} MiB")
    for kind, of in record.get("compiled", {}).items():
        row(f"{OURS.name}, {kind}, compiled by torch", of, f"{of['peak MiB']:.0f} MiB")
    for kind, group in record.get("backbone", {}).items():
        for name, of in group.items():
            beside = f"PF-GNN takes {of['PF-GNN by this']:.2f} × this" if "PF-GNN by this" in of else ""
            row(f"{name}, {kind}", of, beside)
    for model, letters in record.get("scaling", {}).items():
        for letter, of in letters.items():
            grown = f"at most linear: {of['at most linear']}, R² {of['R²']:.3f}"
            for value, ms, floor in zip(of["values"], of["median ms"], of["floor ms"], strict=True):
                both = {"median ms": ms, "floor ms": floor}
                row(f"{model}, {letter} = {value}", both, grown if value == of["values"][-1] else "")
    if of := record.get("epoch"):
        beside = f"epoch {of['epoch seconds']:.3f} s = {of['by steps in a row']:.3f} × {of['steps']} steps in a row"
        row(f"epoch of {of['graphs']} graphs", of["step"], beside)
    for kind, of in record.get("training", {}).items():
        beside = f"epoch with validation {of['epoch seconds']:.3f} s, 500 in {of['500 epochs minutes']:.1f} minutes"
        table.add_row(f"training on {of['graphs']} graphs, {kind}", "", "", beside)
    return table


def missed(record: Record) -> list[str]:
    """A sentence for each goal that the measured shapes miss."""
    found = {name: record.get("steps", {}).get(name) for name in GOALS}
    return [
        f"{name}: {of['times faster']:.1f} times faster than the baseline, but the goal is {GOALS[name]}"
        for name, of in found.items()
        if of is not None and of["times faster"] < GOALS[name]
    ]


def run(device: str, effort: Effort, parts: list[str], out: Path, console: Console) -> Record:
    """Measure the parts, write the record after each result, and print the table.

    Args:
        device: "cuda" or "cpu".
        effort: How long to measure.
        parts: Names of the parts, see ``PARTS``.
        out: Record to write.
        console: Console to print to.
    """
    rates = measure_rates(torch.device(device), size=8192 // effort.divide)
    record: Record = {**provenance(torch.device(device)), "rates": rates}
    for name in parts:
        begin = time.perf_counter()
        for found in PARTS[name](device, effort, rates):
            write_json(out, record := record | {name: found})
        if name == "scaling":
            draw_scaling(record[name], out.with_name("scaling.png"))
        console.print(f"{name}: {time.perf_counter() - begin:.0f} s")
    bandwidth, *products = rates.values()
    console.print(
        f"{record['device']}: copies {bandwidth / 1e9:.0f} GB/s; products in float32, TF32, bf16: "
        + ", ".join(f"{rate / 1e12:.3g}" for rate in products)
        + " TFLOP/s"
    )
    console.print(tabulate(record))
    return record


def main() -> None:
    """Measure, print, and write the record. Exits with status 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(PARTS), help="part to run; repeatable; default: all")
    parser.add_argument("--out", type=Path, help=f"record to write; default for a run of all parts: {RESULT}")
    arguments = parser.parse_args()
    if arguments.only and arguments.out is None:
        parser.error(f"--only needs --out, because {RESULT} holds all parts of one run")
    if not torch.cuda.is_available():
        parser.error("torch sees no CUDA device; on a CPU, run python -m benchmarks.cpu")
    record = run("cuda", Effort(), arguments.only or list(PARTS), arguments.out or RESULT, Console())
    if sentences := missed(record):
        sys.exit("\n".join(sentences))


if __name__ == "__main__":
    main()
