"""The baseline computes what ours does: its layers number by number, its parts by size and statistics."""

from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.baseline import Baseline, BaselineStep, Copies, Layers, copy_batch
from benchmarks.shapes import CSL, ZINC, Shape
from benchmarks.steps import count_parameters, degree_histogram
from torch import Tensor, nn

from pfgnn.data import Dataset
from pfgnn.data.batch import GraphBatch
from pfgnn.data.loader import Resident
from pfgnn.experiments.build import build_model, describe
from pfgnn.experiments.config import ModelConfig
from pfgnn.graphs import circulant
from pfgnn.model import GIN, PNA

WIDTH, TOWERS = 12, 3


def share_pna(theirs: Any, ours: Any) -> None:
    """Give PyG's PNAConv our layer's weights; for edges it has one map of all towers, then one of each."""
    F = WIDTH // TOWERS
    with torch.no_grad():
        theirs.edge_encoder.bias.zero_()
        of_edges = []
        for tower, (pre, bias) in enumerate(zip(ours.pre, ours.pre_bias, strict=True)):
            source, target, own = pre.split(F)
            edge = torch.randn(F, F)
            of_edges.append(edge @ theirs.edge_encoder.weight)
            theirs.pre_nns[tower][0].weight.copy_(torch.cat([target, source, edge], 1))  # PyG's order: x_i, x_j, e
            theirs.pre_nns[tower][0].bias.copy_(bias[:F])
            scaled = ours.post[tower].view(4 * F, 3, F).permute(2, 1, 0).flatten(1)  # output by scaler and aggregate
            theirs.post_nns[tower][0].weight.copy_(torch.cat([own, scaled], 1))
            theirs.post_nns[tower][0].bias.copy_(bias[F:])
        ours.from_edge.weight.copy_(torch.cat(of_edges))
    theirs.lin.load_state_dict(ours.mix.state_dict())


def share_gin(theirs: Any, ours: Any) -> None:
    theirs.nn.load_state_dict(ours.mlp.state_dict())
    with torch.no_grad():
        theirs.eps.copy_(ours.eps.fill_(0.3))


def share_norm(theirs: Any, ours: Any) -> None:
    with torch.no_grad():
        for name, into in {"scale": theirs.weight, "shift": theirs.bias, "mean_scale": theirs.mean_scale}.items():
            into.copy_(getattr(ours, name).uniform_(0.5, 1.5))


def graphs() -> tuple[Dataset, GraphBatch]:
    """Graphs of degrees 2 and 4, where PyG's deviation and ours agree (of one neighbour PyG says 0, ours 0.003)."""
    dataset = Dataset.from_graphs([circulant(5, [1, 2]), circulant(6, [1]), circulant(9, [1, 2])], [0.0, 1.0, 2.0])
    return dataset, Resident(dataset).collate([0, 1, 2])


def simple(batch: GraphBatch) -> Copies:
    return copy_batch(batch, 1)


def test_a_pna_layer_equals_ours() -> None:
    dataset, batch = graphs()
    degrees = degree_histogram(dataset)
    inputs = describe(dataset, np.arange(3))
    ours = PNA(WIDTH, 1, TOWERS, inputs.mean_log_degree, edges=True)
    config = ModelConfig(backbone="pna", width=WIDTH, towers=TOWERS)
    theirs = Layers(config, 1, degrees, edges=True)
    share_pna(theirs.convs[0], ours.convs[0])
    share_norm(theirs.norms[0], ours.norms[0])
    h, edge = torch.randn(20, WIDTH).double(), torch.randn(batch.edge_index.shape[1], WIDTH).double()
    assert_same(theirs.double()(h, simple(batch), edge), ours.double()(h, batch.edge_index, edge, batch.batch, 3))


def test_a_gin_layer_equals_ours() -> None:
    dataset, batch = graphs()
    ours = GIN(WIDTH, 1)
    theirs = Layers(ModelConfig(backbone="gin", width=WIDTH), 1, degree_histogram(dataset), edges=False)
    share_gin(theirs.convs[0], ours.convs[0])
    share_norm(theirs.norms[0], ours.norms[0])
    h = torch.randn(20, WIDTH)
    assert_same(theirs(h, simple(batch), None), ours(h, batch.edge_index, None, batch.batch, 3))


