"""Relabelled batches: the same graphs, every numbering as likely."""

from collections import Counter

import numpy as np
import pytest
import torch

from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Resident
from pfgnn.data.padding import pad_batch
from pfgnn.data.relabel import relabel
from pfgnn.data.task import Task
from pfgnn.graphs import Graph, is_isomorphic, shrikhande


def labelled(level: str, device: torch.device | str = "cpu") -> GraphBatch:
    """Random directed graphs whose nodes and edges all have features of their own."""
    rng = np.random.default_rng(0)
    node_counts = np.array([5, 1, 8, 2])
    matrices = [rng.random((n, n)) < 0.4 for n in node_counts]
    edges = np.concatenate([np.stack(np.nonzero(matrix)) for matrix in matrices], axis=1)
    N, E = int(node_counts.sum()), edges.shape[1]
    dataset = Dataset.from_arrays(
        "labelled",
        Task(level, 99, "cross_entropy", "accuracy"),
        node_counts=node_counts,
        edge_counts=np.array([matrix.sum() for matrix in matrices]),
        edges=edges,
        x=np.arange(N)[:, None],
        edge_attr=np.arange(E)[:, None],
        pos=np.arange(3 * N, dtype=np.float32).reshape(N, 3),
        y=np.arange(N if level == "node" else len(node_counts))[:, None],
        key=np.array([7, 8, 9, 10]),
    )
    return Resident(dataset, device).collate(range(4))


def edge_set(batch: GraphBatch) -> set[tuple[int, ...]]:
    """Edges as (feature of source, feature of target, feature of the edge)."""
    assert batch.edge_attr is not None
    assert batch.x is not None
    ends = batch.x[batch.edge_index, 0]
    return set(zip(*ends.tolist(), batch.edge_attr[:, 0].tolist(), strict=True))


@pytest.mark.parametrize("level", ["graph", "node"])
def test_features_and_edges_move_with_their_nodes(level: str, device: torch.device) -> None:
    batch = labelled(level, device)
    got, new = relabel(batch, np.random.default_rng(1))
    assert got.x is not None
    assert batch.x is not None
    assert not torch.equal(got.x, batch.x)
    assert torch.equal(got.x[new], batch.x)
    assert edge_set(got) == edge_set(batch)
    old = got.x[:, 0].long()
    assert torch.equal(batch.batch[old], batch.batch)  # nobody leaves his graph
    assert batch.pos is not None
    assert got.pos is not None
    assert torch.equal(got.pos, batch.pos[old])
    y = batch.tensors()["y"]
    assert torch.equal(got.tensors()["y"], y[old] if level == "node" else y)
    for name in ("batch", "graph_key", "num_graphs", "node_level"):
        assert getattr(got, name) is getattr(batch, name)


def test_edges_stay_sorted_by_target_then_source() -> None:
    source, target = relabel(labelled("graph"), np.random.default_rng(1))[0].edge_index
    place = target * 100 + source
    assert (place.diff() > 0).all()


def test_every_numbering_is_as_likely() -> None:
    """6 orders of 3 nodes, 6,000 draws: each count is 1,000 ± 6 · 28.9."""
    dataset = Dataset.from_graphs(
        [Graph(3, np.array([[0, 1]]), x=np.arange(3)[:, None])],
        [0],
        Task("graph", 1, "l1", "mae"),
        node_categories=(3,),
    )
    batch, _ = relabel(Resident(dataset).collate([0] * 6000), np.random.default_rng(0))
    counts = Counter(map(tuple, batch.tensors()["x"].view(-1, 3).tolist()))
    assert len(counts) == 6
    assert all(abs(count - 1000) < 173 for count in counts.values())


def test_it_follows_from_the_generator_whatever_the_batches() -> None:
    dataset = Dataset.from_graphs([shrikhande()], [0])
    whole, _ = relabel(Resident(dataset).collate([0] * 3), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    parts = [relabel(Resident(dataset).collate([0] * count), rng)[0].edge_index for count in (1, 2)]
    parts[1] = parts[1] + 16
    assert torch.equal(whole.edge_index, torch.cat(parts, 1))


def test_a_relabelled_graph_is_isomorphic_and_another() -> None:
    batch = Resident(Dataset.from_graphs([shrikhande()], [0])).collate([0])
    source, target = relabel(batch, np.random.default_rng(0))[0].edge_index.numpy()
    graph = Graph(16, np.stack([source, target], 1)[source < target])
    assert is_isomorphic(graph, shrikhande())
    assert not np.array_equal(graph.edges, shrikhande().edges)


def test_a_batch_with_no_edges_or_with_padding() -> None:
    empty = Resident(Dataset.from_graphs([Graph(3, np.zeros((0, 2), dtype=np.int64))], [0])).collate([0])
    assert relabel(empty, np.random.default_rng(0))[0].edge_index.shape == (2, 0)
    padded = pad_batch(labelled("graph"), 16, 16)
    got, _ = relabel(padded, np.random.default_rng(0))
    real = got.edge_index[:, : labelled("graph").edge_index.shape[1]]
    assert (got.batch[real] < 4).all()
