"""How many marks `fit` chooses."""

import networkx as nx
import numpy as np
import pytest
from tests.experiments.test_fit import chosen

from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.fit_steps import least_steps
from pfgnn.graphs import circulant, disjoint_union, from_networkx

ROOK = from_networkx(nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4))))
STEPS = [(0, 1), (1, 0), (1, 1)]
SHRIKHANDE = from_networkx(
    nx.Graph([(4 * i + j, (i + a) % 4 * 4 + (j + b) % 4) for i in range(4) for j in range(4) for a, b in STEPS])
)
LABELS = Task("graph", 2, "binary_cross_entropy", "roc_auc")
RINGS = [circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))]


def test_strongly_regular_graphs_need_two_marks() -> None:
    pair = Dataset.from_graphs([ROOK, SHRIKHANDE] * 10, np.tile([0, 1], 10))
    assert least_steps(pair) == 2
    assert (chosen(pair).model.steps, chosen(pair).evaluation.draws) == (2, 4)
    assert chosen(pair, "model.steps=1").model.steps == 1


@pytest.mark.parametrize("y", [np.tile([0, 1], 10), np.arange(20.0)], ids=["classes", "copies with other targets"])
def test_one_mark_is_enough_for_rings(y: np.ndarray) -> None:
    assert least_steps(Dataset.from_graphs(RINGS * 10, y)) == 1


def test_copies_of_a_graph_and_equal_targets_need_no_more_marks() -> None:
    assert least_steps(Dataset.from_graphs([ROOK] * 4, np.arange(4.0))) == 1
    assert least_steps(Dataset.from_graphs([ROOK, SHRIKHANDE, RINGS[0]], np.array([0, 0, 1]))) == 1


def test_unknown_targets_of_copies_are_equal() -> None:
    """Only the labels of one graph are known; nothing says that the other one has others."""
    graphs = [ROOK, SHRIKHANDE, RINGS[0]]
    for label, steps in ((0.0, 1), (1.0, 2)):
        y = np.array([[0.0, np.nan], [label, np.nan], [0.0, 1.0]])
        assert least_steps(Dataset.from_graphs(graphs, y, LABELS)) == steps


def test_graphs_that_cannot_be_compared_need_one_mark() -> None:
    pair = Dataset.from_graphs([ROOK, SHRIKHANDE], np.array([0, 1]))
    one_way = pair.to_pyg()
    one_way[0].edge_index = one_way[0].edge_index[:, 1:]
    with pytest.warns(UserWarning, match="an edge without its reverse"):
        assert least_steps(Dataset.from_pyg(one_way)) == 1
    large = [disjoint_union(ROOK, circulant(80, [1])), disjoint_union(SHRIKHANDE, circulant(80, [1]))]
    assert least_steps(Dataset.from_graphs(large, np.array([0, 1]))) == 1
