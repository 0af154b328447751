"""Importances: by their definition, with their noise, and on graphs whose answer is known."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from tests.experiments.motif_samples import plant, train_on_motifs
from tests.experiments.run_samples import NODES, TARGETS, packed, small

from pfgnn.data import Dataset
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.explain import Explanation, explain_graph
from pfgnn.experiments.predict import TrainedRun, load_run
from pfgnn.experiments.removals import Removal, remove_parts, undirected_edges
from pfgnn.experiments.run import run
from pfgnn.graphs import Graph
from pfgnn.graphs.graph import induced_subgraph

HOUSE = Graph.from_edges(6, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 5)])
ALONE = ModelConfig(width=8, layers=2, steps=0)
DRAWN = ModelConfig(width=8, layers=1, steps=1, particles=2)


def trained(folder: Path, task: object = TARGETS, model: ModelConfig = DRAWN, **data: object) -> TrainedRun:
    config = small(packed(folder, task), {"epochs": 1, "standardise": task is TARGETS}, model=model)  # type: ignore[arg-type]
    run(replace(config, data=replace(config.data, **data)), folder / "run", device="cpu")  # type: ignore[arg-type]
    return load_run(folder / "run", "cpu")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    return trained(tmp_path_factory.mktemp("drawn"))


def without_vertex(graph: Graph, vertex: int) -> Graph:
    return induced_subgraph(graph, np.delete(np.arange(graph.num_nodes), vertex))


def without_edge(graph: Graph, number: int) -> Graph:
    return Graph(graph.num_nodes, np.delete(graph.edges, number, axis=0))


@pytest.mark.parametrize("encodings", [{}, {"random_walks": 3, "ring_walks": 4}], ids=["plain", "encoded"])
def test_importance_is_what_the_prediction_loses(tmp_path: Path, encodings: dict[str, int]) -> None:
    """The backbone alone draws nothing, so that predictions of smaller graphs can be compared."""
    model = trained(tmp_path, model=ALONE, **encodings)
    found = explain_graph(model, HOUSE, draws=2)
    smaller = [without_vertex(HOUSE, v) for v in range(6)] + [without_edge(HOUSE, e) for e in range(7)]
    whole, *parts = model.predict([HOUSE, *smaller], draws=1).mean
    expected = torch.stack([whole - part for part in parts])
    assert found.ends.tolist() == sorted(HOUSE.edges.tolist())
    torch.testing.assert_close(found.prediction, whole, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(
        torch.cat([found.vertices.mean, found.edges.mean]), expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max())
    )
    assert found.vertices.mean.abs().max() > 1e-3
    assert found.names == ["predicted a", "predicted b", "predicted c"]


def test_with_all_paths_one_draw_is_exact(drawn: TrainedRun) -> None:
    found = explain_graph(drawn, HOUSE, draws=5, particles=9)
    assert found.exact
    assert not any(bool(error.any()) for error in (found.error, found.vertices.error, found.edges.error))
    many = drawn.predict([HOUSE], draws=2, particles=9)
    torch.testing.assert_close(found.prediction, many.mean[0], rtol=1e-5, atol=1e-6)
    assert not explain_graph(drawn, HOUSE, draws=2, particles=5).exact


def test_what_is_no_run_is_told() -> None:
    nothing: Any = None
    with pytest.raises(InputTypeError, match="run must be what load_run returns, but it is None"):
        explain_graph(nothing, HOUSE)


def test_the_prediction_is_that_of_predict(drawn: TrainedRun) -> None:
    found = explain_graph(drawn, HOUSE, draws=5, particles=3, seed=7)
    same = drawn.predict([HOUSE], draws=5, particles=3, seed=7)
    torch.testing.assert_close(found.prediction, same.mean[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.error, same.error[0], rtol=1e-3, atol=1e-6)
    assert (found.error > 0).all()


def test_the_same_random_numbers_make_differences_precise(tmp_path: Path) -> None:
    """Control: predictions of the smaller graphs that draw on their own."""
    model = trained(tmp_path, model=replace(DRAWN, sampling="independent"))
    graph = Graph.from_edges(20, list(nx.random_regular_graph(3, 20, seed=1).edges))
    paired = explain_graph(model, graph, draws=8).vertices.error
    with pytest.warns(UserWarning, match="larger than all training graphs"):
        apart = model.predict([graph, *(without_vertex(graph, v) for v in range(20))], draws=8).error
    unpaired = (apart[:1].square() + apart[1:].square()).sqrt()
    assert paired.mean() < 0.8 * unpaired.mean()


def test_each_vertex_keeps_its_random_numbers(drawn: TrainedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those behind a vertex that is removed, whose positions change."""
    seen: list[tuple[GraphBatch, int]] = []

    def forward(batch: GraphBatch, seed: int, pad: object) -> torch.Tensor:
        seen.append((batch, seed))
        return torch.zeros(batch.num_graphs, 3)

    monkeypatch.setattr(drawn, "forward", lambda particles: forward)
    explain_graph(drawn, HOUSE, draws=2)
    (whole, first), (_, second), *copies = seen
    assert whole.node_key is not None
    assert whole.graph_key is not None
    assert whole.node_key.tolist() == list(range(6))
    assert second == first + 1
    without = [[w for w in range(6) if w != v] for v in range(6)] + [list(range(6))] * 7
    assert [seed for _, seed in copies] == [first, second] * (len(copies) // 2)
    keys = []
    for batch, seed in copies:
        assert batch.node_key is not None
        assert batch.graph_key is not None
        assert set(batch.graph_key.tolist()) == {int(whole.graph_key)}
        if seed == first:
            keys += [batch.node_key[batch.batch == graph].tolist() for graph in range(batch.num_graphs)]
    assert keys == without


def test_importances_move_with_the_vertices(tmp_path: Path, seed: int) -> None:
    """With K = n distinct particles, each vertex is marked once, and nothing is left to chance."""
    model = trained(tmp_path)
    names = np.random.default_rng(seed).permutation(6)
    found, moved = (explain_graph(model, graph, 2, particles=6) for graph in (HOUSE, HOUSE.relabel(names)))
    size = float(found.vertices.mean.abs().max())
    torch.testing.assert_close(moved.vertices.mean[names], found.vertices.mean, rtol=1e-3, atol=1e-3 * size)
    edges = {tuple(ends): importance for ends, importance in zip(moved.ends.tolist(), moved.edges.mean, strict=True)}
    for ends, importance in zip(found.ends, found.edges.mean, strict=True):
        there = edges[tuple(sorted(names[ends].tolist()))]
        torch.testing.assert_close(there, importance, rtol=1e-3, atol=1e-3 * size)


def hits(model: TrainedRun, count: int = 12) -> float:
    """The share of new graphs in which the three most important vertices are the planted ones."""
    rng = np.random.default_rng(1)
    right = 0
    for _ in range(count):
        graph, planted = plant(rng, motif=True)
        importance = explain_graph(model, graph, draws=4).vertices.mean[:, 0]
        right += set(importance.abs().topk(3).indices.tolist()) == set(planted)
    return right / count


@pytest.mark.slow
def test_a_trained_model_ranks_a_planted_motif_first_and_an_untrained_one_does_not(tmp_path: Path) -> None:
    assert hits(train_on_motifs(tmp_path / "trained", epochs=15, learning_rate=3e-3)) >= 0.8
    assert hits(train_on_motifs(tmp_path / "untrained", epochs=1, learning_rate=1e-12)) <= 0.3


def test_a_vertex_is_explained_at_node_level(tmp_path: Path) -> None:
    model = trained(tmp_path, NODES, ALONE)
    found = explain_graph(model, HOUSE, draws=2, node=3)
    whole = model.predict([HOUSE], draws=1).mean[3]
    torch.testing.assert_close(found.prediction, whole, rtol=1e-5, atol=1e-6)
    part = model.predict([without_vertex(HOUSE, 1)], draws=1).mean[2]  # vertex 3 without vertex 1
    torch.testing.assert_close(found.vertices.mean[1], whole - part, rtol=1e-3, atol=1e-5)
    assert found.vertices.mean[3].isnan().all()  # it cannot be removed
    assert found.vertices.mean[[0, 1, 2, 4, 5]].isfinite().all()
    for node, sentence in ((None, "node must be given for a run at node level"), (6, "node must be at most 5")):
        with pytest.raises(InputError, match=sentence):
            explain_graph(model, HOUSE, draws=2, node=node)


def test_a_graph_of_one_vertex_and_one_without_edges(drawn: TrainedRun) -> None:
    one = explain_graph(drawn, Graph.from_edges(1, []), draws=2)
    assert one.vertices.mean.shape == (1, 3)
    assert one.vertices.mean.isnan().all()
    assert one.edges.mean.shape == (0, 3)
    assert one.ends.shape == (0, 2)
    two = explain_graph(drawn, Graph.from_edges(2, []), draws=2)
    assert two.vertices.mean.isfinite().all()


def test_many_parts_are_predicted_in_batches_with_the_same_numbers(
    drawn: TrainedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explained() -> tuple[Explanation, list[tuple[int, int]]]:
        told: list[tuple[int, int]] = []
        found = explain_graph(drawn, HOUSE, draws=3, progress=lambda done, count: told.append((done, count)))
        return found, told

    together, _ = explained()
    monkeypatch.setattr("pfgnn.experiments.explain.MOST_ROWS", 1)
    apart, told = explained()
    torch.testing.assert_close(together.vertices.mean, apart.vertices.mean, rtol=1e-3, atol=1e-3)
    assert len(told) == 3 * 14
    assert told[-1] == (42, 42)


def test_wrong_arguments_are_named(drawn: TrainedRun) -> None:
    with pytest.raises(InputError, match="node must be given for a run at node level only"):
        explain_graph(drawn, HOUSE, node=1)
    with pytest.raises(InputError, match="draws must be at least 2"):
        explain_graph(drawn, HOUSE, draws=1)


def test_parts_are_removed_with_their_features(drawn: TrainedRun) -> None:
    """Of a directed graph too: an edge goes in all its directions."""
    graph = Dataset.from_arrays(
        "one",
        TARGETS,
        node_counts=np.array([4]),
        edge_counts=np.array([5]),
        edges=np.array([[0, 1, 1, 2, 3], [1, 0, 2, 3, 3]]),
        x=np.arange(4)[:, None],
        edge_attr=np.arange(5)[:, None],
        y=np.zeros((1, 3)),
        key=np.array([9]),
    )
    needs = drawn.needs._replace(reads_edges=True)
    assert undirected_edges(graph).tolist() == [[0, 1], [1, 2], [2, 3], [3, 3]]
    parts = [Removal(), Removal(vertex=1), Removal(edge=(0, 1)), Removal(edge=(3, 3))]
    made, vertices = remove_parts(graph, parts, needs)
    assert made.node_counts.tolist() == [4, 3, 4, 4]
    assert made.edge_counts.tolist() == [5, 2, 3, 4]
    assert vertices.tolist() == [0, 1, 2, 3, 0, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]
    assert made.x is not None
    assert made.x[:, 0].tolist() == vertices.tolist()
    of_vertex = made.subset([1])
    assert of_vertex.edges.tolist() == [[1, 2], [2, 2]]  # 2 → 3 and the loop at 3
    assert of_vertex.edge_attr is not None
    assert graph.edge_attr is not None
    assert of_vertex.edge_attr[:, 0].tolist() == [3, 4]
    assert made.key is not None
    assert made.key.tolist() == [9, 9, 9, 9]
