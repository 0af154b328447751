"""Encodings by walks: against the formula, under relabelling, in the cache, and in a whole run."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.data.encoding_samples import CASES, Edges, dataset, features
from tests.experiments.prediction_samples import predict_run
from tests.experiments.run_samples import packed, small
from tests.graph_samples import undirected
from tests.training.training_samples import graphs

from pfgnn.data import Dataset, encodings, load
from pfgnn.data.arrays import Array
from pfgnn.data.encodings import encode_nodes, random_walks, walk_returns
from pfgnn.data.load import cache_folder
from pfgnn.data.packed import write_packed
from pfgnn.experiments.finished_run import load_weights
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import read_record
from pfgnn.graphs import random_graph, to_graph6
from pfgnn.graphs.strongly_regular import sr25


def direct(n: int, edges: Edges, length: int) -> Array:
    """diag((D^-1 A)^k) for k = 1..length, by its formula, [n, length]."""
    A = np.zeros((n, n))
    for i, j in edges:
        A[i, j] += 1
    P = A / np.maximum(A.sum(1, keepdims=True), 1)
    return np.stack([np.diag(np.linalg.matrix_power(P, k)) for k in range(1, length + 1)], axis=1)


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def kept() -> Path:
    """The only file of the cache."""
    (found,) = (cache_folder() / "encodings").iterdir()
    return found


@pytest.mark.parametrize("case", CASES)
def test_small_graphs_by_the_formula(case: str) -> None:
    found = features(random_walks(dataset([CASES[case]]), 20))
    np.testing.assert_allclose(found, direct(*CASES[case], 20), rtol=1e-6, atol=1e-12)


def test_known_numbers() -> None:
    found = features(random_walks(dataset([CASES["path"], CASES["triangle"], CASES["directed"]]), 4))
    assert found[:3].tolist() == [[0, 0.5, 0, 0.5], [0, 1, 0, 1], [0, 0.5, 0, 0.5]]
    assert found[3].tolist() == [0, 0.5, 0.25, 0.375]
    assert found[6:].tolist() == [[0, 0, 0.5, 0]] * 3 + [[0, 0, 0, 0]]


def test_graphs_of_many_sizes_stand_in_their_order() -> None:
    cases = list(CASES.values()) * 2
    found = features(random_walks(dataset(cases), 7))
    want = np.concatenate([direct(*case, 7) for case in cases])
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("cells", [1, 30, 10**6])
def test_batches_do_not_matter(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    want = encode_nodes(graphs(50), walk_returns, 9)
    monkeypatch.setattr(encodings, "CELLS", cells)
    assert np.array_equal(encode_nodes(graphs(50), walk_returns, 9), want)


def test_a_large_graph() -> None:
    made = Dataset.from_graphs([random_graph(600, 1800, np.random.default_rng(0))], [0.5])
    edges = [(int(i), int(j)) for i, j in made.edges.T]
    np.testing.assert_allclose(encode_nodes(made, walk_returns, 5), direct(600, edges, 5), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_rows_of_a_permuted_graph_are_permuted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, edges = 30, [(int(i), int(j)) for i, j in rng.integers(0, 30, (100, 2))]
    new = rng.permutation(n)
    moved = [(int(new[i]), int(new[j])) for i, j in edges]
    one, other = (encode_nodes(dataset([(n, these)]), walk_returns, 20) for these in (edges, moved))
    assert np.array_equal(other[new], one)


def test_rounding_does_not_tell_isomorphic_graphs_apart() -> None:
    """Not even in float64, where sums in another order would differ in their last bits."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 3, (50, 20, 20)).astype(np.float64)
    old = rng.permutation(20)
    assert np.array_equal(walk_returns(A[:, old][:, :, old], 20), walk_returns(A, 20)[:, old])
    plain = A / A.sum(2, keepdims=True)
    np.testing.assert_allclose(walk_returns(A, 2)[..., 1], np.diagonal(plain @ plain, axis1=1, axis2=2), rtol=1e-12)


def test_degrees_may_be_large() -> None:
    """The unit is then coarser, and sums are exact still."""
    A = np.array([[[0, 2.0**40], [1, 2]]])
    np.testing.assert_allclose(walk_returns(A, 3)[0], [[0, 1 / 3, 2 / 9], [2 / 3, 7 / 9, 20 / 27]], atol=1e-2)
    assert (walk_returns(np.zeros((1, 2, 2)), 3) == 0).all()


def test_nodes_that_are_alike_get_the_same_bits() -> None:
    """And so do all nodes of all strongly regular graphs with the same parameters."""
    made = Dataset.from_graphs(sr25(), np.arange(15))
    assert len(np.unique(encode_nodes(made, walk_returns, 20), axis=0)) == 1


def test_categories_become_one_hot_in_their_order() -> None:
    x = np.array([[1, 0], [0, 2], [1, 1]])
    found = features(random_walks(dataset([CASES["path"]], x=x, node_categories=(2, 3)), 2))
    assert found.tolist() == [[0, 1, 1, 0, 0, 0, 0.5], [1, 0, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0, 0.5]]


