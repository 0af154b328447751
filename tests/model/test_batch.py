import pytest
import torch
from torch import Tensor

from pfgnn.model.batch import make_batch

X = torch.zeros(4, 2)
EDGES = torch.tensor([[0, 1], [1, 0]])
BATCH = torch.tensor([0, 0, 1, 1])


def test_sizes_and_first_nodes() -> None:
    graph = make_batch(X, EDGES, None, torch.tensor([0, 0, 0, 1]))
    assert graph.sizes.tolist() == [3, 1]
    assert graph.first.tolist() == [0, 3]
    assert graph.num_graphs == 2


@pytest.mark.parametrize(
    ("x", "edge_index", "edge_attr", "batch", "error", "sentence"),
    [
        (X[:0], EDGES[:, :0], None, None, ValueError, "the batch is empty: x must hold at least one node"),
        (None, EDGES, None, None, ValueError, "x is None, so batch must be given to say how many nodes there are"),
        (X[0], EDGES, None, None, ValueError, r"x must have shape \[N, F\], but it has \[2\]"),
        (X * torch.nan, EDGES, None, None, ValueError, "x must be finite, but it holds NaN or infinity"),
        (X, EDGES + 3, None, None, ValueError, r"edge_index must lie in 0..3 for 4 nodes, but it spans 3..4"),
        (X, EDGES - 1, None, None, ValueError, r"edge_index must lie in 0..3 for 4 nodes, but it spans -1..0"),
        (X, EDGES.int(), None, None, TypeError, "edge_index must have dtype int64, but it has int32"),
        (X, EDGES.float(), None, None, TypeError, "edge_index must have dtype int64, but it has float32"),
        (X, EDGES[0], None, None, ValueError, r"edge_index must have shape \[2, E\], but it has \[2\]"),
        (X, EDGES, X, None, ValueError, r"edge_attr must have one row for each of 2 edges, but its shape is \[4, 2\]"),
        (X, EDGES, torch.full((2, 1), torch.inf), None, ValueError, "edge_attr must be finite"),
        (X, EDGES, None, BATCH.flip(0), ValueError, "batch must be sorted and not negative, but it is not"),
        (X, EDGES, None, BATCH * 2, ValueError, "batch must name every graph from 0 on, but graph 1 has no node"),
        (X, EDGES, None, BATCH[:3], ValueError, "batch must have one entry per node, but it has 3 for 4 rows of x"),
        (X, EDGES, None, BATCH.float(), TypeError, "batch must have dtype int64, but it has float32"),
        (X, EDGES, None, BATCH[:, None], ValueError, r"batch must have shape \[N\], but it has \[4, 1\]"),
        (X, EDGES, None, BATCH + 10**12, ValueError, "batch must name every graph from 0 on, but graph 0 has no node"),
        (X, EDGES + 1, None, BATCH, ValueError, r"edge_index must stay within a graph, but edge \(1, 2\) joins two"),
    ],
)
def test_bad_input_gets_one_sentence(
    x: Tensor | None,
    edge_index: Tensor,
    edge_attr: Tensor | None,
    batch: Tensor | None,
    error: type[Exception],
    sentence: str,
) -> None:
    with pytest.raises(error, match=sentence):
        make_batch(x, edge_index, edge_attr, batch)


@pytest.mark.parametrize("name", ["x", "edge_index", "edge_attr", "batch"])
def test_what_is_no_tensor_is_named(name: str) -> None:
    arguments = {"x": X, "edge_index": EDGES, "edge_attr": None, "batch": None, name: [[0, 1]]}
    with pytest.raises(TypeError, match=f"{name} must be a torch tensor, but it is a list"):
        make_batch(**arguments)  # type: ignore[arg-type]
