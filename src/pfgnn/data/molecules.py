"""Molecules as arrays: the published features of OGB, ZINC and QM9 from SMILES (extra `chem`).

A feature set has columns for atoms and columns for bonds. Each column has a function that reads a property from RDKit,
and a list of the possible values in the order of their indices.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import methodcaller
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pfgnn.data.arrays import as_targets, check_items, guess_task, join_edges
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, shown
from pfgnn.graphs.arrays import IntArray, stack
from pfgnn.graphs.smiles import parse_smiles, rdkit_modules
from pfgnn.workers import ordered_map

CHUNK = 500  # number of molecules that a process gets at a time
MISC = "misc"  # stands for all values that are not listed
FLAG = (False, True)
# The atom types of ZINC in the order of their indices, as `_zinc_atom` writes them.
ZINC_ATOMS = (
    *("C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -"),
    *("S -", "I", "P", "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +", "C H1 -", "P H1 +"),
)


class Molecule(NamedTuple):
    """A molecular graph. Each feature is the index of a category.

    Attributes:
        x: Features of the atoms, int64 [n, F].
        edge_index: Atoms (i, j) of each bond, followed by (j, i), int64 [2, e].
        edge_attr: Features of the bond of each edge, int64 [e, Fe].
    """

    x: IntArray
    edge_index: IntArray
    edge_attr: IntArray


class Column:
    """One categorical feature of atoms or bonds.

    Args:
        name: Name of the feature in error messages.
        read: Reads the value of the feature from an RDKit atom or bond.
        values: The possible values in the order of their indices. A last value `MISC` stands for all other values.
        first: Index of the first value.
    """

    def __init__(self, name: str, read: Callable[[Any], Any], values: Iterable[object], first: int = 0) -> None:
        self.name = name
        self.read = read
        self.values = tuple(map(str, values))  # str gives the names of RDKit's enumerations
        self.first = first
        self.categories = first + len(self.values)
        self.known: dict[Any, int] = {}  # index of every value seen so far

    def indices(self, items: Iterable[Any]) -> list[int]:
        """The index of the feature for each of a molecule's atoms or bonds."""
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
        raise InputError(f"{self.name} must be one of {', '.join(self.values)}, but it is {value}")


class FeatureSet(NamedTuple):
    """How a SMILES becomes a `Molecule`.

    Attributes:
        parse: Turns a SMILES into an RDKit molecule.
        atoms: The columns of `x`.
        bonds: The columns of `edge_attr`.
    """

    parse: Callable[[str], Any]
    atoms: tuple[Column, ...]
    bonds: tuple[Column, ...]

    @property
    def node_categories(self) -> tuple[int, ...]:
        """Number of categories of each column of `x`, length F."""
        return tuple(column.categories for column in self.atoms)

    @property
    def edge_categories(self) -> tuple[int, ...]:
        """Number of categories of each column of `edge_attr`, length Fe."""
        return tuple(column.categories for column in self.bonds)

    def featurise(self, smiles: str) -> Molecule:
        """Read a molecule. Raises a ValueError if it is invalid or has a value that the columns do not list."""
        molecule = self.parse(smiles)
        # Access by index takes a third of the time of RDKit's own iterators.
        atoms = [molecule.GetAtomWithIdx(i) for i in range(molecule.GetNumAtoms())]
        bonds = [molecule.GetBondWithIdx(i) for i in range(molecule.GetNumBonds())]
        if not atoms:
            raise InputError(f"smiles {shown(smiles)} has no atoms, but a graph has at least 1 node")
        try:
            x = [column.indices(atoms) for column in self.atoms]
            labels = [column.indices(bonds) for column in self.bonds]
        except ValueError as error:
            raise InputError(f"smiles {shown(smiles)}: {error}") from None
        ends = np.array([[b.GetBeginAtomIdx() for b in bonds], [b.GetEndAtomIdx() for b in bonds]], dtype=np.int64)
        return Molecule(
            x=np.array(x, dtype=np.int64).T.copy(),
            edge_index=np.stack([ends, ends[::-1]], axis=2).reshape(2, -1),  # [2, b, 2] -> [2, e]
            edge_attr=np.array(labels, dtype=np.int64).T.repeat(2, axis=0),  # [b, Fe] -> [e, Fe]
        )


def scaffold(smiles: str) -> str:
    """The Bemis–Murcko scaffold of a molecule as SMILES, with chirality; "" if the molecule has no rings.

    OGB and MoleculeNet split by this scaffold. Two molecules have the same scaffold if these SMILES are equal. Compare
    only SMILES of the same version of RDKit.
    """
    molecule = parse_smiles(smiles)
    from rdkit.Chem.Scaffolds import MurckoScaffold

    murcko: ModuleType = MurckoScaffold  # its functions have no types
    return str(murcko.MurckoScaffoldSmiles(mol=molecule, includeChirality=True))