def assert_same(theirs: Tensor, ours: Tensor) -> None:
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-4)


def small(shape: Shape, **changes: Any) -> tuple[Baseline, nn.Module, GraphBatch]:
    dataset = shape.graphs(6)
    inputs, config = describe(dataset, np.arange(6)), shape.resized(**changes).model
    theirs = Baseline(config, inputs, degree_histogram(dataset), int(dataset.node_counts.max()))
    return theirs, build_model(config, inputs, 0), Resident(dataset).collate(range(6))


@pytest.mark.parametrize("shape", [ZINC, CSL], ids=["ZINC", "CSL"])
def test_the_model_has_the_sizes_of_ours(shape: Shape) -> None:
    theirs, ours, batch = small(shape, particles=2)
    more = 0
    if shape.model.backbone == "pna":  # for edges PNAConv has a map to a tower's width and one of each tower, we one
        model = shape.model
        D, F, layers = model.width, model.width // model.towers, model.layers + model.steps * (model.step_layers or 0)
        more = layers * (D * D - (D * F + F + D * F))
    assert count_parameters(ours) == count_parameters(theirs) + more
    with torch.no_grad():
        prediction = ours(batch.x, batch.edge_index, batch.edge_attr, batch.batch).prediction
        assert theirs(batch)[0].shape == prediction.shape


def test_copies_follow_one_another() -> None:
    _, batch = graphs()
    copies = copy_batch(batch, 3)
    N, E = 20, batch.edge_index.shape[1]
    for k in range(3):
        assert torch.equal(copies.edge_index[:, k * E : (k + 1) * E], batch.edge_index + k * N)
        assert torch.equal(copies.graph[k * N : (k + 1) * N], batch.batch + 3 * k)
        assert copies.first[3 * k : 3 * k + 3].tolist() == [k * N, k * N + 5, k * N + 11]


def test_vertices_are_drawn_by_the_policy() -> None:
    theirs, _, batch = small(ZINC, width=10, towers=1, particles=400)
    copies = copy_batch(batch, 400)
    h = torch.randn(len(batch.batch), 10).repeat(400, 1)
    v, log_p = theirs._draw(h, copies)
    graph = torch.arange(6).repeat(400)
    assert torch.equal(copies.graph[v] % 6, graph)
    N = len(batch.batch)
    p = torch.zeros(N).index_put((v % N,), log_p.detach().exp())  # of the vertices that were drawn
    counted = torch.bincount(v % N, minlength=N) / 400
    assert (counted - p).abs().max() < 5 * (0.25 / 400) ** 0.5


def test_resampling_keeps_the_mean_weight() -> None:
    theirs, _, batch = small(ZINC, width=10, towers=1, particles=4)
    copies, N = copy_batch(batch, 4), len(batch.batch)
    h = torch.arange(4.0).repeat_interleave(N)[:, None].expand(-1, 10)
    log_w = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()[:, None].expand(4, 6)
    new, new_log_w = theirs._resample(h, log_w, copies)
    assert set(new.flatten().tolist()) <= {0.0, 1.0, 2.0, 3.0}
    first = copies.first[:6]
    ancestors = new.view(4, N, 10)[:, first, 0].long()  # [K, G]
    raw = log_w.gather(0, ancestors).exp() / (0.5 * log_w.gather(0, ancestors).exp() + 0.125)
    torch.testing.assert_close(new_log_w.exp(), raw / raw.sum(0))


@pytest.mark.parametrize(("shape", "steps"), [(ZINC, 1), (CSL, 2)], ids=["ZINC", "CSL"])
def test_a_step_reaches_every_parameter(shape: Shape, steps: int) -> None:
    """Away from the first weights, where a bias before a norm has no gradient but rounding errors.

    The vertices of CSL's graphs are alike, so that policy and observation learn from no step before the second.
    """
    theirs, _, batch = small(shape, width=20, particles=2, steps=steps)
    theirs.double()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    BaselineStep(theirs, 0.1, 1.0)(batch)
    still = [name for name, p in theirs.named_parameters() if p.grad is None or not (p.grad.abs() > 1e-9).any()]
    assert still == ["policy.2.bias"]  # a shift of all scores changes none
