"""A folder of shards holds what one file would hold, and whatever is damaged in it is told with the file's name."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.data.loader_samples import CLASSES, NODES, REGRESSION, random_dataset
from tests.data.shard_samples import divided

from pfgnn.data.arrays import shrink
from pfgnn.data.dataset import Dataset
from pfgnn.data.packed import read_packed
from pfgnn.data.shard_writer import set_parts, write_shards
from pfgnn.data.shards import INDEX, Shards, open_packed
from pfgnn.data.task import Task

SPLITS = {"train": np.arange(0, 40, 2), "test": np.array([39, 1, 7])}


def assert_same(got: Dataset, want: Dataset) -> None:
    assert got.task == want.task
    assert (got.name, got.node_categories, got.edge_categories) == (
        want.name,
        want.node_categories,
        want.edge_categories,
    )
    assert list(got.arrays()) == list(want.arrays())
    for name, array in want.arrays().items():
        assert got.arrays()[name].dtype == shrink(array).dtype, name
        np.testing.assert_array_equal(got.arrays()[name], array)


@pytest.mark.parametrize("task", [CLASSES, REGRESSION, NODES], ids=["classes", "regression", "nodes"])
@pytest.mark.parametrize("bare", [False, True])
def test_a_folder_holds_what_one_file_holds(tmp_path: Path, task: Task, bare: bool) -> None:
    dataset = replace(random_dataset(0, 40, task, bare=bare), splits=SPLITS)
    shards = divided(dataset, tmp_path / "own.pfgnn", 5)
    assert [len(list(shards.folder.glob(kind))) for kind in ("*.json", "0*.pfgnn", "parts-*")] == [1, 5, 1]
    assert len(shards) == 40
    assert (shards.in_channels, shards.edge_channels) == (dataset.in_channels, dataset.edge_channels)
    for name in ("node_counts", "edge_counts", "y"):
        np.testing.assert_array_equal(getattr(shards, name), getattr(dataset, name))
    for whole in (shards.whole(), Dataset.open(shards.folder)):
        assert_same(whole, dataset)
        assert {name: list(of) for name, of in whole.splits.items()} == {name: list(of) for name, of in SPLITS.items()}
    chosen = np.array([0, 3, 4, 21, 38, 39])
    assert_same(shards.subset(chosen), replace(dataset.subset(chosen), key=dataset.arrays()["key"][chosen]))
    assert "40 graphs" in repr(shards)
    assert "in 5 shards" in repr(shards)


def test_shards_of_smaller_numbers_are_read_as_wide_as_the_others(tmp_path: Path) -> None:
    dataset = random_dataset(1, 6, REGRESSION)
    x = np.repeat([200, 200, 200, 200, 200, -300], dataset.node_counts)[:, None]
    wide = replace(dataset, x=x, node_categories=None)
    shards = divided(wide, tmp_path / "own.pfgnn", 3)
    stored = {read_packed(shards.folder / shard.file)[0]["x"].dtype for shard in shards.shards}
    assert len(stored) > 1
    assert {shards.subset(np.array([graph])).arrays()["x"].dtype for graph in range(6)} == {np.dtype(np.int16)}
    np.testing.assert_array_equal(shards.whole().arrays()["x"], wide.arrays()["x"])


def test_changes_are_applied_to_all_that_is_taken_out(tmp_path: Path) -> None:
    asked: list[tuple[int, bool]] = []

    def change(dataset: Dataset, whole: bool) -> Dataset:
        asked.append((len(dataset), whole))
        return dataset.without_edge_features()

    plain = divided(random_dataset(0, 200), tmp_path / "own.pfgnn", 3)
    shards = replace(plain, change=change)
    assert plain.edge_channels == (4,)
    assert shards.edge_channels is None
    assert shards.subset(np.array([5, 150])).edge_attr is None
    assert shards.whole().edge_attr is None
    assert [of for of in asked if of[0] == 2 or of[1]] == [(2, False), *((of.graphs, True) for of in plain.shards)]
    assert shards.bytes < plain.bytes
    assert plain.bytes == sum(shard.bytes for shard in plain.shards)


def test_parts_can_be_set_later(tmp_path: Path) -> None:
    shards = divided(random_dataset(0, 40), tmp_path / "own", 2)
    assert shards.splits == {}
    with_parts = set_parts(tmp_path / "own", SPLITS)
    others = set_parts(tmp_path / "own", {"all but one": np.arange(39)})
    assert list(with_parts.splits["test"]) == [39, 1, 7]
    assert list(others.splits) == ["all but one"]
    assert len({shards.checksum, with_parts.checksum, others.checksum}) == 3
    assert len(list((tmp_path / "own").glob("parts*"))) == 1
    with pytest.raises(ValueError, match=r"the split 'train' must lie in 0..39, but it spans 0..40"):
        set_parts(tmp_path / "own", {"train": np.arange(41)})


def test_opening_reads_sizes_and_targets_only(tmp_path: Path) -> None:
    """So a damaged feature is found when its shard is needed, with the name of the file."""
    shards = divided(random_dataset(0, 40), tmp_path / "own", 4)
    path = tmp_path / "own" / shards.shards[2].file
    content = bytearray(path.read_bytes())
    at = content.index(read_packed(path)[0]["x"].tobytes())
    content[at] ^= 1
    path.write_bytes(content)
    opened = Shards.open(tmp_path / "own")
    opened.shard(1)
    with pytest.raises(ValueError, match=r"00002\.pfgnn is damaged: the checksum of its array x is wrong"):
        opened.shard(2)


def cut(folder: Path) -> None:
    path = folder / "00001.pfgnn"
    path.write_bytes(path.read_bytes()[:-1])


def exchange(folder: Path) -> None:
    (folder / "00001.pfgnn").replace(folder / "00000.pfgnn")


def rewrite(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        index = json.loads((folder / INDEX).read_text())
        (folder / INDEX).write_text(json.dumps(index | changes))

    return change


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (cut, r"00001\.pfgnn is truncated or damaged"),
        (exchange, r"00000\.pfgnn must be the file that index\.json describes, but its checksum is another"),
        (
            lambda folder: (folder / INDEX).unlink(),
            r"own must be a folder of shards with an index\.json, but it is not",
        ),
        (lambda folder: (folder / INDEX).write_text("{"), r"index\.json must hold JSON"),
        (lambda folder: (folder / INDEX).write_text("{}"), r"index\.json must be the index .*, but it has no format"),
        (rewrite(format=2), r"index\.json must have a format of at most 1, but it has 2"),
        (rewrite(shards=[]), r"index\.json must name shards and dtypes of arrays"),
        (rewrite(shards=[{"file": 1}]), r"index\.json must be the index of a folder of shards, but it cannot be read"),
        (rewrite(parts="00000000"), r"parts-00000000\.pfgnn"),
        (rewrite(task={"level": "graph"}), r"index\.json must be the index of a folder of shards, but it"),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, harm: Callable[[Path], None], sentence: str) -> None:
    divided(random_dataset(0, 40), tmp_path / "own", 3)
    harm(tmp_path / "own")
    with pytest.raises((ValueError, OSError), match=sentence):
        open_packed(tmp_path / "own")


def test_a_shard_of_another_task_is_refused(tmp_path: Path) -> None:
    divided(random_dataset(0, 40), tmp_path / "own", 3)
    rewrite(task=replace(CLASSES, metric="mae").to_json())(tmp_path / "own")
    with pytest.raises(ValueError, match=r"00000\.pfgnn must have the task and the number of graphs that index\.json"):
        Shards.open(tmp_path / "own").shard(0)


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    def failing() -> Iterator[Dataset]:
        yield random_dataset(0, 5)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_shards(tmp_path / "own", failing())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("datasets", "sentence"),
    [
        ([random_dataset(0, 4), random_dataset(0, 4, REGRESSION)], "all shards must have the same task, but shard 1"),
        ([random_dataset(0, 4), random_dataset(0, 4, bare=True)], "all shards must have the same node categories"),
        ([replace(random_dataset(0, 4), pairs=np.array([[0, 1]]))], "must have targets and no pairs"),
        ([], "own.partial must have at least one graph, but there is none"),
    ],
)
def test_what_cannot_be_shards_is_refused(tmp_path: Path, datasets: list[Dataset], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        write_shards(tmp_path / "own", datasets)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_kept(tmp_path: Path) -> None:
    divided(random_dataset(0, 40), tmp_path / "own", 3)
    with pytest.raises(ValueError, match="own must be a new folder, but it exists"):
        divided(random_dataset(1, 40), tmp_path / "own", 3)
    assert len(Shards.open(tmp_path / "own")) == 40
