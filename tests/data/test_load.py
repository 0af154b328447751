"""Where datasets are looked for, in which order, and what happens when they are nowhere."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data import code_checksum, load
from pfgnn.data.catalogue import ENTRIES, Entry
from pfgnn.data.code_checksum import is_covered
from pfgnn.data.dataset import Dataset
from pfgnn.data.load import cache_folder, find
from pfgnn.data.task import Task
from pfgnn.graphs import csl, is_isomorphic


@pytest.fixture(autouse=True)
def _empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PFGNN_DATA", raising=False)


def tiny(name: str, value: float = 1.5) -> Dataset:
    return Dataset.from_graphs([csl(7, 2)], [value], Task("graph", 1, "l1", "mae"), name=name)


def ours(function: Callable[..., Dataset]) -> Callable[..., Dataset]:
    """The function as if it were part of pfgnn."""
    function.__module__ = "pfgnn.data.readers"
    return function


def test_root_comes_before_the_environment_and_that_before_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, folder in enumerate((tmp_path / "root", tmp_path / "named", cache_folder())):
        tiny("zinc", float(number)).save(folder / "zinc.pfgnn")
    monkeypatch.setenv("PFGNN_DATA", str(tmp_path / "named"))
    assert float(load("zinc", tmp_path / "root").y[0, 0]) == 0
    assert float(load("zinc").y[0, 0]) == 1
    monkeypatch.delenv("PFGNN_DATA")
    assert float(load("zinc").y[0, 0]) == 2


def test_a_dataset_that_is_nowhere_gets_one_sentence_with_three_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(*_: object) -> Dataset:
        raise ConnectionError("no route to host\nand a second line")

    monkeypatch.setitem(ENTRIES, "zinc", replace(ENTRIES["zinc"], fetch=no_network))
    with pytest.raises(
        ValueError, match=r"zinc was not found, and fetching it failed \(no route to host\); set root"
    ) as caught:
        load("zinc")
    for way in (
        "root=FOLDER",
        "PFGNN_DATA=FOLDER",
        "zinc12k.npz in FOLDER/zinc12k",
        "zinc.pfgnn in",
        str(cache_folder()),
    ):
        assert way in str(caught.value)
    assert "\n" not in str(caught.value)
    assert find("zinc") is None


def test_a_fetched_dataset_is_packed_and_not_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fetch(*folders: object) -> Dataset:
        calls.append(folders)
        return tiny("zinc")

    monkeypatch.setitem(ENTRIES, "zinc", replace(ENTRIES["zinc"], fetch=ours(fetch)))
    first, second = load("zinc"), load("zinc")
    assert len(calls) == 1
    assert find("zinc") is not None
    assert np.array_equal(first.edges, second.edges)
    assert first.about["citation"] == ENTRIES["zinc"].citation


def test_published_files_are_packed_into_the_cache_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def read(folder: Path) -> Dataset:
        reads.append(folder)
        return tiny("exp", float((folder / "EXP.txt.gz").read_text()))

    monkeypatch.setitem(ENTRIES, "exp", replace(ENTRIES["exp"], read=ours(read)))
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "EXP.txt.gz").write_text("3")
    assert [float(load("exp", tmp_path).y[0, 0]) for _ in range(2)] == [3, 3]
    assert len(reads) == 1
    (tmp_path / "exp" / "EXP.txt.gz").write_text("4")  # other files, another pack
    assert float(load("exp", tmp_path).y[0, 0]) == 4
    [packed, _] = sorted(cache_folder().glob("exp-*.pfgnn"))
    packed.write_bytes(b"damaged")  # a damaged pack is made again
    (tmp_path / "exp" / "EXP.txt.gz").write_text("3")
    assert float(load("exp", tmp_path).y[0, 0]) == 3


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setitem(ENTRIES, "exp", replace(ENTRIES["exp"], read=ours(lambda _: tiny("exp"))))
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "EXP.txt.gz").write_text("")
    assert len(load("exp", tmp_path)) == 1


@pytest.mark.parametrize("name", ["csl", "sr25", "connectivity", "planarity", "bipartiteness"])
def test_generated_datasets_need_no_files_and_follow_from_their_seed(name: str) -> None:
    first, second = load(name), load(name)
    assert all(np.array_equal(a, second.arrays()[key]) for key, a in first.arrays().items())
    assert first.about["source"] == "generated"
    if name != "sr25":
        assert not np.array_equal(first.edges, load(name, seed=1).edges)


def test_options_of_generators() -> None:
    dataset = load("csl", nodes=13, skips=(2, 3, 5), copies=5)
    assert (len(dataset), dataset.task.outputs) == (15, 3)
    assert is_isomorphic(dataset.graph(5), csl(13, 3))
    assert dataset.splits["fold 0 test"].size == 3
    large = load("lcc", train=2, test=2, test_large=2)
    assert large.node_counts.tolist() == [20] * 4 + [100] * 2
    assert load("triangles", train=10, validation=10, test=10, test_large=10).y.max() == 9


def test_names_and_options_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"name must be one of csl, sr25, .*, molhiv, but it is 'zink'"):
        load("zink")
    with pytest.raises(TypeError, match="zinc is read from files, so it takes no option seed"):
        load("zinc", seed=1)


def test_a_file_that_holds_another_dataset_is_refused(tmp_path: Path) -> None:
    tiny("other").save(tmp_path / "zinc.pfgnn")
    with pytest.raises(ValueError, match=r"zinc.pfgnn must hold the dataset zinc, but it holds 'other'"):
        load("zinc", tmp_path)


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"root must name a folder, but .*nowhere is not a folder"):
        load("csl", tmp_path / "nowhere")
    monkeypatch.setenv("PFGNN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match=r"PFGNN_DATA must name a folder, but .*nowhere is not a folder"):
        load("csl")


def test_a_packed_dataset_remembers_that_it_was_generated(tmp_path: Path) -> None:
    load("connectivity").save(tmp_path / "connectivity.pfgnn")
    assert load("connectivity", tmp_path).about["source"] == "generated"


@pytest.mark.parametrize("options", [{"sede": 1}, {"seed": -1}, {"copies": 0}])
def test_wrong_options_of_a_generator_are_named(options: dict[str, Any]) -> None:
    [(name, value)] = options.items()
    with pytest.raises((TypeError, ValueError), match=f"csl cannot be generated with {name}={value}: "):
        load("csl", **options)


@pytest.mark.parametrize("kind", ["read", "generate", "fetch"])
def test_what_other_code_made_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The cache knows all code of pfgnn that a dataset is made with, also the helpers of its generator."""
    made = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr(code_checksum, "PACKAGE", tmp_path / "pfgnn")
    helper = tmp_path / "pfgnn" / "graphs" / "generators.py"
    helper.parent.mkdir(parents=True)
    helper.write_text("a = 1\n")
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "EXP.txt.gz").write_text("")
    make = ours(lambda *_: tiny("exp", next(made)))
    files = ENTRIES["exp"].files if kind == "read" else ()
    monkeypatch.setitem(ENTRIES, "exp", Entry("", "", "exp", files, **dict[str, Any]({kind: make})))
    assert [float(load("exp", tmp_path).y[0, 0]) for _ in range(2)] == [1, 1]
    helper.write_text("a = 2\n")
    code_checksum._checksum.cache_clear()
    assert [float(load("exp", tmp_path).y[0, 0]) for _ in range(2)] == [2, 2]
    code_checksum._checksum.cache_clear()


