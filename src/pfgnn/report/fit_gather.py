"""Gather from a model folder what its page shows."""

import csv
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.labels import IDENTIFIER
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputError
from pfgnn.experiments.explain import Explanation, explain_prepared
from pfgnn.experiments.fit_baselines import BACKBONE, Baseline
from pfgnn.experiments.model_folder import DATA, PARTS, REJECTS, TEST
from pfgnn.experiments.predict import TrainedRun
from pfgnn.experiments.prediction_table import output_columns
from pfgnn.experiments.run_directory import CONFIG, read_record
from pfgnn.files import read_text, reading
from pfgnn.graphs.arrays import IntArray
from pfgnn.report.fit_unlike import Unlike, compare_with_training
from pfgnn.report.fitted import (
    GRAPHS,
    MOLECULES,
    Doubles,
    Fitted,
    Picture,
    Tested,
    Words,
    graph_errors,
    graph_uncertainty,
    target_scale,
)
from pfgnn.report.metrics_reader import read_metrics
from pfgnn.report.survey import survey

PICTURES = 3  # of each kind, as many as stand side by side
DRAWS = 4  # of an explanation
MOST_NAMED = 4  # targets in the title
MOST_PARTS = 400  # vertices and edges of a graph that is drawn
MOST_GRAPHS, MOST_VERTICES = 20_000, 100  # of a dataset in which duplicates are looked for
# How the facts of a fit tell which column is the target.
CHOSEN = re.compile(r"(?s)(['\"]?)(?P<name>.*)\1, (as you chose|the only column that can be one.*)")
LINE = "line"  # the column that says in which line of the input a graph is
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
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
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
    target = find_target(dataset, about.get("target column", ""))
    targets = [target] if target else [] if dataset.task.loss in CLASS_LOSSES else list(dataset.task.targets)
    if len(targets) > MOST_NAMED:
        targets[MOST_NAMED - 1 :] = [f"and {len(targets) - MOST_NAMED + 1} more targets"]
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
        target=target,
    )


def find_target(dataset: Dataset, told: str) -> str:
    """The name of the target of a task with classes; "" if it is not known.

    Args:
        dataset: Its task has the names of the classes, or of the target.
        told: How the facts of the fit tell the target column.
    """
    if dataset.task.loss not in CLASS_LOSSES:
        return ""
    if len(dataset.task.targets) == 1 < dataset.task.outputs:
        return dataset.task.targets[0]
    found = CHOSEN.fullmatch(told)
    return found["name"] if found else ""


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
    given = min(place.values())
    return Tested(graphs, pairs[..., 0], pairs[..., 1], read_labels(header[:given], [row[:given] for row in rows]))


def read_labels(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """What each graph is called in the input: its id, its line, or both; empty if the table has neither.

    Args:
        header: Names of the columns that come from the input, the number of the graph first.
        rows: Their cells.
    """
    line = next((place for place, name in enumerate(header) if place and name == LINE), None)
    own = next((place for place, name in enumerate(header) if place and name and IDENTIFIER.fullmatch(name)), None)
    if line is None:
        return [] if own is None else [row[own] for row in rows]
    return [f"{row[own]} (line {row[line]})" if own is not None and row[own] else f"line {row[line]}" for row in rows]


def choose_pictures(
    run: TrainedRun, dataset: Dataset, test: Tested, smiles: Sequence[str], count: int = PICTURES
) -> list[Picture]:
    """Explain the worst and the most uncertain test graphs, and of numbers those least like the training graphs.

    Large graphs are left out.

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
    kinds = [("worst", worst, 0.0), ("uncertain", unsure, NOISE)]
    unlike = compare_with_training(run, dataset, test.graphs) if task.loss == "l1" else None
    if unlike is not None:
        kinds.append(("unlike", np.where(small, unlike.distance, -np.inf), 0.0))
    words, found = MOLECULES if smiles else GRAPHS, []
    explained: dict[int, Explanation] = {}
    for why, badness, least in kinds:
        for row in np.argsort(-badness, kind="stable")[:count].tolist():
            if badness[row] <= least:
                continue
            if task.loss in CLASS_LOSSES:
                output = int(test.mean[row].argmax())  # the class that is predicted
            else:
                output = int(np.nan_to_num(errors[row], nan=-1.0).argmax())
            if row not in explained:
                explained[row] = _explain(run, dataset, int(test.graphs[row]), smiles)
            note = differences(unlike, row, words) if unlike is not None and why == "unlike" else ""
            found.append(Picture(row, why, output, explained[row], note))
    return found


def _explain(run: TrainedRun, dataset: Dataset, number: int, smiles: Sequence[str]) -> Explanation:
    """The explanation of one graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the graph may be larger than all training graphs
        molecule = smiles[number] if smiles and run.needs.molecules is not None else None
        return explain_prepared(run, run.prepare(dataset.subset([number])), DRAWS, smiles=molecule)


def differences(unlike: Unlike, row: int, words: Words) -> str:
    """How a test graph differs from the training graphs, in words."""
    said = f"{unlike.distance[row]:.1f} times as far from its nearest training {words.graphs} as is usual."
    if unlike.larger[row]:
        said += f" It has more {words.vertices} than any training {words.graph}."
    if unlike.new[row]:
        said += f" It has a kind of {words.vertex} that no training {words.graph} has."
    return said
