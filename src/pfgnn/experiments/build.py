"""Build what a run needs from its config: the dataset, its parts and the model."""

from dataclasses import replace
from typing import Any, overload

import numpy as np
import torch
from torch import nn

from pfgnn.data import Dataset, load
from pfgnn.data.known_targets import labelled
from pfgnn.data.shards import Shards, open_packed
from pfgnn.errors import InputError, shown
from pfgnn.experiments.backbones import check_parts, make_backbone, reads_edges
from pfgnn.experiments.config import DataConfig, ModelConfig
from pfgnn.experiments.model_inputs import Inputs, describe
from pfgnn.experiments.prepare import prepare
from pfgnn.graphs.arrays import IntArray
from pfgnn.model import PFGNN, Exchange, LinearPart, SoftResampling, StraightThrough
from pfgnn.model.base import GraphModel
from pfgnn.model.readout import Readout
from pfgnn.model.registries import (
    INDIVIDUALISATIONS,
    OBSERVATIONS,
    POLICIES,
    READOUTS,
    RESAMPLERS,
    SAMPLERS,
)
from pfgnn.model.rivals import PPGN, RNI, Alone

__all__ = ["Inputs", "adapt", "build_model", "describe", "load_data", "open_data", "part", "parts", "reads_edges"]


def load_data(config: DataConfig, model: ModelConfig, backbone: nn.Module | None = None) -> Dataset | Shards:
    """Load the dataset of a config and prepare it with :func:`adapt`.

    Args:
        config: Settings of the data.
        model: Settings of the model.
        backbone: The backbone, if it was given as an object.
    """
    return adapt(open_data(config), config, model, backbone)


def open_data(config: DataConfig) -> Dataset | Shards:
    """Load the dataset of a config, by name or from a path, without the preparations for a model."""
    if config.file is None:
        return load(config.name, **config.options)
    if config.options:
        raise InputError(f"data.options must be empty for a packed file, but it is {config.options}")
    return open_packed(config.file)


@overload
def adapt(graphs: Dataset, config: DataConfig, model: ModelConfig, backbone: nn.Module | None = None) -> Dataset: ...


@overload
def adapt(
    graphs: Dataset | Shards, config: DataConfig, model: ModelConfig, backbone: nn.Module | None = None
) -> Dataset | Shards: ...


def adapt(
    graphs: Dataset | Shards, config: DataConfig, model: ModelConfig, backbone: nn.Module | None = None
) -> Dataset | Shards:
    """Prepare graphs for a model, see :func:`pfgnn.experiments.prepare.prepare`. Shards are prepared when read."""
    edges = reads_edges(model, backbone)
    if isinstance(graphs, Shards):
        return replace(graphs, change=lambda some, whole: prepare(some, config, edges, cached=whole))
    return prepare(graphs, config, edges)


def parts(config: DataConfig, dataset: Dataset | Shards) -> dict[str, IntArray]:
    """The graph numbers of each part: "train", "validation" if there is one, and the test parts by their names.

    Graphs without any known target are left out.
    """
    found = {"train": part(config.train, config.fold, dataset)}
    if config.validation is not None:
        found["validation"] = part(config.validation, config.fold, dataset)
    for name in config.tests:
        graphs = part(name, config.fold, dataset)
        if not np.array_equal(found.get(name, graphs), graphs):
            came = getattr(config, name)
            raise InputError(f"data.{name} must be {name} if data.tests contains {name}, but it is {shown(came)}")
        found[name] = graphs
    return {name: labelled(dataset, graphs, name) for name, graphs in found.items()}


def part(name: str, fold: int | None, dataset: Dataset | Shards) -> IntArray:
    """The graph numbers of one part.

    Args:
        name: "all", or a part of the dataset, such as "train".
        fold: Number of the fold; None for a dataset without folds.
        dataset: The dataset.
    """
    if name == "all":
        return np.arange(len(dataset))
    if not dataset.splits:
        raise InputError(
            f"{dataset.name} has no parts, but its part {shown(name)} is wanted; `pfgnn data convert FILE OUT --split "
            "0.8,0.1,0.1` draws parts for your own graphs, or take all graphs: --set data.train=all "
            "--set data.validation=null --set 'data.tests=[all]'"
        )
    full = name if fold is None else f"fold {fold} {name}"
    if full in dataset.splits:
        if not len(dataset.splits[full]):
            raise InputError(f"the part {shown(full)} of {dataset.name} must hold at least one graph, but it is empty")
        return dataset.splits[full]
    folds = {split.split()[1] for split in dataset.splits if split.startswith("fold ")}
    if folds and (fold is None or str(fold) not in folds):
        came = "null" if fold is None else fold
        raise InputError(f"data.fold must lie in 0..{len(folds) - 1} for {dataset.name}, but it is {came}")
    if fold is not None and not folds:
        raise InputError(f"data.fold must be null for {dataset.name}, which has no folds, but it is {fold}")
    known = dict.fromkeys(split.split(maxsplit=2)[2] if folds else split for split in dataset.splits)
    without = "; --set data.validation=null goes without it" if name == "validation" else ""
    allowed = ", ".join([*known, "all"])
    raise InputError(f"a part of {dataset.name} must be one of {allowed}, but it is {shown(name)}{without}")


