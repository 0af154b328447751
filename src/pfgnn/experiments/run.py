"""Do one run of a config. Its directory holds the config, the metrics, the checkpoints and the record of the result."""

import time
import zlib
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt
from torch import Tensor, nn

from pfgnn.data import Dataset
from pfgnn.errors import InputError, InputTypeError, MissingPackageError
from pfgnn.experiments.build import build_model
from pfgnn.experiments.config import GIVEN, Config
from pfgnn.experiments.config_file import config_mapping, write_config
from pfgnn.experiments.forest import train_forest
from pfgnn.experiments.open_run import Run
from pfgnn.experiments.resume import compared, resume_training
from pfgnn.experiments.run_directory import (
    CONFIG,
    RECORD,
    Resume,
    check_directory,
    check_new,
    read_record,
    read_run_config,
    with_absolute_path,
)
from pfgnn.experiments.run_lock import locked
from pfgnn.model.refine import check_module
from pfgnn.training import checkpoint_file as files
from pfgnn.training.evaluate import Draws
from pfgnn.training.loop import Trainer
from pfgnn.training.metrics_file import Report, Status
from pfgnn.training.seeds import evaluation_seed


def run(
    config: Config,
    directory: str | Path,
    *,
    dataset: Dataset | None = None,
    backbone: nn.Module | None = None,
    device: str = "auto",
    resume: Resume = "no",
    tensorboard: bool = False,
    start: Mapping[str, Tensor] | None = None,
    weights: npt.ArrayLike | None = None,
    report: Report = lambda status: None,
) -> dict[str, Any]:
    """Train and test a model, and return the record of the result.

    Args:
        config: All settings.
        directory: Run directory. It is created if it does not exist.
        dataset: The graphs; None to load those that ``config.data`` names. Other settings of ``config.data`` hold for
            both.
        backbone: A module of your own as the backbone, as :class:`pfgnn.PFGNN` takes it. It is copied, and the copies
            get new parameters. ``model.backbone`` becomes "given", and :func:`load_run` needs the module again.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        resume: "no" starts a new run, and raises an error if the directory holds a run. "last" continues from the last
            checkpoint, if there is one. "previous" continues from the checkpoint before the last.
        tensorboard: Whether to write the metrics for TensorBoard too.
        start: Parameters and buffers by name that the training begins with; None for random ones.
        weights: Weight of each graph in the training, [G]; None if all are equal. Each epoch draws the graphs
            in proportion to their weights, and has as many updates as without.
        report: Called during training with the status. If it returns True after a validation, the training ends there.
    """
    directory = Path(directory)
    if not isinstance(dataset, Dataset | None):
        came = type(dataset).__name__
        raise InputTypeError(f"dataset must be a Dataset, as Dataset.from_pyg makes one of a list, but it is a {came}")
    if backbone is not None:
        check_module("backbone", backbone)
        config = replace(config, model=replace(config.model, backbone=GIVEN, backbone_options={}))
    check_directory(directory, resume)
    if resume != "no" and (directory / RECORD).exists():
        record = read_record(directory)
        there, here = (config_mapping(of) for of in (read_run_config(directory), with_absolute_path(config)))
        files.check_identity(directory / RECORD, there, here)
        return record
    if config.model.kind == "forest":
        if any(given is not None for given in (dataset, backbone, start, weights)):
            raise InputError("dataset, backbone, start and weights must be None with model.kind forest, but one is not")
        this = Run.open(config, "cpu")
        with locked(directory):
            check_new(directory, resume)  # again, for another process may have been faster
            return train_forest(this, directory)
    this = Run.open(config, device, dataset=dataset, backbone=backbone, weights=weights)
    model = build_model(config.model, this.inputs, config.seed, backbone)
    if start is not None:
        _load_start(model, start)
    with locked(directory) if this.devices.first else nullcontext() as lock:
        if lock is not None:
            check_new(directory, resume)  # again, for another process may have been faster

        def watched(status: Status) -> bool | None:
            if lock is not None:
                lock.check()
            return report(status)

        return _train(this, model, directory, resume, tensorboard, watched)


def _load_start(model: nn.Module, start: Mapping[str, Tensor]) -> None:
    try:
        files.load_model(model, dict(start), Path("start"))
    except InputError as error:
        raise InputError(
            f"{error}; a model of another shape must begin anew, without start (warm_start=False of an estimator)"
        ) from None


def _train(
    this: Run, model: nn.Module, directory: Path, resume: Resume, tensorboard: bool, report: Report
) -> dict[str, Any]:
    """Train and test a model in a directory that this process has locked. See :func:`run`."""
    config, identity, weights = this.config, config_mapping(this.config), this.examples.weights
    weighted = {} if weights is None else {"weights": f"{zlib.crc32(weights.tobytes()):08x}"}
    trainer = Trainer(
        model,
        this.examples,
        this.dataset.task,
        config.training,
        seed=config.seed,
        draws=Draws(evaluation_seed(config.seed), batch_size=this.draws.batch_size),
        particles=config.evaluation.particles,
        devices=this.devices,
        folder=directory,
        identity={"config": identity, "inputs": this.inputs.to_json(), "data": this.checksum, **weighted},
        compared=compared,
        report=report,
    )
    resume_training(trainer, directory, resume)
    if this.devices.first:
        write_config(directory / CONFIG, with_absolute_path(config))
        trainer.metrics.writer = _writer(directory, trainer.state.update) if tensorboard else None
    trainer.train()
    selected = trainer.load_best()
    begun = time.perf_counter()
    found = this.evaluate(trainer.model, trainer.scaler)
    return this.write_record(
        directory,
        parameters=sum(p.numel() for p in model.parameters()),
        epochs=trainer.state.epoch,
        updates=trainer.state.update,
        selected=selected,
        selected_update=trainer.state.best_update or trainer.state.update,
        seconds={
            "training": round(trainer.state.seconds, 2),
            "evaluation": round(time.perf_counter() - begun, 2),
        },
        **found,
    )


def _writer(directory: Path, update: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingPackageError("tensorboard is not installed; install it, or train without --tensorboard") from None
    return SummaryWriter(str(directory / "tensorboard"), purge_step=update)
