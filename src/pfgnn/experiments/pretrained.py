"""The trained models that come with pfgnn. Each is a run directory with a card, as `pfgnn pack` writes it.

This module does not import torch, so that a list of them is fast.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pfgnn.errors import InputError, nearest, shown
from pfgnn.experiments.run_directory import CONFIG, RECORD

if TYPE_CHECKING:
    from pfgnn.experiments.predict import TrainedRun

CARD = "card.md"
LIMITS = "| limits | "  # the start of its row in the card
FOLDER = Path(__file__).parents[1] / "pretrained"


def pretrained_models() -> dict[str, Path]:
    """The folder of each pretrained model by its name."""
    found = sorted(path.parent for path in FOLDER.glob(f"*/{CARD}"))
    return {folder.name: folder for folder in found if (folder / RECORD).exists()}


def find_model(path: Path) -> Path:
    """The folder of a model: the path itself, or a pretrained model of this name.

    A folder here with a run comes first. Any other folder, such as one of data, does not hide the model.
    """
    models = pretrained_models()
    if str(path) in models and not (path / CONFIG).exists():
        return models[str(path)]
    near = None if path.exists() else nearest(path, models)
    if near is not None:
        raise InputError(f"{path} must be a folder or a pretrained model, but it is none; did you mean {near}?")
    return path


def pretrained_folder(name: str) -> Path:
    """The folder of a pretrained model. Raises an InputError if there is none of this name."""
    models = pretrained_models()
    if not isinstance(name, str) or name not in models:
        there = f"one of {', '.join(models)}" if models else "one that comes with pfgnn, but this version has none"
        near = nearest(name, models)
        hint = f"; did you mean {near}?" if near else ""
        raise InputError(f"the name of a pretrained model must be {there}; it is {shown(name)}{hint}")
    return models[name]


def load_pretrained(name: str, device: str = "auto") -> "TrainedRun":
    """Load a model that comes with pfgnn, to predict new graphs.

    Args:
        name: Name of the model, see `pfgnn cards`.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
    """
    folder = pretrained_folder(name)
    from pfgnn.experiments.predict import load_run

    return load_run(folder, device)


def card_summary(folder: Path) -> str:
    """The first sentence of a model's card, without its title."""
    lines = (folder / CARD).read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line and not line.startswith(("#", "|"))), "")


def card_limits(folder: Path) -> str:
    """What the card of a model says of its use and limits; "" if there is no card, or no such line."""
    path = folder / CARD
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    found = [line[len(LIMITS) :].removesuffix("|").strip() for line in lines if line.startswith(LIMITS)]
    return found[0] if found else ""
