"""The command inspect, with several files, as JSON, and with isomorphisms."""

import json
from decimal import Decimal
from math import factorial
from pathlib import Path

import pytest
from tests.cli.process import pfgnn

from pfgnn.graphs import Graph, circulant, from_graph6, is_isomorphic, to_graph6, to_sparse6

RING = circulant(6, [1])


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A ring and two others, and the ring again with other numbers."""
    (tmp_path / "a.g6").write_text(f"{to_graph6(RING)}\nE{{Sw\n")
    (tmp_path / "b.g6").write_text(f"{to_graph6(RING.relabel([2, 5, 0, 4, 1, 3]))}\n")
    return [tmp_path / "a.g6", tmp_path / "b.g6"]


def test_several_files_as_json(files: list[Path]) -> None:
    done = pfgnn("inspect", *files, "--json", "--canonical", "--isomorphism", 1, 3)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [Path(graph["file"]).name for graph in found["graphs"]] == ["a.g6", "a.g6", "b.g6"]
    assert [graph["isomorphism_class"] for graph in found["graphs"]] == [1, 2, 1]
    assert [graph["automorphisms"] for graph in found["graphs"]] == ["12"] * 3
    first, second, third = (graph["canonical"] for graph in found["graphs"])
    assert first == third != second
    assert is_isomorphic(from_graph6(first), RING)
    assert found["isomorphism"]["graphs"] == [1, 3]
    assert RING.relabel(found["isomorphism"]["map"]) == RING.relabel([2, 5, 0, 4, 1, 3])


def test_several_files_as_text(files: list[Path]) -> None:
    done = pfgnn("inspect", *files, "--isomorphism", 1, 2)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.endswith(":")] == [f"{path}:" for path in files]
    assert [line.split()[0] for line in lines if line.endswith("12")] == ["1", "2", "3"]
    assert lines[-1] == "Graphs 1 and 2 are not isomorphic"


def test_a_group_order_of_thousands_of_digits_is_exact(tmp_path: Path) -> None:
    (tmp_path / "empty.s6").write_text(f"{to_sparse6(Graph.from_edges(2000, []))}\n")
    row = pfgnn("inspect", tmp_path / "empty.s6").stdout.splitlines()[1].split()
    assert len(row[-1]) == 5736
    assert Decimal(row[-1]) == Decimal(factorial(2000))
    found = json.loads(pfgnn("inspect", tmp_path / "empty.s6", "--json").stdout)
    assert found["graphs"][0]["automorphisms"] == row[-1]


def test_a_graph_that_is_not_there(files: list[Path]) -> None:
    done = pfgnn("inspect", *files, "--isomorphism", 1, 4)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pfgnn: --isomorphism must name two graphs in 1..3, but one is 4\n"
