"""The command `pfgnn fit` that made a model folder: how to go on with it, and whether another one is the same.

This module needs no torch, so that checks of a folder are fast.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from pfgnn.errors import InputError
from pfgnn.experiments.run_lock import FILE as LOCK
from pfgnn.files import read_json

FACTS, DATA, PARTS, REJECTS, TEST = "fit.json", "data.pfgnn", "parts.csv", "rejects.txt", "test_predictions.csv"
TARGET = "--target"
BEFORE_TRAINING = {FACTS, DATA, PARTS, REJECTS, LOCK}  # files that a fit writes before its config

Command = dict[str, list[str]]


def given_options(options: Mapping[str, object]) -> Command:
    """The options of a command that the user gave, as texts.

    Args:
        options: Value of each option by its name, such as {"--target": ["logp"]}. None and [] mean that it is not
            given.
    """
    listed = {name: value if isinstance(value, list) else [value] for name, value in options.items()}
    return {name: [str(one) for one in value] for name, value in listed.items() if value and value != [None]}


def check_same(folder: Path, source: Path, options: Command, trained: bool = False) -> None:
    """Raise an InputError if a folder is the fit of another file, or of a command with other options.

    Folders of earlier versions do not say which options they had. Of these, only the file is compared.

    Args:
        folder: Model folder of the stopped fit.
        source: The file that is given now.
        options: The options that are given now, from :func:`given_options`.
        trained: Whether the training is done. Then options that are left out now change nothing, and are not compared.
    """
    known = _read(folder)
    if known is None:
        raise InputError(f"{folder} must hold a stopped fit, but `pfgnn fit` did not make it; go on with `pfgnn train`")
    file, before = known
    if file and Path(file).name != source.name:
        raise InputError(f"{folder} is a fit of {file}, but the file is {source}; choose another --out")
    if before is None:
        return
    for name in dict.fromkeys([TARGET, *before, *options]):
        was, now = before.get(name, []), options.get(name, [])
        if was == now or (trained and not now):
            continue
        fitted = f"of {', '.join(was)}" if name == TARGET and was else f"with {_shown(name, was)}"
        raise InputError(
            f"{folder} is a fit {fitted}, but {name} is {', '.join(now) or 'not given'}; "
            "give the same options, or choose another --out"
        )


def fit_command(folder: Path, out: Path, *options: str) -> str | None:
    """The command that made a model folder, quoted for a shell; None if no command of `pfgnn fit` made it.

    Args:
        folder: The model folder.
        out: Folder that the command should write.
        options: Further options, such as --resume.
    """
    known = _read(folder)
    if known is None or not known[0]:
        return None
    file, given = known
    words = [f"{name}={value}" for name, values in (given or {}).items() for value in values]
    return shlex.join(["pfgnn", "fit", file, "--out", str(out), *options, *words])


def _shown(name: str, values: Sequence[str]) -> str:
    return f"{name} {', '.join(values)}" if values else f"no {name}"


def _read(folder: Path) -> tuple[str, Command | None] | None:
    """The file and the options of a fit; None if the folder is none. The options are None if they are not known."""
    path = folder / FACTS
    if not path.exists():
        return None
    content = read_json(path)
    source, command = content.get("source"), content.get("command")
    return source if isinstance(source, str) else "", command if isinstance(command, dict) else None
