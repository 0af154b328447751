"""The command inspect, with several files, as JSON, and with isomorphisms."""

import json
import subprocess
import sys
from decimal import Decimal
from math import factorial
from pathlib import Path

import pytest
from tests.cli.process import pfgnn

import pfgnn as package
from pfgnn.cli.inspect import inspect
from pfgnn.errors import InputError
from pfgnn.graphs import Graph, circulant, from_graph6, is_isomorphic, nauty, to_graph6, to_sparse6
from pfgnn.report import exact_search
from pfgnn.report.exact_search import Found, search_here
from pfgnn.report.inspection import canonical_method

RING = circulant(6, [1])


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A ring and two others, and the ring again with other numbers."""
    (tmp_path / "a.g6").write_text(f"{to_graph6(RING)}\nE{{Sw\n")
    (tmp_path / "b.g6").write_text(f"{to_graph6(RING.relabel([2, 5, 0, 4, 1, 3]))}\n")
    return [tmp_path / "a.g6", tmp_path / "b.g6"]


def test_several_files_as_json(files: list[Path]) -> None:
    done = pfgnn("inspect", *files, "--json", "--canonical", "--isomorphism", 0, 2)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [Path(graph["file"]).name for graph in found["graphs"]] == ["a.g6", "a.g6", "b.g6"]
    assert [graph["isomorphism_class"] for graph in found["graphs"]] == [1, 2, 1]
    assert [graph["automorphisms"] for graph in found["graphs"]] == ["12"] * 3
    first, second, third = (graph["canonical"] for graph in found["graphs"])
    assert first == third != second
    assert is_isomorphic(from_graph6(first), RING)
    assert found["isomorphism"]["graphs"] == [0, 2]
    assert found["canonical_method"] == canonical_method()
    assert RING.relabel(found["isomorphism"]["map"]) == RING.relabel([2, 5, 0, 4, 1, 3])


def test_several_files_as_text(files: list[Path]) -> None:
    done = pfgnn("inspect", *files, "--isomorphism", 0, 1)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.endswith(":")] == [f"{path}:" for path in files]
    assert [line.split()[0] for line in lines if line.endswith("12")] == ["0", "1", "2"]
    assert lines[-1] == "Graphs 0 and 1 are not isomorphic."


def test_canonical_forms_name_their_method(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    done = pfgnn("inspect", *files, "--canonical")
    assert f"Canonical forms by {canonical_method()}. Compare them only" in done.stdout
    monkeypatch.setattr(nauty, "pynauty", None)
    assert canonical_method() == f"pfgnn {package.__version__}, without pynauty"


def test_standard_input(files: list[Path]) -> None:
    command = [sys.executable, "-m", "pfgnn", "inspect", "-", str(files[1])]
    done = subprocess.run(command, input=files[0].read_text(), capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.endswith(":")] == ["-:", f"{files[1]}:"]
    assert [line.split()[0] for line in lines if line.endswith("12")] == ["0", "1", "2"]
    wrong = subprocess.run(command[:-1], input="no graph\n", capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr.startswith("pfgnn: standard input, line 1: ")) == (2, True)


def test_a_search_that_died_is_no_timeout(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [Found(missing="died"), search_here(RING), Found(missing="time")]
    monkeypatch.setattr(exact_search.Searcher, "__call__", lambda self, graph: found.pop(0))
    inspect(files)
    said = capsys.readouterr().out
    assert "?: of graph 0, the process of the exact search died, perhaps for lack of memory." in said
    assert "?: not found in 10 seconds; --seconds gives more time." in said
    found[:] = [Found(missing="died"), search_here(RING), search_here(RING)]
    with pytest.raises(InputError, match="the symmetries of graph 0, but the process of the exact search died"):
        inspect(files, isomorphism=(0, 1))


def test_a_group_order_of_thousands_of_digits_is_exact(tmp_path: Path) -> None:
    (tmp_path / "empty.s6").write_text(f"{to_sparse6(Graph.from_edges(2000, []))}\n")
    row = pfgnn("inspect", tmp_path / "empty.s6").stdout.splitlines()[1].split()
    assert len(row[-1]) == 5736
    assert Decimal(row[-1]) == Decimal(factorial(2000))
    found = json.loads(pfgnn("inspect", tmp_path / "empty.s6", "--json").stdout)
    assert found["graphs"][0]["automorphisms"] == row[-1]


def test_a_graph_that_is_not_there(files: list[Path]) -> None:
    done = pfgnn("inspect", *files, "--isomorphism", 0, 3)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "pfgnn: --isomorphism must name two graphs in 0..2, but one is 3\n"
