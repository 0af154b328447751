import pytest
import torch
from torch_geometric.nn import GraphNorm as PyGGraphNorm

from pfgnn.kernels.segments import make_segments
from pfgnn.model.norms import NORMS, GraphNorm

BATCH = torch.tensor([0] * 5 + [1] * 7)
NODES = make_segments(BATCH, 2, ordered=True)


def test_graph_norm_is_pygs_on_each_particle(dtype: torch.dtype) -> None:
    h = torch.randn(12, 3, 4, dtype=dtype)
    ours, theirs = GraphNorm(4, eps=1e-2).to(dtype), PyGGraphNorm(4, eps=1e-2).to(dtype)
    for name, parameter in (("scale", theirs.weight), ("shift", theirs.bias), ("mean_scale", theirs.mean_scale)):
        getattr(ours, name).data = parameter.data = torch.randn(4, dtype=dtype)
    got = ours.normalise(h, NODES)
    for k in range(3):
        torch.testing.assert_close(got[:, k], theirs(h[:, k], BATCH, batch_size=2))


@pytest.mark.parametrize("name", NORMS)
def test_huge_values_stay_finite(name: str) -> None:
    h = torch.randn(12, 3, 4) * 1e38
    assert NORMS[name](4).normalise(h, NODES).isfinite().all()


def test_equal_nodes_are_not_blown_up() -> None:
    h = (torch.randn(1, 4) * 1000).expand(12, 4)
    assert GraphNorm(4).normalise(h, NODES).abs().max() < 1e-2


def test_batch_norm_of_one_row_in_training() -> None:
    with pytest.raises(ValueError, match="norm='batch' needs more than one node and particle in training"):
        NORMS["batch"](4).normalise(torch.zeros(1, 1, 4), make_segments(BATCH[:1], 1, ordered=True))
