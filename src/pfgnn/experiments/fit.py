"""Fit a model to graphs with targets: choose parts and settings, train, test once and calibrate.

The estimators of :mod:`pfgnn.estimators` and `pfgnn fit` both call :func:`fit`. It trains with
:func:`pfgnn.experiments.run.run`, as `pfgnn train` does. :mod:`pfgnn.experiments.model_folder` lists the files that it
writes.
"""

import os
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from pfgnn.data.arrays import Array
from pfgnn.data.convert_file import write_rejects
from pfgnn.data.convert_pieces import Reject
from pfgnn.data.dataset import Dataset
from pfgnn.data.molecules import scaffold
from pfgnn.errors import InputError, shown
from pfgnn.experiments.calibration import calibrate, read_calibration
from pfgnn.experiments.config import Config
from pfgnn.experiments.fit_defaults import choose_config
from pfgnn.experiments.fit_doubts import doubts, unused_parts
from pfgnn.experiments.fit_parts import (
    CALIBRATION,
    SPLITS,
    Parts,
    Shares,
    check_known,
    check_targets,
    keep_parts,
    make_parts,
    same_molecules,
)
from pfgnn.experiments.intervals import usual_coverage
from pfgnn.experiments.model_folder import DATA, PARTS, REJECTS, TEST, Facts
from pfgnn.experiments.parts_table import write_parts, write_test
from pfgnn.experiments.predict import TrainedRun
from pfgnn.experiments.prediction_table import Columns
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import CONFIG, Resume, check_directory, read_record, read_run_config
from pfgnn.experiments.seen import Seen
from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.setting_types import check_draws
from pfgnn.training.metrics_file import Report

DRAWS = 16


@dataclass(frozen=True)
class FitOptions:
    """How a model is fitted. All of it has a default.

    Args:
        shares: Sizes of the parts.
        split: "random", or "scaffold" for molecules. With "given", the parts of the dataset are kept.
        seed: Seed of the parts and of the training.
        changes: Values of settings by their dotted names, such as {"model.width": 32}.
        overrides: Further changes as text, such as "model.width=32".
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        draws: Draws of each prediction in calibration and test.
        backbone: A module of your own as the backbone, see :func:`pfgnn.experiments.run.run`; None for that of the
            settings. "model.backbone" must then be "given".
        command: The options of the command line, see :mod:`pfgnn.experiments.fit_command`.
    """

    shares: Shares = field(default_factory=Shares)
    split: str = "random"
    seed: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[str] = ()
    device: str = "auto"
    draws: int = DRAWS
    backbone: nn.Module | None = None
    command: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Given:
    """The graphs of a fit, and where they come from.

    Args:
        dataset: The graphs with their targets.
        smiles: SMILES of each graph; empty if the graphs are no molecules, or if nobody needs them.
        weights: Weight of each graph in the training, [G]; None if all are equal.
        known: The parts that some graphs were in before, see :func:`pfgnn.experiments.fit_parts.make_parts`.
        source: The file that they come from.
        smiles_column: Its column of SMILES.
        rejects: Its lines that could not be read.
        lines: The line of each graph in this file, from 1; empty if it has no lines.
        columns: The other columns of this file, if it is a table.
    """

    dataset: Dataset
    smiles: Sequence[str] = ()
    weights: Array | None = None
    known: Mapping[str, BoolArray] | None = None
    source: str = ""
    smiles_column: str = ""
    rejects: Sequence[Reject] = ()
    lines: Sequence[int] = ()
    columns: Columns | None = None


@dataclass(frozen=True)
class Plan:
    """A fit that can begin: all that can be known before the training is checked.

    Args:
        given: The graphs as they were given.
        folder: Model folder to write.
        options: All settings.
        dataset: The graphs with their parts.
        config: The config of the run.
        facts: What was found in the data.
        warnings: What may be wrong with the data, each without a full stop.
    """

    given: Given
    folder: Path
    options: FitOptions
    dataset: Dataset
    config: Config
    facts: Facts
    warnings: list[str]


def fit(
    given: Given,
    folder: Path,
    options: FitOptions | None = None,
    *,
    start: Mapping[str, Tensor] | None = None,
    report: Report = lambda status: None,
) -> dict[str, Any]:
    """Fit a model, and return the record of its run.

    Args:
        given: The graphs.
        folder: Model folder to write. It must not hold a run.
        options: All settings.
        start: Parameters that the training begins with, see :func:`pfgnn.experiments.run.run`.
        report: Called during training with the status. If it returns True after a validation, the training ends there.
    """
    return train_plan(plan_fit(given, folder, options), start=start, report=report)


