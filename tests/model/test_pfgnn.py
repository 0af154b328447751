"""Algorithm 1 as a whole: its symmetries, its limits, and unusual inputs."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import Graph, circulant_edges, featureless, random_graph
from torch import Tensor, nn

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.model import (
    GAT,
    GCN,
    GIN,
    GINE,
    GNNML1,
    MPNN,
    PFGNN,
    PNA,
    Additive,
    ByDistance,
    Distinct,
    ESSResampling,
    Exchange,
    GNNPolicy,
    Independent,
    MaxParticle,
    MLPPolicy,
    Multiplicative,
    NoObservation,
    NoResampling,
    PerParticle,
    RandomNormal,
    SetObservation,
    SoftResampling,
    SystematicResampling,
    Top,
    UniformPolicy,
)
from pfgnn.model.backbones.stack import Stack

D = 16
BACKBONES: dict[str, Callable[[], Stack]] = {
    "GCN": lambda: GCN(D),
    "GAT": lambda: GAT(D),
    "GIN": lambda: GIN(D),
    "GINE": lambda: GINE(D),
    "PNA": lambda: PNA(D, towers=4, edges=True),
    "GNNML1": lambda: GNNML1(D),
    "MPNN": lambda: MPNN(D),
}
# Every option is here at least once, and the tests must pass for all of them. Those of `ours` need no chunks.
OPTIONS: dict[str, Callable[[], PFGNN]] = {
    "ours": lambda: ours(GIN(D)),
    "ours, three steps, learned": lambda: ours(GIN(D), steps=3, policy=MLPPolicy(D), observe=SetObservation(D)),
    "ours, more particles than vertices": lambda: ours(GIN(D), particles=30, mask_used=True, steps=2),
    "ours, feed forward, edges of PNA": lambda: ours(PNA(D, towers=4, feed_forward=True)),
    "ours, node level": lambda: ours(GIN(D), level="node"),
    "ours, all layers, mean told": lambda: ours(
        GIN(D, layers=2), exchange=Exchange(D, mean=True), readout=PerParticle(D, 1, 2, join=(2, 2))
    ),
    "ours, largest particle": lambda: ours(GIN(D), readout=MaxParticle(D, 1, 2)),
    "ours, independent draws": lambda: ours(GIN(D), sample=Independent()),
    "distinct paths": lambda: build(GIN(D), sample=Distinct()),
    "top paths": lambda: build(GIN(D), sample=Top()),
    "by distance": lambda: build(GIN(D), individualise=ByDistance(D, 3, max_distance=2)),
    "two at once by distance": lambda: build(
        GIN(D), individualise=ByDistance(D, 3, max_distance=2), vertices_per_step=2
    ),
    "default": lambda: build(GIN(D)),
    "additive": lambda: build(GIN(D), individualise=Additive(D)),
    "random normal": lambda: build(GIN(D), individualise=RandomNormal(D)),
    "half the dimensions": lambda: build(GIN(D), individualise=Multiplicative(D, share=0.5)),
    "three at once": lambda: build(GIN(D), vertices_per_step=3),
    "masked": lambda: build(GIN(D), mask_used=True),
    "GNN policy": lambda: build(GIN(D), policy=GNNPolicy(GCN(D, 1), D)),
    "no observation": lambda: build(GIN(D), observe=NoObservation()),
    "no resampling": lambda: build(GIN(D), resample=NoResampling()),
    "systematic": lambda: build(GIN(D), resample=SystematicResampling()),
    "ESS": lambda: build(GIN(D), resample=ESSResampling(SoftResampling(), 0.9)),
    "alpha 1": lambda: build(GIN(D), resample=SoftResampling(1.0)),
    "second moment": lambda: build(GIN(D), second_moment=True),
    "sum pooling": lambda: build(GIN(D), pool="sum"),
    "max pooling": lambda: build(GIN(D), pool="max"),
    "node level": lambda: build(GIN(D), level="node"),
    "norm around the mark": lambda: build(GIN(D, norm="mark", feed_forward=True)),
    "layer norm": lambda: build(GIN(D, norm="layer")),
    "no norm": lambda: build(GIN(D, norm="none")),
    "batch norm": lambda: build(GIN(D, norm="batch")),
    "shared steps": lambda: build(GIN(D), share_steps=True),
    "other step GNN": lambda: build(GIN(D, 5), step_backbone=GCN(D, 1)),
    "PyG's own GATv2Conv": lambda: build(pyg.GATv2Conv(D, D), width=D),
}


def build(backbone: nn.Module, **options: object) -> PFGNN:
    edges = 3 if getattr(backbone, "reads_edge_attr", False) else None
    settings: dict[str, object] = {"in_channels": 3, "edge_channels": edges, "steps": 3, "particles": 5, **options}
    return PFGNN.paper(backbone, 2, **settings).eval()  # type: ignore[arg-type]


def ours(backbone: nn.Module, **options: object) -> PFGNN:
    settings: dict[str, object] = {"in_channels": 3, "particles": 5, **options}
    return PFGNN(backbone, 2, **settings).eval()  # type: ignore[arg-type]


def sample(model: PFGNN, n: int = 12, m: int = 18, seed: int = 0) -> Graph:
    dtype = next(model.parameters()).dtype
    x, edge_index, edge_attr = random_graph(n, m, 3, seed=seed, dtype=dtype)
    return x, edge_index, edge_attr if model.encode_edges is not None else None


def on(model: PFGNN, graph: Graph) -> Graph:
    device = next(model.parameters()).device
    x, edge_index, edge_attr = graph
    return x.to(device), edge_index.to(device), None if edge_attr is None else edge_attr.to(device)


class TestSymmetry:
    @pytest.mark.parametrize("name", BACKBONES)
    def test_backbones(self, name: str, dtype: torch.dtype, device: torch.device) -> None:
        self.check(build(BACKBONES[name]()).to(device, dtype))

    @pytest.mark.slow
    @pytest.mark.parametrize("name", OPTIONS)
    def test_options(self, name: str, dtype: torch.dtype, device: torch.device) -> None:
        self.check(OPTIONS[name]().to(device, dtype))

    def check(self, model: PFGNN) -> None:
        graphs = [on(model, sample(model, seed=s, n=10 + s)) for s in range(3)]
        testing.assert_relabelling_invariant(model, *graphs[0])
        testing.assert_batch_independent(model, graphs)
        if not any(isinstance(part, Exchange) and part.of_mean is not None for part in model.modules()):
            testing.assert_chunk_independent(model, *testing.collate(graphs))

    @pytest.mark.parametrize("make", [build, ours])
    def test_on_regular_graphs(self, make: Callable[..., PFGNN]) -> None:
        """In float64: each layer's norm divides the rounding errors of equal nodes by √ε = 0.1."""
        model = make(GIN(D), in_channels=0).double()
        testing.assert_relabelling_invariant(model, torch.zeros(41, 0).double(), circulant_edges(41, 1, 9))

    @pytest.mark.slow
    def test_without_the_noise_only_the_distribution_is_kept(self) -> None:
        """With new noise, a relabelled graph has another output each time, but the same mean (4.5 standard errors)."""
        model = build(GIN(D), in_channels=0, steps=2)
        edge_index, x = circulant_edges(13, 1, 5), torch.zeros(13, 0)
        new = torch.randperm(13)
        with torch.no_grad():
            first = torch.stack([model(x, edge_index, seed=s).prediction[0] for s in range(400)])
            second = torch.stack([model(x, new[edge_index], seed=s).prediction[0] for s in range(400)])
        assert (first != second).any(1).float().mean() > 0.9
        error = ((first.var(0) + second.var(0)) / 400).sqrt()
        assert ((first.mean(0) - second.mean(0)).abs() < 4.5 * error).all()


