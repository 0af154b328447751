"""A finished run in Python: `load_run(RUN).predict(graphs)`."""

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.experiments.prediction_samples import predict_run
from tests.experiments.run_samples import NODES, TARGETS, packed, small
from tests.training.training_samples import CLASSES, graphs

import pfgnn
from pfgnn import Graph
from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.predict import TrainedRun, load_run
from pfgnn.experiments.run import run
from pfgnn.graphs import to_graph6, to_networkx, to_pyg

MODEL = ModelConfig(backbone="gine", width=8, layers=1, steps=1, particles=2)
LABELLED = [
    Graph.from_edges(3, [(0, 1), (1, 2)], np.array([[0, 2], [1, 0], [0, 1]]), np.array([[1], [0]])),
    Graph.from_edges(2, [(0, 1)], np.array([[1, 1], [0, 0]]), np.array([[2]])),
]
PARTS = {part: np.array([0, 1]) for part in ("train", "validation", "test")}


def finished(folder: Path, data: Path, **changes: object) -> TrainedRun:
    standardise = {"standardise": True} if "l1" in data.name else {}
    run(small(data, {"epochs": 1, **standardise}, **changes), folder / "run", device="cpu")
    return load_run(folder / "run", "cpu")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    """A run on graphs without features."""
    folder = tmp_path_factory.mktemp("plain")
    return finished(folder, packed(folder, CLASSES))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    """A run on graphs with categories at nodes and edges."""
    folder = tmp_path_factory.mktemp("labelled")
    task = Task("graph", 1, "l1", "mae")
    dataset = Dataset.from_graphs(
        LABELLED, [1.0, 2.0], task, splits=PARTS, node_categories=(2, 3), edge_categories=(3,)
    )
    dataset.save(folder / "labelled.pfgnn")
    return finished(folder, folder / "labelled.pfgnn", model=MODEL)


def test_every_kind_of_graph_has_the_same_prediction(plain: TrainedRun, labelled: TrainedRun) -> None:
    made = graphs(5)
    for trained, given in ((plain, [made.graph(number) for number in range(5)]), (labelled, LABELLED)):
        want = trained.predict(given, draws=3)
        for other in ([to_networkx(graph) for graph in given], [to_pyg(graph) for graph in given]):
            found = trained.predict(other, draws=3)
            assert torch.equal(found.mean, want.mean)
            assert torch.equal(found.error, want.error)


def test_a_list_has_the_predictions_of_the_file(plain: TrainedRun, tmp_path: Path) -> None:
    given = [graphs(5).graph(number) for number in range(5)]
    (tmp_path / "new.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in given))
    [of_file] = plain.predict_file(tmp_path / "new.g6", 4)
    of_list = plain.predict(given, draws=4)
    assert torch.equal(of_list.mean, of_file.mean)
    assert torch.equal(of_list.error, of_file.error)
    assert of_list.names == ["probability of class 0", "probability of class 1"]
    assert of_list.where.tolist() == [[number] for number in range(5)]
    of_list.write(tmp_path / "out.csv")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 6


def test_draws_particles_and_seed(plain: TrainedRun) -> None:
    given = [graphs(1).graph(0)]
    once = plain.predict(given, draws=1)
    assert once.error.isnan().all()
    torch.testing.assert_close(once.mean.sum(1), torch.ones(1, dtype=torch.float64))
    assert torch.equal(plain.predict(given, draws=1, seed=0).mean, once.mean)  # the seed of the run
    assert not torch.equal(plain.predict(given, draws=1, seed=1).mean, once.mean)
    assert torch.equal(plain.predict(given, draws=1, particles=2).mean, once.mean)  # the K of the run
    assert not torch.equal(plain.predict(given, draws=1, particles=1).mean, once.mean)


def test_nodes_and_targets(tmp_path: Path) -> None:
    for task in (NODES, TARGETS):
        folder = tmp_path / task.level
        folder.mkdir()
        data = packed(folder, task)
        trained = finished(folder, data)
        found = trained.predict(list(Dataset.open(data)), draws=2)
        want = predict_run(folder / "run", data, draws=2)
        assert torch.equal(found.mean, want.mean)
        assert torch.equal(found.where, want.where)
    assert ((found.mean > 70) & (found.mean < 130)).all()  # the units of the targets


def test_smiles(tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    smiles = ["CCO", "c1ccccc1"]
    Dataset.from_smiles(smiles, [1.0, 2.0], "zinc", splits=PARTS).save(tmp_path / "molecules.pfgnn")
    trained = finished(tmp_path, tmp_path / "molecules.pfgnn", model=MODEL)
    found = trained.predict(smiles, draws=2)
    assert torch.equal(found.mean, trained.predict(list(Dataset.open(tmp_path / "molecules.pfgnn")), draws=2).mean)
    for wrong, sentence in {
        "C(C": r"^item 1 of graphs cannot be used: smiles 'C\(C' is not a valid molecule$",
        "C[Si]": r"^item 1 of graphs cannot be used: smiles 'C\[Si\]': atom type must be one of .*, but it is Si",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            trained.predict(["C", wrong])


def test_wrong_graphs_get_one_sentence(plain: TrainedRun, labelled: TrainedRun) -> None:
    numbers: Any = [1]
    with pytest.raises(ValueError, match=r"^graphs must hold at least one graph, but it is empty$"):
        plain.predict([])
    with pytest.raises(TypeError, match=r"^graphs must be a sequence, such as a list, but it is a str$"):
        plain.predict("CCO")
    with pytest.raises(TypeError, match=r"^graphs must hold SMILES, graph6, Graphs, networkx .*, but item 0 is a int$"):
        plain.predict(numbers)
    with pytest.raises(TypeError, match=r"^graphs must hold objects of type Graph, but item 1 is a str$"):
        plain.predict([LABELLED[0], "CCO"])
    with pytest.raises(ValueError, match=r"^item 0 of graphs .*; it is read as graph6, because the run was not "):
        plain.predict(["CCO"])
    with pytest.raises(ValueError, match=r"^graphs must have the node features .*, none, but it has 2 numbers$"):
        plain.predict(LABELLED)
    said = r"^graphs must have the node features .*, categories with 2 and 3 values, but it has none$"
    with pytest.raises(ValueError, match=said):
        labelled.predict([graphs(1).graph(0)])
    with pytest.raises(
        ValueError, match=r"^item 0 .*: node 0 must have the attribute 'x0', like all others, but it has none$"
    ):
        labelled.predict([nx.path_graph(2)])
    outside = Graph.from_edges(2, [(0, 1)], np.array([[1, 1], [0, 9]]), np.array([[2]]))
    with pytest.raises(ValueError, match=r"^x column 1 must lie in 0..2, but graph 1 has 9 there$"):
        labelled.predict([LABELLED[0], outside])
    with pytest.raises(ValueError, match=r"^draws must be at least 1, but it is 0$"):
        plain.predict(LABELLED, draws=0)
    with pytest.raises(ValueError, match=r"^particles must be at least 1, but it is 0$"):
        plain.predict(LABELLED, particles=0)
    with pytest.raises(ValueError, match=r"^seed must be at least 0, but it is -1$"):
        plain.predict([graphs(1).graph(0)], seed=-1)


def test_it_is_found_at_the_top(tmp_path: Path) -> None:
    with pytest.raises(pfgnn.PFGNNError, match="must hold a finished run, but no run is there"):
        pfgnn.load_run(tmp_path)
