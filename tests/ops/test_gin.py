"""The fused layers of GIN and GINE: results, gradients and running means are those of the layers one by one."""

from typing import NamedTuple
from unittest.mock import Mock

import pytest
import torch
from tests.ops.kernel_samples import NODES, SIZES, edges, fresh_memory_is_nan, nodes
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, GINE, Exchange
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.particle_context import Context
from pfgnn.model.randomness import make_noise
from pfgnn.model.refine import Refine
from pfgnn.ops import gin, use

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

WIDTHS = (6, 20)


class Case(NamedTuple):
    """A stack of layers and the particles that it refines."""

    backbone: Stack
    exchange: Exchange | None
    particles: int
    padding: int = 0
    training: bool = True


CASES = {
    "GIN": lambda D: Case(GIN(D, layers=2, norm="batch", feed_forward=True), None, 3),
    "GINE": lambda D: Case(GINE(D, layers=2, norm="batch", feed_forward=True), None, 1),
    "exchange of both": lambda D: Case(
        GINE(D, layers=3, norm="batch", feed_forward=True), Exchange(D, mean=True), 5, padding=1
    ),
    "exchange of the mark": lambda D: Case(GIN(D, layers=2, norm="batch", feed_forward=True), Exchange(D), 4),
    "exchange of the mean": lambda D: Case(
        GIN(D, layers=2, norm="batch", feed_forward=True), Exchange(D, mark=False, mean=True), 2, padding=2
    ),
    "evaluation": lambda D: Case(
        GINE(D, layers=2, norm="batch", feed_forward=True), Exchange(D, mean=True), 3, training=False
    ),
}


def make_graph(device: torch.device, edge_attr: Tensor, padding: int) -> GraphBatch:
    sources, targets = edges(device)
    return GraphBatch(
        edge_index=torch.stack([sources.index, targets.index]),
        edge_attr=edge_attr,
        batch=NODES.to(device),
        num_graphs=len(SIZES),
        padding=padding,
    )


def refined(case: Case, device: torch.device, dtype: torch.dtype, mode: str) -> list[Tensor]:
    """The result, all gradients, and the running means, of random inputs and parameters."""
    D, K = case.backbone.width, case.particles
    torch.manual_seed(5)
    refine = Refine(case.backbone, case.exchange).to(device, dtype).train(case.training)
    with torch.no_grad():
        for parameter in refine.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, dtype=torch.float64))
    x = torch.randn(len(NODES), K, D, dtype=torch.float64).to(device, dtype).requires_grad_()
    edge_attr = torch.randn(len(edges(device)[0].index), D, dtype=torch.float64).to(device, dtype).requires_grad_()
    log_weights = torch.randn(len(SIZES), K, dtype=torch.float64).log_softmax(1).to(device, dtype)
    first = torch.tensor(SIZES).cumsum(0) - torch.tensor(SIZES)
    vertices = (first[:, None] + torch.arange(K) % torch.tensor(SIZES)[:, None])[..., None].to(device)
    weight = torch.randn(len(NODES), K, D, dtype=torch.float64).to(device, dtype)
    real = sum(SIZES[: len(SIZES) - case.padding])
    weight[real:] = 0
    with use(mode), fresh_memory_is_nan(device):
        graph = make_graph(device, edge_attr, case.padding)
        zeros = torch.zeros(len(SIZES), dtype=torch.int64, device=device)
        noise = make_noise(0, zeros, torch.zeros_like(graph.batch), nodes(device))
        context = Context(noise, 1, torch.arange(K, device=device), vertices, log_weights)
        out = refine(x, graph, context)
        out.backward(weight)
    found = [out[:real].detach(), x.grad]
    if case.backbone.reads_edge_attr:
        found.append(edge_attr.grad)
    found += [parameter.grad for parameter in refine.parameters()]
    found += list(refine.buffers())
    return [tensor.detach().double() for tensor in found if tensor is not None]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CASES)
def test_it_does_what_the_single_layers_do(
    name: str, width: int, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    fused = Mock(side_effect=gin.refine_gin)
    monkeypatch.setattr("pfgnn.model.backbones.gin.refine_gin", fused)
    monkeypatch.setattr("pfgnn.ops.gin.low_products", lambda x: True)  # in float32 too, where they are exact
    want = refined(CASES[name](width), device, torch.float64, "plain")
    assert not fused.called
    got = refined(CASES[name](width), device, torch.float32, "triton")
    # The interpreter runs one program after the other, so there a second run would show nothing.
    again = refined(CASES[name](width), device, torch.float32, "triton") if device.type == "cuda" else got
    assert fused.call_count == (2 if device.type == "cuda" else 1)
    for expected, found, repeated in zip(want, got, again, strict=True):
        assert torch.equal(found, repeated)
        size = max(1.0, float(expected.abs().max()))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * size)


@pytest.mark.cuda
@pytest.mark.parametrize("name", CASES)
def test_bf16_gives_nearly_the_same(name: str) -> None:
    device = torch.device("cuda")
    want = refined(CASES[name](64), device, torch.float64, "plain")
    with torch.autocast("cuda", torch.bfloat16):
        got = refined(CASES[name](64), device, torch.float32, "triton")
    # One row of the batch decides much in a norm over so few, so single numbers may differ.
    for expected, found in zip(want[:2], got[:2], strict=True):
        assert float((found - expected).norm()) <= 0.2 * float(expected.norm())
