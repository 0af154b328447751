import pytest
import torch
from torch import nn
from torch_geometric.nn import GraphNorm as PyGGraphNorm

from pfgnn.data.batch import GraphBatch
from pfgnn.model.norms import NORMS, BatchNorm, GraphNorm, MarkNorm, SizeNorm

BATCH = torch.tensor([0] * 5 + [1] * 7)
GRAPHS = GraphBatch(torch.zeros(2, 0, dtype=torch.int64), BATCH, 2)


def test_graph_norm_is_pygs_on_each_particle(dtype: torch.dtype) -> None:
    h = torch.randn(12, 3, 4, dtype=dtype)
    ours, theirs = GraphNorm(4, eps=1e-2).to(dtype), PyGGraphNorm(4, eps=1e-2).to(dtype)
    for name, parameter in (("scale", theirs.weight), ("shift", theirs.bias), ("mean_scale", theirs.mean_scale)):
        getattr(ours, name).data = parameter.data = torch.randn(4, dtype=dtype)
    got = ours.normalise(h, GRAPHS)
    for k in range(3):
        torch.testing.assert_close(got[:, k], theirs(h[:, k], BATCH, batch_size=2))


@pytest.mark.parametrize("name", NORMS)
def test_huge_values_stay_finite(name: str) -> None:
    h = torch.randn(12, 3, 4) * 1e38
    assert NORMS[name](4).normalise(h, GRAPHS).isfinite().all()


def test_equal_nodes_are_not_blown_up() -> None:
    h = (torch.randn(1, 4) * 1000).expand(12, 4)
    assert GraphNorm(4).normalise(h, GRAPHS).abs().max() < 1e-2


def path(n: int) -> GraphBatch:
    forward = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    return GraphBatch.from_tensors(torch.zeros(n, 0), torch.cat([forward, forward.flip(0)], 1), None, None)


def test_far_from_the_mark_all_nodes_count_a_quarter_of_those_near_it() -> None:
    weights = MarkNorm(4).weights(torch.tensor([[[0], [5]]]), path(30))
    assert weights[:, 0].tolist() == pytest.approx([1.0] * 3 + [3 / (4 * 27)] * 27)
    assert weights[:, 1].tolist() == pytest.approx([5 / (4 * 25)] * 3 + [1.0] * 5 + [5 / (4 * 25)] * 22)
    assert MarkNorm(4).weights(torch.tensor([[[2]]]), path(5)).tolist() == [[1.0]] * 5
    assert MarkNorm(4).weights(torch.tensor([[[2]]]), path(6)).tolist() == [[1.0]] * 6  # the weight is at most 1


def test_a_norm_around_the_mark_does_not_change_with_the_size_of_the_graph() -> None:
    """The plain mean over all nodes does change: the share of nodes near the mark shrinks."""
    around, over_all = [], []
    for n in (30, 300):
        graph, h = path(n), torch.zeros(n, 1, 4)
        h[:3] = 1.0  # the effect of a mark on node 0
        near = MarkNorm(4).weights(torch.tensor([[[0]]]), graph)
        around.append(MarkNorm(4).normalise(h, graph, near)[:3])
        over_all.append(GraphNorm(4).normalise(h, graph)[:3])
    torch.testing.assert_close(*around, rtol=1e-3, atol=1e-3)
    assert (over_all[1] - over_all[0]).abs().min() > 1


def test_an_isolated_mark_blows_nothing_up() -> None:
    graph, h = GRAPHS, torch.randn(12, 1, 4)
    near = MarkNorm(4).weights(torch.tensor([[[0]], [[5]]]), graph)
    assert MarkNorm(4).normalise(h, graph, near).abs().max() < 6


def test_batch_norm_is_torchs_in_training_and_evaluation(dtype: torch.dtype) -> None:
    ours, theirs = BatchNorm(4).to(dtype), nn.BatchNorm1d(4, eps=1e-2).to(dtype)
    for own, parameter in ((ours.scale, theirs.weight), (ours.shift, theirs.bias)):
        own.data = parameter.data = torch.randn(4, dtype=dtype)
    for _ in range(3):
        h = torch.randn(12, 3, 4, dtype=dtype) * 3 + 1
        mine, other = h.clone().requires_grad_(), h.clone().requires_grad_()
        got, want = ours.normalise(mine, GRAPHS), theirs(other.view(-1, 4)).view_as(h)
        torch.testing.assert_close(got, want)
        weight = torch.randn_like(got)
        (got * weight).sum().backward()
        (want * weight).sum().backward()
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.mean, theirs.running_mean)
    torch.testing.assert_close(ours.variance, theirs.running_var)
    torch.testing.assert_close(ours.eval().normalise(h, GRAPHS), theirs.eval()(h.view(-1, 4)).view_as(h))


def test_batch_norm_leaves_padding_out() -> None:
    plain, padded = BatchNorm(4), BatchNorm(4)
    h = torch.randn(12, 3, 4)
    want = plain.normalise(h[:5], GRAPHS.with_fields(batch=BATCH[:5], num_graphs=1))
    got = padded.normalise(h, GRAPHS.with_fields(padding=1))
    torch.testing.assert_close(got[:5], want)
    torch.testing.assert_close(padded.variance, plain.variance)
    assert not torch.allclose(BatchNorm(4).normalise(h, GRAPHS)[:5], want, atol=1e-3)


def test_batch_norm_of_one_real_row_and_padding_stays_finite() -> None:
    norm = BatchNorm(4)
    graphs = GRAPHS.with_fields(batch=torch.tensor([0, 1, 1]), padding=1)
    assert norm.normalise(torch.randn(3, 1, 4), graphs).isfinite().all()
    assert norm.variance.isfinite().all()


def test_batch_norm_of_one_row_in_training() -> None:
    with pytest.raises(ValueError, match="norm='batch' needs more than one node and particle in training"):
        NORMS["batch"](4).normalise(torch.zeros(1, 1, 4), GRAPHS.with_fields(batch=BATCH[:1], num_graphs=1))


def test_batch_norm_of_one_node_with_several_particles() -> None:
    h = torch.tensor([[[1.0, 0.0], [2.0, 0.0], [3.0, 6.0]]])
    graph = GRAPHS.with_fields(batch=BATCH[:1], num_graphs=1)
    want = (h - h.mean(1)) / (h.var(1, correction=0) + BatchNorm(2).eps).sqrt()
    torch.testing.assert_close(BatchNorm(2).normalise(h, graph), want)


def test_size_norm_divides_by_the_root_of_the_graphs_size() -> None:
    h, x = torch.randn(2, 12, 3, 4)
    size = torch.tensor([5.0] * 5 + [7.0] * 7).sqrt()[:, None, None]
    torch.testing.assert_close(SizeNorm(4).normalise(h, GRAPHS), BatchNorm(4).normalise(h / size, GRAPHS))
    torch.testing.assert_close(SizeNorm(4)(h, x, GRAPHS), BatchNorm(4)(h / size, x, GRAPHS))
