"""What one of several processes does in the tests of devices; one process alone does the same for comparison."""

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.experiments.run_samples import NODES, TARGETS, packed, small
from tests.training.training_samples import CLASSES, CONFIG, graphs, off_the_kinks, trainer, weights
from torch import Tensor

from pfgnn.data.loader import Resident
from pfgnn.data.task import Task
from pfgnn.errors import LostProcessError
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.run import run
from pfgnn.files import write_json
from pfgnn.interrupts import Stopped
from pfgnn.model import GIN, PFGNN
from pfgnn.training import checkpoint_file as checkpoint
from pfgnn.training.config import TrainingConfig
from pfgnn.training.cuda_graphs import Replayed
from pfgnn.training.devices import Devices, gather_rows, mean_over_devices, open_devices
from pfgnn.training.evaluate import Draws, Forward, predict
from pfgnn.training.loop import Trainer

# Graphs of the whole batch: even, odd, and one graph, of which the second process has none; a node's or a graph's loss.
BATCHES = {"even": 8, "odd": 7, "one": 1, "nodes": 5, "clipped": 7}
PARTS = {"even": 6, "odd": 5, "one": 1}
# Not Adam, which makes a whole step of a gradient that is nothing but rounding. Four batches in each of two epochs.
SMOOTH = replace(CONFIG, epochs=2, batch_size=4, optimiser="sgd", gamma=0.5)


class Shape(NamedTuple):
    """Settings of a run whose batches all have one shape."""

    gamma: float
    rate: float


SHAPES = {"policy loss": Shape(0.5, 0.0), "no policy loss": Shape(0.0, 0.0), "trained": Shape(0.5, 1e-2)}


def update(folder: Path, devices: Devices, case: str) -> dict[str, Tensor]:
    """The weights after one update by their gradients alone, in float64."""
    task = NODES if case == "nodes" else CLASSES
    config = replace(SMOOTH, updates=1, epochs=None, batch_size=BATCHES[case], learning_rate=1.0)
    of = exact(folder, devices, replace(config, clip=1e-2 if case == "clipped" else None), task)
    before = weights(of)
    of.train()
    return {name: before[name] - tensor for name, tensor in weights(of).items()}


def exact(folder: Path, devices: Devices, config: TrainingConfig, task: Task = CLASSES) -> Trainer:
    """A trainer of the paper's model, with policy loss, in float64."""
    torch.manual_seed(0)
    model = PFGNN.paper(GIN(8, layers=1), 2, steps=2, particles=3, level=task.level).double()
    off_the_kinks(model)
    return trainer(folder, config, graphs(task=task), model=model, devices=devices)


def lost(folder: Path, devices: Devices) -> None:
    """A run of two epochs whose last process is lost in the sixth update, within the second epoch."""
    of = exact(folder, devices, SMOOTH)
    step = of.step

    def losing(*arguments: Any) -> None:
        if of.state.update == 5 and devices.rank == devices.world - 1:
            if devices.world > 1:
                os._exit(0)
            raise LostProcessError("one was lost")
        step(*arguments)

    of.step = losing  # type: ignore[assignment]
    with pytest.raises(LostProcessError, match="one was lost"):
        of.train()


def gone_on(folder: Path, devices: Devices) -> Trainer:
    """The run of :func:`lost`, or a new one, trained to its end."""
    of = exact(folder, devices, SMOOTH)
    if (folder / checkpoint.LAST).exists():
        of.resume(folder / checkpoint.LAST)
    of.train()
    return of


def of_one_shape(folder: Path, devices: Devices, shape: Shape) -> dict[str, Tensor]:
    """The gradients of six updates, and the weights after them; on GPUs the last updates of several are replayed."""
    config = replace(CONFIG, epochs=3, gamma=shape.gamma, learning_rate=shape.rate, checkpoint_every=None)
    torch.manual_seed(0)
    model = PFGNN.paper(GIN(8, layers=1, norm="none"), 2, steps=2, particles=3)
    off_the_kinks(model)
    of = trainer(folder, config, graphs(uniform=True), model=model, devices=devices)
    of.validation = replace(of.validation, examples=of.examples._replace(validation=None))
    step = of.step if devices.world > 1 else of.plain
    gradients = []

    def watched(*arguments: Any) -> None:
        step(*arguments)
        average = of.plain.average
        grads = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        flat = torch.cat(grads) if average is None else average.flat  # a replay leaves nothing in a parameter
        assert flat is not None
        gradients.append(flat.clone())

    of.step = watched  # type: ignore[assignment]
    of.train()
    captured = [len(found.stages) for found in step.graphs.values()] if isinstance(step, Replayed) else []
    found = {"gradients": torch.stack(gradients).cpu(), "captured": torch.tensor(captured)}
    return found | {"weights": torch.cat([tensor.flatten() for tensor in weights(of).values()])}


