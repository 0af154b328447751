"""Gather from a model folder what its page shows."""

import csv
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputError
from pfgnn.experiments.explain import explain_prepared
from pfgnn.experiments.fit_baselines import BACKBONE, Baseline
from pfgnn.experiments.model_folder import DATA, PARTS, REJECTS, TEST
from pfgnn.experiments.predict import TrainedRun
from pfgnn.experiments.prediction_table import output_columns
from pfgnn.experiments.run_directory import CONFIG, read_record
from pfgnn.files import read_text, reading
from pfgnn.graphs.arrays import IntArray
from pfgnn.report.fitted import (
    Doubles,
    Fitted,
    Picture,
    Tested,
    graph_errors,
    graph_uncertainty,
    target_scale,
)
from pfgnn.report.metrics_reader import read_metrics
from pfgnn.report.survey import survey

PICTURES = 4  # of each kind
DRAWS = 4  # of an explanation
MOST_PARTS = 400  # vertices and edges of a graph that is drawn
MOST_GRAPHS, MOST_VERTICES = 20_000, 100  # of a dataset in which duplicates are looked for
NOISE = 1e-6  # uncertainties below this, as shares of the target's deviation, are rounding errors


def read_smiles(folder: Path) -> list[str]:
    """The SMILES of each graph of a model folder; empty if there are none."""
    path = folder / PARTS
    with reading(path, "be the table of parts of a model folder"), path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
        return [row[2] for row in rows] if header[2:3] == ["smiles"] else []


def gather_fitted(folder: Path, baselines: Sequence[Baseline] = (), device: str = "auto") -> Fitted:
    """Gather what the page of a model shows. Some graphs of the test part are explained.

    Args:
        folder: Model folder of a finished fit.
        baselines: Simple models, see :func:`pfgnn.experiments.fit_baselines.make_baselines`.
        device: "cpu", "cuda" or "auto".
    """
    run, dataset, record = TrainedRun(folder, device), Dataset.open(folder / DATA), read_record(folder)
    facts, smiles = run.facts, read_smiles(folder)
    test = read_test(folder / TEST, run.names) if (folder / TEST).exists() else None
    metrics = {"this model": read_metrics(folder)}
    if (folder / BACKBONE / "metrics.jsonl").exists():
        metrics["backbone alone"] = read_metrics(folder / BACKBONE)
    source, about = "graphs given in Python", {}
    if facts is not None:
        about = {"parts drawn": facts.split} | {key: said for key, said in facts.about.items() if key != "source"}
        if facts.source:
            source, about = Path(facts.source).name, {"file": facts.source, **about}
    targets = () if dataset.task.loss in CLASS_LOSSES else dataset.task.targets[:3]  # the names of classes are no title
    classes, wl_classes = find_classes(dataset)
    calibrated = run.calibration is not None and dataset.task.loss == "l1"
    return Fitted(
        title=f"{', '.join(targets)} of {source}" if targets else source,
        dataset=dataset,
        parts=dataset.splits,
        names=run.names,
        test=test,
        baselines=baselines,
        metrics=metrics,
        record=record,
        config=read_text(folder / CONFIG),
        calibration=run.calibration.scores if calibrated and run.calibration is not None else None,
        pictures=[] if test is None else choose_pictures(run, dataset, test, smiles),
        classes=classes,
        wl_classes=wl_classes,
        smiles=smiles,
        rejects=read_text(folder / REJECTS).splitlines() if (folder / REJECTS).exists() else [],
        about=about,
        folder=str(folder),
    )


def find_classes(dataset: Dataset) -> tuple[IntArray | None, IntArray | None]:
    """The isomorphism class and the 1-WL class of each graph; None if there are many or large or directed graphs."""
    if len(dataset) > MOST_GRAPHS or int(dataset.node_counts.max()) > MOST_VERTICES:
        return None, None
    try:
        found = survey(dataset, 1, lambda what, done, count: None)
    except InputError:  # directed graphs
        return None, None
    return found.classes, found.wl_classes


def read_test(path: Path, names: Sequence[str]) -> Tested:
    """Read the predictions of the test part.

    Args:
        path: The table that `fit` wrote.
        names: Names of the outputs.
    """
    with reading(path, "be the predictions of a test part, as `pfgnn fit` writes them"):
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        # A target may be called as an output is, so the columns of the outputs are looked for from the end.
        place = {name: len(header) - 1 - header[::-1].index(name) for name in output_columns(names)}
        values: Doubles = np.array([[float(row[of] or "nan") for of in place.values()] for row in rows])
        graphs = np.array([int(row[0]) for row in rows])
    pairs = values.reshape(len(rows), len(names), 2)
    return Tested(graphs, pairs[..., 0], pairs[..., 1])


def choose_pictures(
    run: TrainedRun, dataset: Dataset, test: Tested, smiles: Sequence[str], count: int = PICTURES
) -> list[Picture]:
    """Explain the worst and the most uncertain test graphs. Large graphs are left out.

    Args:
        run: The model.
        dataset: The graphs.
        test: The predictions of the test part.
        smiles: SMILES of each graph; empty if there are none.
        count: Number of graphs of each kind.
    """
    task, scale = dataset.task, target_scale(dataset, dataset.splits["train"])
    truth = dataset.y[test.graphs].astype(np.float64)
    errors = graph_errors(task, test, truth, scale)  # [R, C']
    small = (dataset.node_counts + dataset.edge_counts // 2)[test.graphs] <= MOST_PARTS
    worst = np.where(np.isnan(errors).all(1) | ~small, -np.inf, np.nanmax(np.nan_to_num(errors, nan=-np.inf), axis=1))
    unsure = np.where(small, graph_uncertainty(task, test, scale), -np.inf)
    found = []
    for why, badness, least in (("worst", worst, 0.0), ("uncertain", unsure, NOISE)):
        for row in np.argsort(-badness, kind="stable")[:count].tolist():
            if badness[row] <= least:
                continue
            if task.loss in CLASS_LOSSES:
                output = int(test.mean[row].argmax())  # the class that is predicted
            else:
                output = int(np.nan_to_num(errors[row], nan=-1.0).argmax())
            number = int(test.graphs[row])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the graph may be larger than all training graphs
                explained = explain_prepared(run, run.prepare(dataset.subset([number])), DRAWS)
            if smiles and run.needs.molecules is not None:
                explained = explained._replace(smiles=smiles[number], features=run.needs.molecules)
            found.append(Picture(row, why, output, explained))
    return found
