"""Batches: each field against a plain loop over the graphs, and against PyG."""

import random
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.loader_samples import CLASSES, NODES, REGRESSION, assert_near, build, own_keys, predict, random_dataset
from torch import Tensor
from torch_geometric.data import Batch as PyGBatch

from pfgnn.data import loader as loading
from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Loader, Resident
from pfgnn.data.padding import pad_batch
from pfgnn.data.task import Task


def by_loop(dataset: Dataset, graphs: list[int]) -> dict[str, Tensor]:
    """The fields of a batch, graph by graph."""
    fields: dict[str, list[Any]] = defaultdict(list)
    nodes_before = 0
    for place, g in enumerate(graphs):
        n, e = int(dataset.node_counts[g]), int(dataset.edge_counts[g])
        a, b = int(dataset.node_counts[:g].sum()), int(dataset.edge_counts[:g].sum())
        edges = dataset.edges[:, b : b + e].astype(np.int64)
        fields["x"].append(np.zeros((n, 0), dtype=np.float32) if dataset.x is None else dataset.x[a : a + n])
        fields["edge_index"].append((edges + nodes_before).T)
        fields["edge_attr"].append(np.zeros((e, 0)) if dataset.edge_attr is None else dataset.edge_attr[b : b + e])
        fields["batch"].append(np.full(n, place))
        fields["y"].append(dataset.y[a : a + n] if dataset.task.level == "node" else dataset.y[g : g + 1])
        assert dataset.key is not None
        fields["graph_key"].append(dataset.key[g : g + 1].astype(np.int64))
        fields["pos"].append(np.zeros((n, 3)) if dataset.pos is None else dataset.pos[a : a + n])
        fields["sizes"].append(np.array([n]))
        nodes_before += n
    whole = {name: torch.from_numpy(np.concatenate(parts)) for name, parts in fields.items()}
    whole["edge_index"] = whole["edge_index"].T
    whole["y"] = whole["y"] if whole["y"].is_floating_point() else whole["y"].long()
    return whole


def assert_equals_loop(batch: GraphBatch, dataset: Dataset, graphs: list[int]) -> None:
    want = by_loop(dataset, graphs)
    assert (batch.num_graphs, batch.node_level) == (len(graphs), dataset.task.level == "node")
    for name, tensor in want.items():
        got = getattr(batch, name)
        if name in ("edge_attr", "pos") and getattr(dataset, name) is None:
            assert got is None
            continue
        assert got.dtype == tensor.dtype, name
        assert torch.equal(got.cpu(), tensor), name


def keys(loader: Loader, epoch: int, start: int = 0) -> list[list[int]]:
    """The keys of each batch's graphs."""
    return [own_keys(batch) for batch in loader.epoch(epoch, start)]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    graphs=st.integers(1, 12),
    batch_size=st.integers(1, 13),
    task=st.sampled_from([CLASSES, REGRESSION, NODES]),
    bare=st.booleans(),
    at_once=st.integers(1, 12),
)
def test_every_field_equals_a_loop(
    seed: int, graphs: int, batch_size: int, task: Task, bare: bool, at_once: int
) -> None:
    dataset = random_dataset(seed, graphs, task, bare=bare)
    order = np.random.default_rng(seed).integers(0, graphs, 2 * graphs)  # any order, some twice
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "ROWS_AT_ONCE", 20 * at_once)
        loader = Loader(dataset, order, batch_size)
        batches = list(loader)
    assert len(batches) == len(loader)
    for number, batch in enumerate(batches):
        assert_equals_loop(batch, dataset, order[number * batch_size : (number + 1) * batch_size].tolist())


@pytest.mark.parametrize("task", [CLASSES, REGRESSION, NODES], ids=["classes", "regression", "nodes"])
def test_batches_are_made_on_the_device(device: torch.device, task: Task) -> None:
    dataset = random_dataset(1, 30, task)
    resident = Resident(dataset, device)
    for number, batch in enumerate(Loader(resident, batch_size=8)):
        assert {tensor.device.type for tensor in batch.tensors().values()} == {device.type}
        assert_equals_loop(batch, dataset, list(range(30))[8 * number : 8 * number + 8])
    assert_equals_loop(resident.collate([3, 3, 29]), dataset, [3, 3, 29])


@pytest.mark.parametrize("nodes", [1, 3], ids=["single nodes", "no edges"])
def test_graphs_without_edges(nodes: int) -> None:
    dataset = Dataset.from_arrays(
        "dots",
        CLASSES,
        node_counts=np.full(5, nodes),
        edge_counts=np.zeros(5, dtype=np.int64),
        edges=np.zeros((2, 0), dtype=np.int64),
        y=np.zeros((5, 1), dtype=np.int64),
    )
    for number, batch in enumerate(Loader(dataset, batch_size=2)):
        assert_equals_loop(batch, dataset, list(range(5))[2 * number : 2 * number + 2])
        assert predict(build(dataset), batch).shape == (batch.num_graphs, 3)


