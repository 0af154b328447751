"""The rivals are what they say: marks and exchange in the bag, and both learn something on a few molecules."""

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from benchmarks import rivals
from benchmarks.rivals import FAR, RIVALS, BagModel, make_bag, rate, train
from benchmarks.shapes import molecules
from torch_geometric.data import Batch

from pfgnn.graphs import to_networkx
from pfgnn.graphs.convert import from_pyg


def test_the_bag_holds_distances_and_both_kinds_of_edges() -> None:
    [graph, other] = molecules(2).to_pyg()
    n, lengths = int(graph.num_nodes or 0), dict(nx.all_pairs_shortest_path_length(to_networkx(from_pyg(graph))))
    bag = Batch.from_data_list([make_bag(other), make_bag(graph)])
    first = int(other.num_nodes or 0) ** 2
    want = torch.tensor([[min(lengths[v][u], FAR + 1) for u in range(n)] for v in range(n)])
    assert torch.equal(bag.distance[first:].view(n, n), want)
    edges = {(int(u), int(w)) for u, w in graph.edge_index.t()}
    own = {tuple(pair) for pair in (bag.within_index[:, bag.within_index[0] >= first] - first).t().tolist()}
    assert own == {(v * n + u, v * n + w) for v in range(n) for u, w in edges}
    others = {tuple(pair) for pair in (bag.across_index[:, bag.across_index[0] >= first] - first).t().tolist()}
    assert others == {(u * n + v, w * n + v) for v in range(n) for u, w in edges}
    assert (bag.distance[bag.root_index] == 0).all()
    assert torch.equal(bag.mark_index[first:].view(n, n) - first, (torch.arange(n) * (n + 1))[:, None].expand(n, n))


def test_the_order_of_the_vertices_does_not_matter() -> None:
    [graph] = molecules(1).to_pyg()
    order = torch.randperm(int(graph.num_nodes or 0))
    place = order.argsort()
    other = graph.clone()
    other.x, other.edge_index = graph.x[order], place[graph.edge_index]
    model = BagModel(8, 2).eval()
    both = [model(Batch.from_data_list([make_bag(one)])) for one in (graph, other)]
    torch.testing.assert_close(*both, rtol=1e-4, atol=1e-5)


def test_the_learning_rate_grows_and_falls() -> None:
    assert [rate(0.0), rate(0.05), rate(1.0)] == pytest.approx([0, 1, 0])


@pytest.mark.parametrize("name", RIVALS)
def test_a_short_training(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = molecules(24)
    # The target is the number of atoms, which both can learn.
    y = (dataset.node_counts[:, None] - 23.0) / 5
    parts = {"train": np.arange(16), "validation": np.arange(16, 20), "test": np.arange(20, 24)}
    dataset = replace(dataset, y=y, splits=parts)
    make = {"bag": lambda: BagModel(8, 1), "gps": lambda: rivals.GPS(32, 1)}[name]
    monkeypatch.setitem(RIVALS, name, RIVALS[name]._replace(make=make, batch=8))
    ticks = itertools.count()  # a second from one look at the clock to the next, so two for the updates of an epoch
    found = train(name, dataset, 17, "cpu", 0, clock=lambda: next(ticks))
    curve = found["curve"]
    assert isinstance(curve, list)
    assert found["epochs"] == 8
    assert len(curve) == 9  # and once more when the time is up
    assert curve[-1] < curve[0]
    assert found["validation"] == min(curve)
