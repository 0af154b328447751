"""The named datasets: what each one is, where it comes from, and how to make or read it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from pfgnn.data import fetch, generated, readers
from pfgnn.data.dataset import Dataset
from pfgnn.data.generated import Generated
from pfgnn.data.shards import is_folder
from pfgnn.data.splits import k_folds
from pfgnn.data.task import Task
from pfgnn.data.tu import alchemy
from pfgnn.errors import InputError, nearest, shown
from pfgnn.graphs.strongly_regular import sr25


@dataclass(frozen=True)
class Entry:
    """One named dataset.

    Args:
        summary: The graphs, the parts and the task in one line.
        citation: The papers to cite.
        folder: Folder of the published files, relative to a data folder.
        files: Paths of the published files, relative to ``folder``. Empty if there are none.
        read: Reads the dataset from the folder of the published files.
        generate: Makes the dataset from options, such as a seed. None if it cannot be made without files.
        fetch: Downloads the dataset with the class of PyG or OGB. Takes a folder for the downloads, and the folders
            that may hold further files. None if there is no such class.
        smiles: A table with the column smiles, in the order of the graphs, relative to ``folder``. Empty if there is
            none.
    """

    summary: str
    citation: str
    folder: str = ""
    files: tuple[str, ...] = ()
    read: Callable[[Path], Dataset] | None = None
    generate: Callable[..., Dataset] | None = None
    fetch: Callable[[Path, Sequence[Path]], Dataset] | None = None
    smiles: str = ""


def _csl(seed: int = 0, folds: Path | None = None, **options: Any) -> Dataset:
    """CSL with the published folds, or with stratified folds of the same sizes if ``folds`` is None."""
    made = generated.csl(np.random.default_rng(seed), **options)
    task = Task("graph", int(made.labels.max()) + 1, "cross_entropy", "accuracy")
    splits = readers.csl_folds(folds) if folds else k_folds(len(made.graphs), 5, seed, labels=made.labels)
    return _dataset("csl", made._replace(splits=splits), task)


def _sr25() -> Dataset:
    graphs = sr25()
    numbers = np.arange(len(graphs))
    task = Task("pair", len(graphs), "cross_entropy", "pairs")
    return Dataset.from_graphs(graphs, numbers, task, name="sr25", pairs=np.array(list(combinations(numbers, 2))))


def _triangles(seed: int = 0, **options: Any) -> Dataset:
    made = generated.triangles(np.random.default_rng(seed), **options)
    return _dataset("triangles", made._replace(labels=made.labels - 1), readers.TRIANGLES_TASK)


def _lcc(seed: int = 0, **options: Any) -> Dataset:
    return _dataset("lcc", generated.lcc(np.random.default_rng(seed), **options), readers.LCC_TASK)


def _property(name: str, make: Callable[..., Generated]) -> Callable[..., Dataset]:
    def generate(seed: int = 0, **options: Any) -> Dataset:
        task = Task("graph", 2, "cross_entropy", "accuracy")
        return _dataset(name, make(np.random.default_rng(seed), **options), task)

    return generate


def _dataset(name: str, made: Generated, task: Task) -> Dataset:
    return Dataset.from_graphs(made.graphs, made.labels, task, name=name, splits=made.splits)


PF_GNN = "Dupty, Dong, Lee: PF-GNN, ICLR 2022"
QM9_FILES = ("qm9.csv.gz", "qm9_atoms.npz", "qm9_bonds.npz", "qm9_positions_1.npz", "qm9_positions_2.npz")
ALCHEMY_FILES = (
    *(f"{part}_al_10.index" for part in ("train", "val", "test")),
    *(
        f"alchemy_full/alchemy_full_{table}.txt"
        for table in ("A", "graph_indicator", "graph_attributes", "node_labels", "edge_labels")
    ),
)
FILM_FILES = ("film_norm.json", "film_valid_ids.txt", "film_test_ids.txt")

ENTRIES: dict[str, Entry] = {
    "csl": Entry(
        "150 circular skip link graphs of 41 nodes; 5 folds; 10 classes",
        "Murphy et al.: Relational pooling, ICML 2019; Dwivedi et al.: Benchmarking graph neural networks, 2020",
        "csl",
        ("CSL_train.index", "CSL_val.index", "CSL_test.index"),
        read=lambda folder: _csl(folds=folder),
        generate=_csl,
    ),
    "sr25": Entry(
        "the 15 strongly regular graphs (25, 12, 5, 6); 105 pairs; 15 classes",
        "Balcilar et al.: Breaking the limits of message passing graph neural networks, ICML 2021",
        generate=_sr25,
    ),
    "exp": Entry(
        "600 pairs of formulas, satisfiable and not; 10 folds; 2 classes",
        "Abboud et al.: The surprising power of graph neural networks with random node initialization, IJCAI 2021",
        "exp",
        ("EXP.txt.gz",),
        readers.exp,
    ),
    "brec": Entry(
        "400 pairs that 1-WL confuses, in 7 categories",
        "Wang, Zhang: An empirical study of realized GNN expressiveness, ICML 2024",
        "brec",
        ("brec.g6", "brec_meta.json"),
        readers.brec,
    ),
    "triangles": Entry(
        "45,000 graphs; train, validation, test, test-large; 1 to 10 triangles as 10 classes",
        "Knyazev, Taylor, Amer: Understanding attention and generalization in graph neural networks, NeurIPS 2019",
        "triangles",
        ("triangles.npz",),
        readers.triangles,
        generate=_triangles,
    ),
    "lcc": Entry(
        "3,000 random 3-regular graphs; train, test (20 nodes), test-large (100 nodes); 3 classes per node",
        "Sato, Yamada, Kashima: Random features strengthen graph neural networks, SDM 2021",
        "lcc",
        ("LCC_train.txt.gz", "LCC_test.txt.gz"),
        readers.lcc,
        generate=_lcc,
    ),
    **{
        name: Entry(f"140 graphs of 20 nodes; train, test; 2 classes: {name}", PF_GNN, generate=_property(name, make))
        for name, make in (
            ("connectivity", generated.connectivity),
            ("planarity", generated.planarity),
            ("bipartiteness", generated.bipartiteness),
        )
    },
    "zinc": Entry(
        "12,000 molecules; train, validation, test; penalised logP",
        "Irwin et al., 2012; Jin et al., ICML 2018; Dwivedi et al.: Benchmarking graph neural networks, 2020",
        "zinc12k",
        ("zinc12k.npz",),
        readers.zinc,
        fetch=fetch.zinc,
    ),
    "alchemy": Entry(
        "12,000 molecules of alchemy_full by index files; train, validation, test; 12 targets",
        "Chen et al.: Alchemy, 2019; Morris et al.: Weisfeiler and Leman go sparse, NeurIPS 2020",
        "alchemy12k",
        ALCHEMY_FILES,
        alchemy,
        fetch=fetch.alchemy,
    ),
    "qm9": Entry(
        "130,831 molecules with positions; train, validation, test at random; 12 targets jointly",
        "Ramakrishnan et al.: Quantum chemistry structures and properties of 134 kilo molecules, 2014",
        "qm9",
        QM9_FILES,
        readers.qm9,
        fetch=fetch.qm9,
    ),
    "qm9-film": Entry(
        "130,831 molecules without positions; GNN-FiLM's validation and test; 12 targets, error ratios",
        "Ramakrishnan et al., 2014; Brockschmidt: GNN-FiLM, ICML 2020",
        "qm9",
        (*QM9_FILES, *FILM_FILES),
        readers.qm9_film,
    ),
    "molhiv": Entry(
        "41,127 molecules; scaffold split; active against HIV or not",
        "Wu et al.: MoleculeNet, 2018; Hu et al.: Open graph benchmark, NeurIPS 2020",
        "molhiv",
        ("molhiv_graphs.npz",),
        readers.molhiv,
        fetch=fetch.molhiv,
        smiles="molhiv_smiles.csv.gz",
    ),
}


def _hint(name: object) -> str:
    """What the user may have meant by an unknown name."""
    if isinstance(name, str) and is_folder(Path(name)):
        return f" (write ./{name} for the folder)"
    if isinstance(name, str) and Path(name).is_file():
        return f", which is a file of graphs; `pfgnn data convert {name} OUT.pfgnn` makes a packed file of it"
    near = nearest(name, ENTRIES)
    return f"; did you mean {near}?" if near else "; there is no file of this name either"


def find_entry(name: str) -> Entry:
    """The entry with the given name. The error for an unknown name lists all names."""
    if not isinstance(name, str) or name not in ENTRIES:
        raise InputError(f"name must be one of {', '.join(ENTRIES)}, but it is {shown(name)}{_hint(name)}")
    return ENTRIES[name]
