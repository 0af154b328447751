"""Training steps of pfgnn and the baseline, and how they are timed."""

import gc
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.baseline import Baseline, BaselineStep
from benchmarks.marked_copies import MarkedCopies
from benchmarks.shapes import Shape
from pfgnn.data import Dataset, Loader
from pfgnn.data.batch import GraphBatch
from pfgnn.data.loader import Resident
from pfgnn.experiments.build import build_model, describe
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.training.batches import Examples
from pfgnn.training.config import Precision, TrainingConfig
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.evaluate import Draws
from pfgnn.training.loop import Trainer
from pfgnn.training.seeds import evaluation_seed

GAMMA, CLIP = 0.1, 1.0


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Args:
        least: Smallest number of steps to time.
        seconds: Smallest time to measure for.
        warm_ups: Rounds over all batches before the measurement; a captured step needs four.
        batches: Number of different batches. Their sizes may differ.
        graphs: Graphs in the epoch that is timed.
        divide: Divisor of batch sizes and widths. If it is not 1, layers and steps are few too. For tests and CPUs.
        clock: Returns the time in seconds.
    """

    least: int = 30
    seconds: float = 0.5
    warm_ups: int = 5
    batches: int = 4
    graphs: int = 2048
    divide: int = 1
    clock: Callable[[], float] = time.perf_counter

    def fit(self, shape: Shape) -> Shape:
        """The shape itself, or a smaller one if ``divide`` is not 1."""
        if self.divide == 1:
            return shape
        model = shape.model
        width = max(2 * model.towers, model.width // self.divide)
        small = shape.resized(width=width, steps=min(model.steps, 2), layers=1, step_layers=1)
        return small._replace(batch=max(2, shape.batch // self.divide))


class Timing(NamedTuple):
    """Seconds of a step.

    Fields:
        median: Median over steps; each one was waited for.
        low: First quartile.
        high: Third quartile.
        steps: Number of steps.
        in_a_row: Mean of steps that ran in a row; only the last one was waited for.
    """

    median: float
    low: float
    high: float
    steps: int
    in_a_row: float

    def to_json(self) -> dict[str, float]:
        """The times in milliseconds, by name, and the number of steps."""
        names = ("median ms", "quartile ms", "upper quartile ms", "in a row ms")
        values = (self.median, self.low, self.high, self.in_a_row)
        return {name: 1000 * value for name, value in zip(names, values, strict=True)} | {"steps": self.steps}


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished all its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def release(device: torch.device) -> None:
    """Free unused memory of the device and reset its peak, before the next measurement."""
    if device.type == "cuda":
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()  # 32 MiB for each stream that was used
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def time_steps(
    step: Callable[[GraphBatch], object], batches: list[GraphBatch], device: torch.device, effort: Effort
) -> Timing:
    """Time a training step after a warm-up, on one batch after the other.

    Args:
        step: The step.
        batches: The batches.
        device: The device to wait for.
        effort: How long to measure.
    """
    for _ in range(effort.warm_ups):
        for batch in batches:
            step(batch)
    synchronise(device)
    seconds: list[float] = []
    end = effort.clock() + effort.seconds
    turns = itertools.cycle(batches)
    while len(seconds) < effort.least or effort.clock() < end:
        batch, begin = next(turns), effort.clock()
        step(batch)
        synchronise(device)
        seconds.append(effort.clock() - begin)
    begin = effort.clock()
    for batch in itertools.islice(turns, len(seconds)):
        step(batch)
    synchronise(device)
    in_a_row = (effort.clock() - begin) / len(seconds)
    low, median, high = statistics.quantiles(seconds, n=4)
    return Timing(median, low, high, len(seconds), in_a_row)


class Work(NamedTuple):
    """A shape with its graphs on a device.

    Fields:
        shape: Model and graphs.
        trainer: Trainer of pfgnn. Its loader may pad batches.
        inputs: Features and task.
        dataset: The graphs.
        batches: Batches without padding.
        padded: Batches of the trainer's loader.
    """

    shape: Shape
    trainer: Trainer
    inputs: Inputs
    dataset: Dataset
    batches: list[GraphBatch]
    padded: list[GraphBatch]

    @property
    def device(self) -> torch.device:
        """The device of the trainer."""
        return self.trainer.devices.device

    def baseline(self) -> BaselineStep:
        """The training step of the baseline, for the same model and graphs."""
        config, most = self.shape.model, int(self.dataset.node_counts.max())
        with torch.random.fork_rng(devices=[]):
            model: Baseline | MarkedCopies
            if config.individualise == "distance":
                model = MarkedCopies(config, self.inputs, most)
            else:
                model = Baseline(config, self.inputs, degree_histogram(self.dataset), most)
        return BaselineStep(model.to(self.device), gamma(self.shape), CLIP)

    def update(self, batch: GraphBatch) -> None:
        """Do one training step of pfgnn, as a training run does it."""
        self.trainer._update(batch)

    def parameters(self) -> int:
        """Number of parameters of pfgnn's model."""
        return count_parameters(self.trainer.model)


