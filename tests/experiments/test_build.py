import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from tests.experiments.build_samples import EDGES, SMALL, bare, dataset
from torch import nn

from pfgnn.data import Dataset, Resident, Task
from pfgnn.data.splits import k_folds
from pfgnn.experiments.build import adapt, build_model, load_data, parts
from pfgnn.experiments.config import DataConfig, ModelConfig
from pfgnn.experiments.model_inputs import describe
from pfgnn.model import PFGNN, PNA, ByDistance, Distinct, Exchange, Independent, MeanParticle
from pfgnn.model.base import GraphModel
from pfgnn.model.registries import BACKBONES, SETTINGS
from pfgnn.model.rivals import PPGN, RNI, Alone


def build(config: ModelConfig, data: Dataset, train: npt.ArrayLike = range(4), seed: int = 0) -> torch.nn.Module:
    return build_model(config, describe(data, np.asarray(train)), seed)


def predict(model: torch.nn.Module, data: Dataset) -> torch.Tensor:
    prediction: torch.Tensor = model(Resident(data).collate(np.arange(len(data)))).prediction
    return prediction


def test_named_data_with_options() -> None:
    made = load_data(DataConfig("connectivity", options={"train": 4, "test": 2, "seed": 3}), SMALL)
    assert (made.name, len(made)) == ("connectivity", 6)


def test_packed_data(tmp_path: Path) -> None:
    path = str(tmp_path / "six.pfgnn")
    dataset().save(path)
    assert load_data(DataConfig(path), EDGES).edge_channels == (3,)
    assert load_data(DataConfig(path, edge_features=False), EDGES).edge_channels is None
    with pytest.raises(ValueError, match=r"data\.options must be empty for a packed file, but it is {'seed': 1}"):
        load_data(DataConfig(path, options={"seed": 1}), EDGES)


def test_parts_by_name() -> None:
    found = parts(DataConfig("six", tests=("test", "all", "train")), dataset())
    assert {name: graphs.tolist() for name, graphs in found.items()} == {
        "train": [0, 1, 2, 3],
        "validation": [4],
        "test": [5],
        "all": [0, 1, 2, 3, 4, 5],
    }
    assert list(parts(DataConfig("six", train="all", validation=None, tests=("all",)), dataset())) == ["train", "all"]


def test_parts_of_a_fold() -> None:
    folded = dataset(splits=k_folds(6, 3))
    found = parts(DataConfig("six", fold=2), folded)
    assert {name: graphs.tolist() for name, graphs in found.items()} == {
        name: folded.splits[f"fold 2 {name}"].tolist() for name in ("train", "validation", "test")
    }
    assert parts(DataConfig("six", train="all", validation=None, tests=("all",)), folded).keys() == {"train", "all"}


