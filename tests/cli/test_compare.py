"""The command compare: what PF-GNN says about two graphs, beside the exact answer."""

import json
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.process import pfgnn
from torch import Tensor
from typer.testing import CliRunner

from pfgnn.cli.app import app
from pfgnn.errors import InputError, OutOfMemoryError
from pfgnn.experiments import compare as comparing
from pfgnn.experiments.compare import compare_graphs, same_labels
from pfgnn.graphs import Graph, circulant, disjoint_union, to_graph6
from pfgnn.model.colours import ColourRefinement
from pfgnn.report.exact_search import Found, Searcher
from pfgnn.training.devices import open_devices

RING, TRIANGLES = circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))


def write(path: Path, *graphs: Graph) -> Path:
    path.write_text("".join(f"{to_graph6(graph)}\n" for graph in graphs))
    return path


def test_one_mark_tells_a_ring_from_two_triangles(tmp_path: Path) -> None:
    done = pfgnn("compare", write(tmp_path / "a.g6", RING), write(tmp_path / "b.g6", TRIANGLES))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == ["no", "yes"]
    assert lines[-2:] == [
        "PF-GNN tells them apart with 1 marked vertex.",
        "Exact search: they are not isomorphic.",
    ]


def test_a_copy_is_not_told_apart(tmp_path: Path) -> None:
    both = write(tmp_path / "a.g6", RING, RING.relabel([2, 5, 0, 4, 1, 3]))
    done = pfgnn("compare", both, "--json", "--steps", 2)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["told_apart"], found["isomorphic"]) == (False, True)
    assert [row["steps"] for row in found["evidence"]] == [0, 1, 2]
    assert [row["particles"] for row in found["evidence"]] == [1, 6, 36]


@pytest.mark.parametrize(
    ("other", "found", "answer"),
    [
        (TRIANGLES, (b"a", b"a"), "no answer, because the exact search took too long; see --seconds."),
        (TRIANGLES, (b"a", b"b"), "they are not isomorphic."),
        (TRIANGLES, (b"a", None), "no answer, because the exact search took too long; see --seconds."),
        (circulant(7, [1]), (None, None), "they are not isomorphic."),
        (circulant(6, [1, 2]), (None, None), "they are not isomorphic."),
    ],
)
def test_what_is_known_without_the_exact_search(
    other: Graph,
    found: tuple[bytes | None, bytes | None],
    answer: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = iter(Found(wl_certificate=of, missing="time") for of in found)
    monkeypatch.setattr(Searcher, "__call__", lambda self, graph: next(left))
    both = write(tmp_path / "a.g6", RING, other)
    done = CliRunner().invoke(app, ["compare", str(both), "--steps", "0"])
    assert done.stdout.splitlines()[-1] == f"Exact search: {answer}"


@pytest.mark.parametrize("number", [1, 3])
def test_there_must_be_two_graphs(number: int, tmp_path: Path) -> None:
    done = pfgnn("compare", write(tmp_path / "a.g6", *[RING] * number))
    assert done.returncode == 2
    assert f"the files must hold two graphs in all, but they hold {number}" in " ".join(done.stderr.split())


def test_commands_compute_with_one_thread_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int | None] = []
    monkeypatch.setattr("pfgnn.cli.compare.use_threads", given.append)
    both = write(tmp_path / "a.g6", RING, TRIANGLES)
    for options in ([], ["--threads", "2"]):
        assert CliRunner().invoke(app, ["compare", str(both), *options]).exit_code == 0
    assert given == [None, 2]


def test_a_bar_counts_the_outputs() -> None:
    seen: list[tuple[int, int, int]] = []

    def progress(steps: int, done: int, total: int) -> None:
        seen.append((steps, done, total))

    list(compare_graphs(RING, TRIANGLES, draws=16, device="cpu", progress=progress))
    assert [seen[0], seen[-1]] == [(0, 0, 64), (1, 64, 64)]


def test_a_mark_reaches_all_of_a_long_ring() -> None:
    ring, rings = circulant(80, [1]), disjoint_union(circulant(40, [1]), circulant(40, [1]))
    found = list(compare_graphs(ring, rings, steps=1, particles=2, draws=16, device="cpu"))
    assert [of.told_apart for of in found] == [False, True]


def test_the_particles_of_a_large_graph_are_computed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    forward = ColourRefinement.forward

    @wraps(forward)
    def watched(self: ColourRefinement, x: Tensor, *rest: Any, **named: Any) -> Tensor:
        sizes.append(x.numel())
        return forward(self, x, *rest, **named)

    def t2(particles: int) -> float:
        """With memory for so many particles."""
        monkeypatch.setattr(comparing, "NUMBERS_AT_ONCE", 6 * particles * comparing.WIDTH)
        sizes.clear()
        found = comparing.compare_with(same_labels([RING, TRIANGLES]), 2, 5, 16, 1.0, 0, open_devices("cpu"))
        assert max(sizes) == comparing.NUMBERS_AT_ONCE
        return found.t2

    monkeypatch.setattr(ColourRefinement, "forward", watched)
    assert t2(2) == pytest.approx(t2(5), rel=1e-3)


def test_too_little_memory_names_the_particles(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ColourRefinement, "forward", wraps(ColourRefinement.forward)(full))
    with pytest.raises(
        OutOfMemoryError, match=r"but 1 of them in a graph of 6 vertices do not; a smaller number \(--particles\)"
    ):
        list(compare_graphs(RING, TRIANGLES, steps=0))


@pytest.mark.parametrize("level", [0.0, 2.0, float("nan")])
def test_the_level_is_a_probability(level: float) -> None:
    with pytest.raises(InputError, match=f"level must lie between 0 and 1, but it is {level}"):
        list(compare_graphs(RING, TRIANGLES, level=level))


def test_large_numbers_do_not_touch(tmp_path: Path) -> None:
    copies = write(tmp_path / "a.g6", *[circulant(60, [1])] * 2)
    done = CliRunner().invoke(app, ["compare", str(copies), "--steps", "6", "--particles", "1", "--draws", "10"])
    assert done.stdout.splitlines()[7].split()[:3] == ["6", "1", "46,656,000,000"]


def test_labels_count() -> None:
    labels = np.array([[0], [0], [1], [1], [0], [0]])
    one, other = (Graph(6, RING.edges, x=of) for of in (labels, labels[[0, 2, 1, 4, 3, 5]]))
    found = list(compare_graphs(one, other, steps=1, draws=16, device="cpu"))
    assert [of.told_apart for of in found] == [True]  # without a mark, as 1-WL does
    same = list(compare_graphs(one, one.relabel([1, 2, 3, 4, 5, 0]), steps=1, draws=16, device="cpu"))
    assert [of.told_apart for of in same] == [False, False]