def build_model(config: ModelConfig, inputs: Inputs, seed: int, backbone: nn.Module | None = None) -> nn.Module:
    """Build the model for a dataset, on the CPU.

    Args:
        config: Settings of the model.
        inputs: Features and task of the dataset, see :func:`describe`.
        seed: Seed of the parameters. The state of torch's own random generator does not matter.
        backbone: The backbone, if it was given as an object. It is copied.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = _model(config, inputs, backbone)
    if config.linear:
        task = inputs.task
        if task.level != "graph" or task.loss != "l1":
            raise InputError(
                f"model.linear must be false for {inputs.name}, because only numbers of whole graphs have a linear part"
            )
        model.linear = LinearPart(inputs.in_channels, inputs.edge_channels, task.outputs)
    return model


def _model(config: ModelConfig, inputs: Inputs, given: nn.Module | None) -> GraphModel:
    common: dict[str, Any] = {
        "out_channels": inputs.task.outputs,
        "in_channels": inputs.in_channels,
        "edge_channels": inputs.edge_channels,
        "level": _level(inputs),
        "pool": config.pool,
    }
    if config.kind == "ppgn":
        return PPGN(config.width, layers=config.layers, **common)
    backbone = make_backbone(config, config.layers, inputs, given)
    check_parts(config, backbone)
    common["width"] = config.width
    if config.kind == "rni":
        return RNI(backbone, share=config.share, particles=config.particles, **common)
    if config.steps == 0:
        return Alone(backbone, **common, readout=_readout(config, inputs))
    D, T, step_layers = config.width, config.steps, config.step_layers or config.layers
    settings = {
        "width": D,
        "steps": T,
        "share": config.share,
        "max_distance": config.max_distance,
        "reach": config.reach,
        "vertices": config.vertices_per_step,
        "alpha": config.alpha,
        "inner": SoftResampling(config.alpha),
    }
    policy_backbone = {"backbone": lambda: make_backbone(replace(config, dropout=0.0), step_layers, inputs, given)}
    policy = POLICIES.make(config.policy, settings, lazy=policy_backbone)
    mark = INDIVIDUALISATIONS.make(config.individualise, settings)
    told = config.exchange
    exchange = Exchange(D, mean=told in ("both", "mean"), mark=told in ("both", "mark")) if told != "none" else False
    del common["level"], common["pool"]
    return PFGNN(
        backbone,
        steps=T,
        particles=config.particles,
        step_backbone=make_backbone(config, step_layers, inputs, given),
        share_steps=config.share_steps,
        mask_used=config.mask_used,
        policy=policy,
        sample=SAMPLERS.make(config.sampling, settings),
        individualise=StraightThrough(mark) if config.straight_through else mark,
        exchange=exchange,
        observe=OBSERVATIONS.make(config.observe, settings),
        resample=RESAMPLERS.make(config.resample, settings),
        readout=_readout(config, inputs),
        **common,
    )


def _readout(config: ModelConfig, inputs: Inputs) -> Readout:
    layers = (config.layers, *(config.step_layers or config.layers,) * config.steps)
    always: dict[str, Any] = {
        "width": config.width,
        "steps": config.steps,
        "out_channels": inputs.task.outputs,
        "level": _level(inputs),
        "pool": config.pool,
        "join": layers if config.join_layers else (),
        "scale": 1 / inputs.mean_nodes if config.pool == "sum" and config.scale_sums else 1.0,
    }
    return READOUTS.make(config.readout, {"second_moment": config.second_moment}, always)


def _level(inputs: Inputs) -> str:
    return "node" if inputs.task.level == "node" else "graph"  # pairs are compared by the outputs of their graphs
