"""The backbone of a config: a shipped one by its name, a class of your own by its import path, or a module object.

Nothing is imported because a config says so, since importing a module runs its code. The class must lie in a module
that this process has already imported: the user's program did it, or the command line for ``--import``.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from typing import Any

from torch import nn

from pfgnn.errors import InputError, InputTypeError, MissingPackageError, cut, shown
from pfgnn.experiments.config import GIVEN, ModelConfig
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.files import LONGEST_REASON
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.refine import Refine, fresh_copy
from pfgnn.model.registries import BACKBONES


def import_trusted(modules: list[str]) -> None:
    """Import modules that the user trusts by their names, also from the current folder."""
    sys.path += [os.getcwd()] if modules and os.getcwd() not in sys.path else []
    for name in modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise MissingPackageError(f"--import must name a module, but {shown(name)} is none: {error}") from None
        except Exception as error:
            said = cut(f"{type(error).__name__}: {error}", LONGEST_REASON)
            raise InputError(
                f"--import must name a module that can be imported, but {shown(name)} raised {said}"
            ) from error


def reads_edges(config: ModelConfig, given: nn.Module | None = None) -> bool:
    """Whether a model reads edge features.

    Args:
        config: Settings of the model.
        given: The backbone, if it was given as an object.
    """
    if config.kind == "ppgn":
        return True
    if config.backbone in BACKBONES:
        return BACKBONES[config.backbone].edge_features != "unread"
    if config.backbone == GIVEN:
        return Refine(_given(given)).reads_edge_attr
    made = _own_class(config.backbone)
    own = getattr(made, "reads_edge_attr", getattr(made, "supports_edge_attr", None))
    return "edge_attr" in inspect.signature(made.forward).parameters if own is None else bool(own)


def make_backbone(config: ModelConfig, layers: int, inputs: Inputs, given: nn.Module | None = None) -> nn.Module:
    """Make the backbone of a config.

    Args:
        config: Settings of the model.
        layers: Number of layers.
        inputs: Features and task of the dataset.
        given: The backbone, if it was given as an object. The result is a copy with newly initialised parameters.
    """
    always = {
        "width": config.width,
        "layers": layers,
        "norm": config.norm,
        "residual": config.residual,
        "feed_forward": config.feed_forward,
        "dropout": config.dropout,
    }
    settings = {
        "towers": config.towers,
        "mean_log_degree": inputs.mean_log_degree,
        "edges": inputs.edge_channels is not None,
    }
    if config.backbone == GIVEN:
        return fresh_copy(_given(given))
    if config.backbone not in BACKBONES:
        return _own(config, always | settings)
    if BACKBONES[config.backbone].edge_features == "needed" and inputs.edge_channels is None:
        raise InputError(
            f"model.backbone must be one that needs no edge features, such as gin, because {inputs.name} has none, "
            f"but it is {config.backbone}"
        )
    return BACKBONES.make(config.backbone, settings, always)


def check_parts(config: ModelConfig, backbone: nn.Module) -> None:
    """Raise an InputError for settings that only shipped backbones have."""
    if isinstance(backbone, Stack):
        return
    for setting, value, usual in (("exchange", config.exchange, "none"), ("join_layers", config.join_layers, False)):
        if value != usual and (config.steps > 0 or setting == "join_layers"):
            raise InputError(
                f"model.{setting} must be {str(usual).lower()} with a backbone of your own, {type(backbone).__name__}, "
                f"but it is {str(value).lower()}; only shipped backbones support it"
            )


def _given(given: nn.Module | None) -> nn.Module:
    if given is None:
        raise InputError(
            f"model.backbone is {GIVEN}: the run has a module that was given in Python, so it must be given again, "
            "as backbone=MODULE of run() or load_run()"
        )
    return given


def _own_class(name: str) -> type[nn.Module]:
    """The class of an import path, such as "my_package.my_module:MyGNN"."""
    module, _, attribute = name.partition(":")
    if module not in sys.modules:
        raise InputError(
            f"model.backbone is {name}, which is code, and code is not imported because a config says so; if you trust "
            f"it, add --import {module}, or in Python write import {module} before"
        )
    found = getattr(sys.modules[module], attribute, None)
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise InputTypeError(f"model.backbone must name a class of torch modules, but {name} is none")
    return found


def _own(config: ModelConfig, known: Mapping[str, Any]) -> nn.Module:
    """An object of the user's own class. It gets its options, and each setting that its constructor has by name."""
    made = _own_class(config.backbone)
    named = inspect.signature(made).parameters
    own = {key: value for key, value in known.items() if key in named} | config.backbone_options
    try:
        return made(**own)
    except (TypeError, ValueError) as error:
        said = cut(str(error), LONGEST_REASON)
        raise InputError(
            f"{config.backbone} must be made by its settings {', '.join(own) or 'alone'}, but it raised "
            f"{type(error).__name__}: {said}; model.backbone_options sets more"
        ) from error
