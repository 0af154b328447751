"""Molecules as graphs: read and write SMILES (extra `chem`)."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pfgnn.argument_checks import checked
from pfgnn.errors import InputError, MissingPackageError, shown
from pfgnn.files import text_lines
from pfgnn.graphs.graph import Graph

BOND_TYPES = {"SINGLE": 1, "DOUBLE": 2, "TRIPLE": 3, "AROMATIC": 4}


@checked
def from_smiles(smiles: str) -> Graph:
    """Read a molecule: each atom except hydrogen becomes a node, and each bond becomes an edge.

    Hydrogens are counted at their atom. Only hydrogens that RDKit keeps as atoms, such as those of `[H][H]`, are nodes.
    Stereochemistry and isotopes are ignored.

    Returns:
        A graph with `x` = (atomic number, formal charge, number of hydrogens), int64 [n, 3], and `edge_attr` = bond
            type (1 single, 2 double, 3 triple, 4 aromatic), int64 [m, 1].
    """
    return graph_of_atoms(parse_smiles(smiles), smiles)


def graph_of_atoms(molecule: Any, smiles: str) -> Graph:
    """The graph of all atoms of RDKit's molecule, with the labels of :func:`from_smiles`.

    Args:
        molecule: The molecule.
        smiles: Its SMILES, for messages.
    """
    if molecule.GetNumAtoms() == 0:
        raise InputError(f"smiles {shown(smiles)} has no atoms, but a graph has at least 1 node")
    x = [(atom.GetAtomicNum(), atom.GetFormalCharge(), atom.GetTotalNumHs()) for atom in molecule.GetAtoms()]
    bonds = list(molecule.GetBonds())
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds]
    types = [_bond_number(bond, smiles) for bond in bonds]
    return Graph.from_edges(len(x), edges, np.array(x), np.array(types, dtype=np.int64).reshape(-1, 1))


@checked
def parse_smiles(smiles: str) -> Any:
    """Read a SMILES as RDKit's molecule. Only an extension, "|...|", may come after white space.

    RDKit itself would leave out anything else that comes there.
    """
    _, *rest = smiles.split(maxsplit=1) or [""]
    if rest and not rest[0].startswith("|"):
        raise InputError(f"smiles must be without white space, but it is {shown(smiles)}")
    chem, base = rdkit_modules()
    with base.BlockLogs():
        molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InputError(f"smiles {shown(smiles)} is not a valid molecule")
    return molecule


@checked
def to_smiles(graph: Graph) -> str:
    """Write a graph with the labels of `from_smiles` as RDKit's canonical SMILES."""
    if graph.x is None or graph.x.shape[1] != 3 or graph.edge_attr is None or graph.edge_attr.shape[1] != 1:
        raise InputError("graph must have x [n, 3] and edge_attr [m, 1], as from_smiles gives, but it has other labels")
    chem, base = rdkit_modules()
    kinds = {number: chem.BondType.names[name] for name, number in BOND_TYPES.items()}
    molecule = chem.RWMol()
    for number, charge, hydrogens in graph.x.tolist():
        atom = chem.Atom(number)
        atom.SetFormalCharge(charge)
        atom.SetNumExplicitHs(hydrogens)
        atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    for (u, v), kind in zip(graph.edges.tolist(), graph.edge_attr[:, 0].tolist(), strict=True):
        if kind not in kinds:
            raise InputError(f"edge_attr of edge ({u}, {v}) must be one of {list(kinds)}, but it is {kind}")
        molecule.AddBond(u, v, kinds[kind])
        if kind == BOND_TYPES["AROMATIC"]:
            molecule.GetAtomWithIdx(u).SetIsAromatic(True)
            molecule.GetAtomWithIdx(v).SetIsAromatic(True)
    with base.BlockLogs():
        try:
            chem.SanitizeMol(molecule)
        except chem.MolSanitizeException as error:
            raise InputError(f"graph is not a valid molecule: {error}") from None
    return str(chem.MolToSmiles(molecule))


@checked
def read_smiles(path: str | Path, most: int | None = None) -> list[Graph]:
    """Read a file with one molecule per line.

    The text before the first blank of a line is the SMILES. Empty lines are skipped.

    Args:
        path: The file. It may be gzipped.
        most: Number of molecules to read, from the first; None for all.
    """
    file = Path(path)
    graphs = []
    for number, smiles, _ in islice(smiles_lines(file), most):
        try:
            graphs.append(from_smiles(smiles))
        except ValueError as error:
            raise InputError(f"{file.name}, line {number}: {error}") from None
    return graphs


def smiles_lines(file: Path) -> Iterator[tuple[int, str, str]]:
    """The lines of a file of SMILES: the number of each line, from 1, its SMILES, and the text after it."""
    for number, line in enumerate(text_lines(file), start=1):
        if words := line.strip().split(maxsplit=1):
            yield number, words[0], "".join(words[1:])


def _bond_number(bond: Any, smiles: str) -> int:
    name = bond.GetBondType().name
    if name not in BOND_TYPES:
        types = ", ".join(BOND_TYPES)
        raise InputError(
            f"smiles {shown(smiles)} must have only bonds of the types {types}, but it has one of type {name}"
        )
    return BOND_TYPES[name]


def rdkit_modules() -> tuple[ModuleType, ModuleType]:
    """RDKit's modules Chem and rdBase. The error for a missing RDKit says how to install it."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise MissingPackageError("SMILES need RDKit; install it with: pip install pfgnn[chem]") from None
    return Chem, rdBase
