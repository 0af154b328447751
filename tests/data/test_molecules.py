import csv
import gzip
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data.molecules import FEATURES, Molecule, featurise_many, scaffold
from pfgnn.graphs.arrays import IntArray

NO_EDGES = np.empty((2, 0), dtype=np.int64)
HYDROGEN, CARBON, NITROGEN, OXYGEN = range(4)  # QM9's types
ZINC = {  # place in zinc12k.npz, found by matching the molecules of ZINC-250K
    0: "COc1ccc2ccc(O)c(CN3CCN(S(=O)(=O)c4ccn(C)c4)CC3)c2c1",
    3: "Cc1[nH+]c(SCc2cc([O-])n3ncc(C#N)c3n2)n(C2CCCCC2)c1C",
    10000: "C[C@@]1(c2ccc(F)cc2)NC(=O)N(CN2CCN(S(=O)(=O)c3ccc4ccccc4c3)CC2)C1=O",
    10002: "O=c1c([N+](=O)[O-])cccn1Cc1ccc(F)cc1Cl",
    11000: "Clc1ccc(CNc2ncccc2Cl)cn1",
    11002: "Cc1[nH]c2ccccc2c1CC(=O)N[C@H](C(N)=O)c1ccccc1",
}
QM9_NUMBERS = np.array([1, 6, 7, 8, 9])
ODD = [
    *("[H][H]", "[CH3]", "*C", "[Fe]", "[Cl-].[NH4+]", "C->[Fe]", "C$C", "S(F)(F)(F)(F)(F)F", "[C+6]", "[O][O]"),
    *("F/C=C/F", "C[C@H](O)F", "C[C@@H](O)F", "F[Pt@SP1](F)(Cl)Cl", "c1cc[se]c1", "C[N+](C)(C)CC(=O)[O-]", "[2H]C"),
]


