"""The published facts, checked on the files where they are there, and that a wrong dataset is found out."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import Dataset, load
from pfgnn.data.catalogue import ENTRIES
from pfgnn.data.load import find
from pfgnn.data.loader import Loader
from pfgnn.data.verify import FACTS, content_hash, statistics, verify
from pfgnn.graphs import circulant


def test_every_dataset_has_facts() -> None:
    assert FACTS.keys() == ENTRIES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_published_facts_hold_and_the_dataset_iterates(name: str, data_dir: Path) -> None:
    if ENTRIES[name].files and find(name, data_dir) is None:
        pytest.skip(f"the files of {name} are not in the data folder")
    dataset = load(name, data_dir)
    assert [check for check in verify(dataset) if not check.holds] == []
    batch = next(iter(Loader(dataset, batch_size=8)))
    assert batch.num_graphs == 8
    assert len(batch.tensors()["y"]) == (len(batch.batch) if dataset.task.level == "node" else 8)


def test_unknown_targets_are_counted_and_have_no_part_in_the_moments() -> None:
    parts = {"train": np.arange(3), "test": np.array([3])}
    y = [0.5, math.nan, 1.5, math.nan]
    facts = statistics(Dataset.from_graphs([circulant(5, [1])] * 4, y, name="own", splits=parts))
    assert {fact: value for fact, value in facts.items() if "y " in fact or "unknown" in fact} == {
        "train unknown targets": 1,
        "train y mean": 1.0,
        "train y std": 0.70711,
        "test unknown targets": 1,
    }


def test_one_changed_number_is_found_out() -> None:
    dataset = load("connectivity")
    changed = dataset.y.copy()
    changed[0] = 1 - changed[0]
    wrong = replace(dataset, y=changed)
    assert [check.fact for check in verify(wrong) if not check.holds] == ["train of class 1"]
    assert content_hash(wrong) != content_hash(dataset)
    assert content_hash(replace(dataset, splits={})) != content_hash(dataset)
    assert content_hash(replace(dataset, y=dataset.y.astype(np.int64))) == content_hash(dataset)


def test_generated_folds_of_csl_are_not_the_published_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PFGNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    dataset = load("csl")
    assert dataset.about["source"] == "generated"
    assert [check.fact for check in verify(dataset) if not check.holds] == ["parts hash"]


def test_one_changed_part_is_found_out(data_dir: Path) -> None:
    if find("csl", data_dir) is None:
        pytest.skip("the files of csl are not in the data folder")
    dataset = load("csl", data_dir)
    assert all(check.holds for check in verify(dataset))
    parts = {**dataset.splits, "fold 3 train": dataset.splits["fold 3 train"][::-1]}
    wrong = verify(replace(dataset, splits=parts))
    assert [check.fact for check in wrong if not check.holds] == ["parts hash"]


def test_every_published_list_of_parts_has_a_hash() -> None:
    for name, entry in ENTRIES.items():
        if entry.files:
            assert any(fact.endswith("hash") for fact in FACTS[name]), name


def test_parts_that_are_not_there_differ() -> None:
    dataset = replace(load("lcc", train=2, test=2, test_large=2), splits={})
    assert {"train", "train hash"} <= {check.fact for check in verify(dataset) if not check.holds}
