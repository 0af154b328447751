"""A whole pass and its gradients: the kernels give what plain code gives with the same draws, and the same bits twice.

On a CPU in Triton's interpreter, on a GPU for real.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.graph_samples import random_graph
from tests.suite import slow
from torch import Tensor, nn

from pfgnn.model import GAT, GCN, GIN, GINE, GNNML1, MPNN, PFGNN, PNA, Distinct, Exchange, MaxParticle, PerParticle
from pfgnn.model.individualise import (
    Additive,
    ByDistance,
    ByPosition,
    Individualise,
    Multiplicative,
    RandomNormal,
    StraightThrough,
)
from pfgnn.model.observe import NoObservation
from pfgnn.model.policy import CentralityPolicy, GNNPolicy, UniformPolicy
from pfgnn.model.resample import ESSResampling, NoResampling, SystematicResampling
from pfgnn.ops import use, weights

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

D = 6
BACKBONES: dict[str, Callable[[], nn.Module]] = {
    "GCN": lambda: GCN(D, layers=1),
    "GAT": lambda: GAT(D, layers=1, heads=2),
    "GIN": lambda: GIN(D, layers=2),
    "GINE": lambda: GINE(D, layers=1),
    "GNNML1": lambda: GNNML1(D, layers=1),
    "MPNN": lambda: MPNN(D, layers=1),
    "PNA": lambda: PNA(D, layers=1, towers=3),
    "PNA with edges": lambda: PNA(D, layers=1, towers=2, edges=True),
}
OPTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "no residual, two vertices at once": lambda: {
        "backbone": GIN(D, layers=1, residual=False),
        "vertices_per_step": 2,
    },
    "additive, never twice, second moment": lambda: {
        "individualise": Additive(D),
        "mask_used": True,
        "second_moment": True,
    },
    "random, uniform, no resampling": lambda: {
        "individualise": RandomNormal(D),
        "policy": UniformPolicy(),
        "resample": NoResampling(),
    },
    "norm around the mark": lambda: {"backbone": GIN(D, layers=2, norm="mark", feed_forward=True)},
    "layer norm, node level": lambda: {"backbone": GIN(D, layers=1, norm="layer"), "level": "node"},
    "policy by a GNN, largest, no observation": lambda: {
        "policy": GNNPolicy(GIN(D, layers=1), D),
        "pool": "max",
        "observe": NoObservation(),
    },
    "by distance, distinct paths, learned": lambda: {
        "individualise": ByDistance(D, 2, max_distance=2),
        "sample": Distinct(),
        "resample": NoResampling(),
    },
    "by position, two vertices at once": lambda: {
        "individualise": ByPosition(D, 2, max_distance=2, reach=3.0),
        "vertices_per_step": 2,
    },
    "exchange, a readout per particle, joined layers": lambda: {
        "backbone": GIN(D, layers=2, feed_forward=True),
        "sample": Distinct(),
        "exchange": Exchange(D, mean=True),
        "readout": PerParticle(D, 2, 2, join=(2, 2, 2)),
        "policy": CentralityPolicy(),
    },
    "batch norm, feed forward, dropout, largest particle": lambda: {
        "backbone": GINE(D, layers=1, norm="batch", feed_forward=True, dropout=0.25),
        "edge_channels": D,
        "readout": MaxParticle(D, 2, 2),
    },
    "straight through": lambda: {"individualise": StraightThrough(Additive(D)), "sample": Distinct()},
    "systematic, below a threshold": lambda: {"resample": ESSResampling(SystematicResampling(), 0.9), "pool": "sum"},
}


def one_pass(
    model: PFGNN, inputs: tuple[Tensor | None, ...], mode: str, chunk: int | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """The draws, the prediction, and all gradients of a loss that includes the probabilities of the draws."""
    model.zero_grad()
    x, edge_index, edge_attr, batch = inputs
    assert edge_index is not None
    with use(mode):
        pos = x if model.reads_positions else None
        output = model(x, edge_index, edge_attr, batch, pos=pos, seed=5, chunk=chunk)
        log_prob = torch.stack([step.log_prob for step in output.trace]).mean()
        (output.prediction.square().mean() + 0.3 * log_prob + output.belief.log_weights.square().mean()).backward()
    draws = [part for step in output.trace for part in (step.vertices, step.ancestors)]
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    return draws, [output.prediction.detach(), *gradients]


def assert_twins(model: PFGNN, device: torch.device, chunk: int | None = None) -> None:
    x, edge_index, edge_attr = (part.to(device) for part in random_graph(11, 14, D) if part is not None)
    batch = torch.tensor([0] * 6 + [1] + [2] * 4, device=device)
    inside = batch[edge_index[0]] == batch[edge_index[1]]
    edge_index, edge_attr = edge_index[:, inside], edge_attr[inside]
    reads = any(getattr(part, "reads_edge_attr", False) for part in model.refine)
    inputs = (x, edge_index, edge_attr if reads else None, batch)
    model = model.to(device)
    want_draws, want = one_pass(model, inputs, "plain")
    draws, found = one_pass(model, inputs, "triton", chunk)
    # The interpreter runs one program after the other, so there a second run would show nothing.
    again = one_pass(model, inputs, "triton", chunk)[1] if device.type == "cuda" else found
    assert all(torch.equal(one, other) for one, other in zip(want_draws, draws, strict=True))
    scale = max(float(tensor.abs().max()) for tensor in want[1:])
    for one, other, twice in zip(want, found, again, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-4 * min(scale, 1.0))
        assert torch.equal(other, twice)


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKBONES)
def test_backbones(name: str, device: torch.device) -> None:
    model = PFGNN.paper(BACKBONES[name](), 2, in_channels=D, steps=2, particles=3)
    assert_twins(model, device)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_options(name: str, device: torch.device) -> None:
    options = {"backbone": GIN(D, layers=1), **OPTIONS[name]()}
    model = PFGNN.paper(**options, out_channels=2, in_channels=D, steps=2, particles=3)
    assert_twins(model, device)


@pytest.mark.parametrize("individualise", [Additive, slow(Multiplicative), slow(lambda D: ByDistance(D, 1))])
def test_particles_in_chunks(individualise: Callable[[int], Individualise], device: torch.device) -> None:
    """A chunk is a slice of the draws, with gaps between the graphs."""
    options: dict[str, Any] = {"individualise": individualise(D), "exchange": Exchange(D, mean=False)}
    model = PFGNN.paper(GIN(D, layers=1), 2, in_channels=D, steps=1, particles=3, **options)
    assert_twins(model, device, chunk=2)


def spaced(tensor: Tensor) -> Tensor:
    """The same values, but not contiguous in memory."""
    wide = torch.stack([tensor, tensor + 7], -1)
    return wide[..., 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["GIN", "PNA"])
def test_inputs_with_strides(name: str, device: torch.device) -> None:
    model = PFGNN.paper(BACKBONES[name](), 2, in_channels=D, steps=2, particles=3).to(device)
    pairs = torch.tensor([[1, 0], [0, 1], [2, 1], [1, 2], [4, 3], [3, 4]], device=device)  # in order of targets
    x, batch = torch.randn(5, D, device=device), torch.tensor([0, 0, 0, 1, 1], device=device)
    node_key, graph_key = torch.arange(5, device=device) + 3, torch.tensor([5, 9], device=device)
    with use("plain"):
        want = model(x, pairs.t(), batch=batch, seed=5, graph_key=graph_key, node_key=node_key).prediction
    with use("triton"):
        edges, keys = pairs.t(), {"graph_key": spaced(graph_key), "node_key": spaced(node_key)}
        found = model(spaced(x), edges, batch=spaced(batch), seed=5, **keys).prediction
    assert not edges.is_contiguous()
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-5)


def test_graphs_without_edges(device: torch.device) -> None:
    model = PFGNN.paper(GIN(D, layers=1), 2, in_channels=D, steps=2, particles=3).to(device)
    x, edge_index = torch.randn(4, D, device=device), torch.zeros(2, 0, dtype=torch.int64, device=device)
    found = []
    for mode in ("plain", "triton"):
        with use(mode):
            found.append(model(x, edge_index, seed=5).prediction)
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_more_particles_than_the_kernels_resample(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "MAX_PARTICLES", 2)
    assert_twins(PFGNN.paper(GIN(D, layers=1), 2, in_channels=D, steps=2, particles=3), device)


def test_edges_in_no_order(device: torch.device) -> None:
    """A kernel needs edges that are sorted by target: a call with tensors sorts them."""
    model = PFGNN.paper(GIN(D, layers=1), 2, in_channels=D, steps=1, particles=3).to(device)
    edges = torch.tensor([[3, 0, 4, 2, 1, 1], [4, 1, 3, 1, 0, 2]], device=device)
    x, batch = torch.randn(5, D, device=device), torch.tensor([0, 0, 0, 1, 1], device=device)
    with use("plain"):
        want = model(x, edges, batch=batch, seed=5).prediction
    with use("triton"):
        found = model(x, edges, batch=batch, seed=5).prediction
    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-5)