def test_numbers_are_kept() -> None:
    x = np.array([[0.25, -3.0], [1e6, 0.1], [0.0, 7.0]])
    made = dataset([CASES["path"]], x=x)
    found = random_walks(made, 2)
    assert np.array_equal(features(found), np.concatenate([x.astype(np.float32), [[0, 0.5], [0, 1], [0, 0.5]]], 1))
    assert found.in_channels == 4
    assert np.array_equal(made.arrays()["x"], x)  # the old dataset is as it was


def test_the_rest_stays() -> None:
    made = replace(graphs(20), splits={"train": np.arange(5)}, about={"source": "tests"})
    found = random_walks(made, 3)
    assert (found.name, found.task, found.about) == (made.name, made.task, made.about)
    assert found.arrays().keys() == {*made.arrays(), "x"}
    for name, array in made.arrays().items():
        assert np.array_equal(found.arrays()[name], array)
    assert found.splits["train"].tolist() == list(range(5))


@pytest.mark.parametrize(
    ("length", "error", "sentence"),
    [
        (0, ValueError, "length must be at least 1, the steps of the shortest walk, but it is 0"),
        (-3, ValueError, "length must be at least 1, the steps of the shortest walk, but it is -3"),
        (2.0, TypeError, "length must be an int, the steps of the longest walk, but it is 2.0"),
        (True, TypeError, "length must be an int, the steps of the longest walk, but it is True"),
        ("20", TypeError, "length must be an int, the steps of the longest walk, but it is '20'"),
    ],
)
def test_a_wrong_length_gets_one_sentence(length: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        random_walks(graphs(3), length)


def test_the_cache_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    first = features(random_walks(graphs(20), 6))
    assert kept().is_file()
    monkeypatch.setattr(encodings, "encode_nodes", None)  # which must not be called again
    assert np.array_equal(features(random_walks(graphs(20), 6)), first)
    wide = {name: getattr(graphs(20), name).astype(np.int64) for name in ("node_counts", "edge_counts", "edges")}
    assert np.array_equal(features(random_walks(replace(graphs(20), **wide), 6)), first)  # dtypes do not matter


def test_other_graphs_lengths_and_versions_have_files_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    random_walks(graphs(20), 6)
    random_walks(graphs(19), 6)
    random_walks(graphs(20), 7)
    monkeypatch.setattr(encodings, "code_checksum", lambda: "of other code")
    random_walks(graphs(20), 6)
    assert len(list((cache_folder() / "encodings").iterdir())) == 4


@pytest.mark.parametrize("damage", ["a bit", "cut", "empty", "foreign", "dataset", "another shape", "another dtype"])
def test_a_damaged_or_foreign_file_is_mended(damage: str) -> None:
    want = features(random_walks(graphs(20), 6))
    path = kept()
    good = path.read_bytes()
    if damage == "a bit":
        path.write_bytes(good[:-5] + bytes([good[-5] ^ 1]) + good[-4:])
    elif damage == "dataset":
        graphs(20).save(path)
    elif damage == "another shape":
        write_packed(path, {"columns": np.zeros((3, 6), dtype=np.float32)}, {})
    elif damage == "another dtype":
        write_packed(path, {"columns": np.zeros(want.shape)}, {})
    else:
        path.write_bytes({"cut": good[: len(good) // 2], "empty": b"", "foreign": b"something else" * 100}[damage])
    assert np.array_equal(features(random_walks(graphs(20), 6)), want)
    assert path.read_bytes() == good


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = features(random_walks(graphs(20), 6))
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert np.array_equal(features(random_walks(graphs(20), 6)), want)
    if os.geteuid():  # root may write anywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "closed"))
        assert np.array_equal(features(random_walks(graphs(20), 6)), want)


def test_zinc(data_dir: Path) -> None:
    part = load("zinc", data_dir).subset([0, 5000, 11999])
    found = features(random_walks(part, 20))
    assert found.shape[1] == 28 + 20
    assert (found[:, :28].sum(1) == 1).all()
    assert ((found[:, 28:] >= 0) & (found[:, 28:] <= 1)).all()
    assert (found[:, 28] == 0).all()  # no atom is bonded to itself


@pytest.mark.parametrize("encoding", [{"random_walks": 4}, {"ring_walks": 6}, {"random_walks": 1, "ring_walks": 5}])
def test_a_run_trained_with_encodings_predicts_new_graphs(tmp_path: Path, encoding: dict[str, Any]) -> None:
    """The config alone says which encoding the new graphs get."""
    config = small(packed(tmp_path), {"epochs": 1})
    config = replace(config, data=replace(config.data, **encoding))
    run(config, tmp_path / "run", device="cpu")
    made = graphs(20)
    lines = [to_graph6(made.graph(number)) for number in range(5)]
    (tmp_path / "new.g6").write_text("\n".join(lines) + "\n")
    found = predict_run(tmp_path / "run", tmp_path / "new.g6", draws=3, device="cpu")
    again = predict_run(tmp_path / "run", Path(config.data.name), draws=3, device="cpu")
    torch.testing.assert_close(found.mean, again.mean[:5], rtol=1e-5, atol=1e-6)
    model = load_weights(tmp_path / "run", read_record(tmp_path / "run")).model
    x, edges = torch.zeros(3, 4), undirected([(0, 1), (1, 2)])
    assert model(x, edges).prediction.shape == (1, 2)  # it reads four columns a node
