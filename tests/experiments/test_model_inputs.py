"""A model can be built again where its data are not."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.run_samples import NODES, TARGETS
from tests.training.training_samples import CLASSES, graphs

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.model_inputs import Inputs, describe
from pfgnn.graphs import Graph

RATIO = Task("graph", 2, "l1", "error_ratio", ("a", "b"), (0.5, 0.1))


@pytest.mark.parametrize("task", [CLASSES, NODES, TARGETS, RATIO])
@pytest.mark.parametrize(("nodes", "edges"), [(0, None), (3, 2), ((5, 2), (4,))])
def test_inputs_come_back_from_json(
    task: Task, nodes: int | tuple[int, ...], edges: int | tuple[int, ...] | None
) -> None:
    inputs = Inputs("some", task, nodes, edges, 1.25, 7.5)
    values = inputs.to_json()
    assert json.loads(json.dumps(values)) == values  # also where it is compared with what a file says
    assert Inputs.from_json(values) == inputs


def test_a_dataset_is_described_by_its_training_part() -> None:
    star, path = Graph(4, np.array([[0, 1], [0, 2], [0, 3]])), Graph(3, np.array([[0, 1], [1, 2]]))
    made = Dataset.from_graphs([path, star], [0, 1], name="two")
    assert replace(describe(made, np.array([1])), mean_log_degree=0) == Inputs("two", made.task, 0, None, 0, 4)
    assert describe(made, np.array([1])).mean_log_degree == pytest.approx(_mean([3, 1, 1, 1]))
    assert describe(made, np.array([0])).mean_log_degree == pytest.approx(_mean([1, 2, 1]))
    both = describe(made, np.array([1, 0])).mean_log_degree
    assert both == pytest.approx(_mean([3, 1, 1, 1, 1, 2, 1]))


def _mean(degrees: list[int]) -> float:
    return sum(math.log(degree + 1) for degree in degrees) / len(degrees)


def test_features_are_described_as_a_model_takes_them() -> None:
    made = graphs(4)
    N, E = int(made.node_counts.sum()), int(made.edge_counts.sum())
    coloured = replace(made, x=np.zeros((N, 2), dtype=np.int64), node_categories=(5, 3))
    found = describe(replace(coloured, edge_attr=np.zeros((E, 3), dtype=np.float32)), np.arange(4))
    assert (found.in_channels, found.edge_channels) == ((5, 3), 3)