def read_smiles(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def starts(lengths: IntArray) -> IntArray:
    """Where each of the concatenated parts begins, and where the last one ends, [parts + 1]."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def typed_edges(molecule: Molecule) -> list[list[int]]:
    """The rows (source, target, bond type), sorted."""
    return sorted(np.column_stack([molecule.edge_index.T, molecule.edge_attr]).tolist())


def assert_equal(molecule: Molecule, x: object, edge_index: object, edge_attr: object) -> None:
    for array, expected in zip(molecule, (x, edge_index, edge_attr), strict=True):
        assert array.dtype == np.int64
        np.testing.assert_array_equal(array, np.asarray(expected))


def test_ogb_of_a_chiral_carbon_with_a_double_bond() -> None:
    # Columns: atomic number - 1, chirality, degree, charge + 5, hydrogens, radicals, hybridisation, aromatic, ring.
    assert_equal(
        FEATURES["ogb"].featurise("Cl[C@H](/C=C/C)Br"),
        x=[
            [16, 0, 1, 5, 0, 0, 2, 0, 0],
            [5, 2, 4, 5, 1, 0, 2, 0, 0],
            [5, 0, 3, 5, 1, 0, 1, 0, 0],
            [5, 0, 3, 5, 1, 0, 1, 0, 0],
            [5, 0, 4, 5, 3, 0, 2, 0, 0],
            [34, 0, 1, 5, 0, 0, 2, 0, 0],
        ],
        edge_index=[[0, 1, 1, 2, 2, 3, 3, 4, 1, 5], [1, 0, 2, 1, 3, 2, 4, 3, 5, 1]],
        edge_attr=[[0, 0, 0]] * 4 + [[1, 2, 0]] * 2 + [[0, 0, 0]] * 4,
    )


def test_ogb_of_an_aromatic_ring_and_of_a_lone_ion() -> None:
    ring = FEATURES["ogb"].featurise("c1ccccc1")
    np.testing.assert_array_equal(ring.x, [[5, 0, 3, 5, 1, 0, 1, 1, 1]] * 6)
    np.testing.assert_array_equal(ring.edge_attr, [[3, 0, 1]] * 12)
    assert_equal(FEATURES["ogb"].featurise("[NH4+]"), [[6, 0, 4, 6, 4, 0, 2, 0, 0]], NO_EDGES, np.empty((0, 3)))


def test_ogb_counts_what_is_not_listed_as_misc() -> None:
    molecule = FEATURES["ogb"].featurise("[*+6]->[Fe]")
    assert molecule.x[0, [0, 3]].tolist() == [118, 11]
    assert molecule.edge_attr[:, 0].tolist() == [4, 4]


def test_zinc_takes_atoms_and_bonds_as_kekulised_smiles_write_them() -> None:
    pyrrole = FEATURES["zinc"].featurise("c1cc[nH]c1")  # C1=CNC=C1
    assert_equal(
        pyrrole,
        x=[[0], [0], [2], [0], [0]],
        edge_index=[[0, 1, 1, 2, 2, 3, 3, 4, 4, 0], [1, 0, 2, 1, 3, 2, 4, 3, 0, 4]],
        edge_attr=[[2], [2], [1], [1], [1], [1], [2], [2], [1], [1]],
    )
    ion = FEATURES["zinc"].featurise("C[C@H]([NH3+])C#N")  # a bracketed C H1, but the end carbon's hydrogens are not
    assert sorted(ion.x[:, 0].tolist()) == [0, 0, 2, 4, 10]
    assert sorted(ion.edge_attr[:, 0].tolist()) == [1, 1, 1, 1, 1, 1, 3, 3]


def test_qm9_has_its_hydrogens_as_atoms() -> None:
    assert_equal(
        FEATURES["qm9"].featurise("C=O"),
        x=[[CARBON], [OXYGEN], [HYDROGEN], [HYDROGEN]],
        edge_index=[[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]],
        edge_attr=[[2], [2], [1], [1], [1], [1]],
    )
    assert sorted(FEATURES["qm9"].featurise("C#N").x[:, 0].tolist()) == [HYDROGEN, CARBON, NITROGEN]
    assert FEATURES["qm9"].featurise("c1ccoc1").edge_attr[:, 0].tolist() == [4] * 10 + [1] * 8


def test_category_counts() -> None:
    assert FEATURES["ogb"].node_categories == (119, 5, 12, 12, 10, 6, 6, 2, 2)
    assert FEATURES["ogb"].edge_categories == (5, 6, 2)
    assert (FEATURES["zinc"].node_categories, FEATURES["zinc"].edge_categories) == ((28,), (4,))
    assert (FEATURES["qm9"].node_categories, FEATURES["qm9"].edge_categories) == ((5,), (5,))


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(
    ("smiles", "message"),
    [
        ("C(C", r"^smiles 'C\(C' is not a valid molecule$"),
        ("C(C)(C)(C)(C)C", "is not a valid molecule$"),
        ("c1cccc1", "is not a valid molecule$"),
        ("", "^smiles '' has no atoms, but a graph has at least 1 node$"),
    ],
)
def test_invalid_smiles_are_refused_quietly(
    smiles: str, message: str, features: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=message):
        FEATURES[features].featurise(smiles)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("features", "smiles", "message"),
    [
        (
            "zinc",
            "C[Si](C)(C)C",
            r"^smiles 'C\[Si\]\(C\)\(C\)C': atom type must be one of C, O, N, F, C H1, .*, but it is Si$",
        ),
        ("ogb", "Cc1cccc(I)c1-c1c(C)cccc1Br |wU:7.6|", "bond stereo must be one of .*, but it is STEREOATROPCW$"),
        ("zinc", "[CH2+2]", "atom type must be one of .*, but it is C H2 [+][+]$"),
        ("zinc", "C$C", "bond type must be one of SINGLE, DOUBLE, TRIPLE, but it is QUADRUPLE$"),
        ("qm9", "CS", "^smiles 'CS': atom type must be one of H, C, N, O, F, but it is S$"),
        ("qm9", "C$C", "bond type must be one of SINGLE, DOUBLE, TRIPLE, AROMATIC, but it is QUADRUPLE$"),
    ],
)
def test_what_a_feature_set_does_not_know_is_named(features: str, smiles: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FEATURES[features].featurise(smiles)


def test_scaffold_keeps_rings_linkers_and_chirality() -> None:
    assert scaffold("CCO") == ""
    assert scaffold("Cc1ccc(CCC2CC2)cc1O") == "c1ccc(CCC2CC2)cc1"
    assert scaffold("C[C@H]1CC[C@@H](c2ccccc2)O1") == "c1ccc([C@@H]2CCCO2)cc1"
    assert scaffold("C[C@H]1CC[C@H](c2ccccc2)O1") == "c1ccc([C@H]2CCCO2)cc1"
    with pytest.raises(ValueError, match="smiles 'C1' is not a valid molecule"):
        scaffold("C1")


def test_a_daemon_reads_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a worker of torch's DataLoader. It may not start processes."""
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    assert len(list(featurise_many(["C", "CO"], "qm9", 2))) == 2


@pytest.mark.parametrize("processes", [1, 2])
def test_many_gives_molecules_and_errors_in_order(processes: int) -> None:
    smiles = ["C", "C1", "CO"] * 400  # more than one chunk
    results = list(featurise_many(smiles, "qm9", processes))
    assert len(results) == len(smiles)
    for text, result in zip(smiles, results, strict=True):
        if text == "C1":
            assert isinstance(result, ValueError)
            assert str(result) == "smiles 'C1' is not a valid molecule"
        else:
            assert isinstance(result, Molecule)
            assert_equal(result, *FEATURES["qm9"].featurise(text))


def test_many_checks_its_arguments_at_once() -> None:
    with pytest.raises(ValueError, match=r"^features must be one of ogb, zinc, qm9, but it is 'ecfp'$"):
        featurise_many(["C"], "ecfp")
    with pytest.raises(ValueError, match=r"^processes must be at least 1, but it is 0$"):
        featurise_many(["C"], "ogb", processes=0)


def test_without_rdkit_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"pip install pfgnn\[chem\]"):
        list(featurise_many(["C"], "ogb"))


