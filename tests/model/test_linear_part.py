from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model import GINE, PFGNN, LinearPart
from pfgnn.model.exact import enumerate_tree, exact_prediction
from pfgnn.model.export import export

# A path of three nodes and a pair of nodes, with categories of nodes and edges and a number at each edge.
EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
BATCH = torch.tensor([0, 0, 0, 1, 1])
KINDS = torch.tensor([[0, 1], [2, 0], [0, 0], [1, 1], [1, 0]])  # columns of 3 and 2 categories
BONDS = torch.tensor([0, 0, 1, 1, 1, 1])


def batch(x: Tensor | None, edge_attr: Tensor | None, device: torch.device | None = None) -> GraphBatch:
    x, edge_attr = (None if of is None else of.to(device) for of in (x, edge_attr))
    return GraphBatch.from_tensors(x, EDGES.to(device), edge_attr, BATCH.to(device))


def with_values(part: LinearPart) -> LinearPart:
    generator = torch.Generator().manual_seed(0)
    part.weight.copy_(torch.randn(part.weight.shape, generator=generator))
    part.bias.copy_(torch.randn(part.bias.shape, generator=generator))
    return part


def test_categories_are_counted(device: torch.device) -> None:
    part = LinearPart([3, 2], [2], 1).to(device)
    sums = part.sums(batch(KINDS, BONDS, device))
    #            nodes edges | 0  1  2 | 0  1 | bonds of kind 0 and 1
    expected = [[3, 4, 2, 0, 1, 2, 1, 2, 2], [2, 2, 0, 2, 0, 1, 1, 0, 2]]
    assert sums.tolist() == expected


def test_numbers_are_summed(device: torch.device) -> None:
    x, e = torch.randn(5, 2), torch.randn(6, 1)
    sums = LinearPart(2, 1, 1).to(device).sums(batch(x, e, device)).cpu()
    nodes = torch.stack([x[:3].sum(0), x[3:].sum(0)])
    edges = torch.stack([e[:4].sum(0), e[4:].sum(0)])
    counts = torch.tensor([[3.0, 4.0], [2.0, 2.0]])
    torch.testing.assert_close(sums, torch.cat([counts, nodes, edges], 1))


def test_without_features_nodes_and_edges_are_counted() -> None:
    assert LinearPart(0, None, 1).sums(batch(None, None)).tolist() == [[3, 4], [2, 2]]


@pytest.fixture
def model() -> PFGNN:
    torch.manual_seed(0)
    made = PFGNN(GINE(8, layers=1), 2, in_channels=[3, 2], edge_channels=[2], particles=3)
    made.linear = with_values(LinearPart([3, 2], [2], 2))
    return made.eval()


def parts_of(model: PFGNN) -> tuple[Callable[[], Tensor], LinearPart]:
    """The prediction of the model now, and its linear part."""
    assert model.linear is not None
    return lambda: model(KINDS, EDGES, BONDS, BATCH).prediction, model.linear


def test_it_is_added_to_the_prediction(model: PFGNN) -> None:
    predict, linear = parts_of(model)
    with_it = predict()
    model.linear = None
    torch.testing.assert_close(with_it, (predict() + linear(batch(KINDS, BONDS))).float())


def test_bf16_does_not_round_it(model: PFGNN) -> None:
    """A large sum keeps its digits, though the network computes with 8 bits."""
    _, linear = parts_of(model)
    linear.bias += 1e5
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model(KINDS, EDGES, BONDS, BATCH).prediction
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, model(KINDS, EDGES, BONDS, BATCH).prediction, rtol=0, atol=0.05)


def test_the_exact_prediction_has_it(model: PFGNN) -> None:
    tree = enumerate_tree(model, KINDS[:3], EDGES[:, :4], BONDS[:4])
    with torch.no_grad():
        sampled = model(KINDS[:3], EDGES[:, :4], BONDS[:4], particles=3).prediction  # as many particles as vertices
        torch.testing.assert_close(exact_prediction(model, tree), sampled)


@pytest.mark.slow
def test_a_model_of_numbers_is_exported_too() -> None:
    torch.manual_seed(0)
    model = PFGNN(GINE(8, layers=1), 1, in_channels=2, edge_channels=1, particles=3).eval()
    model.linear = with_values(LinearPart(2, 1, 1))
    x, e = torch.randn(5, 2), torch.randn(6, 1)
    program = export(model, batch(x, e)).module()
    with torch.no_grad():
        torch.testing.assert_close(program(x, EDGES, e, BATCH), model(x, EDGES, e, BATCH).prediction)


@pytest.mark.slow
def test_the_exported_model_has_it(model: PFGNN) -> None:
    program = export(model, batch(KINDS, BONDS)).module()
    with torch.no_grad():
        torch.testing.assert_close(program(KINDS, EDGES, BONDS, BATCH), model(KINDS, EDGES, BONDS, BATCH).prediction)


@pytest.mark.parametrize("change", ["float", "half", "bfloat16", "double"])
def test_it_stays_in_float64(model: PFGNN, change: str) -> None:
    _, linear = parts_of(model)
    kept = linear.weight.clone()
    getattr(model, change)()
    assert torch.equal(linear.weight, kept)
    assert model(KINDS, EDGES, BONDS, BATCH).prediction.isfinite().all()


def test_features_beyond_all_measure_give_no_nan() -> None:
    part = with_values(LinearPart(1, None, 1))
    assert part(batch(torch.full((5, 1), 3e38), None)).isfinite().all()


def test_one_for_other_outputs_or_features_is_refused(model: PFGNN) -> None:
    predict, _ = parts_of(model)
    model.linear = LinearPart([3, 2], [2], 1)
    with pytest.raises(InputError, match="linear must have 2 outputs, as the model has, but it has 1"):
        predict()
    model.linear = LinearPart([3, 2], None, 2)
    model.linear.edge_channels = [2]
    with pytest.raises(InputError, match="linear must be a LinearPart for graphs with 9 sums, but it was made for 7"):
        predict()


def test_another_module_is_refused_and_it_is_shown(model: PFGNN) -> None:
    predict, linear = parts_of(model)
    assert repr(linear) == "LinearPart(sums=9, out_channels=2)"
    model.linear = torch.nn.Linear(9, 2)  # type: ignore[assignment]
    with pytest.raises(InputTypeError, match="linear must be a LinearPart or None, but it is a Linear"):
        predict()


def test_too_many_categories_are_refused() -> None:
    with pytest.raises(InputError, match=r"must be at most 498 columns and categories in all .*, but they are 20003"):
        LinearPart([20_000, 3], None, 1)
