"""Tests for every rival, and that a GNN alone is PF-GNN without steps."""

from collections.abc import Callable

import pytest
import torch
from tests.graph_samples import random_graph
from torch import Tensor

from pfgnn import testing
from pfgnn.model import GIN, GINE, PFGNN
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.rivals import GNNML3, PPGN, RNI, Alone, ChebNet

D = 12
BACKBONES: dict[str, Callable[[], Stack]] = {
    "ChebNet": lambda: ChebNet(D),
    "GNNML3": lambda: GNNML3(D),
    "GNNML3, no norm": lambda: GNNML3(D, norm="none"),
}
MODELS: dict[str, Callable[[], PFGNN]] = {
    "ChebNet": lambda: Alone(ChebNet(D), 2, in_channels=3),
    "GNNML3": lambda: Alone(GNNML3(D), 2, in_channels=3),
    "GNNML3, node level": lambda: Alone(GNNML3(D), 2, in_channels=3, level="node"),
    "PPGN": lambda: PPGN(D, 2, in_channels=3),
    "PPGN with edges": lambda: PPGN(D, 2, in_channels=3, edge_channels=3),
    "PPGN, node level": lambda: PPGN(D, 2, in_channels=3, level="node"),
    "PPGN, sum": lambda: PPGN(D, 2, in_channels=3, pool="sum"),
    "RNI": lambda: RNI(GIN(D), 2, particles=3),
    "RNI with features": lambda: RNI(GIN(D), 2, in_channels=3, share=0.5),
    "RNI with edges": lambda: RNI(GINE(D), 2, in_channels=3, edge_channels=3, share=0.5, particles=3),
    "RNI, node level": lambda: RNI(GIN(D), 2, in_channels=3, share=0.5, level="node"),
}


def sample(name: str, n: int, m: int, dtype: torch.dtype, seed: int = 0) -> testing.Graph:
    x, edge_index, edge_attr = random_graph(n, m, 3, seed=seed, dtype=dtype)
    return x if name != "RNI" else x[:, :0], edge_index, edge_attr if "with edges" in name else None


@pytest.mark.parametrize("name", MODELS)
def test_relabelled_graphs_have_the_same_output(name: str, dtype: torch.dtype, device: torch.device) -> None:
    model = MODELS[name]().to(device, dtype).eval()
    testing.assert_relabelling_invariant(model, *put(sample(name, 11, 16, dtype), device))


@pytest.mark.parametrize("name", MODELS)
def test_mixed_sizes_in_a_batch_give_what_single_graphs_give(
    name: str, dtype: torch.dtype, device: torch.device
) -> None:
    """One node, several nodes without edges, and graphs of other sizes beside them."""
    model = MODELS[name]().to(device, dtype).eval()
    shapes = [(1, 0), (9, 14), (4, 0), (2, 1), (16, 30)]
    graphs = [put(sample(name, n, m, dtype, seed=s), device) for s, (n, m) in enumerate(shapes)]
    testing.assert_batch_independent(model, graphs)
    assert model(*testing.collate(graphs)).prediction.isfinite().all()


@pytest.mark.parametrize("name", MODELS)
def test_gradients_reach_every_parameter(name: str, device: torch.device) -> None:
    """Away from the first weights, where a bias before a norm has no gradient but rounding errors."""
    model = MODELS[name]().to(device, torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape).to(parameter), alpha=0.1)
    graphs = [put(sample(name, 9, 14, torch.float64, seed=s), device) for s in range(4)]
    model(*testing.collate(graphs)).prediction.square().sum().backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
        assert (parameter.grad.abs() > 1e-6).any() or parameter.numel() == 0, parameter_name


@pytest.mark.parametrize("name", MODELS)
def test_output_is_that_of_pfgnn(name: str) -> None:
    model = MODELS[name]()
    x, edge_index, edge_attr = sample(name, 6, 7, torch.float32)
    key = torch.tensor([4])
    output = model(x, edge_index, edge_attr, particles=2, seed=3, graph_key=key)
    assert output.prediction.shape == ((6, 2) if "node level" in name else (1, 2))
    assert output.trace == []
    torch.testing.assert_close(output.belief.weights, torch.full((1, 2), 0.5))


@pytest.mark.parametrize("name", BACKBONES)
def test_one_edge_list_equals_copies_of_the_graph(name: str, dtype: torch.dtype, device: torch.device) -> None:
    backbone = BACKBONES[name]().to(device, dtype)
    x, edge_index, _, batch = testing.collate([random_graph(n, 2 * n, D, dtype=dtype) for n in (7, 9)])
    H = torch.randn(len(x), 5, D, dtype=dtype, device=device)
    testing.assert_particle_axis_agrees(backbone, H, edge_index.to(device), None, batch.to(device))


def test_it_is_pfgnn_with_no_steps() -> None:
    model, full = Alone(GIN(D), 2, in_channels=3), PFGNN.paper(GIN(D), 2, in_channels=3, steps=0)
    missing, unexpected = full.load_state_dict(model.state_dict(), strict=False)
    assert unexpected == []
    assert {name.split(".")[0] for name in missing} == {"policy", "individualise", "observe"}
    graph = random_graph(8, 12, 3)[:2]
    torch.testing.assert_close(model(*graph).prediction, full(*graph).prediction)


def test_a_backbone_that_does_not_say_its_width() -> None:
    linear = torch.nn.Linear(D, D)

    class Blind(torch.nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return linear(x)

    x, edge_index, _ = random_graph(5, 5, 3)
    assert Alone(Blind(), 2, in_channels=3, width=D)(x, edge_index).prediction.shape == (1, 2)
    with pytest.raises(ValueError, match="width must be given, because the backbone Blind has no attribute width"):
        Alone(Blind(), 2)
    with pytest.raises(ValueError, match="ChebNet has width 12, but the model has width 8"):
        Alone(ChebNet(D), 2, width=8)


def put(graph: testing.Graph, device: torch.device) -> testing.Graph:
    x, edge_index, edge_attr = graph
    return x.to(device), edge_index.to(device), None if edge_attr is None else edge_attr.to(device)
