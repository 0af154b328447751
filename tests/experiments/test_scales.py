"""Scales of features: a model does not depend on their unit."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.estimators.samples import regressor
from torch_geometric.data import Data

from pfgnn.data.dataset import Dataset
from pfgnn.errors import InputError
from pfgnn.experiments.config import DataConfig
from pfgnn.experiments.prepare import column_scales, prepare

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
TORCH = torch.Generator().manual_seed(0)
GRAPHS = [
    Data(x=torch.rand(3, 2, generator=TORCH), edge_index=EDGES, edge_attr=torch.rand(4, 1, generator=TORCH))
    for _ in range(40)
]
Y = np.array([float(graph.x.sum()) for graph in GRAPHS])


def test_scales_of_columns() -> None:
    values = np.array([[1.0, 0, 7, 3e9], [3.0, 1, 7, 1e9]])
    assert column_scales(values, None) == ((2, 1), (0, 1), (7, 1), (2e9, 1e9))
    assert column_scales(values[:, 1:2], None) == ()  # all columns hold 0 and 1
    assert column_scales(values.astype(np.int64), (4, 2, 8, 9)) == column_scales(None, None) == ()


def test_features_are_scaled_and_a_wrong_scale_is_refused() -> None:
    dataset = Dataset.from_pyg(GRAPHS, y=Y)
    config = DataConfig("rings", node_scales=column_scales(dataset.x, None), edge_scales=((0, 2),))
    made = prepare(dataset, config, reads_edges=True, cached=False)
    assert made.x is not None
    assert made.edge_attr is not None
    assert dataset.edge_attr is not None
    np.testing.assert_allclose((made.x.mean(0), made.x.std(0)), ([0, 0], [1, 1]), atol=1e-5)
    np.testing.assert_array_equal(made.edge_attr, dataset.edge_attr / 2)
    with pytest.raises(InputError, match=r"^data.edge_scales must hold .* deviation above 0 .* has \[0, 0\]$"):
        prepare(dataset, replace(config, edge_scales=((0, 0),)), reads_edges=True, cached=False)


@pytest.mark.parametrize(("unit", "zero"), [(0.001, 0.0), (1000.0, 0.0), (1.0, 100.0)])
def test_predictions_do_not_depend_on_the_unit(unit: float, zero: float) -> None:
    others = [
        Data(x=unit * graph.x + zero, edge_index=EDGES, edge_attr=unit * graph.edge_attr + zero) for graph in GRAPHS
    ]
    wanted = regressor(epochs=2).fit(GRAPHS, Y).predict(GRAPHS)
    np.testing.assert_allclose(regressor(epochs=2).fit(others, Y).predict(others), wanted, rtol=0.02)
