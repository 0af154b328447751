"""A lower bound on the time of a training step or an inference: formulas for bytes and operations, measured rates.

N nodes, E directed edges, G graphs, K particles, width D, t towers. The formulas assume the cheapest algorithm that we
know: linear maps are applied to nodes, not to edges. The layers before the first step are computed once, because all
particles are equal there.

Operations of a forward pass. The backward pass of a matrix product takes twice as many, so a training step takes 3
times these:

    PNA layer     2 N K (2 / t + 13 / t + 1) D² for A, B, U, V, and 2 E D² for C, which all particles share
    GIN layer     2 N K 2 D²; in GINE also 2 E D² for the edges
    feed-forward  2 N K 4 D² for the block after a layer
    exchange      2 N 2 D² for the mean and 2 G K 2 D² for the mark, in each layer of a step
    observation   2 N K D² in each step
    policy        2 N D² in the first step, 2 N K D² in the others, if it is learned
    readout       2 N K D² in each step and 2 N D² before the first, if each particle is read
    the rest      8 G K D² in each step, and 2 G (T + 1) D² for the head

Numbers that are read or written in a training step. A number has 4 bytes; in bf16 it has 2, except the parameters.

    layer       5 N K D: forward it reads its input and writes its output; backward it reads its input and the
                gradient of its output, and writes the gradient of its input
    edges       3 E D for each layer: edge embeddings are read forward and backward, and their gradient is written
    resampling  4 N K D: the particles are read and written, forward and backward
    parameters  10 for each: read forward and backward, gradient written; Adam reads the parameter, its gradient and
                two moments, and writes the parameter and the moments

Intermediate results, such as messages, are not counted: with enough memory on the chip they would never leave it. So
separate kernels cannot reach this bound.

An inference has the operations of one forward pass. It reads and writes 2 N K D numbers for each layer and for each
resampling, E D for the edges of each layer, and each parameter once.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from benchmarks.steps import Work, synchronise
from pfgnn.experiments.config import ModelConfig

PRECISIONS = ("float32", "tf32", "bf16")


class Count(NamedTuple):
    """What one training step or inference needs at least.

    Fields:
        bytes: Bytes to read and write.
        operations: Floating point operations.
    """

    bytes: float
    operations: float

    def floor(self, rates: dict[str, float], precision: str) -> float:
        """The seconds that a device with these rates needs at least, see :func:`measure_rates`."""
        return max(self.bytes / rates["bytes a second"], self.operations / rates[f"{precision} operations a second"])

    def to_json(self, rates: dict[str, float]) -> dict[str, float]:
        """The counts, and the lower bounds in milliseconds for each precision in ``rates``."""
        floors = {"floor of bytes ms": 1000 * self.bytes / rates["bytes a second"]}
        for precision in PRECISIONS:
            if rate := rates.get(f"{precision} operations a second"):
                floors[f"floor of {precision} operations ms"] = 1000 * self.operations / rate
        return {"bytes": self.bytes, "operations": self.operations, **floors}


def count(work: Work, number_bytes: int = 4, training: bool = True) -> Count:
    """The bound of a training step or an inference of pfgnn, on average over the batches.

    Args:
        work: The model and its batches.
        number_bytes: Bytes of a number that is not a parameter.
        training: Whether to count a training step or an inference.
    """
    sizes = [(len(b.batch), b.edge_index.shape[1]) for b in work.batches]
    N, E = (sum(column) / len(sizes) for column in zip(*sizes, strict=True))
    edges = E if work.inputs.edge_channels is not None else 0.0
    return count_step(work.shape.model, N, edges, work.shape.batch, work.parameters(), number_bytes, training)


def count_step(
    model: ModelConfig, N: float, E: float, G: int, parameters: int, number_bytes: int = 4, training: bool = True
) -> Count:
    """The formulas of this module.

    Args:
        model: The model.
        N: Number of nodes.
        E: Number of directed edges; 0 if edges have no features.
        G: Number of graphs.
        parameters: Number of parameters.
        number_bytes: Bytes of a number that is not a parameter.
        training: Whether to count a training step or an inference.
    """
    rows, edge_rows, resampled, times_read, products = (5, 3, 4, 10, 3) if training else (2, 1, 2, 1, 1)
    D, K, T = model.width, model.particles, model.steps
    step_layers = model.step_layers or model.layers
    layers = [1] * model.layers + [K] * (T * step_layers)  # particles of each layer
    row = 2 * (15 / model.towers + 1) if model.backbone == "pna" else 4  # operations / D² for a node and particle
    row += 8 * model.feed_forward
    edge = 2 if model.backbone in ("pna", "gine") else 0  # operations / D² for an edge
    operations = sum(row * N * k + edge * E for k in layers)
    told = 4 * N * (model.exchange in ("both", "mean")) + 4 * G * K * (model.exchange in ("both", "mark"))
    operations += T * step_layers * told
    if model.readout == "particle":
        operations += 2 * N
    for t in range(T):
        operations += 2 * N * K * ((model.observe != "none") + (model.readout == "particle")) + 8 * G * K
        operations += 2 * N * (K if t else 1) * (model.policy not in ("uniform", "centrality"))
    operations += 2 * G * (T + 1)
    resampled *= model.resample != "none"
    numbers = sum(rows * N * k * D + edge_rows * E * D for k in layers) + T * resampled * N * K * D
    return Count(number_bytes * numbers + 4 * times_read * parameters, products * operations * D**2)


def measure_rates(
    device: torch.device, size: int = 8192, seconds: float = 0.3, precisions: tuple[str, ...] = PRECISIONS
) -> dict[str, float]:
    """Measure the bytes a second of a copy, and the operations a second of matrix products in each precision.

    Args:
        device: The device.
        size: The matrices are [size, size].
        seconds: How long to repeat each measurement.
        precisions: Names of the precisions.
    """
    source = torch.ones(4 * size * size, device=device)
    target = torch.empty_like(source)
    rates = {"bytes a second": 8 * source.numel() / best_seconds(lambda: target.copy_(source), device, seconds)}
    a = torch.randn(size, size, device=device)
    was = torch.backends.cuda.matmul.allow_tf32
    for name in precisions:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        left = a.to(torch.bfloat16) if name == "bf16" else a
        rates[f"{name} operations a second"] = 2 * size**3 / best_seconds(_product(left), device, seconds)
    torch.backends.cuda.matmul.allow_tf32 = was
    return rates


def _product(left: torch.Tensor) -> Callable[[], object]:
    return lambda: left @ left


def best_seconds(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """The seconds of the fastest of several calls."""
    work()
    synchronise(device)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        synchronise(device)
        best = min(best, time.perf_counter() - begin)
    return best
