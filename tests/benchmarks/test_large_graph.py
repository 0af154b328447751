"""The program for one large graph runs at tiny sizes, and chunks take less memory."""

import io
import json
from pathlib import Path

import pytest
import torch
from benchmarks import large_graph
from benchmarks.large_graph import MEASURED, Case, make_batch, make_model, measure, run
from benchmarks.measure import Record
from matplotlib.figure import Figure
from rich.console import Console


@pytest.fixture(autouse=True)
def _no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_graph, "_limit_memory", lambda device: None)  # it would stay for the other tests


def test_chunks_take_less_memory_in_training() -> None:
    one, all_at_once = (measure(Case("cpu", 8, 400, chunk, True, 1)) for chunk in (1, 16))
    assert one["best ms"] > 0
    assert one["peak MiB"] < all_at_once["peak MiB"] / 3


def test_the_memory_of_a_chunk_grows_with_the_graph_and_not_with_its_square() -> None:
    small, large = (measure(Case("cpu", 8, nodes, 4, False, 1))["peak MiB"] for nodes in (500, 2000))
    assert large < 5 * small


def test_chunks_change_no_prediction() -> None:
    batch, model = make_batch(300), make_model(8).double().eval()
    one, all_at_once = (model(batch, seed=1, chunk=chunk).prediction for chunk in (1, 16))
    assert one.shape == (300, large_graph.CLASSES)
    torch.testing.assert_close(one, all_at_once)


def test_the_program(tmp_path: Path) -> None:
    def measured(case: Case) -> Record:
        fits = not (case.training and case.chunk == 16 and case.nodes == 40)
        return dict(zip(MEASURED, (2.0 * case.nodes, 1.0 * case.chunk, 3.0) if fits else (None,) * 3, strict=True))

    out, written = tmp_path / "large-graph.json", io.StringIO()
    out.write_text(json.dumps({"cuda": run("cpu", tmp_path / "x.json", Console(), 8, (20, 40), 1, measured)["cpu"]}))
    run("cpu", out, Console(file=written, width=200), 8, (20, 40), 1, measured)
    record = json.loads(out.read_text())
    assert set(record) == {"cpu", "cuda"}  # what another device has written stays
    of = record["cpu"]["training step"]
    assert of["chunks of 1"]["at most linear"]
    assert of["chunks of 16"]["peak MiB"] == [16.0, None]
    assert "does not fit" in written.getvalue()
    assert (tmp_path / "large-graph.png").stat().st_size > 1000


def test_what_fits_at_no_size_has_no_line_in_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(large_graph, "save_picture", lambda figure, path: drawn.append(figure))

    def measured(case: Case) -> Record:
        fits = not (case.training and case.chunk == 16)
        return dict(zip(MEASURED, (2.0 * case.nodes, 1.0, 3.0) if fits else (None,) * 3, strict=True))

    run("cpu", tmp_path / "large-graph.json", Console(file=io.StringIO()), 8, (20, 40), 1, measured)
    assert [len(axes.lines) for axes in drawn[0].axes] == [5, 5]


def test_what_does_not_fit_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr("pfgnn.model.PFGNN.forward", fail)
    assert measure(Case("cpu", 8, 50, 1, False, 1)) == dict.fromkeys(MEASURED)