class TestLimits:
    def test_no_steps_is_the_backbone(self, dtype: torch.dtype) -> None:
        """Compare with the encoder, PyG's own GIN layers and GraphNorm, mean pooling and the head."""
        model = build(GIN(D, layers=2), steps=0).to(dtype)
        x, edge_index, _ = sample(model)
        [refine] = model.refine
        h = model.encode_nodes(x)
        for ours, norm in zip(refine.backbone.convs, refine.backbone.norms, strict=True):  # type: ignore[union-attr,arg-type]
            theirs = pyg.GINConv(ours.mlp, eps=float(ours.eps.detach()))
            theirs_norm = pyg.GraphNorm(D, eps=norm.eps).to(dtype)
            h = h + theirs_norm(theirs(h, edge_index)).relu()
        torch.testing.assert_close(model(x, edge_index).prediction, model.readout.head(h.mean(0, keepdim=True)))
        assert model(x, edge_index).trace == []

    def test_one_particle_walks_the_listing_step_by_step(self) -> None:
        """Compare with Algorithm 1 written by hand, for K = 1 and the same drawn vertices."""
        model = build(GIN(D), particles=1).double()
        x, edge_index, _ = sample(model)
        output = model(x, edge_index)
        graph = GraphBatch.from_tensors(x, edge_index)
        H = model.refine[0](model.encode_nodes(x)[:, None], graph)[:, 0]
        features = [H.mean(0)]
        for t, step in enumerate(output.trace, start=1):
            v = int(step.vertices)
            torch.testing.assert_close(step.log_prob[0, 0], model.policy(H[:, None], graph)[:, 0].log_softmax(0)[v])
            M = torch.ones_like(H)
            M[v] = model.individualise.mlp(H[v])  # type: ignore[operator]
            H = model.refine[t]((H * M)[:, None], graph)[:, 0]
            features.append(H.mean(0))
        torch.testing.assert_close(output.prediction[0], model.readout.head(torch.cat(features)))
        torch.testing.assert_close(output.belief.embeddings[:, 0], H)

    def test_without_observation_and_resampling_the_weights_stay_uniform(self) -> None:
        model = build(GIN(D), observe=NoObservation(), resample=NoResampling())
        output = model(*sample(model))
        for step in output.trace:
            torch.testing.assert_close(step.log_weights.exp(), torch.full((1, 5), 0.2))
            torch.testing.assert_close(step.ess, torch.full((1,), 5.0))
            assert step.ancestors.tolist() == [list(range(5))]
        torch.testing.assert_close(output.belief.weights, torch.full((1, 5), 0.2))

    def test_with_them_they_do_not(self) -> None:
        model = build(GIN(D))
        output = model(*sample(model))
        assert output.trace[-1].ess < 5
        assert any(step.ancestors.tolist() != [list(range(5))] for step in output.trace)

    def test_particles_may_change_at_call_time(self) -> None:
        model = build(GIN(D))
        graph = sample(model)
        assert model(*graph, particles=11).belief.weights.shape == (1, 11)
        assert model(*graph).belief.weights.shape == (1, 5)

    def test_masking_never_repeats_a_vertex(self) -> None:
        model = build(GIN(D), mask_used=True, resample=NoResampling(), steps=6, particles=20)
        vertices = torch.stack([s.vertices[0, :, 0] for s in model(*sample(model, n=6, m=8)).trace])
        assert all(sorted(vertices[:, k].tolist()) == list(range(6)) for k in range(20))