def predictions(devices: Devices, level: str, part: str) -> Tensor:
    """Predictions of an even or odd number of graphs, in no order and relabelled."""
    data = graphs(task=NODES if level == "node" else CLASSES)
    torch.manual_seed(0)
    model = PFGNN.paper(GIN(8, layers=1), 2, steps=2, particles=3, level=level)
    chosen = np.array([11, 3, 19, 3, 0, 7])[: PARTS[part]]
    return predict(Forward(model, devices), Resident(data), chosen, Draws(5, relabel=True, batch_size=2), 1)


def normed(folder: Path, devices: Devices) -> Trainer:
    """A model whose buffers change in training, after two epochs."""
    torch.manual_seed(0)
    model = PFGNN.paper(GIN(8, layers=1, norm="batch"), 2, steps=1, particles=2)
    of = trainer(folder, replace(CONFIG, epochs=2, batch_size=5), model=model, devices=devices)
    of.train()
    return of


def stopped(folder: Path, devices: Devices) -> int:
    """The updates of a run whose last process alone gets Ctrl-C, in its second update."""
    of = trainer(folder, replace(CONFIG, checkpoint_every=None), devices=devices)
    step = of.step

    def interrupted(*arguments: Any) -> None:
        if of.state.update == 1 and devices.rank == devices.world - 1:
            signal.raise_signal(signal.SIGINT)
        step(*arguments)

    of.step = interrupted  # type: ignore[assignment]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(Stopped):
        of.train()
    signal.signal(signal.SIGINT, before)
    return of.state.update


def slow_best(path: Path, content: checkpoint.Checkpoint, write: Any = checkpoint.write_checkpoint) -> None:
    """The best weights are written late, when the others have long gone on."""
    if path.name == checkpoint.BEST:
        time.sleep(0.5)
    write(path, content)


def on_one_shape(folder: Path, devices: Devices) -> dict[str, Tensor]:
    """Everything of :func:`of_one_shape`."""
    found = {case: of_one_shape(folder / case, devices, of) for case, of in SHAPES.items()}
    return {f"{case}/{name}": tensor for case, of in found.items() for name, tensor in of.items()}


def keep(found: dict[str, Tensor], folder: Path, devices: Devices) -> None:
    """Write what came out, by the number of the process."""
    contiguous = {name: tensor.contiguous() for name, tensor in found.items()}
    save_file(contiguous, folder / f"{devices.rank}.safetensors")


def work(folder: Path) -> None:
    """Do everything on CPUs; what came out lies in ``folder`` by the number of the process."""
    devices = open_devices("cpu")
    rank = devices.rank
    own = folder / f"of-{rank}"  # a folder of its own for each process, to see who writes
    found = {f"{case}/{name}": t for case in BATCHES for name, t in update(own / case, devices, case).items()}
    found |= {f"{level}-{part}": predictions(devices, level, part) for level in ("graph", "node") for part in PARTS}
    found["mean"] = mean_over_devices(devices, torch.tensor([rank + 1.0]))
    found["stopped"] = torch.tensor(stopped(folder / f"stopped-{devices.world}-{rank}", devices))
    found["rows"] = torch.cat(gather_rows(devices, torch.full((2 * rank, 3), float(rank))))
    found |= on_one_shape(folder / "shapes", devices)
    after = normed(folder / f"normed-{devices.world}" if rank == 0 else own / "normed", devices)
    found |= {f"normed/{name}": tensor for name, tensor in weights(after).items()}
    found |= {f"gone on/{name}": tensor for name, tensor in weights(gone_on(folder / "begun", devices)).items()}
    keep(found, folder, devices)
    checkpoint.write_checkpoint = slow_best  # type: ignore[assignment]
    data = packed(own, TARGETS)  # an error changes little with rounding, an accuracy by a whole graph or not at all
    devices.barrier()
    # Batch norm sees a process's own share, and a norm over the graph has kinks, see off_the_kinks.
    model = ModelConfig(width=8, layers=1, steps=1, particles=2, norm="layer")
    # One epoch, so that the last weights are the best. And no Adam: a bias before a norm has a gradient of nothing but
    # rounding, of which Adam would make a whole step.
    training = {"epochs": 1, "optimiser": "sgd", "standardise": True}
    config = small(folder / "of-0" / data.name, training, model=model)
    write_json(folder / f"{rank}.json", run(config, folder / "run", device="cpu"))
    lost(folder / "lost", devices)


def work_on_one_gpu(folder: Path) -> None:
    """Two processes share a GPU."""
    devices = open_devices("cuda")
    keep(on_one_shape(folder / "shapes", devices), folder, devices)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"cpu": work, "cuda": work_on_one_gpu}[sys.argv[1]](Path(sys.argv[2]))
