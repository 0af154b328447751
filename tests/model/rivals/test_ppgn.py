"""PPGN separates what 3-WL (2-FWL) separates, and nothing that 3-WL does not."""

import pytest
import torch
from tests.graph_samples import random_graph
from tests.model.rivals.pairs import BEYOND_1WL, BEYOND_3WL, Pair, assert_does_not_separate, assert_separates

from pfgnn.model.rivals import PPGN
from pfgnn.model.rivals.ppgn import PPGNBlock, PPGNStack

D = 12


@pytest.mark.parametrize("pair", BEYOND_1WL.values(), ids=BEYOND_1WL)
def test_it_separates_what_3wl_does(pair: Pair) -> None:
    assert_separates(lambda: PPGN(D, 4), pair)


@pytest.mark.parametrize("pair", BEYOND_3WL.values(), ids=BEYOND_3WL)
def test_it_does_not_separate_what_3wl_does_not(pair: Pair) -> None:
    assert_does_not_separate(lambda: PPGN(D, 4), pair)


def test_a_block_is_its_equation() -> None:
    block, n = PPGNBlock(D).double(), 5
    B = torch.randn(n, n, D, dtype=torch.float64)
    left, right = block.left(B), block.right(B)
    product = torch.stack([left[..., d] @ right[..., d] for d in range(D)], -1)
    deviation = (product.var((0, 1), correction=0) + 1e-5).sqrt()
    want = block.skip(torch.cat([B, (product - product.mean((0, 1))) / deviation], -1))
    got = block(B[None], torch.ones(1, n, n, 1, dtype=torch.bool))
    torch.testing.assert_close(got[0], want)


def test_nodes_read_their_diagonal_and_the_mean_of_their_row() -> None:
    stack, n = PPGNStack(D, layers=2).double(), 6
    x, edge_index, _ = random_graph(n, 8, D, dtype=torch.float64)
    edge_attr = torch.randn(16, D, dtype=torch.float64)  # other numbers for each direction
    source, target = edge_index
    B = torch.diag_embed(x.T).permute(1, 2, 0).contiguous()  # [n, n, D]
    B[target, source] = edge_attr
    read = []
    for block in stack.blocks:
        B = block(B[None], torch.ones(1, n, n, 1, dtype=torch.bool))[0]
        others = [[u for u in range(n) if u != v] for v in range(n)]
        read += [torch.stack([B[v, v] for v in range(n)]), torch.stack([B[v, others[v]].mean(0) for v in range(n)])]
    want = stack.summary(torch.cat(read, 1))
    batch = torch.zeros(n, dtype=torch.int64)
    torch.testing.assert_close(stack(x, edge_index, edge_attr, batch, 1), want)


def test_it_reads_edge_features() -> None:
    model = PPGN(D, 2, edge_channels=3)
    x, edge_index, edge_attr = random_graph(6, 8, 3)
    assert edge_attr is not None
    changed = edge_attr.clone()
    changed[[0, 8]] += 1  # both directions of one edge
    a, b = (model(x[:, :0], edge_index, attr).prediction for attr in (edge_attr, changed))
    assert (a - b).abs().max() > 1e-4


def test_it_draws_nothing() -> None:
    model = PPGN(D, 2)
    edge_index = random_graph(6, 8, 3)[1]
    want = model(torch.zeros(6, 0), edge_index).prediction
    got = model(torch.zeros(6, 0), edge_index, particles=7, seed=5, graph_key=torch.tensor([9])).prediction
    torch.testing.assert_close(got, want)


def test_bad_arguments() -> None:
    x, edge_index, edge_attr = random_graph(6, 8, 3)
    with pytest.raises(ValueError, match="layers must be at least 1, but it is 0"):
        PPGN(D, 2, layers=0)
    with pytest.raises(ValueError, match="level must be one of graph, node, but it is 'edge'"):
        PPGN(D, 2, level="edge")
    with pytest.raises(ValueError, match=r"edge_attr must have 0 columns, because .*, but it has 3"):
        PPGN(D, 2, in_channels=3)(x, edge_index, edge_attr)
    with pytest.raises(ValueError, match="edge_attr is None, but the model was built with edge_channels"):
        PPGN(D, 2, in_channels=3, edge_channels=3)(x, edge_index)
    with pytest.raises(ValueError, match=r"x must have shape \[N, F\], but it has \[6\]"):
        PPGN(D, 2)(torch.zeros(6), edge_index)