class TestOptions:
    """The symmetry tests would not notice an option that is ignored. So test that each one has an effect."""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [name for name in OPTIONS if name != "default"])
    def test_it_changes_the_output(self, name: str) -> None:
        outputs = []
        for model in (OPTIONS["default"](), OPTIONS[name]()):
            torch.manual_seed(0)
            with torch.no_grad():
                for p in model.parameters():  # the same values in all parameters that both models have
                    p.copy_(torch.randn(p.shape) / 2)
            graph = random_graph(5, 6, 3)[:2]
            outputs.append([model(*graph, seed=s).prediction for s in range(5)])
        assert any(a.shape != b.shape or not torch.allclose(a, b) for a, b in zip(*outputs, strict=True))

    def test_several_vertices_are_distinct_and_traced(self) -> None:
        [first, *_] = build(GIN(D), vertices_per_step=3)(*random_graph(5, 6, 3)[:2]).trace
        assert first.vertices.shape == (1, 5, 3)
        assert all(len(set(row.tolist())) == 3 for row in first.vertices[0])
        [first, *_] = build(GIN(D), vertices_per_step=3)(*random_graph(2, 1, 3)[:2]).trace
        assert first.valid.sum(-1).tolist() == [[2] * 5]

    def test_the_mean_particle_is_read_before_resampling(self) -> None:
        """Prediction = head of the pooled Σ_k w_k H_k, with weights and colourings from before each resampling."""
        model = build(GIN(D))
        colourings: list[Tensor] = []
        for refine in model.refine:
            refine.register_forward_hook(lambda _, __, H: colourings.append(H))
        output = model(*sample(model))
        weights = [torch.ones(1), *(step.log_weights[0].exp() for step in output.trace)]
        features = [torch.einsum("k,nkd->nd", w, H).mean(0) for w, H in zip(weights, colourings, strict=True)]
        torch.testing.assert_close(output.prediction[0], model.readout.head(torch.cat(features)))

    def test_gradients_for_given_draws_are_those_of_finite_differences(self) -> None:
        """The gradient passes through weights, soft resampling and embeddings. K > 1, so that the weights matter."""
        model = build(GIN(D), second_moment=True).double()
        graph = sample(model)
        parameters = list(model.parameters())
        direction = [torch.randn_like(p) for p in parameters]
        gradients = torch.autograd.grad(model(*graph).prediction.sum(), parameters, allow_unused=True)
        pairs = zip(gradients, direction, strict=True)
        along = sum(float((g * d).sum()) for g, d in pairs if g is not None)
        values = []
        with torch.no_grad():
            for sign in (1, -2):
                for p, d in zip(parameters, direction, strict=True):
                    p.add_(d, alpha=sign * 1e-7)
                values.append(float(model(*graph).prediction.sum()))
        assert (values[0] - values[1]) / 2e-7 == pytest.approx(along, rel=1e-4)


