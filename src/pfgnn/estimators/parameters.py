"""The parameters of an estimator: checked, with Python's own numbers, and as settings of a config."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from pfgnn.argument_checks import check_flag
from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.experiments.config import GIVEN
from pfgnn.experiments.fit_defaults import check_changes
from pfgnn.model.refine import check_module

SETTINGS = {
    "backbone": "model.backbone",
    "width": "model.width",
    "steps": "model.steps",
    "particles": "model.particles",
    "epochs": "training.epochs",
    "batch_size": "training.batch_size",
    "learning_rate": "training.learning_rate",
    "patience": "training.patience",
}


def plain(value: Any) -> Any:
    """A value with Python's numbers in place of NumPy's, as a search over parameters may give them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {plain(key): plain(of) for key, of in value.items()}
    return [plain(of) for of in value] if isinstance(value, list | tuple) else value


def read_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters by name. Raises an error if one that is no setting of a config has the wrong type."""
    found = {name: plain(value) for name, value in estimator.get_params(deep=False).items()}
    for name in ("early_stopping", "warm_start", "verbose"):
        check_flag(name, found[name])
    if not isinstance(found["settings"], Mapping | None):
        raise InputTypeError(f"settings must be a dict such as {{'model.width': 32}}, but it is {found['settings']!r}")
    if not (found["callback"] is None or callable(found["callback"])):
        raise InputTypeError(f"callback must be a function or None, but it is {shown(found['callback'])}")
    return found


def own_module(backbone: Any) -> nn.Module | None:
    """The module, if the backbone was given as an object; None if it was given by its name."""
    if isinstance(backbone, str | None):
        return None
    check_module("backbone", backbone)
    return backbone


def as_changes(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that parameters stand for, by their dotted names. An error names a parameter by its own name.

    Args:
        parameters: What :func:`read_parameters` gives.
    """
    own = {setting: parameters[name] for name, setting in SETTINGS.items() if parameters[name] is not None}
    if own_module(parameters["backbone"]) is not None:
        own["model.backbone"] = GIVEN
    try:
        check_changes(own)
    except (InputError, InputTypeError) as error:
        said = str(error).replace(" or null,", " or None,")
        for name, setting in SETTINGS.items():
            said = said.replace(setting, name)
        raise type(error)(said) from None
    if not parameters["early_stopping"]:
        own.pop("training.patience", None)
    changes = own | dict(parameters["settings"] or {})
    check_changes(changes)
    return changes
