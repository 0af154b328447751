"""Edges from positions: lengths of edges, and complete graphs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.experiments.build_samples import EDGES, bare, dataset

from pfgnn.data import Dataset, Resident
from pfgnn.experiments import prepare
from pfgnn.experiments.build import adapt, load_data
from pfgnn.experiments.config import DataConfig
from pfgnn.experiments.prepare import completed, with_distances


def test_lengths_of_edges_follow_their_one_hot_kinds(tmp_path: Path) -> None:
    path = str(tmp_path / "six.pfgnn")
    pos = np.random.default_rng(0).normal(size=(21, 3)).astype(np.float32)
    plain = dataset(pos=pos)
    plain.save(path)
    made = load_data(DataConfig(path, positions="distance"), EDGES)
    assert isinstance(made, Dataset)
    assert made.edge_attr is not None
    assert made.edge_attr.dtype == np.float32
    assert (made.edge_channels, made.edge_categories) == (4, None)
    assert plain.edge_attr is not None
    np.testing.assert_array_equal(made.edge_attr[:, :3].argmax(1), plain.edge_attr[:, 0])
    np.testing.assert_array_equal(made.edge_attr[:, :3].sum(1), 1)
    batch = Resident(made).collate(np.arange(len(made)))
    assert batch.pos is not None
    assert batch.edge_attr is not None
    source, target = batch.edge_index
    torch.testing.assert_close(batch.edge_attr[:, 3], (batch.pos[source] - batch.pos[target]).norm(dim=1))


def test_lengths_of_edges_alone_and_after_numbers() -> None:
    pos = np.ones((21, 3))
    assert with_distances(replace(bare(), pos=pos)).edge_channels == 1
    numbers = with_distances(dataset(pos=pos, edge_categories=None))
    assert numbers.edge_attr is not None
    np.testing.assert_array_equal(numbers.edge_attr[:4], [[0, 0], [1, 0], [2, 0], [0, 0]])


@pytest.mark.parametrize("positions", ["distance", "complete"])
def test_lengths_need_positions(positions: Any) -> None:
    with pytest.raises(ValueError, match=r"data\.positions must be none for six, whose nodes have no positions"):
        adapt(dataset(), DataConfig("six", positions=positions), EDGES)


def test_complete_graphs_keep_the_edges_and_their_features() -> None:
    pos = np.random.default_rng(0).normal(size=(21, 3)).astype(np.float32)
    plain = dataset(pos=pos)
    made = adapt(plain, DataConfig("six", positions="complete", ring_walks=4), EDGES)
    assert made.edge_counts.tolist() == [6, 12] * 3
    assert made.edge_attr is not None
    assert plain.edge_attr is not None
    pairs = list(zip(*made.edges.tolist(), strict=True))
    assert pairs[:6] == [(1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2)]  # sorted by target
    kinds = dict(zip(pairs[6:18], made.edge_attr[6:18, :3].tolist(), strict=True))
    star = zip(*plain.edges[:, 4:10].tolist(), strict=True)
    known = {pair: np.eye(3)[kind].tolist() for pair, [kind] in zip(star, plain.edge_attr[4:10], strict=True)}
    assert kinds == {pair: known.get(pair, [0, 0, 0]) for pair in pairs[6:18]}
    lengths = [np.linalg.norm(pos[3 + u] - pos[3 + v]) for u, v in pairs[6:18]]
    np.testing.assert_allclose(made.edge_attr[6:18, 3], lengths, rtol=1e-6)
    # Encodings see the edges that were given: a path and a star have no rings.
    assert made.x is not None
    assert not made.x[:, -2:].any()


def test_complete_graphs_without_features_and_with_unusual_edges() -> None:
    """A loop and a double edge stay, and no loop is added."""
    edges = np.array([[0, 1, 1, 0], [0, 0, 0, 1]])
    odd = replace(
        dataset().subset([0, 1]),
        node_counts=np.array([2, 1]),
        edge_counts=np.array([4, 0]),
        edges=edges,
        edge_attr=None,
        edge_categories=None,
        x=None,
    )
    assert completed(odd).edges.tolist() == edges.tolist()
    none = replace(odd, edge_counts=np.array([0, 0]), edges=edges[:, :0])
    assert completed(none).edges.tolist() == [[1, 0], [0, 1]]


def test_too_many_pairs_for_complete_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "MOST_PAIRS", 50)
    with pytest.raises(ValueError, match=r"complete is for at most 50 pairs of nodes, but six has 75; take data\.pos"):
        completed(dataset())


def test_positions_that_are_ignored_are_not_in_the_batches() -> None:
    pos = np.ones((21, 3))
    assert adapt(dataset(pos=pos), DataConfig("six"), EDGES).pos is None
    assert adapt(dataset(pos=pos), DataConfig("six", positions="distance"), EDGES).pos is not None
