"""Batches of shards that stay on the disk equal those of a dataset on the device."""

import itertools
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.data.loader_samples import CLASSES, NODES, REGRESSION, own_keys, random_dataset
from tests.data.shard_samples import divided

from pfgnn.data import loader as loading
from pfgnn.data import shards as sharding
from pfgnn.data import streamed
from pfgnn.data.batch import FIELDS, GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Loader, Resident
from pfgnn.data.shard_writer import write_shards
from pfgnn.data.shards import shuffle_in_windows
from pfgnn.data.streamed import Streamed, place
from pfgnn.data.task import Task


@pytest.fixture
def many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few graphs are gathered at once, and few shards are open at a time."""
    monkeypatch.setattr(loading, "ROWS_AT_ONCE", 60)
    monkeypatch.setattr(sharding, "WINDOW", 3)
    monkeypatch.setattr(streamed, "MOST_OPEN", 2)


def assert_equal(got: GraphBatch, want: GraphBatch) -> None:
    for name in FIELDS:
        mine, theirs = getattr(got, name), getattr(want, name)
        if isinstance(theirs, torch.Tensor):
            assert mine.dtype == theirs.dtype, name
            assert torch.equal(mine, theirs), name
        else:
            assert mine == theirs, name


@pytest.mark.usefixtures("many_groups")
@pytest.mark.parametrize("task", [CLASSES, REGRESSION, NODES], ids=["classes", "regression", "nodes"])
@pytest.mark.parametrize("pad", [None, (32, 64)])
def test_an_epoch_has_the_batches_of_a_resident_one(
    tmp_path: Path, device: torch.device, task: Task, pad: tuple[int, int] | None
) -> None:
    dataset = random_dataset(0, 100, task)
    shards = divided(dataset, tmp_path / "own", 10)
    graphs = np.random.default_rng(1).choice(100, 70, replace=False).repeat(2)  # any order, all twice
    stores = Streamed(shards, device), Resident(shards, device)
    for rank, world in ((0, 1), (1, 2)):
        loaders = [Loader(of, graphs, 8, shuffle=True, seed=3, pad=pad, rank=rank, world=world) for of in stores]
        for epoch, start in ((0, 0), (1, 0), (1, 7)):
            one, other = (list(loader.epoch(epoch, start)) for loader in loaders)
            assert len(one) == len(other) == 18 - start
            for got, want in zip(one, other, strict=True):
                assert_equal(got, want)
    for got, want in zip(Loader(stores[0], batch_size=9), Loader(stores[1], batch_size=9), strict=True):
        assert_equal(got, want)
    assert_equal(stores[0].collate([99, 3, 3]), stores[1].collate([99, 3, 3]))


def test_few_shards_have_the_order_of_one_file(tmp_path: Path) -> None:
    dataset = random_dataset(0, 100)
    streams = Loader(Streamed(divided(dataset, tmp_path / "own", 10)), batch_size=8, shuffle=True, seed=3)
    whole = Loader(dataset, batch_size=8, shuffle=True, seed=3)
    for got, want in zip(streams.epoch(2), whole.epoch(2), strict=True):
        assert_equal(got, want)


def test_windows_are_shuffled_shards_and_graphs_are_shuffled_in_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding, "WINDOW", 4)
    first = np.cumsum([0, *range(50, 60)])  # ten shards
    shard = np.repeat(np.arange(10), range(50, 60))
    seen = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        order = shuffle_in_windows(rng.permutation(first[-1]), first, rng)
        assert sorted(order) == list(range(first[-1]))
        changes = np.flatnonzero(np.diff([shard[:4].tolist().count(0), *shard[order]]))  # shards change all the time
        assert len(changes) > 300
        windows, rest = [], shard[order].tolist()
        while rest:
            found = set(rest[:120])  # so many that every shard of the window is among them
            assert len(found) == min(4, len(set(rest)))
            count = sum(rest.count(s) for s in found)
            assert set(rest[:count]) == found
            windows.append(frozenset(found))
            rest = rest[count:]
        assert [len(window) for window in windows] == [4, 4, 2]
        seen.append(windows[0])
    assert len(set(seen)) > 10


def test_all_orders_in_a_window_are_equally_likely(seed: int) -> None:
    """Two shards of two graphs: each of the 24 orders comes up. A shuffle of each shard alone would give eight."""
    rng = np.random.default_rng(seed)
    orders = [tuple(shuffle_in_windows(rng.permutation(4), np.array([0, 2, 4]), rng).tolist()) for _ in range(4800)]
    counts = np.array([orders.count(order) for order in set(orders)])
    assert len(counts) == 24
    assert ((counts - 200) ** 2 / 200).sum() < 70  # χ² with 23 degrees of freedom: less than one in 10⁶ runs exceeds it


@pytest.mark.usefixtures("many_groups")
def test_threads_end_with_the_epoch(tmp_path: Path) -> None:
    store = Streamed(divided(random_dataset(0, 100), tmp_path / "own", 10))
    before = set(threading.enumerate())
    for batches in (list(store.batches(np.arange(100), 8)), [next(store.batches(np.arange(100), 8))]):
        assert own_keys(batches[0]) == own_keys(store.collate(range(8)))
        assert set(threading.enumerate()) == before


@pytest.mark.usefixtures("many_groups")
def test_a_shard_that_is_damaged_later_stops_the_epoch_with_its_name(tmp_path: Path) -> None:
    shards = divided(random_dataset(0, 100), tmp_path / "own", 10)
    path = tmp_path / "own" / "00006.pfgnn"
    path.write_bytes(path.read_bytes()[:-1])
    batches = Streamed(shards).batches(np.arange(100), 8)
    done = list(itertools.islice(batches, int(shards.first[6]) // 8))  # all that come before it are there
    with pytest.raises(ValueError, match=r"00006\.pfgnn is truncated or damaged"):
        next(batches)
    assert done


def test_what_is_small_is_put_on_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, cpu = random_dataset(0, 100), torch.device("cpu")
    shards = divided(dataset, tmp_path / "own", 10)
    small = place(shards, cpu)
    assert isinstance(small, Resident)
    assert small.shard_first is not None
    assert isinstance(place(dataset, cpu), Resident)
    monkeypatch.setattr(streamed, "_memory", lambda device: 4 * shards.bytes - 4)
    assert isinstance(place(shards, cpu), Streamed)
    monkeypatch.setattr(streamed, "_memory", lambda device: 4 * shards.bytes)
    assert isinstance(place(shards, cpu), Resident)


def test_the_memory_of_the_machine_is_known() -> None:
    assert streamed._memory(torch.device("cpu")) > 2**28


# Reads a folder batch by batch, and prints by how many bytes the memory of the process grew.
MEMORY = """
import resource, sys
import numpy as np
from pfgnn.data import Loader
from pfgnn.data.shards import Shards
from pfgnn.data import shards as sharding
from pfgnn.data import streamed
from pfgnn.data.streamed import Streamed

