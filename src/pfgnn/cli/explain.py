"""The command explain. It checks its input before it imports torch, which takes seconds."""

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import console, errors, make_table, print_json, say
from pfgnn.cli.options import Device, Imports, Model, SmilesColumn
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.errors import InputError, shown
from pfgnn.files import check_writable, write_text
from pfgnn.setting_types import MOST_DRAWS, MOST_PARTICLES, check_draws

if TYPE_CHECKING:
    from pfgnn.experiments.explain import Explanation

SHOWN = 10  # parts that are printed
ROUNDING = 1e-6  # a difference below this share of the prediction is only rounding, as float32 has about 7 digits


def explain(
    directory: Model,
    graph: Annotated[
        str,
        typer.Argument(help="A SMILES, a graph in graph6, or a file as for `predict`; see --number."),
    ],
    out: Annotated[Path | None, typer.Option(help="CSV table to write; by default explanation.csv.")] = None,
    picture: Annotated[Path | None, typer.Option(help="SVG to write; by default beside the table.")] = None,
    number: Annotated[int, typer.Option(min=0, help="Number of the graph in the file, from 0.")] = 0,
    output: Annotated[
        str | None,
        typer.Option(help="Target or class to print and draw, such as logp; by default the first, or likeliest."),
    ] = None,
    node: Annotated[int | None, typer.Option(min=0, help="Vertex to explain, if the run predicts vertices.")] = None,
    draws: Annotated[int, typer.Option(help=f"Independent draws to average, 2 to {MOST_DRAWS}.")] = 16,
    particles: Annotated[
        int | None,
        typer.Option(help=f"K, number of particles, at most {MOST_PARTICLES}; by default as the run was tested."),
    ] = None,
    smiles_column: SmilesColumn = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, and write only the files that are named.")
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    imports: Imports = None,
) -> None:
    """Show which vertices and edges a prediction depends on: how much it changes without each, with its noise."""
    from pfgnn.experiments.pretrained import find_model
    from pfgnn.experiments.run_directory import check_not_own, read_record

    check_draws(draws, particles)
    directory = find_model(directory)
    read_record(directory)
    if out is not None and out.suffix.lower() != ".csv":
        raise InputError(f"out must end in .csv, but it is {out}")
    if picture is not None and picture.suffix.lower() != ".svg":
        raise InputError(f"picture must end in .svg, but it is {picture}")
    if not as_json:
        out = out or Path("explanation.csv")
        picture = picture or out.with_suffix(".svg")
    for path in (out, picture):
        if path is not None:
            check_not_own(path)
            check_writable(path)

    use_threads(threads)
    from pfgnn.data.task import CLASS_LOSSES
    from pfgnn.experiments.backbones import import_trusted
    from pfgnn.experiments.explain import explain_prepared
    from pfgnn.experiments.explanation_table import explanation_csv, explanation_json
    from pfgnn.experiments.one_graph import read_one_graph
    from pfgnn.experiments.predict import load_run
    from pfgnn.report.explanation_drawing import draw_explanation

    import_trusted(imports or [])
    shown_on = errors if as_json else console
    run = load_run(directory, device)
    chosen = None if output is None else _find(run.names, output)
    given = read_one_graph(graph, run.needs, number, smiles_column)
    if given.outside:
        said = f"Warning: this graph is unlike the training graphs ({given.outside}), so the prediction may be far off."
        shown_on.print(said, markup=False, highlight=False, soft_wrap=True)
    with Progress(
        *bar_columns("predictions"), console=shown_on, transient=True, disable=not shown_on.is_terminal
    ) as bar:
        task = bar.add_task("", total=None)
        found = explain_prepared(
            run,
            given.dataset,
            draws,
            particles,
            node=node,
            smiles=given.smiles,
            progress=lambda done, count: bar.update(task, completed=done, total=count),
        )
    if chosen is None:
        chosen = int(found.prediction.argmax()) if run.task.loss in CLASS_LOSSES else 0
    texts = {}
    if out is not None:
        texts[out] = explanation_csv(found)
    if picture is not None:
        texts[picture] = draw_explanation(found, chosen)
    for path, text in texts.items():
        write_text(path, text)
    if as_json:
        print_json(explanation_json(found))
        return
    _print(found, chosen)
    console.print(f"Wrote {out} and {picture}.", markup=False, soft_wrap=True)


def _find(names: list[str], name: str) -> int:
    """The number of the output with this name, or of this target or class."""
    for written in (name, f"predicted {name}", f"probability of {name}"):
        if written in names:
            return names.index(written)
    raise InputError(f"--output must be one of {', '.join(names)}, but it is {shown(name)}")


def _print(found: "Explanation", output: int) -> None:
    from pfgnn.experiments.explanation_table import explanation_rows

    header, *rows = explanation_rows(found)
    means, errors_of = (
        [*vertices[:, output].tolist(), *edges[:, output].tolist()]
        for vertices, edges in zip(found.vertices, found.edges, strict=True)
    )
    first = len(header) - 2 * len(found.names)  # the columns before it say what the part is
    known = [row for row in range(len(rows)) if math.isfinite(means[row])]  # the others cannot be removed
    order = sorted(known, key=lambda row: -abs(means[row]))
    value, error = float(found.prediction[output]), float(found.error[output])
    table = make_table(*map(str, header[:first]), "importance", "standard error")
    for row in order[:SHOWN]:
        table.add_row(*map(str, rows[row][:first]), f"{means[row]:+.4g}", f"{errors_of[row]:.2g}")
    noise = "without noise of draws" if found.exact else f"Monte Carlo standard error {error:.2g}"
    console.print(f"{found.names[output]}: {value:.5g}, {noise}", markup=False)
    if others := [name for name in found.names if name != found.names[output]]:
        say(f"--output shows another one of {len(found.names)} outputs, such as {shlex.quote(others[0])}.")
    if not order:
        console.print("No part of this graph can be removed, because nothing would be left. So there is no importance.")
        return
    console.print(table)
    if len(order) > SHOWN:
        console.print(f"These are the {SHOWN} parts with the largest importance, of {len(order)}.", markup=False)
    if found.exact and (tied := _tied([means[row] for row in order], value)):
        console.print(f"In this order, parts {tied} have the same importance but for rounding.", markup=False)
    console.print(
        "Importance: how much lower the prediction would be without this part. It tells about the model alone."
    )
    if found.exact:
        say("Nothing is random: the particles go through all paths. The prediction may still be far from the truth.")
    elif any(errors_of[row] > 0 for row in order):
        console.print("More --draws or --particles make the standard errors smaller.")


def _tied(means: list[float], value: float) -> str:
    """The parts that are printed and whose importances are equal but for rounding, such as "1 to 4, 6 to 15".

    Args:
        means: Importances of all parts, in the order of the table, the largest first.
        value: The prediction, whose size decides what is rounding.
    """
    starts = [i for i in range(len(means)) if i == 0 or abs(means[i] - means[i - 1]) > ROUNDING * abs(value)]
    runs = zip(starts, [*starts[1:], len(means)], strict=True)
    return ", ".join(f"{first + 1} to {end}" for first, end in runs if end - first > 1 and first < SHOWN)