@pytest.mark.parametrize("smiles", ODD)
def test_odd_molecules_agree_with_the_ogb_package(smiles: str) -> None:
    expected = pytest.importorskip("ogb.utils.mol").smiles2graph(smiles)
    molecule = FEATURES["ogb"].featurise(smiles)
    assert_equal(molecule, expected["node_feat"], expected["edge_index"], expected["edge_feat"])


def test_category_counts_agree_with_the_ogb_package() -> None:
    ogb = pytest.importorskip("ogb.utils.features")
    assert list(FEATURES["ogb"].node_categories) == ogb.get_atom_feature_dims()
    assert list(FEATURES["ogb"].edge_categories) == ogb.get_bond_feature_dims()


def test_molecules_agree_with_the_ogb_package(data_dir: Path) -> None:
    smiles2graph = pytest.importorskip("ogb.utils.mol").smiles2graph
    smiles = read_smiles(data_dir / "molhiv" / "molhiv_smiles.csv.gz")[::41]
    valid = 0
    for text, molecule in zip(smiles, featurise_many(smiles, "ogb"), strict=True):
        if isinstance(molecule, Molecule):
            valid += 1
            expected = smiles2graph(text)
            assert_equal(molecule, expected["node_feat"], expected["edge_index"], expected["edge_feat"])
    assert valid >= 1000


