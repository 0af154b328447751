"""Which new graphs are unlike all training graphs, by their categories and their size."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.experiments.run_samples import NODES, packed, small
from tests.training.training_samples import graphs

from pfgnn import load_run
from pfgnn.data import Dataset
from pfgnn.data.molecules import from_smiles
from pfgnn.experiments.intervals import Outside
from pfgnn.experiments.prediction_table import Predictions
from pfgnn.experiments.run import run
from pfgnn.experiments.seen import Seen, seen_values
from pfgnn.graphs import Graph


def paths(*colours: list[int], bond: int = 0) -> Dataset:
    """Paths with a colour for each vertex, and the same label at each edge."""
    graphs = [
        Graph(
            len(of),
            np.array([(v, v + 1) for v in range(len(of) - 1)]),
            np.array(of)[:, None],
            np.full((len(of) - 1, 1), bond),
        )
        for of in colours
    ]
    return Dataset.from_graphs(graphs, np.zeros(len(graphs)), node_categories=(9,), edge_categories=(5,))


def test_categories_of_any_graphs() -> None:
    known = paths([0, 1, 2], [2, 3])
    assert known.x is not None
    rows = np.arange(3)  # the vertices of the first graph
    assert seen_values(known.x, known.node_categories, rows) == [[0, 1, 2]]
    assert seen_values(known.x, None, rows) == seen_values(None, (9,), rows) == []
    seen = Seen(2, 3, [[0, 1, 2]], [[0]])
    assert seen.outside(paths([0, 1], [2, 7, 7, 8], [3, 4]), None) == [
        "",
        "larger than all training graphs, node feature 0 = 7, node feature 0 = 8",
        "node feature 0 = 3, node feature 0 = 4",
    ]
    assert seen.outside(paths([0, 1], bond=4), None) == ["edge feature 0 = 4"]
    assert Seen(2, 3, [], []).outside(paths([8, 8], [0] * 4), None) == ["", "larger than all training graphs"]
    assert Seen(3, 3, [], []).outside(paths([8, 8], [0] * 3), None) == ["smaller than all training graphs", ""]


def test_molecules_have_names() -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    known = from_smiles(["CCO", "C=C"], [0.0, 1.0])
    assert known.x is not None
    assert known.edge_attr is not None
    seen = Seen(
        1,
        3,
        seen_values(known.x, known.node_categories, np.arange(len(known.x))),
        seen_values(known.edge_attr, known.edge_categories, np.arange(len(known.edge_attr))),
    )
    said = seen.outside(from_smiles(["OCC", "CCBr", "C#C", "*C", "CCCC"], [0.0] * 5), "ogb")
    assert said[0] == ""
    assert said[1].startswith("element Br, ")
    assert "bond type TRIPLE" in said[2]
    assert said[3].startswith("unknown element")
    assert said[4] == "larger than all training molecules"


def test_nodes_have_the_reason_of_their_graph(tmp_path: Path) -> None:
    run(small(packed(tmp_path, NODES), {"epochs": 1}), tmp_path / "run", device="cpu")
    trained = load_run(tmp_path / "run", "cpu")
    assert trained.needs.seen is not None
    near = graphs(1).graph(0)
    far = Graph.from_edges(trained.needs.seen.largest + 1, [(0, 1)])
    with pytest.warns(
        UserWarning, match=r"^1 graph is unlike the training data \(larger than all training graphs: graph 1"
    ):
        found = trained.predict([near, far], draws=2)
    reasons = [""] * near.num_nodes + ["larger than all training graphs"] * far.num_nodes
    assert found.outside == reasons


def test_each_reason_is_told_once() -> None:
    outside = Outside()
    assert outside.say() == ""
    for first, reasons in ((0, ["", "too large, element U", "element U"]), (3, ["element U, too large", "odd"])):
        where = torch.arange(first, first + len(reasons))[:, None]
        zeros = torch.zeros(len(reasons), 1)
        outside.add(Predictions(zeros, zeros, ["y"], where, outside=reasons))
    assert outside.say().startswith(
        "4 graphs are unlike the training data (element U: 3 graphs, such as graph 1; too large: 2 graphs, such as "
        "graph 1; odd: graph 4), so"
    )
