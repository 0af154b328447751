"""A large file becomes a folder of shards with what one file would hold, and a conversion goes on where it was."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data import convert_file as converting
from pfgnn.data import convert_pieces
from pfgnn.data.convert import Reject, convert
from pfgnn.data.convert_file import convert_file
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import scaffold
from pfgnn.data.shards import Shards, is_folder
from pfgnn.data.splits import random_split, scaffold_split
from pfgnn.errors import InputError


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 4 lines, shards of 16, and files with more than 32 are large."""
    monkeypatch.setattr(convert_pieces, "LINES", 4)
    monkeypatch.setattr(converting, "LINES", 16)
    monkeypatch.setattr(converting, "LARGE", 32)


def csv(folder: Path, label: Callable[[int], object], broken: tuple[int, ...] = ()) -> Path:
    path = folder / "own.csv"
    molecules = ["C1" if i in broken else "C" * (1 + i % 5) + "O" * (i % 3) for i in range(75)]
    path.write_text("smiles,y\n" + "".join(f"{of},{label(i)}\n" for i, of in enumerate(molecules)))
    return path


def jsonl(folder: Path, lines: int = 75) -> Path:
    """Graphs of which the first and the last ones have no edges, and features whose range grows."""
    path = folder / "own.jsonl"
    graphs = []
    for i in range(lines):
        n = 1 + (i % 3 if 20 <= i < 60 else 0)
        edges = [[j, j + 1] for j in range(n - 1)]
        attr = [[i % 7] for _ in edges]
        graphs.append({"num_nodes": n, "edges": edges, "x": [[i, 1]] * n, "edge_attr": attr, "y": i % 4})
    path.write_text("".join(json.dumps(graph) + "\n" for graph in graphs))
    return path


def assert_same(got: Dataset, want: Dataset) -> None:
    for name in ("name", "task", "node_categories", "edge_categories"):
        assert getattr(got, name) == getattr(want, name)
    assert dict(got.about) == dict(want.about)
    assert list(got.arrays()) == list(want.arrays())
    for name, array in want.arrays().items():
        np.testing.assert_array_equal(got.arrays()[name], array)
        assert got.arrays()[name].dtype == array.dtype, name


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


LABELS: dict[str, Callable[[int], object]] = {
    "numbers": lambda i: i / 3,
    "classes": lambda i: i % 3,
    "texts": lambda i: ("no", "yes", "perhaps")[i % 3],
    "partly unknown": lambda i: "" if i == 70 else i % 2,
    "a text among the last": lambda i: "?" if i == 70 else i / 2,
}


@pytest.mark.parametrize("label", LABELS.values(), ids=LABELS)
def test_a_large_table_becomes_shards_that_hold_what_one_file_would(
    tmp_path: Path, label: Callable[[int], object]
) -> None:
    pytest.importorskip("rdkit")
    path = csv(tmp_path, label, broken=(3, 4, 5, 6, 7, *range(32, 48)))  # no line of the third shard can be read
    done = convert_file(path, tmp_path / "own.pfgnn", on_error="skip", rejects=tmp_path / "rejects.txt", processes=1)
    want, rejects, *_ = convert(path, on_error="skip", processes=1)
    shards = Shards.open(tmp_path / "own.pfgnn")
    assert [shard.graphs for shard in shards.shards] == [11, 16, 16, 11 - (len(rejects) - 21)]
    assert_same(shards.whole(), want)
    assert (done.graphs, done.rejected, done.first, done.shards) == (len(want), len(rejects), rejects[:20], 4)
    assert done.about == dict(want.about)
    lines = [f"line {reject.line}: {reject.reason}" for reject in rejects]
    assert (tmp_path / "rejects.txt").read_text().splitlines() == lines
    assert {path.name for path in tmp_path.iterdir()} == {"own.csv", "own.pfgnn", "rejects.txt"}


