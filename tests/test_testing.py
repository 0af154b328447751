"""Each public assertion fails for a model that violates it."""

import pytest
import torch
from tests.graph_samples import Graph, random_graph
from torch import Tensor, nn

from pfgnn import testing
from pfgnn.model import GIN, PFGNN

D = 8


class Breaks(nn.Module):
    """A backbone that reads what it must not read."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what
        self.linear = nn.Linear(D, D)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = self.linear(x)
        if self.what == "node order":
            return h + torch.arange(len(x))[:, None] / len(x)
        return h.abs() + 5 * h.mean(0)  # over all graphs of the batch, and all copies of it


def model(what: str) -> PFGNN:
    return PFGNN.paper(Breaks(what), 2, in_channels=3, width=D, steps=1, particles=3).eval()


def graph(seed: int = 0) -> Graph:
    x, edge_index, _ = random_graph(8, 12, 3, seed=seed)
    return x, edge_index, None


def test_node_order_is_found() -> None:
    with pytest.raises(AssertionError, match=r"a relabelled graph has another output: off by .*, allowed is 1e-05"):
        testing.assert_relabelling_invariant(model("node order"), *graph())


def test_a_look_at_the_batch_is_found() -> None:
    with pytest.raises(AssertionError, match="a graph's output depends on its batch"):
        testing.assert_batch_independent(model("batch"), [graph(0), graph(1)])
    with pytest.raises(AssertionError, match="the output depends on chunk=1"):
        testing.assert_chunk_independent(model("batch"), *graph())


def test_a_wrong_claim_of_a_particle_axis_is_found() -> None:
    _, edge_index, _ = graph()
    with pytest.raises(AssertionError, match="particles on one edge list and K copies of the graph disagree"):
        testing.assert_particle_axis_agrees(Breaks("batch"), torch.randn(8, 3, D), edge_index)
    testing.assert_particle_axis_agrees(GIN(D), torch.randn(8, 3, D), edge_index)
