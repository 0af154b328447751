"""PF-GNN on unusual inputs: extreme values, wrong arguments, fixed and fresh randomness."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import circulant_edges, featureless, random_graph
from tests.model.pfgnn_samples import BACKBONES, OPTIONS, D, build, ours, sample
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model import (
    GIN,
    GINE,
    PFGNN,
    MLPPolicy,
    NoObservation,
    NoResampling,
    UniformPolicy,
)


class TestNothingBreaks:
    @staticmethod
    def assert_finite(model: PFGNN, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> None:
        model.train()
        output = model(x, edge_index, edge_attr)
        (output.prediction.tanh().sum() + sum(s.log_prob.sum() for s in output.trace)).backward()
        assert output.prediction.isfinite().all()
        assert output.belief.embeddings.isfinite().all()
        assert output.belief.log_weights.isfinite().all()
        assert all(field.isfinite().all() for step in output.trace for field in step)
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", BACKBONES)
    @pytest.mark.parametrize("case", ["one node", "no edges", "isolated nodes", "huge", "tiny", "zero", "one particle"])
    def test_edge_cases(self, name: str, case: str, dtype: torch.dtype) -> None:
        model = build(BACKBONES[name](), steps=8, particles=1 if case == "one particle" else 4).to(dtype)
        x, edge_index, edge_attr = sample(model)
        if case in ("one node", "no edges"):
            edge_index, edge_attr = edge_index[:, :0], None if edge_attr is None else edge_attr[:0]
        if case == "one node":
            x = x[:1]
        if case == "isolated nodes":
            x = torch.cat([x, x])
        x = x * {"huge": 1e30, "tiny": 1e-30, "zero": 0.0}.get(case, 1.0)
        self.assert_finite(model, x, edge_index, edge_attr)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", OPTIONS)
    def test_options_on_one_node_and_on_huge_features(self, name: str) -> None:
        x, edge_index, _ = random_graph(12, 18, 3)
        if name != "batch norm":  # it raises an error for a single row in training
            self.assert_finite(OPTIONS[name](), x[:1], edge_index[:, :0])
        self.assert_finite(OPTIONS[name](), x * 1e30, edge_index)

    @pytest.mark.parametrize("name", BACKBONES)
    def test_a_graph_of_5000_nodes(self, name: str) -> None:
        x, edge_index, edge_attr = random_graph(20, 30, 3)
        copies = torch.arange(250)[:, None]
        tree = torch.stack([torch.arange(1, 5000), torch.arange(1, 5000) // 2])  # joins the copies into one graph
        edge_index = torch.cat([(edge_index[:, None] + 20 * copies).flatten(1), tree, tree.flip(0)], 1)
        model = build(BACKBONES[name](), particles=2)
        assert edge_attr is not None
        attr = torch.cat([edge_attr.repeat(250, 1), torch.ones(2 * 4999, 3)])
        self.assert_finite(model, x.repeat(250, 1), edge_index, attr if model.encode_edges is not None else None)


class TestRandomness:
    def test_the_global_generator_is_never_touched(self) -> None:
        model = build(GIN(D)).train()
        graph = sample(model)
        before = torch.random.get_rng_state()
        model(*graph)
        assert torch.equal(before, torch.random.get_rng_state())

    def test_evaluation_repeats_and_training_does_not(self) -> None:
        model = build(GIN(D))
        graph = sample(model)
        assert torch.equal(model(*graph).prediction, model(*graph).prediction)
        assert not torch.equal(model(*graph, seed=1).prediction, model(*graph, seed=2).prediction)
        model.train()
        assert not torch.equal(model(*graph).prediction, model(*graph).prediction)

    def test_a_restored_model_goes_on_with_the_same_draws(self) -> None:
        model, restored = build(GIN(D)).train(), build(GIN(D)).train()
        graph = sample(model)
        model(*graph)
        restored.load_state_dict(model.state_dict())
        assert torch.equal(model(*graph).prediction, restored(*graph).prediction)

    def test_every_step_draws_anew(self) -> None:
        model = build(GIN(D), observe=NoObservation(), policy=UniformPolicy(), particles=40)
        first, second, third = model(*sample(model)).trace
        for field in ("vertices", "ancestors"):
            draws = [getattr(step, field) for step in (first, second, third)]
            assert not any(torch.equal(draws[i], draws[j]) for i in range(3) for j in range(i))

    def test_seeds_as_tensors(self) -> None:
        model = build(GIN(D))
        graph = sample(model)
        assert torch.equal(model(*graph, seed=3).prediction, model(*graph, seed=torch.tensor(3)).prediction)

    def test_gradients_reach_every_parameter(self) -> None:
        model = build(GIN(D), steps=2).train()
        output = model(*sample(model))
        (output.prediction.sum() + sum(s.log_prob.sum() for s in output.trace)).backward()
        without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
        assert without in ([], ["policy.score.bias"])  # a shift of all scores changes no probability, up to rounding


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "error", "sentence"),
        [
            ({"particles": 0}, ValueError, "particles must be at least 1, but it is 0"),
            ({"particles": 2.5}, TypeError, "particles must be an int, but it is 2.5"),
            ({"steps": -1}, ValueError, "steps must be at least 0, but it is -1"),
            ({"vertices_per_step": 0}, ValueError, "vertices_per_step must be at least 1, but it is 0"),
            ({"pool": "median"}, ValueError, "pool must be one of sum, mean, max, but it is 'median'"),
            ({"level": "edge"}, ValueError, "level must be one of graph, node, but it is 'edge'"),
            ({"level": "node", "pool": "median"}, ValueError, "pool must be one of sum, mean, max"),
            ({"policy": "gnn"}, TypeError, "policy must be a torch module such as those of pfgnn.model"),
            ({"resample": NoResampling}, TypeError, "resample must be a torch module such as those of pfgnn.model"),
        ],
    )
    def test_construction(self, options: dict[str, object], error: type[Exception], sentence: str) -> None:
        with pytest.raises(error, match=sentence):
            build(GIN(D), **options)

    @pytest.mark.parametrize(
        ("call", "error", "sentence"),
        [
            ({"particles": 0}, ValueError, "particles must be at least 1, but it is 0"),
            ({"chunk": 0}, ValueError, "chunk must be at least 1, but it is 0"),
            ({"graph_key": torch.zeros(2, dtype=torch.int64)}, ValueError, r"graph_key must have shape \[1\]"),
            ({"graph_key": [1]}, TypeError, "graph_key must be a torch tensor, but it is a list"),
            ({"seed": "one"}, TypeError, "seed must be an int, but it is 'one'"),
            ({"node_key": torch.zeros(12)}, TypeError, "node_key must have dtype int64, but it has torch.float32"),
        ],
    )
    def test_call(self, call: dict[str, object], error: type[Exception], sentence: str) -> None:
        model = build(GIN(D))
        with pytest.raises(error, match=sentence):
            model(*sample(model), **call)

    def test_features(self) -> None:
        model = build(GINE(D))
        x, edge_index, edge_attr = sample(model)
        with pytest.raises(ValueError, match="x must have 3 columns, but it has 2"):
            model(x[:, :2], edge_index, edge_attr)
        with pytest.raises(ValueError, match="edge_attr is None, but the model was built with edge_channels"):
            model(x, edge_index)
        with pytest.raises(ValueError, match="x is None, but the model was built with in_channels"):
            model(None, edge_index, edge_attr, batch=torch.zeros(12, dtype=torch.int64))
        with pytest.raises(ValueError, match="x must be finite, but in graph 0 it holds NaN or infinity"):
            model(x * torch.nan, edge_index, edge_attr)

    def test_chunks_with_batch_norm_in_training(self) -> None:
        model = build(GIN(D, norm="batch")).train()
        with pytest.raises(ValueError, match="chunk must be None in training with batch normalisation or dropout"):
            model(*sample(model), chunk=2)


def test_chunks_of_a_backbone_with_dropout() -> None:
    """The recomputation in the backward pass drops the same messages, so the gradient fits the loss."""
    backbone = pyg.GATConv(D, D, dropout=0.6)
    model = PFGNN.paper(backbone, 1, in_channels=3, steps=2, particles=4, width=D).double().train()
    x, edge_index = torch.randn(9, 3).double(), circulant_edges(9, 1, 2)
    weight = dict(model.named_parameters())["refine.1.backbone.lin.weight"]
    direction = torch.randn_like(weight)

    def loss() -> Tensor:
        torch.manual_seed(7)
        return model(x, edge_index, seed=3, chunk=2).embedding.square().sum()

    loss().backward()
    assert weight.grad is not None
    slope, eps, ends = (weight.grad * direction).sum(), 1e-6, []
    for sign in (1, -1):
        with torch.no_grad():
            weight.add_(direction, alpha=sign * eps)
            ends.append(loss())
            weight.sub_(direction, alpha=sign * eps)
    torch.testing.assert_close(slope, (ends[0] - ends[1]) / (2 * eps), rtol=1e-5, atol=0.0)


def test_no_features_need_a_batch_or_empty_columns() -> None:
    model = build(GIN(D), in_channels=0)
    x, edge_index, _ = featureless(circulant_edges(9, 1, 2), 9)
    batch = torch.zeros(9, dtype=torch.int64)
    torch.testing.assert_close(model(x, edge_index).prediction, model(None, edge_index, batch=batch).prediction)


def test_half_precision_runs() -> None:
    model = build(GIN(D)).half()
    x, edge_index, _ = random_graph(12, 18, 3, dtype=torch.float16)
    assert model(x, edge_index).prediction.isfinite().all()


@pytest.mark.parametrize("make", [build, ours])
def test_nan_parameters_end_in_a_nan_prediction_not_in_a_crash(make: Callable[..., PFGNN]) -> None:
    model = make(GIN(D), policy=UniformPolicy())
    with torch.no_grad():
        next(model.parameters()).fill_(torch.nan)
    assert model(*sample(model)).prediction.isnan().all()


@pytest.mark.parametrize("make", [build, ours])
def test_a_policy_that_gives_nan_is_named(make: Callable[..., PFGNN]) -> None:
    model = make(GIN(D), policy=MLPPolicy(D))
    with torch.no_grad():
        next(model.policy.parameters()).fill_(torch.nan)
    with pytest.raises(ValueError, match="the scores of MLPPolicy must be finite, but in step 1 some are not"):
        model(*sample(model))
    model(GraphBatch.from_tensors(*sample(model)))  # unchecked, but no crash


def test_numpy_integers_are_integers() -> None:
    model = build(GIN(D))
    assert model(*sample(model), particles=np.int64(3)).belief.weights.shape == (1, 3)


def test_a_backbone_of_width_zero() -> None:
    backbone = GIN(4)
    backbone.width = 0
    with pytest.raises(ValueError, match="width must be at least 1, but it is 0"):
        PFGNN(backbone, 1)