@pytest.mark.parametrize("large", [False, True])
def test_molecules_of_one_scaffold_stay_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    pytest.importorskip("rdkit")
    monkeypatch.setattr(converting, "LARGE", 32 if large else 1000)
    rings = ["".join(["C", str(1), "C" * length, str(1)]) for length in range(2, 14)]
    rows = ["C1"] + [f"{tail}{ring}" for ring in rings for tail in ("C", "N", "O", "F", "CC")]
    (tmp_path / "own.csv").write_text("id,SMILES,y\n" + "".join(f"m{i},{of},{i}.5\n" for i, of in enumerate(rows)))
    options: dict[str, Any] = {"targets": ["y"], "on_error": "skip", "processes": 1}
    done = convert_file(
        tmp_path / "own.csv", tmp_path / "own.pfgnn", shares=(0.6, 0.2, 0.2), split="scaffold", **options
    )
    assert done.about["parts"] == "35 train, 10 validation, 15 test, by scaffold"
    assert bool(done.shards) == large
    splits = Dataset.open(tmp_path / "own.pfgnn").splits
    want = scaffold_split([scaffold(of) for of in rows[1:]], (0.6, 0.2, 0.2))
    for name, graphs in want.items():
        np.testing.assert_array_equal(splits[name], graphs)


@pytest.mark.parametrize("large", [False, True])
def test_a_column_names_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    """The column is no target, and rows that could not be read are in no part."""
    pytest.importorskip("rdkit")
    monkeypatch.setattr(converting, "LARGE", 32 if large else 1000)
    parts = [("train", "Test", "", "val")[i % 4] for i in range(40)]
    rows = [f"{'C1' if i == 4 else 'C' * (1 + i % 7)},{i}.5,{part}\n" for i, part in enumerate(parts)]
    (tmp_path / "own.csv").write_text("smiles,y,part\n" + "".join(rows))
    options: dict[str, Any] = {"on_error": "skip", "processes": 1, "split_column": "part"}
    done = convert_file(tmp_path / "own.csv", tmp_path / "own.pfgnn", **options)
    assert bool(done.shards) == large
    assert done.about["parts"] == "9 train, 10 validation, 10 test, as column 'part' names them"
    dataset = Dataset.open(tmp_path / "own.pfgnn")
    want = {"train": 0, "validation": 3, "test": 1}
    for name, graphs in dataset.splits.items():
        assert {int(y) % 4 for y in dataset.y[graphs, 0]} == {want[name]}
        np.testing.assert_array_equal(graphs, convert(tmp_path / "own.csv", **options).dataset.splits[name])
    for wrong, said in (
        ({"split_column": "prt"}, "has no column 'prt', .* did you mean --split-column part"),
        ({"split_column": "smiles"}, "--split-column must be another column than that of the SMILES, 'smiles'"),
        ({"targets": ["part"]}, "--target must be another column than that of the parts, but both are 'part'"),
        ({"shares": (0.8, 0.1, 0.1)}, "--split must not be given with --split-column, whose column 'part' names"),
    ):
        with pytest.raises(InputError, match=said):
            convert_file(tmp_path / "own.csv", tmp_path / "other.pfgnn", **{**options, **wrong})
    assert {path.name for path in tmp_path.iterdir()} == {"own.csv", "own.pfgnn"}


def test_other_large_files_become_shards_too(tmp_path: Path) -> None:
    path, labels = tmp_path / "own.g6", tmp_path / "labels.txt"
    path.write_text("".join(("A_", "Bw", "A?")[i % 3] + "\n" for i in range(75)))
    labels.write_text("".join(("yes", "", "no")[i % 3] + "\n" for i in range(75)) + "\n\n")
    convert_file(path, tmp_path / "a.pfgnn", labels=labels, processes=1)
    assert_same(Dataset.open(tmp_path / "a.pfgnn"), convert(path, labels=labels, processes=1).dataset)
    convert_file(jsonl(tmp_path), tmp_path / "b.pfgnn", processes=1)
    found = Dataset.open(tmp_path / "b.pfgnn")
    assert_same(found, convert(tmp_path / "own.jsonl", processes=1).dataset)
    assert (found.node_categories, found.edge_categories) == ((75, 2), (7,))


