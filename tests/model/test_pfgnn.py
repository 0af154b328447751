"""Algorithm 1 as a whole: its symmetries, its limits, and unusual inputs."""

from collections.abc import Callable

import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import Graph, circulant_edges, random_graph
from tests.model.pfgnn_samples import BACKBONES, OPTIONS, D, build, ours, sample
from torch import Tensor

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.model import (
    GIN,
    PFGNN,
    Exchange,
    NoObservation,
    NoResampling,
)


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
        for conv, norm in zip(refine.backbone.convs, refine.backbone.norms, strict=True):  # type: ignore[union-attr,arg-type]
            theirs = pyg.GINConv(conv.mlp, eps=float(conv.eps.detach()))
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

    def test_evaluation_has_seed_0_by_default(self) -> None:
        model = build(GIN(D))
        graph = sample(model)
        assert torch.equal(model(*graph).prediction, model(*graph, seed=0).prediction)
        assert not torch.equal(model(*graph).prediction, model(*graph, seed=1).prediction)

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


def test_the_output_prints_on_one_line() -> None:
    model = build(GIN(D))
    text = repr(model(*sample(model)))
    assert text.startswith("Output(prediction [1, ")
    assert text.endswith(f"; T = {model.steps} steps, K = {model.particles} particles)")
    assert len(text.splitlines()) == 1
