"""Any module with forward(x, edge_index[, edge_attr]) is a backbone."""

import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import random_graph
from torch import Tensor, nn

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.model import GCN, GIN, GINE, PFGNN, Additive, GNNPolicy
from pfgnn.model.refine import Refine, copies, fresh_copy

D = 8


class OwnModule(nn.Module):
    """A user's own module, without MessagePassing, batch argument or reset_parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(D, D)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        around = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return torch.tanh(self.linear(x + around))


class ReturnsATuple(OwnModule):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x, x  # type: ignore[return-value]


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, D))


FOREIGN = {
    "GCNConv": lambda: pyg.GCNConv(D, D),
    "GATv2Conv": lambda: pyg.GATv2Conv(D, D // 2, heads=2),
    "SAGEConv": lambda: pyg.SAGEConv(D, D),
    "TransformerConv": lambda: pyg.TransformerConv(D, D),
    "ChebConv": lambda: pyg.ChebConv(D, D, K=3),
    "GIN model": lambda: pyg.GIN(D, D, num_layers=2),
    "GraphSAGE model with batch norm": lambda: pyg.GraphSAGE(D, D, num_layers=2, norm="batch_norm"),
    "GraphSAGE model with graph norm": lambda: pyg.GraphSAGE(D, D, num_layers=2, norm="graph_norm"),
    "Sequential": lambda: pyg.Sequential("x, edge_index", [(pyg.GCNConv(D, D), "x, edge_index -> x"), nn.ReLU()]),
    "own": OwnModule,
}
FOREIGN_WITH_EDGES = {
    "GINEConv": lambda: pyg.GINEConv(mlp(), edge_dim=3),
    "GATConv": lambda: pyg.GATConv(D, D, edge_dim=3),
    "Sequential": lambda: pyg.Sequential(
        "x, edge_index, edge_attr", [(pyg.GINEConv(mlp(), edge_dim=3), "x, edge_index, edge_attr -> x")]
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_module_on_each_particle_is_the_module_itself(name: str) -> None:
    module = FOREIGN[name]().eval()
    x, edge_index, _ = random_graph(7, 10, D)
    H = torch.randn(7, 3, D)
    refined = Refine(module)(H, GraphBatch.from_tensors(x, edge_index, None, None))
    for k in range(3):
        torch.testing.assert_close(refined[:, k], module(H[:, k], edge_index))


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_backbone_works_unchanged_and_keeps_the_symmetries(name: str) -> None:
    model = PFGNN.paper(FOREIGN[name](), 2, in_channels=4, width=D, steps=2, particles=3)
    graphs = [(*random_graph(7, 10, 4, seed=s)[:2], None) for s in range(3)]
    x, edge_index, edge_attr, batch = testing.collate(graphs)
    output = model(x, edge_index, edge_attr, batch)
    output.prediction.sum().backward()
    assert all(p.grad is not None for p in model.refine.parameters())
    model.eval()
    testing.assert_relabelling_invariant(model, *graphs[0])
    testing.assert_batch_independent(model, graphs)
    testing.assert_chunk_independent(model, *graphs[0])


@pytest.mark.parametrize("name", FOREIGN_WITH_EDGES)
def test_foreign_backbone_reads_raw_edge_features(name: str) -> None:
    model = PFGNN.paper(FOREIGN_WITH_EDGES[name](), 2, in_channels=3, width=D, steps=2, particles=3).eval()
    x, edge_index, edge_attr = random_graph(7, 10, 3)
    assert edge_attr is not None
    testing.assert_relabelling_invariant(model, x, edge_index, edge_attr)
    first = model(x, edge_index, edge_attr).prediction
    assert not torch.allclose(first, model(x, edge_index, -edge_attr).prediction)


def test_edge_features_of_one_axis() -> None:
    conv = pyg.GATConv(D, D, edge_dim=1)
    x, edge_index, edge_attr = random_graph(7, 10, 1)
    assert edge_attr is not None
    graph = GraphBatch.from_tensors(x, edge_index, edge_attr[:, 0], None)
    H = torch.randn(7, 2, D)
    torch.testing.assert_close(Refine(conv)(H, graph)[:, 1], conv(H[:, 1], edge_index, edge_attr[:, 0]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_raw_edge_features_take_the_models_dtype(dtype: torch.dtype) -> None:
    model = PFGNN.paper(pyg.GINEConv(mlp(), edge_dim=3), 1, in_channels=3, width=D)
    x, edge_index, edge_attr = random_graph(7, 10, 3)
    assert edge_attr is not None
    assert model(x, edge_index, edge_attr.to(dtype)).prediction.dtype == torch.float32


def test_gnns_that_read_edges_and_those_that_do_not_go_together() -> None:
    x, edge_index, edge_attr = random_graph(7, 10, 3)
    for options in ({"policy": GNNPolicy(GCN(D, 1), D)}, {"step_backbone": GCN(D)}):
        model = PFGNN.paper(GINE(D), 1, in_channels=3, edge_channels=3, **options).eval()
        assert edge_attr is not None
        first = model(x, edge_index, edge_attr).prediction
        assert not torch.allclose(first, model(x, edge_index, -edge_attr).prediction)


def test_edges_without_features_get_a_constant() -> None:
    x, edge_index, _ = random_graph(7, 10, 3)
    assert PFGNN.paper(GINE(D), 1, in_channels=3, edge_channels=0)(x, edge_index).prediction.isfinite().all()


def test_each_step_has_parameters_of_its_own_unless_shared() -> None:
    separate, shared = (PFGNN.paper(GIN(D, layers=1), 1, steps=3, share_steps=share) for share in (False, True))
    weights = [p for name, p in separate.refine.named_parameters() if name.endswith("mlp.0.weight")]
    assert len(weights) == 4
    assert all(not torch.equal(weights[i], weights[j]) for i in range(4) for j in range(i))
    assert len({id(refine) for refine in shared.refine}) == 2


def test_fresh_copy_draws_new_parameters_and_leaves_the_original() -> None:
    module = nn.Sequential(nn.Linear(2, 2))
    before = torch.cat([p.flatten() for p in module.parameters()])
    after = torch.cat([p.flatten() for p in fresh_copy(module).parameters()])
    assert (after != before).all()
    assert torch.equal(before, torch.cat([p.flatten() for p in module.parameters()]))


def test_copies_are_disjoint() -> None:
    graph = GraphBatch.from_tensors(
        torch.zeros(3, 1), torch.tensor([[0], [1]]), torch.ones(1, 2), torch.tensor([0, 0, 1])
    )
    twice = copies(graph, 2)
    assert twice.edge_index.tolist() == [[0, 3], [1, 4]]
    assert twice.batch.tolist() == [0, 0, 1, 2, 2, 3]
    assert twice.sizes.tolist() == [2, 1, 2, 1]


def test_bad_backbones() -> None:
    x, edge_index, edge_attr = random_graph(7, 10, D)
    with pytest.raises(ValueError, match="edge_attr was given, but the backbone GIN does not read it"):
        PFGNN.paper(GIN(D), 1, in_channels=D)(x, edge_index, edge_attr)
    with pytest.raises(ValueError, match="edge_attr was given, but the backbone OwnModule does not read it"):
        PFGNN.paper(OwnModule(), 1, in_channels=D, width=D)(x, edge_index, edge_attr)
    with pytest.raises(ValueError, match="edge_attr was given, but the backbone GIN does not read it"):
        PFGNN.paper(pyg.GIN(D, D, num_layers=1), 1, in_channels=D, width=D)(x, edge_index, edge_attr)
    with pytest.raises(ValueError, match=r"GCNConv must return a tensor of the shape of x, .*, but it returned shape"):
        PFGNN.paper(pyg.GCNConv(D, 5), 1, in_channels=D, width=D)(x, edge_index)
    with pytest.raises(ValueError, match="width must be given, because the backbone GCNConv has no attribute width"):
        PFGNN.paper(pyg.GCNConv(D, D), 1)
    with pytest.raises(ValueError, match="GIN has width 8, but the model has width 9"):
        PFGNN.paper(GIN(D), 1, width=9)
    with pytest.raises(ValueError, match="GCN has width 9, but the model has width 8"):
        PFGNN.paper(GIN(D), 1, step_backbone=GCN(9))
    with pytest.raises(ValueError, match="Additive has width 4, but the model has width 8"):
        PFGNN.paper(GIN(D), 1, individualise=Additive(4))
    with pytest.raises(ValueError, match=r"ReturnsATuple must return a tensor .* but it returned a tuple"):
        PFGNN.paper(ReturnsATuple(), 1, in_channels=D, width=D)(x, edge_index)
    with pytest.raises(TypeError, match="backbone must be a torch module"):
        PFGNN.paper(GIN, 1, width=D)  # type: ignore[arg-type]