def test_shards_and_pieces_of_large_graphs_have_fewer_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = jsonl(tmp_path)
    converted(path, tmp_path / "lines.pfgnn")
    monkeypatch.setattr(convert_pieces, "CHARACTERS", 150)
    monkeypatch.setattr(converting, "BYTES", 150)
    with pytest.raises(Stopped):
        convert_file(path, tmp_path / "own.pfgnn", progress=stop_at(40), processes=1)
    steps = converted(path, tmp_path / "own.pfgnn")
    assert steps[0] > 20
    assert {2, 3} == set(np.diff(steps))
    sizes = [shard.graphs for shard in Shards.open(tmp_path / "own.pfgnn").shards]
    assert max(sizes) < 16
    assert max(sizes[:-1]) > min(sizes[:-1]) > 1
    assert_same(Dataset.open(tmp_path / "own.pfgnn"), Dataset.open(tmp_path / "lines.pfgnn"))
    converted(path, tmp_path / "whole.pfgnn")
    assert contents(tmp_path / "own.pfgnn") == contents(tmp_path / "whole.pfgnn")


def test_a_small_file_becomes_one_file(tmp_path: Path) -> None:
    path = jsonl(tmp_path, 32)
    done = convert_file(path, tmp_path / "own.pfgnn", processes=1)
    assert (done.graphs, done.shards) == (32, 0)
    assert_same(Dataset.open(tmp_path / "own.pfgnn"), convert(path, processes=1).dataset)
    assert not is_folder(tmp_path / "own.pfgnn")


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_graphs_of_other_columns_are_rejected_wherever_they_are(tmp_path: Path, processes: int) -> None:
    """The first line decides, also for pieces that other processes read."""
    path = jsonl(tmp_path, 40)
    lines = path.read_text().splitlines()
    changes: dict[int, dict[str, object]] = {13: {"y": [1, 2]}, **{place: {"x": [[place]]} for place in range(16, 20)}}
    for place, change in changes.items():
        lines[place] = json.dumps({**json.loads(lines[place]), **change})
    path.write_text("\n".join(lines))
    found = convert(path, on_error="skip", processes=processes)
    assert [reject.line for reject in found.rejects] == [14, 17, 18, 19, 20]
    assert found.rejects[0].reason == "y must have 1 columns like the graphs before, but it has 2"
    assert found.rejects[1].reason == "x must have 2 columns like the graphs before, but it has 1"
    convert_file(path, tmp_path / "own.pfgnn", on_error="skip", processes=processes)
    assert_same(Dataset.open(tmp_path / "own.pfgnn"), found.dataset)


class Stopped(Exception):
    pass


def stop_at(line: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= line:
            raise Stopped

    return progress


def converted(path: Path, out: Path, **options: Any) -> list[int]:
    """Convert, and return the numbers of lines that were reported as done."""
    steps: list[int] = []
    convert_file(path, out, progress=lambda done, total: steps.append(done), processes=1, **options)
    return steps


@pytest.mark.parametrize("line", [4, 16, 20, 48, 60, 75])
def test_a_conversion_that_was_stopped_goes_on_and_has_the_same_bits(tmp_path: Path, line: int) -> None:
    path = jsonl(tmp_path)
    assert converted(path, tmp_path / "whole.pfgnn")[0] == 4
    with pytest.raises(Stopped):
        convert_file(path, tmp_path / "own.pfgnn", progress=stop_at(line), processes=1)
    assert not (tmp_path / "own.pfgnn").exists()
    steps = converted(path, tmp_path / "own.pfgnn")
    kept = 75 if line == 75 else line // 16 * 16
    assert steps == [done for done in [*range(kept + 4, 76, 4), 75] if done > kept]
    assert contents(tmp_path / "own.pfgnn") == contents(tmp_path / "whole.pfgnn")
    assert not list(tmp_path.glob("*unfinished"))


def stopped(folder: Path) -> Path:
    """An unfinished conversion, of which three shards are done."""
    path = jsonl(folder)
    with pytest.raises(Stopped):
        convert_file(path, folder / "own.pfgnn", progress=stop_at(60), processes=1)
    return path


def cut(folder: Path) -> None:
    path = folder / "00001.pfgnn"
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("harm", "kept"),
    [
        (cut, 16),
        (lambda folder: (folder / "00001.pfgnn").unlink(), 16),
        (lambda folder: shutil.copy(folder / "00000.pfgnn", folder / "00001.pfgnn"), 16),
        (lambda folder: (folder / "00000.json").write_text("{"), 0),
        (lambda folder: (folder / "identity.json").unlink(), 0),
    ],
)
def test_damaged_shards_are_made_again(tmp_path: Path, harm: Callable[[Path], object], kept: int) -> None:
    path = stopped(tmp_path)
    harm(tmp_path / "own.pfgnn.unfinished")
    assert converted(path, tmp_path / "own.pfgnn")[0] == kept + 4
    converted(path, tmp_path / "whole.pfgnn")
    assert contents(tmp_path / "own.pfgnn") == contents(tmp_path / "whole.pfgnn")