def test_what_code_of_ones_own_made_is_made_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell when it changed."""
    made = iter([1.0, 2.0])
    monkeypatch.setitem(ENTRIES, "rings", Entry("", "", generate=lambda: tiny("rings", next(made))))
    assert [float(load("rings").y[0, 0]) for _ in range(2)] == [1, 2]
    assert list(cache_folder().glob("rings*")) == []


def test_the_checksum_knows_every_file_its_name_and_the_versions(tmp_path: Path) -> None:
    def write(folder: str, files: dict[str, str]) -> str:
        for name, text in files.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
        return code_checksum._checksum(tmp_path / folder, "2.0")

    own = {"graphs/a.py": "1", "data/b.py": "2"}
    first = write("first", own)
    assert write("same", {**own, "training/c.py": "3", "data/notes.txt": "4"}) == first
    others = [{**own, "ops/triton/c.py": ""}, {"graphs/a.py": "2", "data/b.py": "2"}, {"graphs/a.py": "1"}]
    moved = {"graphs/b.py": "1", "data/b.py": "2"}
    assert len({first, *(write(str(place), files) for place, files in enumerate([*others, moved]))}) == 5
    assert code_checksum._checksum(tmp_path / "first", "2.1") != first
    assert {is_covered(entry.generate) for entry in ENTRIES.values() if entry.generate} == {True}


def test_a_cache_that_may_not_be_read_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    is_file = Path.is_file

    def forbidden(path: Path) -> bool:
        if cache_folder() in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert find("csl") is None
    assert len(load("csl")) > 0
