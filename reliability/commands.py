"""Wrong files, settings and arguments for the command line."""

import dataclasses
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, get_args, get_origin, get_type_hints
from zipfile import ZipFile

import typer
import yaml

from pfgnn.cli.app import Options, app
from pfgnn.data import Dataset
from pfgnn.errors import PFGNNError, explain
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import read_config
from reliability.mutate import VALUES, mutate_bytes, mutate_table, mutate_tree, some
from reliability.samples import SMALL_FIT

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "src/pfgnn/configs").rglob("*.yaml"))


class Wrong(Exception):
    """pfgnn did something that it must not do with this input."""


def pfgnn(*arguments: object) -> bool:
    """Run the command line in this process. Returns whether it ended well.

    An error on purpose counts as not well. Any other error is raised again.
    """
    sys.argv = ["pfgnn", *map(str, arguments)]
    try:
        app(sys.argv[1:], obj=Options())
    except SystemExit as end:
        return end.code in (0, None)
    except (PFGNNError, OSError, typer.Abort) as error:
        check_message(error)
        return False
    return True


def check_message(error: Exception) -> None:
    """A message must be one line that a user can read."""
    message = explain(error)
    if "\n" in message.strip() or len(message) > 1000:
        raise Wrong(f"a message of {len(message)} characters: {message[:2000]}") from error


def check_output(done: bool, out: Path) -> bool:
    """Check the output file: a command that failed must not leave it, and no temporary file may be left.

    Returns whether the command ended well.
    """
    if out.exists() and not done:
        raise Wrong(f"the command failed, but {out.name} is there")
    if done and not out.exists():
        raise Wrong(f"the command ended well, but {out.name} is not there")
    if left := [path.name for path in out.parent.glob(".*")]:
        raise Wrong(f"left behind: {left}")
    return done