@pytest.mark.parametrize("task", [CLASSES, REGRESSION, NODES], ids=["classes", "regression", "nodes"])
def test_a_batch_equals_that_of_pyg(task: Task) -> None:
    dataset = random_dataset(2, 25, task)
    graphs = dataset.to_pyg()
    for start, batch in zip(range(0, 25, 10), Loader(dataset, batch_size=10), strict=True):
        want = PyGBatch.from_data_list(graphs[start : start + 10])
        for name in ("x", "edge_index", "edge_attr", "y", "batch", "pos", "graph_key"):
            assert torch.equal(getattr(batch, name), getattr(want, name).to(getattr(batch, name).dtype)), name
        assert torch.equal(batch.sizes, want.ptr.diff())


def test_edges_are_sorted_by_target() -> None:
    for batch in Loader(random_dataset(3, 20), batch_size=7):
        assert (batch.edge_index[1].diff() >= 0).all()


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    dataset = random_dataset(4, 50)
    chosen = np.arange(5, 45)

    def order(seed: int, epoch: int, batch_size: int = 8) -> list[int]:
        loader = Loader(dataset, chosen, batch_size, shuffle=True, seed=seed)
        return list(chain.from_iterable(keys(loader, epoch)))

    orders = {(seed, epoch): order(seed, epoch) for seed in range(3) for epoch in range(3)}
    assert len({tuple(found) for found in orders.values()}) == 9
    for (seed, epoch), found in orders.items():
        assert found == order(seed, epoch) == order(seed, epoch, batch_size=11)
        assert dataset.key is not None
        assert sorted(found) == sorted(dataset.key[chosen].tolist())  # every graph once


def test_the_global_generators_are_left_alone() -> None:
    dataset = random_dataset(4, 50)
    before = torch.get_rng_state(), random.getstate(), str(np.random.get_state())  # noqa: NPY002
    list(Loader(dataset, shuffle=True).epoch(3))
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (random.getstate(), str(np.random.get_state()))  # noqa: NPY002


def test_without_shuffling_every_epoch_is_in_order() -> None:
    dataset = random_dataset(5, 20)
    loader = Loader(dataset, batch_size=6)
    for epoch in (0, 1):
        assert dataset.key is not None
        assert list(chain.from_iterable(keys(loader, epoch))) == dataset.key.tolist()
    assert [batch.num_graphs for batch in loader] == [6, 6, 6, 2]


def test_no_graphs_give_no_batches() -> None:
    loader = Loader(random_dataset(5, 4), [])
    assert len(loader) == 0
    assert list(loader) == []


def test_a_graph_has_the_same_key_and_prediction_in_any_batch() -> None:
    dataset = random_dataset(6, 12)
    model, resident = build(dataset), Resident(dataset)
    alone = torch.cat([predict(model, resident.collate([g])) for g in range(12)])
    shuffled = np.random.default_rng(0).permutation(12)
    together = resident.collate(shuffled)
    assert dataset.key is not None
    assert own_keys(together) == dataset.key[shuffled].tolist()
    assert_near(predict(model, together), alone[shuffled])
    part = dataset.subset([7, 2])
    assert_near(predict(model, Resident(part).collate([1, 0])), alone[[2, 7]])


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, but it is 0"),
        ({"pad": (0, 1)}, ValueError, "pad must be at least 1, but it is 0"),
        ({"world": 0}, ValueError, "world must be at least 1, but it is 0"),
        ({"graphs": [0, 4]}, ValueError, r"graphs must lie in 0..3, but it spans 0..4"),
        ({"graphs": [-1]}, ValueError, r"graphs must lie in 0..3, but it spans -1..-1"),
        ({"graphs": [[0]]}, TypeError, r"must be a 1-D array of graph numbers, .* shape \[1, 1\] and dtype int64"),
        ({"graphs": [True, False, True, True]}, TypeError, r"graph numbers, but it has shape \[4\] and dtype bool"),
        ({"graphs": [0.0]}, TypeError, r"graph numbers, but it has shape \[1\] and dtype float64"),
    ],
)
def test_bad_arguments_get_one_sentence(options: dict[str, Any], error: type[Exception], sentence: str) -> None:
    dataset = random_dataset(12, 4)
    with pytest.raises(error, match=sentence):
        Loader(dataset, **options)
    if "graphs" in options:
        with pytest.raises(error, match=sentence):
            Resident(dataset).collate(options["graphs"])


