import sys
from pathlib import Path

import numpy as np
import pytest

from pfgnn.graphs import Graph, from_smiles, read_smiles, to_smiles

MOLECULES = [
    "C",
    "CCO",
    "C#N",
    "[H][H]",
    "[CH3]",
    "[Fe]",
    "OB(O)O",
    "C1CC2CCC1C2",
    "c1ccccc1",
    "c1cc[nH]c1",
    "c1cc[se]c1",
    "c1ccc2c(c1)[nH]c1ccccc12",
    "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "Cn1cc[n+](C)c1",
    "[O-][n+]1ccccc1",
    "O=[N+]([O-])c1ccccc1",
    "C[N+](C)(C)CC(=O)[O-]",
    "[Cl-].[NH4+]",
    "[Na+].[O-]c1ccccc1",
    "O=S(=O)(O)O",
    "O=P(O)(O)OC[C@H](O)C=O",
    "F/C=C/F",
]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_round_trip_gives_the_canonical_smiles_without_stereo(smiles: str) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    graph = from_smiles(smiles)
    expected = chem.MolToSmiles(chem.MolFromSmiles(smiles), isomericSmiles=False)
    assert to_smiles(graph) == expected
    order = np.random.default_rng(0).permutation(graph.num_nodes)
    assert to_smiles(graph.relabel(order)) == expected


def test_labels_are_element_charge_hydrogens_and_bond_type() -> None:
    pytest.importorskip("rdkit")
    assert from_smiles("[O-]C(=O)C") == Graph.from_edges(
        4, [(0, 1), (1, 2), (1, 3)], [[8, -1, 0], [6, 0, 0], [8, 0, 0], [6, 0, 3]], [[1], [2], [1]]
    )
    ring = from_smiles("c1ccccc1").edge_attr
    assert ring is not None
    assert ring.dtype == np.int64
    assert (ring == 4).all()


@pytest.mark.parametrize(
    ("smiles", "message"),
    [("C1", "'C1' is not a valid molecule"), ("", "has no atoms"), ("C$C", "but it has one of type QUADRUPLE")],
)
def test_bad_smiles_are_refused_quietly(smiles: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    with pytest.raises(ValueError, match=message):
        from_smiles(smiles)
    assert capfd.readouterr() == ("", "")


def test_graphs_that_are_no_molecules_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    with pytest.raises(ValueError, match=r"graph must have x \[n, 3\] and .*, but it has other labels"):
        to_smiles(Graph.from_edges(2, [(0, 1)]))
    with pytest.raises(ValueError, match=r"edge_attr of edge \(0, 1\) must be one of \[1, 2, 3, 4\], but it is 9"):
        to_smiles(Graph.from_edges(2, [(0, 1)], [[6, 0, 3]] * 2, [[9]]))
    with pytest.raises(ValueError, match="graph is not a valid molecule"):
        to_smiles(Graph.from_edges(2, [(0, 1)], [[6, 0, 9]] * 2, [[1]]))
    assert capfd.readouterr() == ("", "")


def test_read_smiles_takes_the_first_token_of_each_line(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    file = tmp_path / "molecules.smi"
    file.write_text("CCO ethanol\n\nc1ccccc1\tbenzene\n")
    assert read_smiles(file) == [from_smiles("CCO"), from_smiles("c1ccccc1")]
    file.write_text("CCO\nC1 open\n")
    with pytest.raises(ValueError, match=r"^molecules.smi, line 2: smiles 'C1' is not"):
        read_smiles(file)


def test_without_rdkit_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"pip install pfgnn\[chem\]"):
        from_smiles("C")


@pytest.mark.parametrize("smiles", ["CC O", "CC\tO", "CC\nO"])
def test_white_space_is_not_cut_off_silently(smiles: str) -> None:
    with pytest.raises(ValueError, match=r"^smiles must be without white space, but it is 'CC"):
        from_smiles(smiles)
