"""A module of the user's own as the backbone of an estimator."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from tests.estimators.samples import GRAPHS, KINDS, SIZES, classifier, regressor
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GraphConv

from pfgnn import GIN
from pfgnn.errors import InputError, InputTypeError
from pfgnn.estimators import PFGNNRegressor
from pfgnn.experiments.config_file import read_config


def own(width: int = 16) -> GraphConv:
    return GraphConv(width, width)


def test_a_module_is_a_backbone(tmp_path: Path) -> None:
    backbone = own()
    before = [parameter.clone() for parameter in backbone.parameters()]
    model = regressor(backbone=backbone).fit(GRAPHS, SIZES)
    assert model.score(GRAPHS, SIZES) > 0.5
    assert model.get_params()["backbone"] is backbone
    assert all(map(torch.equal, before, backbone.parameters()))  # it was copied
    wanted = model.predict(GRAPHS)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(GRAPHS), wanted)
    with pytest.warns(UserWarning, match=r"code of the backbone is not saved; load\(folder, backbone=.* a GraphConv"):
        model.save(tmp_path / "model")
    assert read_config(tmp_path / "model" / "config.yaml").model.exchange == "none"
    loaded = PFGNNRegressor.load(tmp_path / "model", backbone=own())
    np.testing.assert_array_equal(loaded.predict(GRAPHS), wanted)
    with pytest.raises(InputError, match=r"its own backbone, but none is given: load\(folder, backbone=MODULE\)"):
        PFGNNRegressor.load(tmp_path / "model")
    with pytest.raises(InputError, match="does not fit the model"):
        PFGNNRegressor.load(tmp_path / "model", backbone=GIN(16, layers=1))


def test_it_is_cloned_and_classifies() -> None:
    model = clone(classifier(epochs=1, backbone=own()))
    assert isinstance(model.backbone, GraphConv)
    assert model.fit(GRAPHS, KINDS).predict(GRAPHS).shape == KINDS.shape


def test_a_shipped_module_still_exchanges(tmp_path: Path) -> None:
    model = regressor(epochs=1, backbone=GIN(16, layers=1)).fit(GRAPHS, SIZES)
    assert model.record_["config"]["model"]["exchange"] == "mark"


def test_wrong_modules_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputTypeError, match=r"backbone must be a torch module .* it is the class GraphConv; make an"):
        regressor(backbone=GraphConv).fit(GRAPHS, SIZES)
    with pytest.raises(InputError, match="the backbone GraphConv must work with forward"):
        regressor(backbone=own(8)).fit(GRAPHS, SIZES)
    regressor(epochs=1).fit(GRAPHS, SIZES).save(tmp_path / "model")
    weights = tmp_path / "model" / "best.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(InputError, match=f"^{weights} must be a whole checkpoint"):
        PFGNNRegressor.load(tmp_path / "model")
    with pytest.raises(InputError, match=r"backbone must be None, because .* has a backbone of pfgnn"):
        PFGNNRegressor.load(tmp_path / "model", backbone=own())


def test_features_of_edges_that_no_layer_reads_get_a_warning() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(edge_index=edge_index, edge_attr=torch.rand(2, 1), num_nodes=2) for _ in range(30)]
    y = np.arange(30.0)
    with pytest.warns(UserWarning, match="^the features of edges were not used, because .* them, but gine does; "):
        regressor(epochs=1, backbone="gin").fit(graphs, y)
    with pytest.warns(UserWarning, match="because the backbone does not read them; settings="):
        regressor(epochs=1, backbone=GCNConv(16, 16)).fit(graphs, y)
    meant = {"model.step_layers": 2, "data.edge_features": False}
    for fine in (regressor(epochs=1), regressor(epochs=1, backbone="gin", settings=meant)):
        fine.fit(graphs, y)  # warnings are errors
