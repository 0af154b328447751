"""What X may be: kinds of texts, networkx attributes, edges that go one way, and sentences about all else."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.estimators.samples import GRAPHS, SIZES, regressor
from torch_geometric.data import Batch, Data, HeteroData

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError
from pfgnn.estimators import PFGNNRegressor
from pfgnn.estimators.inputs import as_graphs
from pfgnn.graphs import to_networkx

CHEMISTRY = "needs the extra chem"
NETWORKX = [to_networkx(graph) for graph in GRAPHS]
NODES = Dataset.from_graphs(GRAPHS, np.ones(sum(graph.num_nodes for graph in GRAPHS)), Task("node", 1, "l1", "mae"))


@pytest.mark.filterwarnings("ignore:.*unlike the training data")
def test_texts_are_read_as_in_the_fit(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason=CHEMISTRY)
    texts = ["CF", "CN", "C~", "Bw"] * 10  # not all are SMILES, so they are graph6
    model = regressor(epochs=1).fit(texts, np.arange(40.0))
    wanted = model.predict(texts)[:2]
    np.testing.assert_allclose(model.predict(["CF", "CN"]), wanted, rtol=1e-5)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(PFGNNRegressor.load(tmp_path / "model").predict(["CF", "CN"]), wanted, rtol=1e-5)
    molecules = regressor(epochs=1).fit(["C" * length for length in range(1, 41)], np.arange(40.0))
    assert molecules.predict(["CF", "C~"[:1]]).shape == (2,)
    with pytest.raises(InputError, match="item 0 of graphs cannot be used: smiles 'C~' is not a valid molecule"):
        molecules.predict(["C~"])
    with pytest.raises(InputError, match="because the model was fitted on molecules, but item 0 is a Graph without"):
        molecules.predict([nx.path_graph(3)])
    with pytest.raises(InputError, match="because the model was fitted on molecules, but item 0 is a Graph without"):
        molecules.predict(GRAPHS)


def test_attributes_that_are_not_used_get_a_warning() -> None:
    named = [nx.Graph(graph) for graph in NETWORKX]
    nx.set_node_attributes(named[7], 1.0, "charge")
    nx.set_edge_attributes(named[8], 2.0, "bond")
    nx.set_edge_attributes(named[9], 2.0, "weight")
    with pytest.warns(UserWarning, match="of the networkx graphs are not used") as found:
        model = regressor(epochs=1).fit(named, SIZES)
    said = sorted(str(one.message) for one in found)
    assert len(said) == 2
    assert said[0].startswith("the edge attributes ['bond', 'weight'] of the networkx graphs are not used")
    assert "the node attributes ['charge']" in said[1]
    with pytest.warns(UserWarning, match=r"the node attributes \['charge'\] .*node_attrs="):
        model.predict([named[7]])
    labelled = [nx.Graph(graph) for graph in NETWORKX]
    for graph in labelled:
        nx.set_node_attributes(graph, 1.0, "x0")
    regressor(epochs=1).fit(labelled, SIZES)  # warnings are errors


def test_one_way_edges_get_a_warning() -> None:
    data = Dataset.from_graphs(GRAPHS, SIZES).to_pyg()
    data[3] = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    with pytest.warns(UserWarning, match="graph 3 has an edge without its reverse"):
        regressor(epochs=1).fit(data, SIZES)


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (nx.Graph(), "^item 2 of graphs cannot be used: .*a graph has at least 1 node"),
        (nx.DiGraph([(0, 1)]), "^item 2 of graphs cannot be used: .* but it is directed"),
        (nx.MultiGraph([(0, 1)]), "^item 2 of graphs cannot be used: .* but it is a multigraph"),
        ("CC", "^item 2 of graphs cannot be used: .* but it is a str"),
    ],
)
def test_a_wrong_networkx_graph_is_named(graph: Any, sentence: str) -> None:
    graphs = [*NETWORKX[:2], graph, *NETWORKX[3:]]
    with pytest.raises((InputError, InputTypeError), match=sentence):
        regressor(epochs=1).fit(graphs, SIZES)
    model = regressor(epochs=1).fit(NETWORKX, SIZES)
    with pytest.raises((InputError, InputTypeError), match=sentence):
        model.predict(graphs)


@pytest.mark.parametrize("X", [{"a": 1}, "CCO", 7, GRAPHS[0], NETWORKX[0]])
def test_what_x_may_be(X: Any) -> None:
    with pytest.raises(InputTypeError, match=r"^X must be a list of SMILES, .*, or a Dataset, but it is a "):
        regressor().fit(X, SIZES)


def test_a_dataset_at_node_level() -> None:
    with pytest.raises(InputError, match=r"a regressor is for targets of whole graphs, but the task .* at node level"):
        regressor().fit(NODES)


def test_a_batch_of_pyg_is_the_list_of_its_graphs_and_a_single_graph_is_refused() -> None:
    graphs = [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2 + number) for number in range(3)]
    assert [graph.num_nodes for graph in as_graphs(Batch.from_data_list(graphs))] == [2, 3, 4]
    for single in (graphs[0], HeteroData()):
        with pytest.raises(InputTypeError, match=f"^X must be a list of .*, but it is a {type(single).__name__}$"):
            as_graphs(single)
