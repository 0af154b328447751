"""ChebNet is PyG's with the same weights, and no stronger than 1-WL."""

import pytest
import torch
import torch_geometric.nn as pyg
from tests.graph_samples import random_graph
from tests.model.rivals.pairs import BEYOND_1WL, BEYOND_3WL, Pair, assert_does_not_separate, assert_separates

from pfgnn.data.batch import GraphBatch
from pfgnn.graphs import Graph
from pfgnn.model.rivals import Alone, ChebNet
from pfgnn.model.rivals.chebnet import ChebLayer

D = 12


@pytest.mark.parametrize("order", [1, 2, 5])
def test_it_is_pygs(order: int) -> None:
    ours, theirs = ChebLayer(D, order).double(), pyg.ChebConv(D, D, order).double()
    ours.linear.weight.data = torch.cat([lin.weight.data for lin in theirs.lins], 1)
    assert theirs.bias is not None
    theirs.bias.data = ours.linear.bias.data
    x, edge_index, _ = random_graph(10, 16, D, dtype=torch.float64)
    x = torch.cat([x, x[:1]])  # and a node without neighbours
    torch.testing.assert_close(ours(x, GraphBatch.from_tensors(x, edge_index, None, None)), theirs(x, edge_index))


@pytest.mark.parametrize("pair", [*BEYOND_1WL.values(), *BEYOND_3WL.values()], ids=[*BEYOND_1WL, *BEYOND_3WL])
@pytest.mark.parametrize("norm", ["graph", "none"])
def test_it_does_not_separate_what_1wl_does_not(pair: Pair, norm: str) -> None:
    assert_does_not_separate(lambda: Alone(ChebNet(D, norm=norm), 4), pair)


def test_it_separates_a_path_from_a_star() -> None:
    path, star = Graph.from_edges(4, [(0, 1), (1, 2), (2, 3)]), Graph.from_edges(4, [(0, 1), (0, 2), (0, 3)])
    assert_separates(lambda: Alone(ChebNet(D), 4), (path, star))


def test_messages_go_from_source_to_target() -> None:
    backbone, edge_index = ChebNet(D, norm="none"), torch.tensor([[0], [1]])
    x = torch.randn(3, D)
    changed = x.clone()
    changed[0] += 1  # node 0 sends to node 1 only
    difference = (backbone(x, edge_index) - backbone(changed, edge_index)).abs().amax(1)
    assert difference[1] > 1e-3
    assert difference[2] < 1e-5


def test_bad_order() -> None:
    with pytest.raises(ValueError, match="order must be at least 1, but it is 0"):
        ChebNet(D, order=0)
