"""Graphs in space, given as PyG Data with positions, and features that encodings turn into other columns."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.estimators.samples import regressor
from tests.graph_samples import circulant_edges
from torch_geometric.data import Data

from pfgnn import explain_graph, load_run
from pfgnn.errors import InputError
from pfgnn.estimators import PFGNNRegressor


def rings(count: int, positions: bool = True) -> list[Data]:
    """Rings of five to seven atoms of four kinds, whose bonds have three kinds, at random places."""
    made, random = [], torch.Generator().manual_seed(0)
    for number in range(count):
        n = 5 + number % 3
        edges = circulant_edges(n, 1)
        own = {"pos": torch.randn(n, 3, generator=random)} if positions else {}
        kinds = torch.randint(4, (n, 1), generator=random)
        made.append(Data(x=kinds, edge_index=edges, edge_attr=torch.arange(2 * n)[:, None] % 3, **own))
    return made


def radii(graphs: list[Data]) -> np.ndarray:
    """The mean distance of the nodes from their centre."""
    return np.array([float((graph.pos - graph.pos.mean(0)).norm(dim=1).mean()) for graph in graphs])


@pytest.mark.slow
def test_positions_are_read_without_a_setting() -> None:
    """The control is the same fit without the positions."""
    graphs = rings(240)
    train, test = graphs[:180], graphs[180:]
    scores = {}
    for positions in ("distance", "none"):
        mark = "position" if positions == "distance" else "distance"
        settings = {} if positions == "distance" else {"data.positions": "none", "model.individualise": mark}
        model = PFGNNRegressor(width=32, epochs=40, device="cpu", random_state=0, settings=settings)
        model.fit(train, radii(train))
        scores[positions] = model.score(test, radii(test))
    assert scores["distance"] > 0.6
    assert scores["none"] < 0.3


@pytest.mark.parametrize(
    "settings", [{}, {"data.ring_walks": 6}, {"data.positions": "none", "model.individualise": "distance"}]
)
def test_categories_are_those_of_the_fit(settings: dict[str, Any], tmp_path: Any) -> None:
    """With lengths and encodings, categories are stored as other columns. New graphs still have them as they were."""
    graphs = rings(40)
    settings = {"model.step_layers": 1, **settings}
    model = regressor(epochs=1, settings=settings).fit(graphs, radii(graphs))
    found = model.predict(graphs[:3])
    assert np.isfinite(found).all()
    moved = [graph.clone() for graph in graphs[:3]]
    for graph in moved:
        graph.pos = graph.pos.flip(1) + 4
    np.testing.assert_allclose(model.predict(moved), found, rtol=1e-4)
    model.save(tmp_path / "model")
    run = load_run(tmp_path / "model", "cpu")
    np.testing.assert_allclose(run.predict(graphs[:3], draws=2).mean[:, 0], found, rtol=1e-4)
    assert explain_graph(run, graphs[0], draws=2).vertices.mean.isfinite().all()


def test_graphs_without_the_positions_of_the_fit() -> None:
    model = regressor(epochs=1, settings={"model.step_layers": 1}).fit(rings(40), radii(rings(40)))
    with pytest.raises(InputError, match="graphs must have positions of nodes, as the training graphs had, but they"):
        model.predict(rings(2, positions=False))
