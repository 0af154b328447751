"""The page that `pfgnn fit` writes, from real model folders."""

from pathlib import Path

import pytest
from tests.cli.test_fit import MOLECULES, QUICK, table
from tests.cli.test_train import Command, pfgnn
from tests.estimators.samples import GRAPHS, KINDS
from tests.report.test_fit_page import read

from pfgnn.graphs import to_graph6

__all__ = ["pfgnn"]

REPORTED = [option for option in QUICK if option != "--no-report"]


@pytest.mark.slow
def test_the_page_of_molecules(pfgnn: Command, tmp_path: Path) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    rows: list[tuple[object, ...]] = [("smiles", "<b>length"), *((text, len(text)) for text in MOLECULES), ("C(C", 3)]
    table(tmp_path / "molecules.csv", rows)
    status, out, err = pfgnn("fit", "molecules.csv", "--on-error", "skip", "--out", "model", *REPORTED)
    assert status == 0, err
    assert "Wrote model/report.html." in out
    found = read((tmp_path / "model" / "report.html").read_text(encoding="utf-8"))
    assert "b" not in found.tags
    for words in (
        "Model of <b>length of molecules.csv",
        "On 10 test molecules that were not used in training, the mean absolute error of <b>length is",
        "constantalways the median of the training targets",
        "backbone alonegine without particles, 5 layers",
        "The worst predictions",
        "Least like the training molecules",
        "No molecule occurs twice.",
        "line 62: smiles 'C(C' is not a valid molecule",
        "pfgnn predict model new.csv",
    ):
        assert words in found.text


@pytest.mark.slow
def test_the_page_of_classes_of_graphs(pfgnn: Command, tmp_path: Path) -> None:
    (tmp_path / "graphs.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in GRAPHS))
    (tmp_path / "labels.txt").write_text("".join(f"{kind}\n" for kind in KINDS))
    status, _, err = pfgnn("fit", "graphs.g6", "--labels", "labels.txt", "--out", "model", *REPORTED)
    assert status == 0, err
    text = read((tmp_path / "model" / "report.html").read_text(encoding="utf-8")).text
    assert "always the most frequent class of the training part" in text
    assert "Number of test graphs" in text
    assert "The most uncertain predictions" in text
    assert "copies of an earlier one." in text
    page = (tmp_path / "model" / "report.html").read_bytes()
    status, _, err = pfgnn("fit", "graphs.g6", "--out", "model", "--resume", "--device", "cpu")
    assert status == 0, err
    assert (tmp_path / "model" / "report.html").read_bytes() == page  # nothing is trained again


def test_no_report(pfgnn: Command, tmp_path: Path) -> None:
    (tmp_path / "graphs.g6").write_text("".join(f"{to_graph6(graph)}\n" for graph in GRAPHS))
    (tmp_path / "labels.txt").write_text("".join(f"{kind}\n" for kind in KINDS))
    status, _, err = pfgnn("fit", "graphs.g6", "--labels", "labels.txt", "--out", "model", *QUICK)
    assert status == 0, err
    assert not (tmp_path / "model" / "report.html").exists()
    assert not (tmp_path / "model" / "backbone").exists()
