"""NaN stays NaN in every kernel, as it does in the plain code. On a GPU a plain maximum would drop it."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from tests.ops.kernel_samples import EDGES, NODES, SIZES, edges, nodes
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.draw import draw_vertex
from pfgnn.ops.graph_norm import Norming, activate_graphs
from pfgnn.ops.messages import sum_messages
from pfgnn.ops.mlp import hidden_mean, hidden_score
from pfgnn.ops.pna import Weights, pna
from pfgnn.ops.segments import segment_max, segment_mean, segment_min, segment_sum
from pfgnn.ops.weights import NoiseKey, bound, normalise, resample

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")


def assert_same_nan(compute: Callable[[Tensor], Tensor], values: Tensor, gradient: bool = False) -> None:
    """The kernel's result has NaN exactly where that of the plain code has it, and so has the gradient if asked for."""
    found = []
    for mode in ("plain", "triton"):
        leaf = values.clone().requires_grad_()
        with use(mode):
            out = compute(leaf)
            out.backward(torch.ones_like(out))
        assert leaf.grad is not None
        found.append([out.isnan(), *([leaf.grad.isnan()] if gradient else [])])
    assert found[0][0].any()
    for want, got in zip(*found, strict=True):
        assert torch.equal(want, got)


@pytest.mark.parametrize("reduce", [segment_max, segment_min, segment_mean, segment_sum])
def test_reductions(reduce: Callable[..., Tensor], device: torch.device) -> None:
    with use("triton"):
        segments = edges(device)
    values = torch.randn(EDGES, 3, device=device)
    values[4, 1] = torch.nan
    for each in segments:
        assert_same_nan(partial(reduce, segments=each), values)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_weights(alpha: float, device: torch.device) -> None:
    log_weights = torch.randn(3, 5, device=device)
    log_weights[1, 2] = torch.nan
    assert_same_nan(normalise, log_weights, gradient=True)
    assert_same_nan(lambda x: bound(x, 5.0), log_weights, gradient=True)
    key = NoiseKey(torch.arange(3, device=device), 1, 2)
    assert_same_nan(lambda w: resample(normalise(w), alpha, True, key)[1], log_weights)


def test_draws(device: torch.device) -> None:
    with use("triton"):
        graphs = nodes(device)
    scores = torch.randn(len(NODES), 3, device=device)
    scores[7, 1] = torch.nan
    key, k = NoiseKey(torch.arange(len(SIZES), device=device), 1, 1), torch.arange(3, device=device)
    names = torch.arange(len(NODES), device=device)
    assert_same_nan(lambda s: draw_vertex(s, key, k, 0, names, graphs)[1], scores)
    for mode in ("plain", "triton"):
        with use(mode):
            drawn = draw_vertex(scores, key, k, 0, names, graphs)[0]
        assert (graphs.index[drawn] == torch.arange(len(SIZES), device=device)[:, None]).all()  # none of another graph


@pytest.mark.parametrize("place", ["h", "near"])
def test_norm(place: str, device: torch.device) -> None:
    with use("triton"):
        graphs = nodes(device)
    h, near = torch.randn(len(NODES), 3, 4, device=device), torch.rand(len(NODES), 3, device=device)
    (h if place == "h" else near)[7, 1] = torch.nan
    scale, shift, mean_scale = torch.randn(3, 4, device=device)
    norming = Norming(scale, shift, mean_scale, 1e-2, 30.0)
    assert_same_nan(lambda v: activate_graphs(v, None, norming, graphs, True, near), h)


def test_hidden_layers_and_messages(device: torch.device) -> None:
    with use("triton"):
        graphs, (sources, targets) = nodes(device), edges(device)
    x, weight, bias = torch.randn(len(NODES), 3, 5), torch.randn(7, 5), torch.randn(7)
    x[7, 1, 2] = torch.nan
    x, weight, bias = (value.to(device) for value in (x, weight, bias))
    last, one = torch.randn(7, device=device), torch.ones(1, device=device)
    assert_same_nan(lambda x: hidden_score(x, weight, bias, last, one), x, gradient=True)
    assert_same_nan(lambda x: hidden_mean(x, weight, bias, graphs), x, gradient=True)
    e = torch.randn(EDGES, 5, device=device)
    assert_same_nan(lambda x: sum_messages(x, e, one[0], sources, targets), x, gradient=True)


def test_pna(device: torch.device) -> None:
    """The smallest and the largest message are NaN too, not only the mean: only they have a weight here."""
    with use("triton"):
        sources, targets = edges(device)
    x = torch.randn(len(NODES), 2, 4, device=device)
    x[int(sources.index[3]), 1, 2] = torch.nan
    post = torch.zeros(1, 16, 12, device=device)
    post[:, 4:12] = 1.0
    square = torch.eye(4, device=device)
    weights = Weights(
        torch.cat([square] * 3)[None],
        torch.zeros(1, 8, device=device),
        None,
        post,
        square,
        torch.zeros(4, device=device),
    )
    assert_same_nan(lambda x: pna(x, None, weights, 0.7, sources, targets), x)
