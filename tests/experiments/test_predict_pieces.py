"""A file is predicted piece by piece: the same numbers, whatever the pieces and the processes."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.experiments.prediction_samples import predict_run
from tests.experiments.run_samples import NODES, packed, small
from tests.training.training_samples import CLASSES, graphs

from pfgnn.cli.app import main
from pfgnn.data.convert import Reject
from pfgnn.data.shard_writer import write_shards
from pfgnn.data.task import Task
from pfgnn.experiments import new_graphs, predict
from pfgnn.experiments.new_graphs import cut
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.prediction_table import Columns, Predictions, write_table
from pfgnn.experiments.run import run
from pfgnn.graphs import to_graph6
from pfgnn.graphs.graph6 import graph6_lines
from pfgnn.training import evaluate

COUNT = 23  # five batches, the last one of 3 graphs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs by their level, with batches of 5 graphs; their data are beside them."""
    found = {}
    for task in (CLASSES, NODES):
        folder = tmp_path_factory.mktemp(task.level)
        config = small(packed(folder, task), {"epochs": 1})
        run(config, folder / "run", device="cpu")
        write(folder, task)
        found[task.level] = folder / "run"
    return found


def write(folder: Path, task: Task) -> None:
    """Write new graphs in three formats."""
    made = graphs(COUNT, task)
    made.save(folder / "new.pfgnn")
    write_shards(folder / "new", [made[:7], made[7:]])
    (folder / "new.g6").write_text("".join(f"{to_graph6(made.graph(number))}\n" for number in range(COUNT)))


def same(one: Predictions, other: Predictions) -> bool:
    pairs = [(one.mean, other.mean), (one.error, other.error), (one.where, other.where)]
    return all(torch.equal(*pair) for pair in pairs) and one.carried == other.carried