def convert(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn data convert` reads a changed file of each format."""
    name = rng.choice(("graphs.g6", "graphs.s6", "graphs.jsonl", "table.csv", "graphs.g6.gz", "table.csv.gz", "TU"))
    options: list[object] = ["--on-error", "skip"] if rng.random() < 0.3 else []
    if name.startswith("table"):
        options += ["--target", "y"] if rng.random() < 0.8 else []
    if name.endswith("6") and rng.random() < 0.5:
        (folder / "labels.txt").write_bytes(mutate_bytes(rng, (samples / "labels.txt").read_bytes()))
        options += ["--labels", folder / "labels.txt"]
    path = _changed(rng, samples / name, folder / name)
    done = pfgnn("data", "convert", path, folder / "out.pfgnn", *options)
    check_output(done, folder / "out.pfgnn")
    if done:
        Dataset.open(folder / "out.pfgnn")
    return done


def packed(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn data info` reads a changed packed file."""
    return pfgnn("data", "info", _changed(rng, samples / "own.pfgnn", folder / "own.pfgnn"))


def inspect(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn inspect` reads a changed file of graphs."""
    name = rng.choice(("graphs.g6", "graphs.s6", "molecules.smi"))
    return pfgnn("inspect", _changed(rng, samples / name, folder / name))


def config_file(rng: Random, samples: Path, folder: Path) -> bool:
    """A changed config file is read."""
    source = rng.choice([*CONFIGS, samples / "config.yaml"])
    path = folder / source.name
    if rng.random() < 0.5:
        path.write_bytes(mutate_bytes(rng, source.read_bytes()))
    else:
        path.write_text(yaml.safe_dump(mutate_tree(rng, yaml.safe_load(source.read_text()))))
    try:
        read_config(path)
    except (PFGNNError, OSError) as error:
        if path.name not in str(error) and "data" not in str(error) and "." not in str(error):
            raise Wrong(f"a message without the file or the setting: {error}") from error
        return False
    return True


def settings(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn train` with some settings changed, valid or not."""
    chosen = some(rng, list(setting_names()), 3)
    overrides = [f"{name}={_setting(rng, values)}" for name, values in chosen]
    given = [part for override in overrides for part in ("--set", override)]
    # Without a change, these end the training after three updates. A change comes later and wins.
    return pfgnn("train", samples / "config.yaml", "--out", folder / "run", "--device", "cpu", *given)


def run_files(rng: Random, samples: Path, folder: Path) -> bool:
    """A finished or stopped run, one of whose files is changed, is used by the commands that read runs."""
    run = folder / "run"
    shutil.copytree(samples / rng.choice(("run", "model")), run)
    files = sorted(path for path in run.rglob("*") if path.is_file())
    path = rng.choice(files)
    if rng.random() < 0.2:
        path.unlink()
    else:
        _changed(rng, path, path)
    match rng.randrange(4):
        case 0:
            return pfgnn("evaluate", run, "--device", "cpu")
        case 1:
            given = "table.csv" if (run / "fit.json").exists() else "graphs.g6"
            return _predict(run, samples / given, folder / "out.csv")
        case 2:
            out = folder / "out.png"
            return check_output(pfgnn("curves", run, "--out", out), out)
        case _:
            (run / "record.json").unlink(missing_ok=True)
            return pfgnn("train", samples / "config.yaml", "--out", run, "--resume", "--device", "cpu")


def predict(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn predict` reads a changed file of graphs."""
    name = rng.choice(("graphs.g6", "graphs.s6", "own.pfgnn"))
    return _predict(samples / "run", _changed(rng, samples / name, folder / name), folder / "out.csv")


def fit(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn fit` reads a changed file; sometimes the whole way to a model that predicts."""
    name = rng.choice(("table.csv", "graphs.jsonl", "own.pfgnn", "table.csv.gz"))
    path, model = _changed(rng, samples / name, folder / name), folder / "model"
    options = ["--on-error", "skip"] if rng.random() < 0.3 else []
    done = pfgnn("fit", path, "--out", model, *SMALL_FIT, *options)
    return _predict(model, path, folder / "out.csv") if done and rng.random() < 0.5 else done


def explain_run(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn explain` reads a changed graph."""
    text = mutate_bytes(rng, rng.choice((b"CCO", b"c1ccccc1O"))).decode(errors="replace").replace("\x00", "")
    out = folder / "out.csv"
    given = (samples / "model", text, "--out", out, "--picture", folder / "out.svg", "--draws", 2, "--device", "cpu")
    return check_output(pfgnn("explain", *given), out)


def explore(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn explore` reads a changed file of graphs."""
    name, out = rng.choice(("graphs.g6", "graphs.s6", "molecules.smi")), folder / "out.html"
    return check_output(pfgnn("explore", _changed(rng, samples / name, folder / name), "--out", out), out)


def diagnose(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn diagnose` reads a changed file of each format."""
    name, out = rng.choice(("graphs.g6", "graphs.jsonl", "table.csv", "own.pfgnn", "TU")), folder / "out.md"
    path = _changed(rng, samples / name, folder / name)
    return check_output(pfgnn("diagnose", path, "--out", out, "--processes", 1), out)


def records(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn report` reads a changed record."""
    source = rng.choice(sorted((ROOT / "results").glob("table*/*.json")))
    path = folder / source.parent.name / source.name
    path.parent.mkdir()
    _changed(rng, source, path)
    return pfgnn("report", source.parent.name, "--results", folder)


def bundles(rng: Random, samples: Path, folder: Path) -> bool:
    """`pfgnn unbundle` reads a changed bundle, or a whole one with a changed file."""
    path, files = folder / "bundle.zip", folder / "files"
    with ZipFile(samples / path.name) as archive:
        archive.extractall(files)
    _changed(rng, chosen := rng.choice(sorted(files.rglob("*.*"))), chosen)
    with ZipFile(path, "w") as archive:
        for file in files.rglob("*.*"):
            archive.write(file, file.relative_to(files))
    given = path if rng.random() < 0.7 else _changed(rng, samples / path.name, path)
    done = pfgnn("unbundle", given, "--runs", folder / "runs", "--results", folder / "results")
    if not done and ((folder / "runs").exists() or (folder / "results").exists()):
        raise Wrong("the command failed, but it wrote something")
    return done


def arguments(rng: Random, samples: Path, folder: Path) -> bool:
    """Any command with odd values of its arguments and options."""
    odd = [str(value) for value in VALUES if "\x00" not in str(value)]
    commands: dict[str, list[object]] = {
        "predict": [samples / "run", samples / "graphs.g6", "--draws", 2, "--particles", 2, "--out", folder / "p.csv"],
        "evaluate": [samples / "run", "--set", "evaluation.draws=2", "--device", "cpu"],
        "fit": [samples / "table.csv", "--out", folder / "model", "--target", "y", "--test-fraction", 0.2, *SMALL_FIT],
        "explain": [samples / "model", "CCO", "--draws", 2, "--particles", 2, "--out", folder / "e.csv", "--json"],
        "explore": [samples / "graphs.g6", "--graphs", 2, "--seconds", 1, "--out", folder / "e.html"],
        "diagnose": [samples / "own.pfgnn", "--processes", 1, "--out", folder / "d.md"],
        "configs": ["zinc"],
        "cards": ["zinc"],
        "pack": [samples / "run", folder / "packed", "--licence", "MIT", "--limits", "none", "--full"],
        "inspect": [samples / "graphs.g6", "--depth", 1, "--tree", folder / "tree.png", "--isomorphism", 0, 1],
        "compare": [samples / "graphs.g6", "--steps", 1, "--particles", 4, "--draws", 12, "--seconds", 1],
        "pairs": ["sr25", "--out", folder / "pairs.json", "--steps", 0, "--draws", 16, "--minutes", 0.01],
        "curves": [samples / "run", "--out", folder / "curves.png"],
        "tables": ["zinc"],
        "parts": [],
        "report": ["table2", "--results", ROOT / "results"],
        "data": [rng.choice(("list", "info", "verify")), "csl", "--root", folder],
        "demo": ["--steps", 0, "--particles", 2, "--updates", 2, "--seed", 1, "--out", folder / "demo"],
        "train": [samples / "config.yaml", "--out", folder / "run", "--set", "model.width=4", "--device", "cpu"],
        "reproduce": ["table2", "--results", folder, "--runs", folder / "runs", "--minutes", 0.05, "--row", "none"],
        "bundle": [folder / "b.zip", "table2", "--runs", samples / "runs", "--results", folder, "--most", 16],
        "unbundle": [samples / "bundle.zip", "--runs", folder / "runs", "--results", folder / "results"],
    }
    name = rng.choice(list(commands))
    given = list(commands[name])
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(given) + 1)
        given[place : place + rng.randrange(2)] = [rng.choice(odd)]
    return pfgnn(name, *given)


def setting_names(section: type = Config, prefix: str = "") -> Iterator[tuple[str, list[Any]]]:
    """Every setting, with values of the right type that it may take."""
    hints = get_type_hints(section)
    for field in dataclasses.fields(section):
        kinds = [kind for kind in (hints[field.name], *get_args(hints[field.name])) if dataclasses.is_dataclass(kind)]
        for kind in kinds:
            assert isinstance(kind, type)
            yield from setting_names(kind, f"{prefix}{field.name}.")
        if not kinds:
            yield f"{prefix}{field.name}", list(_literals(hints[field.name]))


def _predict(run: Path, path: Path, out: Path) -> bool:
    return check_output(pfgnn("predict", run, path, "--out", out, "--draws", 2, "--device", "cpu"), out)


def _literals(hint: Any) -> Iterator[Any]:
    for argument in get_args(hint):
        if isinstance(argument, str | int):
            yield argument
        elif get_origin(argument) is not None:
            yield from _literals(argument)


def _setting(rng: Random, values: list[Any]) -> str:
    if values and rng.random() < 0.5:
        return str(rng.choice(values))
    return json.dumps(rng.choice(VALUES)) if rng.random() < 0.5 else str(rng.choice((0, 1, 2, 3, 0.1, 0.5, "none")))


def _changed(rng: Random, source: Path, path: Path) -> Path:
    """Write a changed copy of a file, or of a folder with one changed file. Tables and trees are changed as such."""
    if source.is_dir():
        shutil.copytree(source, path)
        file = rng.choice(sorted(path.iterdir()))
        _changed(rng, file, file)
        return path
    data = source.read_bytes()
    structured = rng.random() < 0.6
    if structured and path.suffix == ".json":
        path.write_text(json.dumps(mutate_tree(rng, json.loads(data))))
    elif structured and path.suffix == ".jsonl":
        lines = data.decode().splitlines()
        place = rng.randrange(len(lines))
        lines[place] = json.dumps(mutate_tree(rng, json.loads(lines[place])))
        path.write_text("\n".join(lines))
    elif structured and path.suffix in (".csv", ".txt"):
        path.write_text(mutate_table(rng, data.decode()))
    elif structured and path.suffix == ".yaml":
        path.write_text(yaml.safe_dump(mutate_tree(rng, yaml.safe_load(data))))
    else:
        path.write_bytes(mutate_bytes(rng, data))
    return path


FILES = (convert, packed, inspect, fit, predict, explain_run, explore, diagnose)
TARGETS = (*FILES, config_file, settings, run_files, records, bundles, arguments)