class TestRegularGraphs:
    """All nodes are equal before the first individualisation. There batch normalisation can fail unnoticed."""

    edges = torch.cat([circulant_edges(41, 1, skip) + 41 * i for i, skip in enumerate((2, 3, 5))], 1)
    batch = torch.arange(3).repeat_interleave(41)

    def trained(self, norm: str) -> PFGNN:
        model = build(GIN(D, norm=norm), in_channels=0).train()
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(3):
            loss = model(None, self.edges, batch=self.batch).prediction.square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return model

    @pytest.mark.parametrize("norm", ["graph", "layer", "none"])
    def test_training_and_evaluation_agree(self, norm: str) -> None:
        testing.assert_train_eval_agree(self.trained(norm), torch.zeros(123, 0), self.edges, None, self.batch)

    def test_with_batch_norm_they_do_not_and_the_assert_says_so(self) -> None:
        with pytest.raises(AssertionError, match="training and evaluation mode disagree"):
            testing.assert_train_eval_agree(self.trained("batch"), torch.zeros(123, 0), self.edges, None, self.batch)

    def test_the_backbone_alone_cannot_tell_regular_graphs_apart_and_pfgnn_can(self) -> None:
        with torch.no_grad():
            models = [build(GIN(D), in_channels=0, **options).double() for options in ({"steps": 0}, {"particles": 64})]
            alone, filtered = (model(None, self.edges, batch=self.batch).prediction for model in models)
        assert (alone - alone[0]).abs().max() < 1e-12
        assert (filtered - filtered[0]).abs().amax(1)[1:].min() > 1e-4


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
        with pytest.raises(ValueError, match="x must be finite, but it holds NaN or infinity"):
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
