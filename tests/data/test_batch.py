import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch as PyGBatch
from torch_geometric.data import Data

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, GINE, PFGNN

X = torch.zeros(4, 2)
BAD = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, torch.inf], [0.0, 0.0]])  # not finite in the second graph
EDGES = torch.tensor([[0, 1], [1, 0]])
BATCH = torch.tensor([0, 0, 1, 1])


def test_sizes_and_first_nodes() -> None:
    graph = GraphBatch.from_tensors(X, EDGES, None, torch.tensor([0, 0, 0, 1]))
    assert graph.sizes.tolist() == [3, 1]
    assert graph.first.tolist() == [0, 3]
    assert graph.num_graphs == 2


@pytest.mark.parametrize(
    ("x", "edge_index", "edge_attr", "batch", "error", "sentence"),
    [
        (X[:0], EDGES[:, :0], None, None, ValueError, "the batch is empty: x must hold at least one node"),
        (None, EDGES, None, None, ValueError, "x is None, so batch must be given to say how many nodes there are"),
        (X[0], EDGES, None, None, ValueError, r"x must have shape \[N, F\], but it has \[2\]"),
        (X * torch.nan, EDGES, None, None, ValueError, "x must be finite, but in graph 0 it holds NaN or infinity"),
        (BAD, EDGES, None, BATCH, ValueError, "x must be finite, but in graph 1 it holds NaN or infinity"),
        (X, EDGES + 3, None, None, ValueError, r"edge_index must lie in 0..3 for 4 nodes, but it spans 3..4"),
        (X, EDGES - 1, None, None, ValueError, r"edge_index must lie in 0..3 for 4 nodes, but it spans -1..0"),
        (X, EDGES.int(), None, None, TypeError, "edge_index must have dtype int64, but it has int32"),
        (X, EDGES.float(), None, None, TypeError, "edge_index must have dtype int64, but it has float32"),
        (X, EDGES[0], None, None, ValueError, r"edge_index must have shape \[2, E\], but it has \[2\]"),
        (X, EDGES, X, None, ValueError, r"edge_attr must have one row for each of 2 edges, but its shape is \[4, 2\]"),
        (X, EDGES, torch.full((2, 1), torch.inf), None, ValueError, "edge_attr must be finite, but in graph 0"),
        (X, EDGES, torch.full((2,), torch.inf), None, ValueError, "edge_attr must be finite, but in graph 0"),
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
        GraphBatch.from_tensors(x, edge_index, edge_attr, batch)


@pytest.mark.parametrize("name", ["x", "edge_index", "edge_attr", "batch"])
def test_what_is_no_tensor_is_named(name: str) -> None:
    arguments = {"x": X, "edge_index": EDGES, "edge_attr": None, "batch": None, name: [[0, 1]]}
    with pytest.raises(TypeError, match=f"{name} must be a torch tensor, but it is a list"):
        GraphBatch.from_tensors(**arguments)  # type: ignore[arg-type]


def pyg(edge_attr: bool = False) -> PyGBatch:
    """Two graphs as PyG has them, the edges in no order."""
    one = Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 2, 1, 1], [1, 1, 2, 0]]), y=torch.tensor([[1.0]]))
    other = Data(x=torch.randn(2, 2), edge_index=torch.tensor([[1, 0], [0, 1]]), y=torch.tensor([[2.0]]))
    for graph in (one, other):
        graph.graph_key = torch.tensor([len(graph.x)])
        if edge_attr:
            graph.edge_attr = torch.randn(graph.num_edges, 3)
    return PyGBatch.from_data_list([one, other])


def test_a_batch_of_pyg_comes_with_all_it_has_and_its_edges_in_order() -> None:
    data = pyg(edge_attr=True)
    graph = GraphBatch.from_pyg(data)
    assert (graph.num_graphs, graph.real_graphs, graph.padding) == (2, 2, 0)
    for name in ("x", "y", "batch", "graph_key"):
        assert torch.equal(graph.tensors()[name], getattr(data, name))
    assert (graph.edge_index[1].diff() >= 0).all()
    edges = {(*ends, *values) for ends, values in zip(data.edge_index.T.tolist(), data.edge_attr.tolist(), strict=True)}
    found = zip(graph.edge_index.T.tolist(), graph.tensors()["edge_attr"].tolist(), strict=True)
    assert {(*ends, *values) for ends, values in found} == edges


def test_a_single_graph_of_pyg_needs_no_batch_and_no_features() -> None:
    graph = GraphBatch.from_pyg(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3))
    assert (graph.x, graph.batch.tolist(), graph.sizes.tolist()) == (None, [0, 0, 0], [3])


@pytest.mark.parametrize("edge_attr", [False, True])
def test_a_model_takes_tensors_pyg_and_a_graph_batch_alike(edge_attr: bool) -> None:
    data = pyg(edge_attr)
    backbone = GINE(4) if edge_attr else GIN(4)
    model = PFGNN(backbone, 1, in_channels=2, edge_channels=3 if edge_attr else None).eval()
    want = model(data.x, data.edge_index, data.edge_attr, data.batch, graph_key=data.graph_key).prediction
    for given in (data, GraphBatch.from_pyg(data)):
        torch.testing.assert_close(model(given).prediction, want)
    drawn = [model(data, graph_key=data.graph_key + by, particles=1).trace[0].vertices for by in range(20)]
    assert len(torch.stack(drawn).unique(dim=0)) > 1  # a key that is given counts


def test_what_is_given_twice_or_not_at_all_gets_one_sentence() -> None:
    data, model = pyg(), PFGNN(GIN(4), 1, in_channels=2)
    with pytest.raises(ValueError, match="batch must not be given together with a DataBatch, which has its own"):
        model(data, batch=data.batch)
    with pytest.raises(ValueError, match="edge_index must be given, unless a GraphBatch or a PyG Data holds it"):
        model(data.x)
    with pytest.raises(ValueError, match=r"graph_key must have shape \[2\], but it has \[3\]"):
        model(GraphBatch.from_pyg(data), graph_key=torch.arange(3))
    with pytest.raises(TypeError, match=r"node_key must have dtype int64, but it has torch\.float32"):
        model(data, node_key=torch.zeros(5))


def test_other_fields_leave_the_batch_and_what_it_has_found_out() -> None:
    graph = GraphBatch.from_pyg(pyg())
    assert graph.sizes.tolist() == [3, 2]
    other = graph.with_fields(batch=torch.zeros_like(graph.batch), num_graphs=1, graph_key=None)
    assert (other.sizes.tolist(), graph.sizes.tolist()) == ([5], [3, 2])
    assert (other.graph_key, other.x is graph.x) == (None, True)


def test_a_last_graph_without_nodes_is_refused() -> None:
    nothing = Data(x=X[:0], edge_index=EDGES[:, :0])
    model = PFGNN(GIN(8, layers=1), 1, in_channels=X.shape[1], particles=2)
    with pytest.raises(ValueError, match=r"^every graph must have a node, but graph 1 of 3 has none$"):
        model(PyGBatch.from_data_list([Data(x=X, edge_index=EDGES), nothing, nothing]))