@contextmanager
def prepare(
    shape: Shape,
    device: str,
    effort: Effort,
    precision: Precision = "float32",
    graphs: int = 0,
    validation: int = 0,
    epochs: int = 10**6,
) -> Iterator[Work]:
    """Make a trainer as :mod:`pfgnn.experiments.run` does, in a temporary folder.

    Args:
        shape: Model and graphs.
        device: "cuda" or "cpu".
        effort: How long to measure.
        precision: "float32", "tf32" or "bf16".
        graphs: Number of training graphs; 0 for as many as ``effort.batches`` batches need.
        validation: Number of validation graphs.
        epochs: Epochs of the training.
    """
    shape = effort.fit(shape)
    dataset = shape.graphs((graphs or effort.batches * shape.batch) + validation)
    everything = np.arange(len(dataset) - validation)
    held_out = np.arange(len(everything), len(dataset)) if validation else None
    devices = open_devices(device, precision)
    release(devices.device)
    resident, inputs = Resident(dataset, devices.device), describe(dataset, everything)
    examples = Examples(resident, torch.from_numpy(dataset.y), everything, held_out)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(shape, examples, inputs, devices, Path(folder), precision, epochs)
        plain = Loader(resident, everything, shape.batch, shuffle=True)
        first = [list(itertools.islice(loader.epoch(0), effort.batches)) for loader in (plain, trainer.loader)]
        yield Work(shape, trainer, inputs, dataset, *first)
    del trainer
    release(devices.device)


def make_trainer(
    shape: Shape,
    examples: Examples,
    inputs: Inputs,
    devices: Devices,
    folder: Path,
    precision: Precision = "float32",
    epochs: int = 10**6,
) -> Trainer:
    """Make a trainer as :mod:`pfgnn.experiments.run` does.

    Args:
        shape: The model and the batch size.
        examples: The graphs.
        inputs: Features and task.
        devices: The device.
        folder: Folder for metrics and checkpoints.
        precision: "float32", "tf32" or "bf16".
        epochs: Epochs of the training.
    """
    return Trainer(
        build_model(shape.model, inputs, 0),
        examples,
        inputs.task,
        TrainingConfig(epochs=epochs, batch_size=shape.batch, gamma=gamma(shape), clip=CLIP, precision=precision),
        seed=0,
        draws=Draws(evaluation_seed(0), batch_size=shape.batch),
        devices=devices,
        folder=folder,
        identity={},
    )


def gamma(shape: Shape) -> float:
    """γ, the weight of the policy loss. A uniform policy learns nothing, so there it is 0, as in our configs."""
    return 0.0 if shape.model.policy == "uniform" else GAMMA


def degree_histogram(dataset: Dataset) -> Tensor:
    """The number of nodes of each in-degree, [largest degree + 1]."""
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    target = dataset.edges[1] + np.repeat(first, dataset.edge_counts)
    return torch.from_numpy(np.bincount(np.bincount(target, minlength=int(dataset.node_counts.sum()))))


def count_parameters(model: nn.Module) -> int:
    """Number of parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())
