"""Each shipped layer equals PyG's with the same weights, and each backbone gives the same on both particle layouts."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import random_graph
from torch import Tensor, nn

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.model import GAT, GCN, GIN, GINE, GNNML1, MPNN, PNA, mean_log_degree
from pfgnn.model.backbones.gat import GATLayer
from pfgnn.model.backbones.gcn import GCNLayer
from pfgnn.model.backbones.gin import GINELayer, GINLayer
from pfgnn.model.backbones.gnnml1 import GNNML1Layer
from pfgnn.model.backbones.mpnn import MPNNLayer
from pfgnn.model.backbones.pna import PNALayer
from pfgnn.model.backbones.stack import Stack

D = 12
BACKBONES: dict[str, Callable[[], Stack]] = {
    "GCN": lambda: GCN(D),
    "GAT": lambda: GAT(D),
    "GIN": lambda: GIN(D),
    "GINE": lambda: GINE(D),
    "PNA": lambda: PNA(D, towers=3),
    "PNA with edges": lambda: PNA(D, towers=3, edges=True),
    "GNNML1": lambda: GNNML1(D),
    "MPNN": lambda: MPNN(D),
    "GIN, batch norm": lambda: GIN(D, norm="batch"),
    "GIN, layer norm": lambda: GIN(D, norm="layer"),
    "GIN, no norm": lambda: GIN(D, norm="none"),
    "GIN, not residual": lambda: GIN(D, residual=False),
}


@pytest.mark.parametrize("name", BACKBONES)
def test_one_edge_list_equals_copies_of_the_graph(name: str, dtype: torch.dtype, device: torch.device) -> None:
    backbone = BACKBONES[name]().to(device, dtype)
    graphs = [random_graph(9, 14, D, seed=s, dtype=dtype) for s in range(3)]
    x, edge_index, edge_attr, batch = (t if t is None else t.to(device) for t in testing.collate(graphs))
    assert x is not None
    assert edge_index is not None
    H = torch.randn(len(x), 5, D, dtype=dtype, device=device)
    attr = edge_attr if backbone.reads_edge_attr else None
    testing.assert_particle_axis_agrees(backbone, H, edge_index, attr, batch)


def assert_layers_agree(ours: nn.Module, theirs: nn.Module, edges: bool = False) -> None:
    x, edge_index, edge_attr = random_graph(10, 16, D, dtype=torch.float64)
    ours, theirs = ours.double(), theirs.double()
    want = theirs(x, edge_index, edge_attr) if edges else theirs(x, edge_index)
    torch.testing.assert_close(ours(x, GraphBatch.from_tensors(x, edge_index, edge_attr, None)), want)


def copy_linear(target: nn.Module, weight: Tensor, bias: Tensor | None = None) -> None:
    target.weight = nn.Parameter(weight.detach().clone())
    if bias is not None:
        target.bias = nn.Parameter(bias.detach().clone())


def test_gcn_is_pygs() -> None:
    ours, theirs = GCNLayer(D), pyg.GCNConv(D, D)
    copy_linear(ours.linear, theirs.lin.weight)
    assert theirs.bias is not None
    ours.bias.data = theirs.bias.data = torch.randn(D)
    assert_layers_agree(ours, theirs)


def test_gat_is_pygs() -> None:
    ours, theirs = GATLayer(D, heads=3), pyg.GATConv(D, D // 3, heads=3)
    copy_linear(ours.linear, theirs.lin.weight)
    ours.source.data, ours.target.data = theirs.att_src.data[0], theirs.att_dst.data[0]
    assert_layers_agree(ours, theirs)


def test_gin_is_pygs() -> None:
    ours = GINLayer(D)
    ours.eps.data.fill_(0.3)
    assert_layers_agree(ours, pyg.GINConv(ours.mlp, eps=0.3))


def test_gine_is_pygs() -> None:
    ours = GINELayer(D)
    ours.eps.data.fill_(0.3)
    theirs = pyg.GINEConv(ours.mlp, eps=0.3, edge_dim=D)
    theirs.lin = ours.edge
    assert_layers_agree(ours, theirs, edges=True)


@pytest.mark.parametrize("edges", [False, True])
def test_pna_is_pygs(edges: bool) -> None:
    histogram = torch.tensor([1, 4, 6, 8, 3])
    delta = mean_log_degree(torch.arange(5).repeat_interleave(histogram))
    ours = PNALayer(D, towers=3, mean_log_degree=delta, edges=edges)
    theirs = pyg.PNAConv(
        D,
        D,
        aggregators=["mean", "min", "max", "std"],
        scalers=["identity", "amplification", "attenuation"],
        deg=histogram,
        towers=3,
        divide_input=True,
        edge_dim=D if edges else None,
    )
    pre = [tower[0] for tower in theirs.pre_nns]
    post = [tower[0] for tower in theirs.post_nns]
    F = D // 3
    own = [p.weight[:, :F] for p in post]
    maps = zip([p.weight[:, F : 2 * F] for p in pre], [p.weight[:, :F] for p in pre], own, strict=True)
    ours.pre.data = torch.stack([torch.cat(parts) for parts in maps]).detach()
    ours.pre_bias.data = torch.stack([torch.cat([a.bias, b.bias]) for a, b in zip(pre, post, strict=True)]).detach()
    if edges:  # PyG applies two linear maps to the edge features, one after the other
        assert ours.from_edge is not None
        encoder = theirs.edge_encoder
        copy_linear(ours.from_edge, torch.cat([p.weight[:, 2 * F :] @ encoder.weight for p in pre]))
        encoder.bias.data.zero_()
    # PyG's order is own, then mean, min, max, std as they are, amplified, and attenuated
    scaled = torch.stack([p.weight[:, F:].unflatten(1, (3, 4 * F)) for p in post])  # tower, output, scaler, aggregate
    ours.post.data = scaled.permute(0, 3, 2, 1).flatten(2).detach()
    copy_linear(ours.mix, theirs.lin.weight, theirs.lin.bias)
    assert_layers_agree(ours, theirs, edges)


def test_mpnn_is_pygs_edge_network_then_a_gru() -> None:
    ours = MPNNLayer(D, edge_hidden=7).double()
    conv = pyg.NNConv(D, D, ours.edge_network, aggr="mean").double()
    copy_linear(conv.lin, ours.root.weight)
    assert conv.bias is not None
    conv.bias.data = ours.root.bias.data
    x, edge_index, edge_attr = random_graph(10, 16, D, dtype=torch.float64)
    graph = GraphBatch.from_tensors(x, edge_index, edge_attr, None)
    torch.testing.assert_close(ours(x, graph), ours.gru(conv(x, edge_index, edge_attr).relu(), x))


def test_gnnml1_is_its_equation() -> None:
    x, edge_index, _ = random_graph(10, 16, D, dtype=torch.float64)
    layer = GNNML1Layer(D).double()
    A = torch.zeros(10, 10, dtype=torch.float64)
    A[edge_index[1], edge_index[0]] = 1
    want = layer.own(x) + A @ layer.neighbours(x) + layer.left(x) * layer.right(x)
    torch.testing.assert_close(layer(x, GraphBatch.from_tensors(x, edge_index, None, None)), want)


@pytest.mark.parametrize("kind", [GCN, GAT, GIN, GINE, GNNML1, MPNN, PNA])
def test_messages_go_from_source_to_target(kind: type[Stack]) -> None:
    backbone = kind(D, norm="none", **({"towers": 3} if kind is PNA else {}))  # type: ignore[arg-type]
    x, edge_index = torch.randn(3, D), torch.tensor([[0], [1]])
    edge_attr = torch.randn(1, D) if backbone.reads_edge_attr else None
    changed = x.clone()
    changed[0] += 1  # node 0 sends to node 1 only
    difference = (backbone(x, edge_index, edge_attr) - backbone(changed, edge_index, edge_attr)).abs().amax(1)
    assert difference[1] > 1e-3
    assert difference[2] < 1e-5


def test_bad_arguments() -> None:
    x, edge_index, _ = random_graph(5, 5, D)
    with pytest.raises(ValueError, match="norm must be one of graph, mark, batch, size, layer, none, but it is 'grph'"):
        GIN(D, norm="grph")
    with pytest.raises(ValueError, match="layers must be at least 1, but it is 0"):
        GCN(D, layers=0)
    with pytest.raises(ValueError, match="heads must divide the width 12, but heads is 5"):
        GAT(D, heads=5)
    with pytest.raises(ValueError, match="towers must divide the width 12, but towers is 5"):
        PNA(D, towers=5)
    with pytest.raises(ValueError, match="heads must be at least 1, but it is 0"):
        GAT(D, heads=0)
    with pytest.raises(ValueError, match=r"mean_log_degree must be positive, but it is 0.0"):
        PNA(D, mean_log_degree=0.0)
    with pytest.raises(TypeError, match="width must be an int, but it is 'a'"):
        GIN("a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"layers must be an int, but it is 1.5"):
        GIN(D, layers=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"GINE needs edge_attr of floats, but it has dtype torch.int64"):
        GINE(D)(x, edge_index, torch.zeros(10, D, dtype=torch.int64))
    with pytest.raises(ValueError, match="GINE reads edge features, but edge_attr is None"):
        GINE(D)(x, edge_index)
    with pytest.raises(ValueError, match=r"MPNN of width 12 needs edge_attr \[E, 12\], but it is \[10, 3\]; "):
        MPNN(D)(x, edge_index, torch.zeros(10, 3))


def test_the_maps_of_pna_begin_as_linear_maps_of_as_many_inputs() -> None:
    """The largest of many uniform numbers lies close to its bound, one over the root of the number of inputs."""
    conv: Any = PNA(64, 1, towers=1).convs[0]
    F = 64
    for part, inputs in (
        (conv.pre[:, : 2 * F], 2 * F),
        (conv.pre[:, 2 * F :], 13 * F),
        (conv.post, 13 * F),
        (conv.pre_bias[:, :F], 2 * F),
        (conv.pre_bias[:, F:], 13 * F),
    ):
        share = float(part.detach().abs().max()) * inputs**0.5
        assert 1 - 10 / part.numel() < share <= 1
