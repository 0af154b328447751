"""The command line: parse, dispatch, print. What is wrong is said in one sentence, with exit status 2."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import pfgnn
from pfgnn import cli_data, cli_results, cli_train

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, no_args_is_help=True, help=pfgnn.__doc__)
app.add_typer(cli_data.app, name="data")
for train_command in (cli_train.train, cli_train.evaluate, cli_train.predict):
    app.command()(train_command)
for results_command in (cli_results.tables, cli_results.reproduce, cli_results.report, cli_results.curves):
    app.command()(results_command)
console = Console()


def main() -> None:
    """Run the command line; wrong input ends with one sentence and status 2, never with a traceback."""
    try:
        app()
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, ArithmeticError, MemoryError) as error:
        wrong = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        Console(stderr=True, soft_wrap=True).print("pfgnn:", str(wrong), style="red", markup=False, highlight=False)
        sys.exit(2)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the record and the pictures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of parameters, data and draws.")] = 0,
    steps: Annotated[int, typer.Option(help="T, individualisations of a particle.")] = 2,
    particles: Annotated[int, typer.Option(help="K, number of particles.")] = 8,
    updates: Annotated[int, typer.Option(help="Training updates of each model.")] = 150,
) -> None:
    """Tell apart graphs that GIN cannot: train GIN and PF-GNN on CSL, print a table, draw pictures."""
    from pfgnn.experiments.demo import SKIPS, DemoConfig, run_demo
    from pfgnn.files import write_json
    from pfgnn.graphs import csl
    from pfgnn.report.curves import plot_curves
    from pfgnn.report.walk import plot_walk, record_walk

    config = DemoConfig(seed=seed, steps=steps, particles=particles, updates=updates)
    out.mkdir(parents=True, exist_ok=True)  # fails now rather than after the training
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


@app.command()
def inspect(
    path: Annotated[Path, typer.Argument(help="A file of graph6 or sparse6 (.g6, .s6) or SMILES (.smi, .smiles).")],
    tree: Annotated[Path | None, typer.Option(help="Draw the first graph's search tree into this picture.")] = None,
    depth: Annotated[int, typer.Option(min=0, help="Levels of the tree to draw.")] = 2,
) -> None:
    """Exact facts on a file's graphs: 1-WL colours, orbits, automorphisms, classes up to 1-WL and isomorphism."""
    from pfgnn.report.facts import gather_facts, read_graphs

    graphs = read_graphs(path)
    columns = ("graph", "nodes", "edges", "1-WL colours", "orbits", "symmetries", "1-WL class", "class")
    table = Table(*columns, title=escape(str(path)))
    for number, facts in enumerate(gather_facts(graphs), start=1):
        table.add_row(*map(str, (number, *facts)))
    console.print(table)
    if tree is not None:
        from pfgnn.report.picture import plot_search_tree

        plot_search_tree(graphs[0], depth, tree)
        console.print(f"Wrote {tree}.", markup=False)