def test_molhiv_has_the_published_bonds_and_nearly_all_features(data_dir: Path) -> None:
    # The file was made with RDKit 2022.09; later versions refuse 7 of its molecules and read some metals otherwise.
    smiles = read_smiles(data_dir / "molhiv" / "molhiv_smiles.csv.gz")
    with np.load(data_dir / "molhiv" / "molhiv_graphs.npz") as file:
        data = dict(file)
    atoms, bonds = starts(data["num_nodes"]), starts(data["num_bonds"])
    chosen = range(0, len(smiles), 20)
    invalid = different = 0
    for i, molecule in zip(chosen, featurise_many([smiles[i] for i in chosen], "ogb"), strict=True):
        if isinstance(molecule, ValueError):
            invalid += 1
            continue
        of_atoms, of_bonds = slice(atoms[i], atoms[i + 1]), slice(bonds[i], bonds[i + 1])
        assert len(molecule.x) == data["num_nodes"][i]
        np.testing.assert_array_equal(molecule.edge_index[:, ::2], data["edge_index"][:, of_bonds])
        np.testing.assert_array_equal(molecule.edge_index[:, 1::2], data["edge_index"][::-1, of_bonds])
        same_atoms = np.array_equal(molecule.x, data["node_feat"][of_atoms])
        different += not (same_atoms and np.array_equal(molecule.edge_attr, data["edge_feat"][of_bonds].repeat(2, 0)))
    assert len(chosen) >= 2000
    assert invalid <= 0.001 * len(chosen)
    assert different <= 0.02 * len(chosen)


def test_no_molhiv_scaffold_lies_in_two_splits(data_dir: Path) -> None:
    smiles = read_smiles(data_dir / "molhiv" / "molhiv_smiles.csv.gz")
    with np.load(data_dir / "molhiv" / "molhiv_graphs.npz") as file:
        splits = {int(i): name for name in ("train_idx", "valid_idx", "test_idx") for i in file[name]}
    groups: dict[str, set[str]] = {}
    for i in range(0, len(smiles), 40):
        groups.setdefault(scaffold(smiles[i]), set()).add(splits[i])
    assert len(groups) > 100
    assert all(len(names) == 1 for names in groups.values())


def test_qm9_has_the_published_atoms_and_bonds(data_dir: Path) -> None:
    smiles = read_smiles(data_dir / "qm9" / "qm9.csv.gz")
    with np.load(data_dir / "qm9" / "qm9_atoms.npz") as file:
        numbers, atoms = file["z"], starts(file["n_atoms"])
    with np.load(data_dir / "qm9" / "qm9_bonds.npz") as file:
        triples, bonds, flags = file["bonds"], starts(file["n_bonds"]), file["order_flag"]
    in_order = np.flatnonzero(flags == 0)
    chosen = in_order[:: len(in_order) // 1000].tolist()
    for i, molecule in zip(chosen, featurise_many([smiles[i] for i in chosen], "qm9"), strict=True):
        assert isinstance(molecule, Molecule)
        np.testing.assert_array_equal(QM9_NUMBERS[molecule.x[:, 0]], numbers[atoms[i] : atoms[i + 1]])
        expected = triples[bonds[i] : bonds[i + 1]]
        assert typed_edges(molecule) == sorted(expected.tolist() + expected[:, [1, 0, 2]].tolist())
    assert len(chosen) >= 1000


def test_zinc_has_the_published_atoms_and_bonds(data_dir: Path) -> None:
    with np.load(data_dir / "zinc12k" / "zinc12k.npz") as file:
        data = dict(file)
    assert 0 <= data["atom_type"].min() <= data["atom_type"].max() < FEATURES["zinc"].node_categories[0]
    assert 1 <= data["bond_type"].min() <= data["bond_type"].max() < FEATURES["zinc"].edge_categories[0]
    atoms, edges = starts(data["num_nodes"]), starts(data["num_edges"])
    for i, smiles in ZINC.items():
        molecule = FEATURES["zinc"].featurise(smiles)
        of_edges = slice(edges[i], edges[i + 1])
        np.testing.assert_array_equal(molecule.x[:, 0], data["atom_type"][atoms[i] : atoms[i + 1]])
        expected = np.column_stack([data["edge_index"][:, of_edges].T, data["bond_type"][of_edges]])
        assert typed_edges(molecule) == expected.tolist()
