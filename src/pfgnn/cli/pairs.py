"""The command pairs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns
from pfgnn.cli.console import Json, console, errors, make_table, print_json, say
from pfgnn.cli.options import Device
from pfgnn.cli.threads import Threads, use_threads
from pfgnn.errors import InputError
from pfgnn.setting_types import MOST_PATHS

if TYPE_CHECKING:
    from pfgnn.experiments.pair_training import Policy


NOT_WITH_LIMIT = ("particles", "draws", "level", "seeds", "controls", "train", "policy")


def pairs(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Dataset with pairs: brec, sr25 or exp.")],
    out: Annotated[Path, typer.Option(help="Record to write (.json). If it is there, its comparisons are kept.")],
    steps: Annotated[int, typer.Option(min=0, max=8, help="Largest number of marked vertices T.")] = 2,
    particles: Annotated[int, typer.Option(min=1, max=MOST_PATHS, help="Largest number of particles K.")] = 16384,
    draws: Annotated[int, typer.Option(min=16, max=10_000, help="Outputs of each graph that are compared.")] = 32,
    level: Annotated[float, typer.Option(help="Largest probability of a false alarm.")] = 1e-6,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How often each pair is compared.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after this time. The same command goes on.")
    ] = None,
    train: Annotated[
        int,
        typer.Option(
            min=0, max=1_000_000, help="Train a model for each pair, with at most this many updates; 0 trains nothing."
        ),
    ] = 0,
    policy: Annotated[str, typer.Option(help="With --train: learned or uniform.")] = "learned",
    controls: Annotated[int, typer.Option(min=1, max=1000, help="How often each graph is compared with itself.")] = 1,
    limit: Annotated[
        bool, typer.Option("--limit", help="Compare exactly, as with infinitely many particles. No draws, no controls.")
    ] = False,
    device: Device = "auto",
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Compare all pairs of a dataset as `pfgnn compare` does, and count those that PF-GNN tells apart.

    Each graph is also compared with itself, as a control. With --train, the readout is trained for each pair.
    """
    if out.suffix.lower() != ".json":
        raise InputError(f"out must end in .json, but it is {out}")
    sources = {option: context.get_parameter_source(option) for option in NOT_WITH_LIMIT}
    # Compared by name: some versions of typer have a copy of click, so the class is not always click's.
    given = [option for option, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if limit and given:
        raise InputError(f"--limit draws and trains nothing, so --{given[0]} must not be given with it")
    if "policy" in given and not train:
        raise InputError(f"--policy must be given with --train, but it is {policy} and nothing is trained")
    use_threads(threads)
    from pfgnn.data import load
    from pfgnn.experiments.pair_table import Settings, compare_limits, compare_pairs, count_controls, summarise

    dataset = load(name)
    shown_on = console if console.is_terminal else errors
    with Progress(*bar_columns("comparing"), console=shown_on, transient=True, disable=not shown_on.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        if limit:
            record = compare_limits(dataset, out, steps, minutes, progress)
        else:
            settings = Settings(steps, particles, draws, level, seeds, train, cast("Policy", policy), controls)
            record = compare_pairs(dataset, out, settings, device, minutes, progress)
    found = summarise(record, dataset)
    control = None if limit else count_controls(record)
    if json:
        alarms = None if control is None else control._asdict()
        print_json({"categories": [of._asdict() for of in found], "controls": alarms})
        return
    first = steps if train and not limit else 0  # a trained model reads all steps at once
    table = make_table(
        "category", "pairs", *(f"T ≤ {T}" for T in range(first, steps + 1)), "published rule", "seconds a pair"
    )
    for of in found:
        published = "" if of.published is None else str(of.published)
        table.add_row(of.name, str(of.pairs), *map(str, of.by_steps[first:]), published, f"{of.seconds:.2f}")
    total = [str(sum(column)) for column in zip(*(of.by_steps[first:] for of in found), strict=True)]
    by_rule = "" if limit else str(sum(of.published or 0 for of in found))
    table.add_row("all", str(sum(of.pairs for of in found)), *total, by_rule, "")
    console.print(table)
    if control is not None and control.number:
        say(
            f"{control.false_alarms} of {control.number} isomorphic pairs were told apart; their largest T² is "
            f"{control.largest_t2:.3g}, the threshold {record['threshold']:.4g}."
        )
    say(f"Wrote {out}." if out.exists() else f"There was no time for a comparison, so {out} was not written.")
