"""The command pairs."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, print_json
from pfgnn.cli.threads import Threads, use_threads


def pairs(
    name: Annotated[str, typer.Argument(help="Dataset with pairs: brec, sr25 or exp.")],
    out: Annotated[Path, typer.Option(help="Record to write (.json). If it is there, its comparisons are kept.")],
    steps: Annotated[int, typer.Option(min=0, max=8, help="Largest number of marked vertices T.")] = 2,
    particles: Annotated[int, typer.Option(min=1, max=10_000_000, help="Largest number of particles K.")] = 16384,
    draws: Annotated[int, typer.Option(min=16, max=10_000, help="Outputs of each graph that are compared.")] = 32,
    level: Annotated[float, typer.Option(help="Largest probability of a false alarm.")] = 1e-6,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How often each pair is compared.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after this time. The same command goes on.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare all pairs of a dataset as `pfgnn compare` does, and count those that PF-GNN tells apart.

    Nothing is trained. Each graph is also compared with itself, as a control.
    """
    use_threads(threads)
    from pfgnn.data import load
    from pfgnn.experiments.pair_table import Settings, compare_pairs, summarise

    dataset = load(name)
    settings = Settings(steps, particles, draws, level, seeds)
    shown_on = console if console.is_terminal else errors
    with Progress(*bar_columns("comparing"), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar:
        task = bar.add_task("", total=None)
        record = compare_pairs(
            dataset, out, settings, device, minutes, lambda done, total: bar.update(task, completed=done, total=total)
        )
    found, controls = summarise(record, dataset)
    if json:
        print_json({"categories": [of._asdict() for of in found], "controls": controls._asdict()})
        return
    table = Table("category", "pairs", *(f"T ≤ {T}" for T in range(steps + 1)), "largest K", "seconds a pair")
    for of in found:
        counts = [str(count) for count in of.by_steps]
        table.add_row(of.name, str(of.pairs), *counts, f"{of.most_particles:,}", f"{of.seconds:.2f}")
    total = [str(sum(column)) for column in zip(*(of.by_steps for of in found), strict=True)]
    table.add_row("all", str(sum(of.pairs for of in found)), *total, "", "")
    console.print(table)
    console.print(
        f"{controls.false_alarms} of {controls.number} isomorphic pairs were told apart; their largest T² is "
        f"{controls.largest_t2:.3g}, the threshold {record['threshold']:.4g}. Wrote {out}.",
        highlight=False,
        soft_wrap=True,
    )
