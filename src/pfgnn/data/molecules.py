"""Molecules as arrays: the published features of OGB, ZINC and QM9 from SMILES (extra `chem`).

A feature set is a table. Each of its columns says what RDKit is asked about an atom or a bond, and lists the answers in
the order of their indices.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from operator import methodcaller
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.data.columns import as_targets, guess_task, join_edges, stack
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs.arrays import IntArray
from pfgnn.graphs.smiles import rdkit_modules

CHUNK = 500  # molecules handed to a process at once
MISC = "misc"
FLAG = (False, True)
ZINC_ATOMS = (
    *("C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -"),
    *("S -", "I", "P", "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +", "C H1 -", "P H1 +"),
)


class Molecule(NamedTuple):
    """A molecular graph whose labels are indices among the categories of their column.

    Attributes:
        x: features of the atoms, int64 [n, F].
        edge_index: the atoms (i, j) of each bond, followed by (j, i), int64 [2, e].
        edge_attr: features of the bond under each edge, int64 [e, G].
    """

    x: IntArray
    edge_index: IntArray
    edge_attr: IntArray


class Column:
    """One categorical feature of atoms or bonds.

    Args:
        name: what a message calls the feature.
        read: gives RDKit's answer for an atom or a bond.
        values: the answers in the order of their indices; a last value `MISC` takes all answers that are not listed.
        first: index of the first value.
    """

    def __init__(self, name: str, read: Callable[[Any], Any], values: Iterable[object], first: int = 0) -> None:
        self.name = name
        self.read = read
        self.values = tuple(map(str, values))  # RDKit's enumerations print their names
        self.first = first
        self.categories = first + len(self.values)
        self.known: dict[Any, int] = {}  # index of every answer met so far

    def indices(self, items: Iterable[Any]) -> list[int]:
        """The indices of a molecule's atoms or bonds."""
        answers = list(map(self.read, items))
        for answer in set(answers) - self.known.keys():
            self.known[answer] = self._index(answer)
        return [self.known[answer] for answer in answers]

    def _index(self, answer: Any) -> int:
        value = str(answer)
        if value in self.values:
            return self.first + self.values.index(value)
        if self.values[-1] == MISC:
            return self.categories - 1
        raise InputError(f"{self.name} is {value}, but must be one of: {', '.join(self.values)}")


class FeatureSet(NamedTuple):
    """How a SMILES becomes a `Molecule`.

    Attributes:
        parse: gives RDKit's molecule.
        atoms: the columns of `x`.
        bonds: the columns of `edge_attr`.
    """

    parse: Callable[[str], Any]
    atoms: tuple[Column, ...]
    bonds: tuple[Column, ...]

    @property
    def node_categories(self) -> tuple[int, ...]:
        """How many categories each column of `x` has, [F]."""
        return tuple(column.categories for column in self.atoms)

    @property
    def edge_categories(self) -> tuple[int, ...]:
        """How many categories each column of `edge_attr` has, [G]."""
        return tuple(column.categories for column in self.bonds)

    def featurise(self, smiles: str) -> Molecule:
        """Read a molecule; one that is invalid, or that the features cannot describe, is a ValueError."""
        molecule = self.parse(smiles)
        # Asking by number takes a third of the time of RDKit's own iterators.
        atoms = [molecule.GetAtomWithIdx(i) for i in range(molecule.GetNumAtoms())]
        bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
        if not atoms:
            raise InputError(f"smiles {smiles!r} has no atoms, but a graph has at least 1 node")
        try:
            x = [column.indices(atoms) for column in self.atoms]
            labels = [column.indices(bonds) for column in self.bonds]
        except ValueError as error:
            raise InputError(f"smiles {smiles!r}: {error}") from None
        ends = np.array([[b.GetBeginAtomIdx() for b in bonds], [b.GetEndAtomIdx() for b in bonds]], dtype=np.int64)
        return Molecule(
            x=np.array(x, dtype=np.int64).T.copy(),
            edge_index=np.stack([ends, ends[::-1]], axis=2).reshape(2, -1),  # [2, b, 2] -> [2, e]
            edge_attr=np.array(labels, dtype=np.int64).T.repeat(2, axis=0),  # [b, G] -> [e, G]
        )


def scaffold(smiles: str) -> str:
    """The Bemis–Murcko scaffold of a molecule with its chirality, by which OGB and MoleculeNet split; "" without rings.

    Two molecules have the same scaffold if these SMILES are equal, within one version of RDKit.
    """
    molecule = _parse(smiles)
    from rdkit.Chem.Scaffolds import MurckoScaffold

    murcko: ModuleType = MurckoScaffold  # its functions have no types
    return str(murcko.MurckoScaffoldSmiles(mol=molecule, includeChirality=True))


def featurise_many(smiles: Sequence[str], features: str, processes: int = 1) -> Iterator[Molecule | ValueError]:
    """Read molecules, lazily and in order; what cannot be read gives its error in place of a molecule.

    Args:
        smiles: the molecules.
        features: a name in `FEATURES`.
        processes: how many processes share the work; they are spawned, so a script needs its `__main__` guard.
    """
    if features not in FEATURES:
        raise InputError(f"features is {features!r}, but must be one of: {', '.join(FEATURES)}")
    if processes < 1:
        raise InputError(f"processes is {processes}, but must be at least 1")
    read = partial(_attempt, features)
    return map(read, smiles) if processes == 1 else _spread(read, smiles, processes)


def _attempt(features: str, smiles: str) -> Molecule | ValueError:
    try:
        return FEATURES[features].featurise(smiles)
    except ValueError as error:
        return error