def plan_fit(given: Given, folder: Path, options: FitOptions | None = None) -> Plan:
    """Choose parts and settings of a fit. The arguments are those of :func:`fit`."""
    options = options or FitOptions()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("a fit must run in one process, but torchrun started several; `pfgnn train` uses several")
    check_draws(options.draws, None, least=1)
    check_directory(folder, "no")
    check_targets(given.dataset)
    copies = same_molecules(given.smiles)
    parts = _choose_parts(given, options, copies)
    check_known(given.dataset, parts)
    dataset = replace(given.dataset, splits=parts, pairs=None, key=None)
    config = choose_config(
        dataset,
        parts["train"],
        str((folder / DATA).absolute()),
        options.seed,
        tests=[name for name in ("test",) if name in parts],
        validation="validation" if "validation" in parts else None,
        changes=options.changes,
        overrides=options.overrides,
        backbone=options.backbone,
    )
    seen = Seen.of(dataset, parts["train"])
    facts = Facts(
        given.source,
        given.smiles_column,
        dict(dataset.about),
        {name: len(np.unique(part)) for name, part in parts.items()},
        len(given.rejects),
        seen.largest,
        options.split,
        dict(options.command),
        seen.nodes,
        seen.edges,
        seen.smallest,
    )
    found = doubts(dataset, copies)
    if given.columns is not None and options.split == "random":
        found += unused_parts(given.columns)
    return Plan(given, folder, options, dataset, config, facts, found)


def train_plan(
    plan: Plan,
    *,
    start: Mapping[str, Tensor] | None = None,
    report: Report = lambda status: None,
) -> dict[str, Any]:
    """Do a planned fit, and return the record of its run. See :func:`fit`."""
    folder, given, options = plan.folder, plan.given, plan.options
    new = not folder.exists()
    try:
        plan.dataset.save(folder / DATA)
        write_parts(folder / PARTS, plan.dataset, given.smiles, given.lines, given.columns)
        plan.facts.write(folder)
        write_rejects(folder / REJECTS if given.rejects else None, given.rejects)
        run(
            plan.config,
            folder,
            backbone=options.backbone,
            device=options.device,
            start=start,
            weights=given.weights,
            report=report,
        )
    except Exception:
        if new and not (folder / CONFIG).exists():  # the training never began
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return finish(folder, options)


def go_on(folder: Path, options: FitOptions, resume: Resume, report: Report) -> dict[str, Any]:
    """Go on with a fit that was stopped, and return its record.

    Args:
        folder: The model folder, with the config of the run.
        options: ``device`` and ``draws`` are used. All others are those of the stopped fit.
        resume: See :func:`pfgnn.experiments.run.run`.
        report: Called during training with the status.
    """
    run(read_run_config(folder), folder, device=options.device, resume=resume, report=report)
    return finish(folder, options)


def finish(folder: Path, options: FitOptions) -> dict[str, Any]:
    """Calibrate the model of a finished run, and write the predictions of its test part. Returns the record."""
    dataset = Dataset.open(folder / DATA)
    trained, record = TrainedRun(folder, options.device, options.backbone), read_record(folder)
    if (held := dataset.splits.get(CALIBRATION)) is not None:
        graphs = trained.prepare(dataset.subset(held))
        found = calibrate(trained.outputs(graphs, options.draws), dataset.y[held], dataset.task)
        found.write(folder, record)
        trained.calibration = read_calibration(folder, dataset.task, record)
    if (test := dataset.splits.get("test")) is not None:
        _write_test(folder, trained, dataset.subset(test), test, options.draws)
    return record


def _choose_parts(given: Given, options: FitOptions, copies: IntArray | None) -> Parts:
    dataset = given.dataset
    if options.split == "given":
        return keep_parts(dataset, dataset.splits, options.shares, options.seed, copies)
    if options.split not in SPLITS:
        raise InputError(f"split must be one of {', '.join(SPLITS)}, but it is {shown(options.split)}")
    scaffolds = None
    if options.split == "scaffold":
        if not given.smiles:
            raise InputError("a split by scaffold needs molecules that are given as SMILES, but these graphs are not")
        scaffolds = [scaffold(smiles) for smiles in given.smiles]
    return make_parts(
        dataset,
        options.shares,
        options.seed,
        weights=given.weights,
        scaffolds=scaffolds,
        known=given.known,
        copies=copies,
    )


def _write_test(folder: Path, trained: TrainedRun, graphs: Dataset, numbers: Array, draws: int) -> None:
    """Write the predictions of the test part beside the true values."""
    coverage, _ = usual_coverage(trained.task, trained.calibration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some test graphs may be larger than all training graphs
        found = trained.predict(graphs, draws, coverage=coverage)
    write_test(folder / TEST, found, numbers, folder / PARTS)
