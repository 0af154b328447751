"""The command compare."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, print_json, say
from pfgnn.cli.options import Device, Seconds
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.errors import InputError, counted
from pfgnn.setting_types import MOST_PATHS


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Two files with one graph each, or one with two: graph6, sparse6 or SMILES, by ending."),
    ],
    steps: Annotated[int, typer.Option(min=0, max=8, help="Largest number of marked vertices T.")] = 2,
    particles: Annotated[int, typer.Option(min=1, max=MOST_PATHS, help="Largest number of particles K.")] = 4096,
    draws: Annotated[int, typer.Option(min=10, max=10_000, help="Outputs of each graph that are compared.")] = 32,
    level: Annotated[float, typer.Option(help="Largest probability of a false alarm.")] = 1e-6,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the relabellings and the draws.")] = 0,
    seconds: Seconds = 10,
    device: Device = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Show whether PF-GNN tells two graphs apart: the evidence for T = 0, 1, 2, ... marks, and the exact answer.

    Nothing is trained: the backbone is exact colour refinement, and the readout is random.
    """
    from pfgnn.report.exact_search import Searcher, are_isomorphic, why_missing
    from pfgnn.report.inspection import read_files

    found, total = read_files(paths, 2)
    if total != 2 or len(found) != 2:
        raise InputError(f"the files must hold two graphs in all, but they hold {total}")
    (_, left), (_, right) = found
    use_threads(threads)  # after the checks: torch takes seconds to import
    from pfgnn.experiments.compare import compare_graphs

    shown_on = console if console.is_terminal else errors
    evidence, exact = [], []
    with (
        Progress(*bar_columns(), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar,
        Searcher(seconds) as search,
    ):
        task = bar.add_task("")

        def progress(T: int, done: int, total: int) -> None:
            bar.update(task, description=f"T = {T}", completed=done, total=total)

        for of in compare_graphs(
            left,
            right,
            steps=steps,
            particles=particles,
            draws=draws,
            level=level,
            seed=seed,
            device=device,
            progress=progress,
        ):
            evidence.append(of)
            if len(evidence) == 1 and not json:
                say(f"{'T':>2} {'K':>8} {'paths':>11} {'T²':>10}{'control':>11}{'threshold':>11}  told apart")
            if not json:
                values = "".join(f"{value:>11.3g}" for value in (of.t2, max(of.control_t2), of.threshold))
                say(f"{of.steps:>2} {of.particles:>8,} {of.paths:>11,}{values}  {'yes' if of.told_apart else 'no'}")
        bar.reset(task, description="exact search", total=2)
        for graph in (left, right):
            exact.append(search(graph))
            bar.advance(task)
    isomorphic = are_isomorphic(left, right, *exact)
    told_apart = evidence[-1].told_apart
    if json:
        rows = [{**of._asdict(), "told_apart": of.told_apart} for of in evidence]
        print_json({"told_apart": told_apart, "isomorphic": isomorphic, "level": level, "evidence": rows})
        return
    say("T²: how far the outputs of the two graphs are apart. Control: the same for two samples of one graph.")
    marks = counted(evidence[-1].steps if told_apart else steps, "marked vertex", "marked vertices")
    how = "tells them apart with" if told_apart else "does not tell them apart with up to"
    say(f"PF-GNN {how} {marks}.")
    answer = f"they are {'' if isomorphic else 'not '}isomorphic"
    if isomorphic is None and (missing := exact[0].missing or exact[1].missing):
        answer = f"no answer, because {why_missing(missing)}{'; see --seconds' if missing == 'time' else ''}"
    say(f"Exact search: {answer}.")