@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("name", ["new.g6", "new.pfgnn", "new"])
@pytest.mark.parametrize("size", [1, 10])
def test_pieces_change_nothing(
    runs: dict[str, Path], level: str, name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one bit, because the batches stay the same."""
    directory = runs[level]
    whole = predict_run(directory, directory.parent / "new.g6", draws=2)
    monkeypatch.setattr(new_graphs, "PIECE", size)
    pieces = list(load_run(directory, "cpu").predict_file(directory.parent / name, 2))
    assert [int(piece.where[0, 0]) for piece in pieces] == list(range(0, COUNT, max(size, 5)))
    assert same(predict_run(directory, directory.parent / name, draws=2), whole)


@pytest.mark.slow
def test_processes_change_nothing(runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = runs["graph"].parent / "new.g6"
    whole = predict_run(runs["graph"], path, draws=2)
    monkeypatch.setattr(new_graphs, "PIECE", 1)
    assert same(predict_run(runs["graph"], path, draws=2, processes=2), whole)
    (tmp_path / "wrong.g6").write_text(path.read_text() + "D?\n")
    said = []
    for processes in (1, 2):
        with pytest.raises(ValueError, match=r"wrong\.g6, line 24: graph6 text has 1 byte after its size") as caught:
            predict_run(runs["graph"], tmp_path / "wrong.g6", draws=2, processes=processes)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_many_graphs_are_made_by_all_cores(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def watched(function: Any, pieces: Any, processes: int) -> Iterator[Any]:
        asked.append(processes)
        yield from map(function, pieces)

    monkeypatch.setattr(predict, "ordered_map", watched)
    monkeypatch.setattr(predict, "available_cores", lambda: 7)
    folder = runs["graph"].parent
    for most in (COUNT, COUNT - 1):
        monkeypatch.setattr(predict, "GRAPHS_ALONE", most)
        for name in ("new.g6", "new.pfgnn"):  # the graphs of a packed file are already made
            predict_run(runs["graph"], folder / name, draws=2)
    predict_run(runs["graph"], folder / "new.g6", draws=2, processes=3)
    assert asked == [1, 1, 7, 1, 3]


def test_pieces_have_whole_batches_and_not_too_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_graphs, "PIECE", 6)
    monkeypatch.setattr(new_graphs, "MOST_TEXT", 100)
    short = [(line, ["C"]) for line in range(2, 20)]
    assert [(piece.first, len(piece.rows)) for piece in cut(iter(short), 4)] == [(0, 8), (8, 8), (16, 2)]
    long = [(line, ["C" * 60]) for line in range(2, 11)]
    assert [(piece.first, len(piece.rows)) for piece in cut(iter(long), 2)] == [(0, 2), (2, 2), (4, 2), (6, 2), (8, 1)]
    assert [piece.lines for piece in cut(iter(long), 5)] == [[2, 3, 4, 5, 6], [7, 8, 9, 10]]
    assert list(cut(iter([]), 4)) == []


def test_the_file_is_read_as_the_predictions_are_asked_for(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_graphs, "PIECE", 1)
    read: list[int] = []
    lines = graph6_lines

    def watched(path: Path) -> Iterator[tuple[int, str]]:
        for line, body in lines(path):
            read.append(line)
            yield line, body

    monkeypatch.setattr(new_graphs, "graph6_lines", watched)
    pieces = load_run(runs["graph"], "cpu").predict_file(runs["graph"].parent / "new.g6", 2)
    assert len(read) == COUNT  # all lines are counted first
    next(pieces)
    assert len(read) == COUNT + 5


def test_the_progress_counts_graphs(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_graphs, "PIECE", 20)
    told: list[tuple[float, int]] = []
    path = runs["graph"].parent / "new.g6"
    list(load_run(runs["graph"], "cpu").predict_file(path, 2, progress=lambda *now: told.append(now)))
    assert told == [(10, COUNT), (20, COUNT), (21.5, COUNT), (23, COUNT)]


def test_lines_that_are_skipped_keep_their_place(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_graphs, "PIECE", 1)
    folder = runs["graph"].parent
    whole = predict_run(runs["graph"], folder / "new.g6", draws=2)
    lines = (folder / "new.g6").read_text().splitlines()
    wrong = [3, *range(10, 15), 22]  # among them a whole piece
    changed = ["~" if number in wrong else line for number, line in enumerate(lines)]
    (tmp_path / "new.g6").write_text("\n".join(changed))
    found = predict_run(runs["graph"], tmp_path / "new.g6", draws=2, on_error="skip")
    right = np.setdiff1d(np.arange(COUNT), wrong)
    assert torch.equal(found.where, whole.where)
    torch.testing.assert_close(found.mean[right], whole.mean[right], rtol=1e-5, atol=1e-6)
    assert found.mean[wrong].isnan().all()
    assert [reject.line for reject in found.rejects] == [number + 1 for number in wrong]
    node = predict_run(runs["node"], tmp_path / "new.g6", draws=2, on_error="skip")
    assert np.array_equal(np.unique(node.where[:, 0].numpy()), right)
    (tmp_path / "none.g6").write_text("~\n~\n")
    for directory in runs.values():
        with pytest.raises(ValueError, match=r"none\.g6 must have at least one graph, .* line 1 since text has 1 byte"):
            predict_run(directory, tmp_path / "none.g6", draws=2, on_error="skip")
    with pytest.raises(ValueError, match="on_error must be one of fail, skip, but it is 'stop'"):
        predict_run(runs["graph"], tmp_path / "new.g6", on_error="stop")


def test_skipped_rows_are_written_without_predictions(tmp_path: Path) -> None:
    nan, columns = torch.full((1, 1), torch.nan), ["id"]
    pieces = [
        Predictions(torch.ones(1, 1), torch.zeros(1, 1), ["a"], torch.tensor([[0]]), Columns(columns, [["x"]])),
        Predictions(nan, nan, ["a"], torch.tensor([[1]]), Columns(columns, [["y"]]), 1, [Reject(2, "it is wrong")]),
    ]
    assert write_table(tmp_path / "out.csv", pieces) == 2
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        'graph,id,a,"a, Monte Carlo standard error"',
        "0,x,1,0",
        "1,y,,",
    ]


def test_an_error_in_the_last_piece_leaves_no_table(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_graphs, "PIECE", 1)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "new.g6").write_text((runs["graph"].parent / "new.g6").read_text() + "~\n")
    pieces = load_run(runs["graph"], "cpu").predict_file(tmp_path / "in" / "new.g6", 2)
    with pytest.raises(ValueError, match=r"new\.g6, line 24"):
        write_table(tmp_path / "out.csv", pieces)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_prediction_that_is_not_finite_names_the_graph_of_the_file(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_graphs, "PIECE", 1)
    trained = load_run(runs["graph"], "cpu")
    pieces = trained.predict_file(runs["graph"].parent / "new.g6", 2)
    next(pieces)
    monkeypatch.setattr(evaluate, "run_stages", lambda stages: torch.full((5, 2), torch.inf))
    with pytest.raises(ValueError, match=r"must be finite, but that of graph 5 is inf \(5 of 5 graphs\)"):
        next(pieces)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["pfgnn", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_the_command_skips_lines(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.g6").write_text("~\n" * 25 + "D?{\n")
    command = ["predict", runs["graph"], tmp_path / "new.g6", "--out", tmp_path / "out.csv", "--device", "cpu"]
    assert call(monkeypatch, *command) == 2
    assert "line 1: text has 1 byte" in capsys.readouterr().err
    assert call(monkeypatch, *command, "--on-error", "skip", "--draws", 2) == 0
    said = capsys.readouterr().out
    assert "line 20: text has 1 byte" in said
    assert "line 21" not in said
    assert "25 lines were rejected and have no prediction." in said
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 27


def test_the_command_never_writes_over_its_input(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.g6").write_text("D?{\n")
    for out, why in ((tmp_path / "new.g6", "other than the one to read"), (tmp_path, "is a folder; write")):
        assert call(monkeypatch, "predict", runs["graph"], tmp_path / "new.g6", "--out", out) == 2
        assert why in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_leaves_nothing(
    runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def stopped(*arguments: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(predict, "predict", stopped)
    path = runs["graph"].parent / "new.g6"
    assert call(monkeypatch, "predict", runs["graph"], path, "--out", tmp_path / "out.csv", "--device", "cpu") != 0
    assert list(tmp_path.iterdir()) == []