def _spread(
    read: Callable[[str], Molecule | ValueError], smiles: Sequence[str], processes: int
) -> Iterator[Molecule | ValueError]:
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(read, smiles, chunksize=CHUNK)


def _parse(smiles: str) -> Any:
    chem, base = rdkit_modules()
    with base.BlockLogs():
        molecule = chem.MolFromSmiles(smiles)
    if molecule is None:
        raise InputError(f"smiles {smiles!r} is not a valid molecule")
    return molecule


def _parse_kekulised(smiles: str) -> Any:
    """Write the molecule as kekulised SMILES and take its atoms and bonds as they stand there, like ZINC's authors."""
    chem, _ = rdkit_modules()
    molecule = _parse(smiles)
    # Not chem.Kekulize, which in newer versions of RDKit places the double bonds otherwise.
    chem.SanitizeMol(molecule, chem.SANITIZE_KEKULIZE)
    return chem.MolFromSmiles(chem.MolToSmiles(molecule), sanitize=False)


def _parse_with_hydrogens(smiles: str) -> Any:
    chem, _ = rdkit_modules()
    return chem.AddHs(_parse(smiles))


def _zinc_atom(atom: Any) -> str:
    """Symbol, hydrogens and charge of an atom as its SMILES writes it; only brackets name hydrogens."""
    hydrogens, charge = atom.GetNumExplicitHs(), atom.GetFormalCharge()
    parts = [atom.GetSymbol(), f"H{hydrogens}" if hydrogens else "", "+" * charge or "-" * -charge]
    return " ".join(filter(None, parts))


FEATURES = {
    # Open Graph Benchmark: atoms and bonds as RDKit parses them, hydrogens counted.
    "ogb": FeatureSet(
        _parse,
        atoms=(
            Column("atomic number", methodcaller("GetAtomicNum"), [*range(1, 119), MISC]),
            Column(
                "chirality",
                methodcaller("GetChiralTag"),
                ["CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER", MISC],
            ),
            Column("degree", methodcaller("GetTotalDegree"), [*range(11), MISC]),
            Column("formal charge", methodcaller("GetFormalCharge"), [*range(-5, 6), MISC]),
            Column("number of hydrogens", methodcaller("GetTotalNumHs"), [*range(9), MISC]),
            Column("number of radical electrons", methodcaller("GetNumRadicalElectrons"), [*range(5), MISC]),
            Column("hybridisation", methodcaller("GetHybridization"), ["SP", "SP2", "SP3", "SP3D", "SP3D2", MISC]),
            Column("aromatic", methodcaller("GetIsAromatic"), FLAG),
            Column("in ring", methodcaller("IsInRing"), FLAG),
        ),
        bonds=(
            Column("bond type", methodcaller("GetBondType"), ["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC", MISC]),
            Column(
                "bond stereo",
                methodcaller("GetStereo"),
                ["STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY"],
            ),
            Column("conjugated", methodcaller("GetIsConjugated"), FLAG),
        ),
    ),
    # Benchmarking GNNs: atoms told apart by charge and bracketed hydrogens, bonds kekulised; bond type 0 is no bond.
    "zinc": FeatureSet(
        _parse_kekulised,
        atoms=(Column("atom type", _zinc_atom, ZINC_ATOMS),),
        bonds=(Column("bond type", methodcaller("GetBondType"), ["SINGLE", "DOUBLE", "TRIPLE"], first=1),),
    ),
    # QM9: hydrogens are atoms; bond type 0 is no bond.
    "qm9": FeatureSet(
        _parse_with_hydrogens,
        atoms=(Column("atom type", methodcaller("GetSymbol"), ["H", "C", "N", "O", "F"]),),
        bonds=(Column("bond type", methodcaller("GetBondType"), ["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC"], first=1),),
    ),
}


def from_smiles(
    smiles: Sequence[str],
    y: npt.ArrayLike,
    features: str = "ogb",
    task: Task | None = None,
    name: str = "molecules",
    processes: int = 1,
    **parts: Any,
) -> Dataset:
    """A dataset from molecules.

    Args:
        smiles: a molecule each.
        y: one row of targets a molecule.
        features: which, see :func:`featurise_many`.
        task: by default guessed from y.
        name: of the dataset.
        processes: how many work at it.
        parts: splits and the like, as for :class:`Dataset`.
    """
    if isinstance(smiles, str):
        raise InputTypeError(f"smiles must be a sequence of SMILES, but it is one string, {smiles!r}")
    molecules: list[Molecule] = []
    for place, molecule in enumerate(featurise_many(smiles, features, processes)):
        if isinstance(molecule, ValueError):
            raise InputError(f"molecule {place} (counted from 0) cannot be used: {molecule}")
        molecules.append(molecule)
    targets = as_targets(y)
    return Dataset.from_arrays(
        name,
        task or guess_task(targets),
        node_counts=np.array([len(molecule.x) for molecule in molecules], dtype=np.int64),
        edge_counts=np.array([molecule.edge_index.shape[1] for molecule in molecules], dtype=np.int64),
        edges=join_edges([molecule.edge_index for molecule in molecules]),
        x=stack("x", [molecule.x for molecule in molecules]),
        edge_attr=stack("edge_attr", [molecule.edge_attr for molecule in molecules]),
        y=targets,
        **{
            "node_categories": FEATURES[features].node_categories,
            "edge_categories": FEATURES[features].edge_categories,
            **parts,
        },
    )
