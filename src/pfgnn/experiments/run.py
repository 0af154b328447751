"""Do one run of a config. Its directory holds the config, the metrics, the checkpoints and the record of the result."""

import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from pfgnn.data import Dataset
from pfgnn.data.loader import Indices
from pfgnn.data.shards import Shards
from pfgnn.data.streamed import place
from pfgnn.errors import InputError, InputTypeError, MissingPackageError
from pfgnn.experiments.build import Inputs, adapt, build_model, describe, load_data, parts
from pfgnn.experiments.config import GIVEN, Config
from pfgnn.experiments.config_file import config_mapping, write_config
from pfgnn.experiments.fit_parts import check_weights
from pfgnn.experiments.pair_test import tell_pairs_apart
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.resume import compared, resume_training
from pfgnn.experiments.run_directory import (
    CONFIG,
    FORMAT,
    RECORD,
    Resume,
    check_directory,
    check_new,
    read_record,
    read_run_config,
    with_absolute_path,
)
from pfgnn.experiments.run_lock import locked
from pfgnn.experiments.seen import Seen
from pfgnn.files import write_json
from pfgnn.model.refine import check_module
from pfgnn.training import checkpoint_file as files
from pfgnn.training.batches import Examples
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.distinguish import threshold
from pfgnn.training.evaluate import Draws, Forward, evaluate, predict
from pfgnn.training.loop import Trainer
from pfgnn.training.metrics_file import Report, Status
from pfgnn.training.seeds import evaluation_seed
from pfgnn.training.targets import Standardise


@dataclass
class Run:
    """A config and its data, ready for training and evaluation.

    Args:
        config: All settings.
        devices: The devices.
        dataset: The dataset.
        parts: Graph numbers of each part.
        inputs: What the model needs to know about the data.
        examples: The graphs, on the device or on the disk.
        checksum: Checksum of the dataset.
    """

    config: Config
    devices: Devices
    dataset: Dataset | Shards
    parts: dict[str, Indices]
    inputs: Inputs
    examples: Examples
    checksum: str

    @staticmethod
    def open(
        config: Config,
        device: str,
        check: Callable[[str], None] = lambda found: None,
        dataset: Dataset | None = None,
        backbone: nn.Module | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "Run":
        """Load the data for a device.

        Args:
            config: All settings.
            device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
            check: Called with the checksum of the dataset, to raise an error if it is the wrong one.
            dataset: The dataset; None to load that of the config.
            backbone: The backbone, if it was given as an object.
            weights: See :func:`run`.
        """
        devices = open_devices(device, config.training.precision)
        loaded: Dataset | Shards
        if dataset is None:
            loaded = load_data(config.data, config.model, backbone)
        else:
            loaded = adapt(dataset, config.data, config.model, backbone)
        crc = checksum(loaded)
        check(crc)
        if (pairs := config.evaluation.pairs) is not None:  # raise an error now, not after training
            threshold(loaded.task.outputs, pairs.draws, pairs.draws, pairs.level)
        found = parts(config.data, loaded)
        store = place(loaded, devices.device)
        targets = torch.from_numpy(loaded.y).to(store.y_dtype if loaded.y.dtype.kind in "iub" else torch.float64)
        weights = check_weights(weights, len(loaded), found["train"], "weights")
        examples = Examples(store, targets, found["train"], found.get("validation"), weights)
        return Run(config, devices, loaded, found, describe(loaded, found["train"]), examples, crc)

    @property
    def draws(self) -> Draws:
        """How predictions are drawn in the test."""
        of = self.config.evaluation
        return Draws(
            evaluation_seed(self.config.seed) + 1,  # validation uses the seed before it
            of.draws,
            of.average,
            of.relabel,
            of.batch_size or self.config.training.batch_size,
        )

    def evaluate(self, model: nn.Module, scaler: Standardise | None) -> dict[str, Any]:
        """Test a model.

        Args:
            model: The model, on the device.
            scaler: Maps predictions back to the units of the targets; None if the targets were not standardised.

        Returns:
            {"results": ..., "pairs": ...}: results of the validation part and of each test part by name, and results
            of the pairs, or None.
        """
        forward = Forward(model, self.devices, self.config.evaluation.particles)
        results = {}
        for name in dict.fromkeys([*(["validation"] if "validation" in self.parts else []), *self.config.data.tests]):
            graphs = self.parts[name]
            draws = [
                predict(forward, self.examples.data, graphs, self.draws, number) for number in range(self.draws.count)
            ]
            if scaler is not None:
                draws = [scaler.unscale(prediction) for prediction in draws]
            results[name] = asdict(
                evaluate(draws, self.examples.y(graphs), self.dataset.task, self.config.evaluation.average)
            )
        return {"results": results, "pairs": self._pairs(model)}

    def _pairs(self, model: nn.Module) -> dict[str, Any] | None:
        config = self.config.evaluation.pairs
        if config is None:
            return None
        found = tell_pairs_apart(
            Forward(model, self.devices, self.config.evaluation.particles, embed=True),
            self.dataset,
            config,
            batch_size=self.draws.batch_size,
            seed=self.config.seed,
        )
        return asdict(found)


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
    record = {
        "format": FORMAT,
        **provenance(this.devices.device),
        "devices": this.devices.world,
        "config": identity,
        "data": this.checksum,
        "seen": Seen.of(this.dataset, this.parts["train"])._asdict(),
        "seed": config.seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "epochs": trainer.state.epoch,
        "updates": trainer.state.update,
        "selected": selected,
        "selected_update": trainer.state.best_update or trainer.state.update,
        "seconds": {
            "training": round(trainer.state.seconds, 2),
            "evaluation": round(time.perf_counter() - begun, 2),
        },
        **found,
    }
    if this.devices.first:
        write_json(directory / RECORD, record)
    this.devices.barrier()
    return record


def checksum(dataset: Dataset | Shards) -> str:
    """A checksum of the arrays and parts of a dataset."""
    if isinstance(dataset, Shards):
        return dataset.checksum
    crc = 0
    for name, array in sorted({**dataset.arrays(), **dataset.splits}.items()):
        crc = zlib.crc32(array.tobytes(), zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), crc))
    return f"{crc:08x}"


def _writer(directory: Path, update: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingPackageError("tensorboard is not installed; install it, or train without --tensorboard") from None
    return SummaryWriter(str(directory / "tensorboard"), purge_step=update)