@pytest.mark.parametrize(
    ("config", "folds", "sentence"),
    [
        (DataConfig("six"), True, r"data\.fold must lie in 0\.\.2 for six, but it is null"),
        (DataConfig("six", fold=3), True, r"data\.fold must lie in 0\.\.2 for six, but it is 3"),
        (DataConfig("six", fold=0), False, r"data\.fold must be null for six, which has no folds, but it is 0"),
        (
            DataConfig("six", tests=("tset",)),
            False,
            "a part of six must be one of train, validation, test, all, but it is 'tset'",
        ),
        (
            DataConfig("six", fold=1, train="trian"),
            True,
            "a part of six must be one of train, validation, test, all, but it is 'trian'",
        ),
        (
            DataConfig("six", train="all", tests=("train",)),
            False,
            r"data\.train must be train if data\.tests contains train, but it is 'all'",
        ),
    ],
)
def test_parts_that_are_not_there(config: DataConfig, folds: bool, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parts(config, dataset(splits=k_folds(6, 3)) if folds else dataset())


@pytest.mark.parametrize("backbone", BACKBONES)
def test_backbones_get_the_edge_features_that_they_read(backbone: str) -> None:
    config = replace(SMALL, backbone=backbone)
    data = adapt(dataset(), DataConfig("six"), config)
    model = build(config, data).eval()
    assert (data.edge_attr is not None) == any(getattr(part, "reads_edge_attr", False) for part in model.modules())
    prediction = predict(model, data)
    assert prediction.shape == (6, 2)
    if data.edge_attr is not None:
        assert not torch.equal(prediction, predict(model, replace(data, edge_attr=(data.edge_attr + 1) % 3)))


def test_edge_features_that_are_missing() -> None:
    for backbone in ("gine", "mpnn"):
        with pytest.raises(ValueError, match=rf"must be one that needs no edge features, .* but it is {backbone}"):
            build(replace(SMALL, backbone=backbone), bare())
    for config in (replace(SMALL, backbone="pna"), replace(SMALL, kind="ppgn")):
        assert predict(build(config, bare()), bare()).shape == (6, 2)


def test_kinds_of_models() -> None:
    kinds: dict[ModelConfig, type] = {
        SMALL: PFGNN,
        replace(SMALL, steps=0): Alone,
        replace(SMALL, kind="ppgn"): PPGN,
        replace(SMALL, kind="rni", share=0.5): RNI,
    }
    for config, kind in kinds.items():
        data = adapt(dataset(), DataConfig("six"), config)
        model = build(config, data)
        assert type(model) is kind
        assert predict(model, data).shape == (6, 2)


def test_parameters_follow_from_the_seed_alone() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one = build(SMALL, bare(), seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    again = build(SMALL, bare(), seed=3).state_dict()
    other = build(SMALL, bare(), seed=4).state_dict()
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_pna_scales_by_the_training_graphs() -> None:
    model = build(replace(SMALL, backbone="pna"), bare(), [1])
    scale = model.get_submodule("refine.0.backbone.convs.0").mean_log_degree
    assert scale == pytest.approx((math.log(4) + 3 * math.log(2)) / 4)


@pytest.mark.parametrize(
    ("task", "rows", "shape"),
    [
        (Task("node", 3, "cross_entropy", "accuracy"), 21, (21, 3)),
        (Task("graph", 5, "l1", "mae"), 6, (6, 5)),
        (Task("pair", 4, "cross_entropy", "pairs"), 6, (6, 4)),
    ],
)
def test_outputs_fit_the_task(task: Task, rows: int, shape: tuple[int, int]) -> None:
    data = replace(bare(), task=task, y=np.zeros((rows, 5 if task.loss == "l1" else 1)))
    for kind in ("pfgnn", "rni", "ppgn"):
        model = build(replace(SMALL, kind=kind), data)
        assert predict(model, data).shape == shape


PLACES = {"sampling": "sample"}  # where the model keeps a part, if not under the setting's name
PARTS = [(setting, name) for setting, registry in SETTINGS.items() for name in registry]


@pytest.mark.parametrize(("setting", "name"), PARTS)
def test_every_registered_part_makes_a_model(setting: str, name: str) -> None:
    chosen: dict[str, Any] = {setting: name}
    config = replace(EDGES, **chosen)
    data_config = DataConfig("six", positions="distance" if name == "position" else "none")
    data = adapt(dataset(pos=np.eye(21)[:, :3]), data_config, config)
    model = build(config, data)
    of_layers = setting in ("backbone", "norm")
    found = model.modules() if of_layers else [model.get_submodule(PLACES.get(setting, setting))]
    assert any(type(part) is SETTINGS[setting][name] for part in found)
    assert predict(model, data).isfinite().all()


@pytest.mark.parametrize(
    ("told", "terms"), [("both", (True, True)), ("mean", (True, False)), ("mark", (False, True)), ("none", None)]
)
def test_what_particles_tell_each_other(told: Any, terms: tuple[bool, bool] | None) -> None:
    model = build(replace(EDGES, exchange=told), dataset())
    found = {(e.of_mean is not None, e.of_mark is not None) for e in model.modules() if isinstance(e, Exchange)}
    assert found == ({terms} if terms else set())


def test_sums_are_scaled_by_the_size_of_the_training_graphs() -> None:
    model = build(SMALL, bare())
    assert isinstance(model, PFGNN)
    assert model.readout.scale == 1 / describe(bare(), np.arange(4)).mean_nodes
    mean = build(replace(SMALL, pool="mean"), bare())
    assert isinstance(mean, PFGNN)
    assert mean.readout.scale == 1


def test_distinct_paths_by_default() -> None:
    model = build(SMALL, bare())
    assert isinstance(model, PFGNN)
    assert isinstance(model.sample, Distinct)


def test_numbers_reach_the_model() -> None:
    config = ModelConfig(
        width=8,
        layers=2,
        step_layers=1,
        steps=2,
        particles=5,
        share_steps=True,
        sampling="independent",
        vertices_per_step=2,
        feed_forward=True,
        dropout=0.25,
        mask_used=True,
        share=0.5,
        alpha=0.25,
        norm="layer",
        residual=False,
        pool="max",
        readout="mean",
        second_moment=True,
        join_layers=True,
        individualise="distance",
        max_distance=3,
        resample="soft",
        backbone="pna",
        towers=2,
    )
    model = build(config, bare())
    assert isinstance(model, PFGNN)
    assert (model.steps, model.particles, model.mask_used) == (2, 5, True)
    assert isinstance(model.sample, Independent)
    assert model.sample.vertices == 2
    assert model.refine[1] is model.refine[2]
    first, step = (model.get_submodule(f"refine.{t}.backbone") for t in (0, 1))
    assert isinstance(first, PNA)
    assert isinstance(step, PNA)
    assert (len(first.convs), len(step.convs)) == (2, 1)
    assert (first.residual, type(first.norms[0]).__name__) == (False, "LayerNorm")
    assert len(first.get_parameter("convs.0.post")) == 2
    assert model.individualise.dimensions == 4
    assert model.resample.alpha == 0.25
    assert isinstance(model.individualise, ByDistance)
    assert model.individualise.tables.shape == (2, 5, 8)
    assert (first.dropout, first.hidden is not None) == (0.25, True)
    assert isinstance(model.readout, MeanParticle)
    assert model.readout.reduce is not None
    assert (model.readout.reduce.__name__, model.readout.second_moment) == ("segment_max", True)
    assert [map.in_features for map in model.readout.join if isinstance(map, nn.Linear)] == [16, 8, 8]
    rni = build(replace(SMALL, kind="rni", share=0.25, particles=3), bare())
    assert isinstance(rni, RNI)
    assert (rni.random, rni.particles) == (2, 3)


def test_a_dataset_without_parts_says_how_to_get_them() -> None:
    with pytest.raises(ValueError, match=r"six has no parts, .* --split 0\.8,0\.1,0\.1` draws .* data\.train=all"):
        parts(DataConfig("six"), dataset(splits={}))


def test_a_dataset_without_validation_says_how_to_go_without_it() -> None:
    splits = {name: graphs for name, graphs in dataset().splits.items() if name != "validation"}
    with pytest.raises(ValueError, match=r"must be one of train, test, all, .*; --set data\.validation=null goes"):
        parts(DataConfig("six"), dataset(splits=splits))


@pytest.mark.parametrize("kind", ["pfgnn", "rni", "ppgn"])
def test_a_linear_part_knows_the_kinds_of_nodes_and_edges(kind: Any) -> None:
    task, targets = Task("graph", 2, "l1", "mae"), np.arange(12.0).reshape(6, 2)
    data = dataset(task=task, y=targets) if kind == "pfgnn" else replace(bare(), task=task, y=targets)
    backbone = "gine" if kind == "pfgnn" else "gin"
    model = build(ModelConfig(kind=kind, backbone=backbone, width=8, layers=1, steps=1, particles=2, linear=True), data)
    assert isinstance(model, GraphModel)
    assert model.linear is not None
    before = predict(model.eval(), data)
    model.linear.weight += 1  # each node and edge counts 1, and each of their categories
    gained = data.node_counts + data.edge_counts * (2 if kind == "pfgnn" else 1)
    np.testing.assert_allclose((predict(model, data) - before).detach(), np.tile(gained[:, None], 2), rtol=1e-5)


def test_classes_have_no_linear_part() -> None:
    with pytest.raises(ValueError, match=r"model\.linear must be false for six, because only numbers of whole graphs"):
        build(ModelConfig(width=8, layers=1, linear=True), dataset())