streamed.MOST_THREADS, streamed.BYTES_AT_ONCE = 2, 2**22  # which are for other machines and larger data

def peak(): return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

shards = Shards.open(sys.argv[1])
list(Streamed(shards).batches(np.arange(64), 64))  # loads what is only loaded on first use
before = peak()
graphs = sum(batch.num_graphs for batch in Loader(Streamed(shards), batch_size=16, shuffle=True))
assert graphs == len(shards)
print(peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_shards(tmp_path: Path) -> None:
    """96 shards of 5 MiB, of which at most 32 are mapped: 160 MiB, and some for batches, but not 480 MiB."""
    nodes = np.full(64, 1000)
    rng = np.random.default_rng(0)
    shard = Dataset.from_arrays(
        "wide",
        Task("graph", 1, "l1", "mae"),
        node_counts=nodes,
        edge_counts=np.zeros(64, dtype=np.int64),
        edges=np.zeros((2, 0), dtype=np.int64),
        x=rng.random((64_000, 20), dtype=np.float32),
        y=rng.random((64, 1)),
    )
    keys = np.arange(64)
    shards = write_shards(tmp_path / "own", (replace(shard, key=keys + 64 * number) for number in range(96)))
    assert sum(of.bytes for of in shards.shards) > 480 * 10**6
    said = subprocess.run([sys.executable, "-c", MEMORY, shards.folder], check=True, capture_output=True, text=True)
    assert int(said.stdout) < 320 * 2**20
