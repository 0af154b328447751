"""The command demo."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress, TaskID
from rich.table import Table

from pfgnn.argument_checks import check_positive
from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.errors import InputError
from pfgnn.files import check_folder
from pfgnn.setting_types import MOST_LAYERS, MOST_PARTICLES

if TYPE_CHECKING:
    from pfgnn.training.metrics_file import Status

LARGEST = {"steps": MOST_LAYERS, "particles": MOST_PARTICLES, "updates": 100_000}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the runs, the record and the pictures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the weights and the draws.")] = 0,
    steps: Annotated[int, typer.Option(help="T, number of steps of PF-GNN. Each step individualises a vertex.")] = 2,
    particles: Annotated[int, typer.Option(help="K, number of particles of PF-GNN.")] = 8,
    updates: Annotated[int, typer.Option(help="Number of training updates of each model.")] = 100,
    threads: Threads = None,
) -> None:
    """Train GIN and PF-GNN on CSL graphs, which GIN cannot tell apart; print a table and draw pictures."""
    for name, value in {"steps": steps, "particles": particles, "updates": updates}.items():
        check_positive(name, value, most=LARGEST[name])
    if not 0 <= seed < 2**63:
        raise InputError(f"seed must lie in 0..2**63 - 1, but it is {seed}")
    check_folder(out)
    out.mkdir(parents=True, exist_ok=True)  # raise an error now, not after training

    use_threads(threads)
    from pfgnn.data.generated import CSL_NODES, CSL_SKIPS
    from pfgnn.experiments.demo import DIRECTORIES, run_demo
    from pfgnn.experiments.finished_run import load_weights
    from pfgnn.files import write_json
    from pfgnn.graphs import csl
    from pfgnn.model import PFGNN
    from pfgnn.report.curves import plot_training
    from pfgnn.report.metrics_reader import read_metrics
    from pfgnn.report.particle_path import plot_walk, record_walk

    with Progress(*bar_columns("{task.description:14}", "loss {task.fields[loss]:.3f}"), console=console) as bar:
        tasks: dict[str, TaskID] = {}

        def report(name: str, status: "Status") -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=updates, loss=status.loss)
            bar.update(tasks[name], completed=status.update, loss=status.loss)

        records = run_demo(out, seed=seed, steps=steps, particles=particles, updates=updates, report=report)

    table = Table(
        title=f"{len(CSL_SKIPS)} classes of circular skip link graphs, randomly relabelled",
        caption="pairs of graphs told apart; isomorphic pairs are the control",
    )
    for name in ("model", "test accuracy", "different pairs", "isomorphic pairs", "seconds"):
        table.add_column(name, justify="left" if name == "model" else "right", overflow="fold")
    for name, record in records.items():
        pairs = record["pairs"]
        table.add_row(
            name,
            f"{record['results']['all']['value']:.1%}",
            f"{pairs['told_apart']} of {pairs['pairs']}",
            f"{pairs['false_alarms']} of {pairs['controls']}",
            f"{sum(record['seconds'].values()):.0f}",
        )
    console.print(table)
    write_json(out / "record.json", records)
    runs = {name: [read_metrics(out / directory)] for name, directory in DIRECTORIES.items()}
    plot_training(runs, out / "learning_curve.png")
    name = "PF-GNN on GIN"
    model = load_weights(out / DIRECTORIES[name], records[name]).model
    assert isinstance(model, PFGNN)
    graph = csl(CSL_NODES, CSL_SKIPS[5])
    title = f"PF-GNN's heaviest particle on the CSL graph of {CSL_NODES} nodes and skip {CSL_SKIPS[5]}"
    plot_walk(record_walk(model, graph), graph, title, out / "walk.png")
    console.print(f"Wrote {out}/record.json, learning_curve.png and walk.png.", markup=False)
