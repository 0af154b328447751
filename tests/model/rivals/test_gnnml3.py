"""GNNML3: supports are functions of the Laplacian. It is stronger than 1-WL, but fails on strongly regular graphs."""

import pytest
import torch
from tests.graph_samples import circulant_edges, random_edges, random_graph
from tests.model.rivals.pairs import BEYOND_1WL, BEYOND_3WL, Pair, assert_does_not_separate, assert_separates
from torch import Tensor

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.model.rivals import GNNML3, Alone
from pfgnn.model.rivals.gnnml3 import GNNML3Layer, spectral_supports

D = 12


@pytest.mark.parametrize("pair", BEYOND_1WL.values(), ids=BEYOND_1WL)
@pytest.mark.parametrize("norm", ["layer", "none"])
def test_it_separates_what_1wl_does_not(pair: Pair, norm: str) -> None:
    assert_separates(lambda: Alone(GNNML3(D, norm=norm), 4), pair)


@pytest.mark.parametrize("pair", BEYOND_3WL.values(), ids=BEYOND_3WL)
@pytest.mark.parametrize("norm", ["layer", "none"])
def test_it_does_not_separate_what_3wl_does_not(pair: Pair, norm: str) -> None:
    assert_does_not_separate(lambda: Alone(GNNML3(D, norm=norm), 4), pair)


def test_a_norm_over_equal_nodes_hides_the_supports() -> None:
    assert_does_not_separate(lambda: Alone(GNNML3(D, norm="graph"), 4), BEYOND_1WL["two triangles, hexagon"])


def laplacian(edge_index: Tensor, n: int) -> Tensor:
    A = torch.zeros(n, n, dtype=torch.float64)
    A[edge_index[0], edge_index[1]] = 1
    scale = A.sum(1).clamp(min=1).rsqrt()
    return torch.eye(n, dtype=torch.float64) - scale[:, None] * A * scale


def test_supports_are_matrix_functions_whatever_the_padding(device: torch.device) -> None:
    """Compare with a power series, for graphs of several sizes and with repeated eigenvalues."""
    graphs = [(1, circulant_edges(1)), (6, circulant_edges(6, 1)), (9, random_edges(9, 7)), (3, circulant_edges(3))]
    _, edge_index, _, batch = testing.collate([(torch.zeros(n, 0), edges, None) for n, edges in graphs])
    every = torch.cat([torch.cartesian_prod(*[torch.nonzero(batch == g).flatten()] * 2) for g in range(4)]).T
    got = spectral_supports(edge_index.to(device), every.to(device), batch.to(device), 4, frequencies=3, bandwidth=2.0)
    want = []
    for n, edges in graphs:
        shifted = [laplacian(edges, n) - f * torch.eye(n, dtype=torch.float64) for f in (0, 1, 2)]
        want.append(torch.stack([torch.linalg.matrix_exp(-2 * M @ M) for M in shifted], -1).view(n * n, 3))
    torch.testing.assert_close(got.cpu(), torch.cat(want), rtol=0, atol=1e-12)


def test_a_layer_is_its_equation() -> None:
    layer = GNNML3Layer(D, supports=3).double()
    x, edges, _ = random_graph(8, 12, D, dtype=torch.float64)
    C = torch.randn(edges.shape[1], 3, dtype=torch.float64)
    gate = torch.tanh(layer.edge_left(C)) * torch.tanh(layer.edge_right(C))
    c = torch.relu(layer.mix(torch.cat([torch.relu(layer.plain(C)), gate], 1)))
    assert c.any()
    want = layer.gated(torch.tanh(layer.left(x)) * torch.tanh(layer.right(x)))
    for s, W in enumerate(layer.linear.weight.split(D)):
        matrix = torch.zeros(8, 8, dtype=torch.float64)
        matrix[edges[1], edges[0]] = c[:, s]
        want = want + matrix @ x @ W.T
    torch.testing.assert_close(layer(x, GraphBatch.from_tensors(x, edges, C, None)), want)


def test_one_graph_needs_no_batch() -> None:
    backbone = GNNML3(D)
    x, edge_index, _ = random_graph(8, 12, D)
    whole = backbone(x, edge_index, batch=torch.zeros(8).long(), batch_size=1)
    torch.testing.assert_close(backbone(x, edge_index), whole)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="frequencies must be at least 1, but it is 0"):
        GNNML3(D, frequencies=0)
    with pytest.raises(ValueError, match=r"bandwidth must be positive, but it is -1.0"):
        GNNML3(D, bandwidth=-1.0)
