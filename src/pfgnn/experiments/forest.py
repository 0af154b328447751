"""A random forest on Morgan fingerprints: a simple model for molecules that is hard to beat."""

import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from pfgnn.data.arrays import Array
from pfgnn.data.load import load_smiles
from pfgnn.data.loader import Indices
from pfgnn.data.task import CLASS_LOSSES, Task
from pfgnn.errors import InputError, MissingPackageError
from pfgnn.experiments.config import ForestConfig
from pfgnn.experiments.config_file import write_config
from pfgnn.experiments.open_run import Run
from pfgnn.experiments.run_directory import CONFIG
from pfgnn.graphs.smiles import parse_smiles, rdkit_modules
from pfgnn.training.metrics import Doubles, as_scores


class Forest:
    """Random forests on Morgan fingerprints, one for each target. Needs scikit-learn and RDKit.

    Args:
        settings: The settings.
        task: Task of the molecules.
        seed: Seed of the trees.
    """

    def __init__(self, settings: ForestConfig, task: Task, seed: int) -> None:
        try:
            from scipy.sparse import csr_matrix
            from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
        except ImportError:
            raise MissingPackageError(
                "a random forest needs scikit-learn; install it with: pip install pfgnn[sklearn]"
            ) from None
        rdkit_modules()  # raises if RDKit is missing
        from rdkit.Chem import rdFingerprintGenerator

        self.settings, self.task = settings, task
        self._fingerprint = rdFingerprintGenerator.GetMorganGenerator(radius=settings.radius, fpSize=settings.bits)
        self._sparse = csr_matrix  # training is ten times as fast on sparse fingerprints, and the same
        self._options: dict[str, Any] = {
            "n_estimators": settings.trees,
            "min_samples_leaf": settings.min_leaf,
            "random_state": seed % 2**32,
            "n_jobs": 1,
        }
        self._make = RandomForestRegressor if task.loss == "l1" else RandomForestClassifier
        self.forests: list[Any] = []

    @property
    def about(self) -> str:
        """What it is."""
        of = self.settings
        return f"{of.trees} trees on Morgan fingerprints (radius {of.radius}, {of.bits} bits)"

    @property
    def nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(tree.tree_.node_count for forest in self.forests for tree in forest.estimators_)

    def fit(self, smiles: Sequence[str], y: Array) -> Self:
        """Train the forest.

        Args:
            smiles: The molecules.
            y: Their targets, [G, C']. NaN means unknown.
        """
        known, self.forests = self._fingerprints(smiles), []
        for column in y.astype(np.float64).T:
            rows = ~np.isnan(column)
            values = column[rows] if self.task.loss == "l1" else column[rows].astype(np.int64)
            self.forests.append(self._make(**self._options).fit(known[rows], values))
        return self

    def predict(self, smiles: Sequence[str]) -> Doubles:
        """Predictions as :func:`pfgnn.training.metrics.score` reads them, [G, C]."""
        new, task, columns = self._fingerprints(smiles), self.task, []
        for forest in self.forests:
            if task.loss == "l1":
                columns.append(forest.predict(new)[:, None])
                continue
            found = np.zeros((len(smiles), task.outputs if task.loss in CLASS_LOSSES else 2))
            found[:, forest.classes_] = forest.predict_proba(new)
            columns.append(found if task.loss in CLASS_LOSSES else found[:, 1:])
        return as_scores(np.concatenate(columns, axis=1), task)

    def _fingerprints(self, smiles: Sequence[str]) -> Any:
        """The fingerprints as a sparse matrix, [G, bits]."""
        rows = [self._fingerprint.GetFingerprintAsNumPy(_molecule(one)) for one in smiles]
        return self._sparse(np.stack(rows))


def _molecule(smiles: str) -> Any:
    """RDKit's molecule. One that it refuses for its valences, such as some metal complexes, is taken as it is."""
    try:
        return parse_smiles(smiles)
    except InputError:
        chem, base = rdkit_modules()
        with base.BlockLogs():
            molecule = chem.MolFromSmiles(smiles, sanitize=False)
        if molecule is None:
            raise
        molecule.UpdatePropertyCache(strict=False)
        chem.SanitizeMol(molecule, chem.SANITIZE_ALL ^ chem.SANITIZE_PROPERTIES)
        return molecule


def train_forest(this: Run, directory: Path) -> dict[str, Any]:
    """Train and test the forest of a config, and return the record. The forest itself is not kept.

    Args:
        this: The config and its data.
        directory: Run directory.
    """
    config, dataset, train = this.config, this.dataset, this.parts["train"]
    smiles = load_smiles(config.data.name, len(dataset))

    def pick(graphs: Indices) -> list[str]:
        return [smiles[graph] for graph in graphs.tolist()]

    def predictions(graphs: Indices) -> list[Tensor]:
        return [torch.from_numpy(forest.predict(pick(graphs)))]

    forest = Forest(config.model.forest or ForestConfig(), dataset.task, config.seed)
    write_config(directory / CONFIG, config)
    begun = time.perf_counter()
    forest.fit(pick(train), dataset.y[train])
    trained = time.perf_counter()
    results = this.score(predictions)
    return this.write_record(
        directory,
        packages={package: version(package) for package in ("rdkit", "scikit-learn")},
        parameters=forest.nodes,
        epochs=0,
        updates=0,
        selected="last",
        selected_update=0,
        seconds={"training": round(trained - begun, 2), "evaluation": round(time.perf_counter() - trained, 2)},
        results=results,
        pairs=None,
    )