def test_another_file_or_setting_begins_anew(tmp_path: Path) -> None:
    path = stopped(tmp_path)
    path.write_text(path.read_text().replace('"y": 3', '"y": 2'))
    assert converted(path, tmp_path / "own.pfgnn")[0] == 4
    shutil.rmtree(tmp_path / "own.pfgnn")
    path = stopped(tmp_path)
    assert converted(path, tmp_path / "own.pfgnn", task="regression")[0] == 4
    assert Shards.open(tmp_path / "own.pfgnn").task.loss == "l1"


def test_a_rejected_line_stops_and_with_skip_it_goes_on(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    lines = path.read_text().splitlines()
    lines[57] = "{"
    path.write_text("\n".join(lines))
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^own.jsonl, line 58: this is not JSON"):
            convert_file(path, tmp_path / "own.pfgnn", processes=1)
    assert converted(path, tmp_path / "own.pfgnn", on_error="skip")[0] == 52
    assert len(Shards.open(tmp_path / "own.pfgnn")) == 74


def test_lines_that_were_skipped_are_not_taken_for_good_ones(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    path.write_text("{\n" + path.read_text())
    with pytest.raises(Stopped):
        convert_file(path, tmp_path / "own.pfgnn", progress=stop_at(40), processes=1, on_error="skip")
    with pytest.raises(ValueError, match=r"^own.jsonl, line 1: this is not JSON"):
        convert_file(path, tmp_path / "own.pfgnn", processes=1)
    done = convert_file(path, tmp_path / "own.pfgnn", processes=1, on_error="skip")
    assert done.first == [Reject(1, done.first[0].reason)]


def test_a_large_file_without_a_graph_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("{\n" * 40)
    with pytest.raises(
        ValueError, match=r"own.jsonl must have at least one graph, .*: all lines were rejected, line 1"
    ):
        convert_file(path, tmp_path / "own.pfgnn", processes=1, on_error="skip")
    assert not (tmp_path / "own.pfgnn").exists()


def test_parts_are_drawn_for_shards_as_for_one_file(tmp_path: Path) -> None:
    path, shares = jsonl(tmp_path), (0.6, 0.2, 0.2)
    done = convert_file(path, tmp_path / "own.pfgnn", processes=1, shares=shares, seed=3)
    assert done.about["parts"] == "45 train, 15 validation, 15 test, at random with seed 3"
    found = Shards.open(tmp_path / "own.pfgnn")
    assert found.about["parts"] == done.about["parts"]
    want = random_split(75, shares, 3)
    assert {name: part.tolist() for name, part in found.splits.items()} == {
        n: part.tolist() for n, part in want.items()
    }
    with pytest.raises(ValueError, match="--split needs more graphs, for 75 graphs of own give: 75 train, 0 val"):
        convert_file(path, tmp_path / "none.pfgnn", processes=1, shares=(0.999, 0.0005, 0.0005))
    assert not (tmp_path / "none.pfgnn").exists()


def test_what_exists_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    (tmp_path / "own.pfgnn").write_text("something")
    with pytest.raises(ValueError, match=r"own.pfgnn must not exist, because a large file becomes a new folder"):
        convert_file(path, tmp_path / "own.pfgnn", processes=1)
    assert (tmp_path / "own.pfgnn").read_text() == "something"
