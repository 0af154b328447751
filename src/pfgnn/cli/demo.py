"""The command demo."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pfgnn.cli.console import console


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the record and the pictures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the weights, the data and the draws.")] = 0,
    steps: Annotated[int, typer.Option(help="T, number of vertices that a particle individualises.")] = 2,
    particles: Annotated[int, typer.Option(help="K, number of particles.")] = 8,
    updates: Annotated[int, typer.Option(help="Training updates of each model.")] = 150,
) -> None:
    """Train GIN and PF-GNN on CSL graphs, which GIN cannot tell apart; print a table and draw pictures."""
    from pfgnn.experiments.demo_config import SKIPS, DemoConfig

    config = DemoConfig(seed=seed, steps=steps, particles=particles, updates=updates)
    out.mkdir(parents=True, exist_ok=True)  # raises before the training, not after it

    from pfgnn.experiments.demo import run_demo
    from pfgnn.files import write_json
    from pfgnn.graphs import csl
    from pfgnn.report.curves import plot_curves
    from pfgnn.report.walk import plot_walk, record_walk

    columns = (
        TextColumn("{task.description:14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("accuracy {task.fields[accuracy]:4.0%}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        tasks = {}

        def progress(name: str, update: int, accuracy: float) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=config.updates, accuracy=0.0)
            bar.update(tasks[name], completed=update, accuracy=accuracy)

        result = run_demo(config, progress)

    table = Table(
        title=f"{len(SKIPS)} classes of circular skip link graphs, relabelled afresh",
        caption="pairs of graphs told apart; the isomorphic ones are the control",
    )
    for name in ("model", "test accuracy", "different pairs", "isomorphic pairs", "seconds"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for row in result.rows:
        pairs = [f"{told} of {total}" for told, total in (row.different_pairs, row.isomorphic_pairs)]
        table.add_row(row.model, f"{row.accuracy:.1%}", *pairs, f"{row.seconds:.0f}")
    console.print(table)
    write_json(out / "record.json", result.record())
    plot_curves({row.model: row.curve for row in result.rows}, 1 / len(SKIPS), out / "learning_curve.png")
    skip = SKIPS[5]
    graph = csl(config.nodes, skip)
    title = f"PF-GNN's heaviest particle on the CSL graph of {config.nodes} nodes and skip {skip}"
    plot_walk(record_walk(result.model, graph), graph, title, out / "walk.png")
    console.print(f"Wrote {out}/record.json, learning_curve.png and walk.png.", markup=False)
