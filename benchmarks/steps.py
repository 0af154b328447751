"""What the speed measurements share: the two training steps, and the clock."""

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
from benchmarks.shapes import Shape
from pfgnn.data import Dataset, Loader
from pfgnn.data.batch import GraphBatch
from pfgnn.data.loader import Resident
from pfgnn.experiments.build import build_model, describe
from pfgnn.experiments.model_inputs import Inputs
from pfgnn.training.config import Precision, TrainingConfig
from pfgnn.training.devices import make_fabric
from pfgnn.training.evaluate import Draws
from pfgnn.training.examples import Examples
from pfgnn.training.loop import Trainer, evaluation_seed

GAMMA, CLIP = 0.1, 1.0


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    Args:
        least: steps to time at least.
        seconds: to go on for, where steps are short.
        warm_ups: rounds over the batches before; a captured step needs four.
        batches: different batches, of perhaps different sizes.
        graphs: of the epoch that is timed.
        divide: batch sizes and widths by this number, and take few layers and steps; 1 but in tests.
        clock: in seconds.
    """

    least: int = 30
    seconds: float = 0.5
    warm_ups: int = 5
    batches: int = 4
    graphs: int = 2048
    divide: int = 1
    clock: Callable[[], float] = time.perf_counter

    def fit(self, shape: Shape) -> Shape:
        """The shape, in tests smaller."""
        if self.divide == 1:
            return shape
        model = shape.model
        width = max(2 * model.towers, model.width // self.divide)
        small = shape.resized(width=width, steps=min(model.steps, 2), layers=1, step_layers=1)
        return small._replace(batch=max(2, shape.batch // self.divide))


class Timing(NamedTuple):
    """Seconds a step: the median, quartiles and number of steps each waited for, and ``in_a_row``, waited for once."""

    median: float
    low: float
    high: float
    steps: int
    in_a_row: float

    def to_json(self) -> dict[str, float]:
        """In milliseconds."""
        names = ("median ms", "quartile ms", "upper quartile ms", "in a row ms")
        values = (self.median, self.low, self.high, self.in_a_row)
        return {name: 1000 * value for name, value in zip(names, values, strict=True)} | {"steps": self.steps}


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all it was told to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def release(device: torch.device) -> None:
    """Give back the memory of what is no longer used, so that the next measurement begins with an empty device."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def time_steps(
    step: Callable[[GraphBatch], object], batches: list[GraphBatch], device: torch.device, effort: Effort
) -> Timing:
    """Time a step on the batches in turn, after a warm-up."""
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
    """A shape with its graphs on a device: ``trainer`` for ours, whose loader may pad; ``batches`` as they are."""

    shape: Shape
    trainer: Trainer
    inputs: Inputs
    dataset: Dataset
    batches: list[GraphBatch]
    padded: list[GraphBatch]

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        return self.trainer.fabric.device

    def baseline(self) -> BaselineStep:
        """The baseline's step for the same model and graphs."""
        with torch.random.fork_rng(devices=[]):
            model = Baseline(
                self.shape.model, self.inputs, degree_histogram(self.dataset), int(self.dataset.node_counts.max())
            )
        return BaselineStep(model.to(self.device), GAMMA, CLIP)

    def update(self, batch: GraphBatch) -> None:
        """One step of ours, as a training run takes it."""
        self.trainer._update(batch)

    def parameters(self) -> int:
        """Number of our model's parameters."""
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
    """A trainer as :mod:`pfgnn.experiments.run` makes it, on so many graphs, by default those of ``effort.batches``.

    With ``validation`` graphs more, and so many ``epochs``.
    """
    shape = effort.fit(shape)
    dataset = shape.graphs((graphs or effort.batches * shape.batch) + validation)
    everything = np.arange(len(dataset) - validation)
    held_out = np.arange(len(everything), len(dataset)) if validation else None
    fabric = make_fabric(device, precision)
    release(fabric.device)
    resident, inputs = Resident(dataset, fabric.device), describe(dataset, everything)
    config = TrainingConfig(
        epochs=epochs,
        batch_size=shape.batch,
        gamma=GAMMA,
        clip=CLIP,
        precision=precision,
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            build_model(shape.model, inputs, 0),
            Examples(resident, torch.from_numpy(dataset.y), everything, held_out),
            dataset.task,
            config,
            seed=0,
            draws=Draws(evaluation_seed(0), batch_size=shape.batch),
            fabric=fabric,
            folder=Path(folder),
            identity={},
        )
        plain = Loader(resident, everything, shape.batch, shuffle=True)
        first = [list(itertools.islice(loader.epoch(0), effort.batches)) for loader in (plain, trainer.loader)]
        yield Work(shape, trainer, inputs, dataset, *first)
    del trainer
    release(fabric.device)


def degree_histogram(dataset: Dataset) -> Tensor:
    """How many nodes have each in-degree: [largest + 1]."""
    first = np.cumsum(dataset.node_counts, dtype=np.int64) - dataset.node_counts
    target = dataset.edges[1] + np.repeat(first, dataset.edge_counts)
    return torch.from_numpy(np.bincount(np.bincount(target, minlength=int(dataset.node_counts.sum()))))


def count_parameters(model: nn.Module) -> int:
    """Number of the model's parameters."""
    return sum(parameter.numel() for parameter in model.parameters())
