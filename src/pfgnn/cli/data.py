"""The commands data list, info, prepare, verify and convert."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import Progress

from pfgnn.cli.bars import bar_columns, gone_after_errors
from pfgnn.cli.console import Json, console, make_table, print_json, say_found
from pfgnn.cli.options import Features, LabelFile, OnError, Processes, Root, SmilesColumn, SplitColumn, Targets, Task
from pfgnn.cli.stopping import going_on
from pfgnn.errors import InputError, counted, shown
from pfgnn.files import check_writable

app = typer.Typer(no_args_is_help=True, help="List, show, prepare and verify datasets, and convert your own graphs.")


def _names(incomplete: str) -> list[str]:
    """The datasets that a shell completes."""
    from pfgnn.data.catalogue import ENTRIES

    return [name for name in ENTRIES if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(help="Name of a dataset, see `pfgnn data list`.", autocompletion=_names)]


@app.command("list")
def list_datasets(root: Root = None, json: Json = False) -> None:
    """List the named datasets, and where each one is on this machine."""
    from pfgnn.data.catalogue import ENTRIES
    from pfgnn.data.load import find

    found = {name: find(name, root) for name in ENTRIES}
    if json:
        rows = [
            {
                "name": name,
                "what": entry.summary,
                "path": None if found[name] is None else str(found[name]),
                "can_be_generated": entry.generate is not None,
            }
            for name, entry in ENTRIES.items()
        ]
        print_json(rows)
        return
    table = make_table("name", "what", "here")
    for name, entry in ENTRIES.items():
        here = str(found[name]) if found[name] else "generated on demand" if entry.generate else "no"
        table.add_row(name, entry.summary, escape(here))
    console.print(table)


@app.command()
def info(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a dataset, or path of a packed file (.pfgnn) or folder of shards.", autocompletion=_names
        ),
    ],
    root: Root = None,
    json: Json = False,
) -> None:
    """Show what a dataset holds: counts, features, parts, task, source and citation."""
    from pfgnn.data import load
    from pfgnn.data.shards import Shards, open_packed
    from pfgnn.data.verify import statistics
    from pfgnn.experiments.config import DataConfig

    path = DataConfig(name).file
    dataset = load(name, root) if path is None else open_packed(path)
    like = dataset.sample if isinstance(dataset, Shards) else dataset
    facts = {key: value for key, value in statistics(dataset).items() if " " not in key or key.startswith("fold 0")}
    task = dataset.task
    if json:
        features = {
            "node_features": None if like.x is None else like.in_channels,
            "edge_features": None if like.edge_attr is None else like.edge_channels,
            "positions": like.pos is not None,
        }
        print_json({"name": name, "task": task.to_json(), **features, "facts": facts, "about": dict(dataset.about)})
        return
    table = make_table("", escape(name))
    for key, value in {
        "task": f"{task.level} level, {counted(task.outputs, 'output')}, loss {task.loss}, metric {task.metric}",
        "targets": ", ".join(task.targets),
        "node features": _features(like.x is not None, like.in_channels, like.node_categories is not None),
        "edge features": _features(like.edge_attr is not None, like.edge_channels, like.edge_categories is not None),
        "positions": "yes" if like.pos is not None else "",
        **facts,
        **dataset.about,
    }.items():
        if value != "":
            table.add_row(key, escape(str(value)))
    console.print(table)


@app.command()
def prepare(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="File to write; by default NAME.pfgnn in the user's cache.")] = None,
    root: Root = None,
) -> None:
    """Read, generate or download a dataset, and write it as one packed file."""
    from pfgnn.data.load import cache_folder, load

    path = out or cache_folder() / f"{name}.pfgnn"
    dataset = load(name, root)
    dataset.save(path)
    console.print(
        f"Wrote {path}: {counted(len(dataset), 'graph')}, {path.stat().st_size / 2**20:.1f} MiB.",
        soft_wrap=True,
        markup=False,
    )


@app.command()
def verify(name: Name, root: Root = None) -> None:
    """Check that a dataset is the published one: compare counts, label statistics and hashes."""
    from pfgnn.data.load import load
    from pfgnn.data.verify import verify as check_facts

    dataset = load(name, root)
    checks = check_facts(dataset)
    table = make_table("fact", "expected", "found", "")
    for check in checks:
        shown = [str(value)[:16] for value in (check.expected, check.found)]  # the first digits of a hash are enough
        table.add_row(check.fact, *shown, "[green]ok[/green]" if check.holds else "[red]differs[/red]")
    console.print(table)
    wrong = [check.fact for check in checks if not check.holds]
    if wrong:
        source = dataset.about["source"]
        raise InputError(f"{name} is not the published dataset (source: {source}): {', '.join(wrong)} differ")
    hashes = [check.fact for check in checks if check.fact.endswith("hash")]
    compared = f"the counts and {', '.join(hashes)}" if hashes else "the counts; no hash is published"
    said = f"{name} agrees in all that was compared: {compared}. Its source: {dataset.about['source']}."
    console.print(said, markup=False, soft_wrap=True)


@app.command()
def convert(
    path: Annotated[
        Path, typer.Argument(help="CSV file with SMILES, SMILES, graph6 or sparse6, JSON lines, or TU folder.")
    ],
    out: Annotated[Path, typer.Argument(help="Packed file or folder to write, such as own.pfgnn.")],
    kind: Annotated[
        str | None, typer.Option(help="Format: csv, smi, graph6, jsonl or tu. By default the file's ending decides.")
    ] = None,
    smiles_column: SmilesColumn = None,
    target: Targets = None,
    features: Features = "ogb",
    labels: LabelFile = None,
    task: Task = None,
    on_error: OnError = "fail",
    rejects: Annotated[Path | None, typer.Option(help="File to write all skipped lines to, with reasons.")] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="Draw parts: the shares of train, validation and test, as 0.8,0.1,0.1, at random; or scaffold, or "
            "scaffold:0.8,0.1,0.1, which keeps molecules of one scaffold together."
        ),
    ] = None,
    split_column: SplitColumn = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of a random --split; by default 0.")] = None,
    processes: Processes = None,
) -> None:
    """Convert your own graphs into a packed file, or a large file into a folder of shards.

    Skipped lines are printed with the reason. If the conversion of a large file is stopped, the same command goes on.
    """
    path.stat()  # raises at once if there is no such file
    if out.resolve() == path.resolve():
        raise InputError(f"out must be a file other than the one to read, but it is {out}")
    if out.is_dir():
        raise InputError(f"out must be a file, or a folder that does not exist, but {out} is a folder that exists")
    check_writable(out)
    how, shares = ("random", None) if split is None else _split(split)
    if seed is not None and (shares is None or how != "random"):
        raise InputError(f"--seed is for a random --split, which is not given, but it is {seed}")

    from pfgnn.data.convert_file import convert_file

    with going_on(), Progress(*bar_columns(), console=console) as bar, gone_after_errors(bar):
        task_of_bar = bar.add_task(path.name, total=None)
        done = convert_file(
            path,
            out,
            rejects=rejects,
            shares=shares,
            split=how,
            seed=seed or 0,
            progress=lambda number, total: bar.update(task_of_bar, completed=number, total=total),
            processes=processes,
            kind=kind,
            smiles_column=smiles_column,
            targets=target,
            features=features,
            labels=labels,
            task=task,
            on_error=on_error,
            split_column=split_column,
        )
    say_found(done.about)
    for reject in done.first:
        console.print(f"line {reject.line}: {reject.reason}", highlight=False, soft_wrap=True, markup=False)
    if done.rejected > len(done.first):
        console.print(f"... and {done.rejected - len(done.first)} more; --rejects FILE writes them all")
    where = f"{out}, a folder of {counted(done.shards, 'shard')}" if done.shards else out
    said = f"Wrote {where}: {counted(done.graphs, 'graph')}; {counted(done.rejected, 'line')} rejected."
    console.print(said, soft_wrap=True, markup=False)


def _split(option: str) -> tuple[str, list[float]]:
    """How parts are drawn, and the shares of train, validation and test, from an option such as 0.8,0.1,0.1."""
    how, colon, text = option.rpartition(":")
    if option == "scaffold":
        how, text = option, "0.8,0.1,0.1"
    elif how != ("scaffold" if colon else ""):
        raise InputError(f"--split must be shares, scaffold or scaffold:SHARES, but it is {shown(option)}")
    try:
        shares = [float(word) for word in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != 3 or not all(share > 0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
        raise InputError(
            f"--split must be three shares above 0 that add up to 1, such as 0.8,0.1,0.1, but it is {shown(option)}"
        )
    return how or "random", shares


def _features(present: bool, channels: int | tuple[int, ...] | None, categorical: bool) -> str:
    if not present:
        return "none"
    if categorical:
        return f"categorical, {channels} categories"
    return f"continuous, {channels} column{'' if channels == 1 else 's'}"