def test_an_empty_batch_and_a_bad_multiple_are_refused() -> None:
    resident = Resident(random_dataset(12, 4))
    with pytest.raises(ValueError, match="graphs must hold at least one number, but it is empty"):
        resident.collate([])
    with pytest.raises(ValueError, match="multiples must be at least 1, but they are 0 and 1"):
        pad_batch(resident.collate([0]), 0, 1)


def test_read_only_and_strided_arrays_are_taken() -> None:
    dataset = random_dataset(13, 6)
    locked: dict[str, Any] = {name: array[..., ::-1][..., ::-1] for name, array in dataset.arrays().items()}
    for array in locked.values():
        array.setflags(write=False)
    other = Dataset("locked", dataset.task, **locked)
    for got, want in zip(Loader(other, batch_size=4), Loader(dataset, batch_size=4), strict=True):
        assert torch.equal(got.tensors()["x"], want.tensors()["x"])
        assert torch.equal(got.edge_index, want.edge_index)


def test_a_plain_loop_over_a_shuffled_loader_has_a_new_order_each_time() -> None:
    loader = Loader(random_dataset(0, 12, CLASSES), batch_size=12, shuffle=True)
    first, second = (own_keys(next(iter(loader))) for _ in range(2))
    assert first != second
    assert own_keys(next(loader.epoch(0))) == first
    assert own_keys(next(loader.epoch(1))) == second


@pytest.mark.parametrize(
    ("loss", "dtype"), [("cross_entropy", torch.int64), ("binary_cross_entropy", torch.float32), ("l1", torch.float32)]
)
def test_integer_targets_have_the_dtype_of_their_loss(loss: str, dtype: torch.dtype) -> None:
    dataset = random_dataset(0, 3, Task("graph", 2 if loss == "cross_entropy" else 1, loss, "mae"))
    dataset = replace(dataset, y=np.array([[0], [1], [1]]))
    assert next(iter(Loader(dataset))).tensors()["y"].dtype == dtype


@pytest.mark.parametrize("world", [1, 2, 3, 5])
@pytest.mark.parametrize(("graphs", "batch_size"), [(12, 6), (13, 6), (7, 6), (10, 1), (9, 4), (3, 64)])
def test_devices_share_every_batch(graphs: int, batch_size: int, world: int) -> None:
    """In turn, and who has one graph less than the others has the batch's first graph once more."""
    dataset = random_dataset(14, graphs)
    whole = keys(Loader(dataset, batch_size=batch_size, shuffle=True, seed=5), 2)
    shares = [
        keys(Loader(dataset, batch_size=batch_size, shuffle=True, seed=5, rank=rank, world=world), 2)
        for rank in range(world)
    ]
    for batch, *parts in zip(whole, *shares, strict=True):
        want = [batch[rank::world] for rank in range(world)]
        longest = len(want[0])
        assert parts == [part if len(part) == longest else [*part, batch[0]] for part in want]


@pytest.mark.parametrize("world", [1, 2])
def test_an_epoch_goes_on_where_it_was(world: int) -> None:
    loader = Loader(random_dataset(15, 23), batch_size=5, shuffle=True, rank=world - 1, world=world)
    whole = keys(loader, 3)
    assert len(whole) == 5
    for start in range(6):
        assert keys(loader, 3, start) == whole[start:]


def test_weights_are_shares_of_the_epochs() -> None:
    weights = np.array([1.0, 1.1, 0.0, 5.0, 2.9])
    data = Resident(random_dataset(0, 5))
    loader = Loader(data, range(5), 2, shuffle=True, weights=weights)
    epochs = np.array([np.bincount(loader.order(number), minlength=5) for number in range(4000)])
    expected = 5 * weights / weights.sum()
    assert (epochs.sum(1) == 5).all()
    assert ((epochs >= np.floor(expected)) & (epochs <= np.ceil(expected))).all()
    # The count of a graph is one of two neighbours, so its standard deviation is at most 1/2: five standard errors.
    np.testing.assert_allclose(epochs.mean(0), expected, atol=5 * 0.5 / np.sqrt(4000))
    assert loader.order(3).tolist() == loader.order(3).tolist() != loader.order(4).tolist()
    equal = Loader(data, range(5), 2, shuffle=True, weights=np.full(5, 0.1))
    assert sorted(equal.order(0).tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"^weights must have shape \[5\], but it has \[4\]$"):
        Loader(data, range(5), 2, shuffle=True, weights=np.ones(4))