def featurise_many(smiles: Sequence[str], features: str, processes: int = 1) -> Iterator[Molecule | ValueError]:
    """Read molecules, lazily and in order. A molecule that cannot be read gives its error instead.

    Args:
        smiles: The molecules.
        features: A name in `FEATURES`.
        processes: Number of processes. They are spawned, so a script needs an `if __name__ == "__main__"` guard.
    """
    if features not in FEATURES:
        raise InputError(f"features must be one of {', '.join(FEATURES)}, but it is {shown(features)}")
    pieces = (smiles[start : start + CHUNK] for start in range(0, len(smiles), CHUNK))
    return chain.from_iterable(ordered_map(partial(_attempt_all, features), pieces, processes))


def _attempt_all(features: str, smiles: Sequence[str]) -> list[Molecule | ValueError]:
    return [_attempt(features, one) for one in smiles]


def _attempt(features: str, smiles: str) -> Molecule | ValueError:
    try:
        return FEATURES[features].featurise(smiles)
    except ValueError as error:
        return error


def _parse_kekulised(smiles: str) -> Any:
    """Write the molecule as kekulised SMILES, and read it again without sanitising, as ZINC's authors do."""
    chem, _ = rdkit_modules()
    molecule = parse_smiles(smiles)
    # chem.Kekulize is not used, because newer versions of RDKit place the double bonds differently.
    chem.SanitizeMol(molecule, chem.SANITIZE_KEKULIZE)
    return chem.MolFromSmiles(chem.MolToSmiles(molecule), sanitize=False)


def _parse_with_hydrogens(smiles: str) -> Any:
    chem, _ = rdkit_modules()
    return chem.AddHs(parse_smiles(smiles))


def _zinc_atom(atom: Any) -> str:
    """Symbol, hydrogens and charge of an atom. Only hydrogens that the SMILES writes, in brackets, count."""
    hydrogens, charge = atom.GetNumExplicitHs(), atom.GetFormalCharge()
    parts = [atom.GetSymbol(), f"H{hydrogens}" if hydrogens else "", "+" * charge or "-" * -charge]
    return " ".join(filter(None, parts))


FEATURES = {
    # Open Graph Benchmark: atoms and bonds as RDKit parses them. Hydrogens are counted at their atom.
    "ogb": FeatureSet(
        parse_smiles,
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
    # Benchmarking GNNs: the atom type includes the charge and hydrogens in brackets. Bonds are kekulised. Bond type 0
    # means no bond.
    "zinc": FeatureSet(
        _parse_kekulised,
        atoms=(Column("atom type", _zinc_atom, ZINC_ATOMS),),
        bonds=(Column("bond type", methodcaller("GetBondType"), ["SINGLE", "DOUBLE", "TRIPLE"], first=1),),
    ),
    # QM9: hydrogens are atoms. Bond type 0 means no bond.
    "qm9": FeatureSet(
        _parse_with_hydrogens,
        atoms=(Column("atom type", methodcaller("GetSymbol"), ["H", "C", "N", "O", "F"]),),
        bonds=(Column("bond type", methodcaller("GetBondType"), ["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC"], first=1),),
    ),
}


def from_smiles(
    smiles: Iterable[str],
    y: npt.ArrayLike,
    features: str = "ogb",
    task: Task | None = None,
    name: str = "molecules",
    processes: int = 1,
    **parts: Any,
) -> Dataset:
    """A dataset from molecules.

    Args:
        smiles: The molecules.
        y: Targets, one row per molecule.
        features: Name of the feature set: ogb, zinc or qm9.
        task: The task. By default guessed from y, see :func:`pfgnn.data.arrays.guess_task`.
        name: Name of the dataset.
        processes: Number of processes, see :func:`featurise_many`.
        parts: Further arguments of :class:`Dataset`, such as splits.
    """
    molecules: list[Molecule] = []
    for place, molecule in enumerate(featurise_many(check_items("smiles", smiles, str), features, processes)):
        if isinstance(molecule, ValueError):
            raise InputError(f"molecule {place} (counted from 0) cannot be used: {molecule}")
        molecules.append(molecule)
    return pack_molecules(molecules, y, features, task, name, **parts)


def pack_molecules(
    molecules: Sequence[Molecule],
    y: npt.ArrayLike,
    features: str,
    task: Task | None = None,
    name: str = "molecules",
    **parts: Any,
) -> Dataset:
    """A dataset from molecules that are read. See :func:`from_smiles`."""
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
