"""The least a training step or an inference must do, in bytes and operations by formula; and what the device can do.

N nodes, E directed edges, G graphs, K particles, width D, t towers. The algorithm is the cheapest known (DESIGN: nodes
are transformed, not edges; what comes before the first step is computed once, for all particles are equal there).

Operations, forward; a backward pass of matrix products takes twice as many, so a step takes 3 times these:

    PNA layer   2 N K (2 / t + 13 / t + 1) D² for A, B, U, V, and 2 E D² for C, which all particles share
    GIN layer   2 N K 2 D²
    a step      2 N K D² for the observation, 2 N D² (first step) or 2 N K D² for the policy, 8 G K D² for the rest
    head        2 G (T + 1) D²

Bytes, 4 for each number, or 2 in bf16 but for the parameters: every layer reads its input and writes its output; going
back it reads its input and its output's gradient and writes its input's gradient (5 N K D); resampling reads and
writes the belief, forward and back (4 N K D); edge embeddings are read forward and back by every layer and their
gradient is written (3 E D); a parameter is read forward and back, its gradient is written, and Adam reads it with its
gradient and two moments and writes it with these (10). Everything between, such as messages, would never leave a chip
with enough memory on it; so this floor is lower than what separate kernels can reach.

An inference takes the operations once, and of the bytes those that it reads and writes forward: 2 N K D a layer and a
resampling, E D a layer for the edges, a parameter once.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch

from benchmarks.steps import Work, synchronise
from pfgnn.experiments.config import ModelConfig

PRECISIONS = ("float32", "tf32", "bf16")


class Count(NamedTuple):
    """``bytes`` to move and floating point ``operations`` of one training step or inference."""

    bytes: float
    operations: float

    def floor(self, rates: dict[str, float], precision: str) -> float:
        """The seconds below which no step can be on a device of these rates, see :func:`measure_rates`."""
        return max(self.bytes / rates["bytes a second"], self.operations / rates[f"{precision} operations a second"])

    def to_json(self, rates: dict[str, float]) -> dict[str, float]:
        """Counts and floors, in milliseconds, in the precisions that the rates have."""
        floors = {"floor of bytes ms": 1000 * self.bytes / rates["bytes a second"]}
        for precision in PRECISIONS:
            if rate := rates.get(f"{precision} operations a second"):
                floors[f"floor of {precision} operations ms"] = 1000 * self.operations / rate
        return {"bytes": self.bytes, "operations": self.operations, **floors}


def count(work: Work, number_bytes: int = 4, training: bool = True) -> Count:
    """The least that a training step of ours, or an inference, must do, on average over the batches."""
    sizes = [(len(b.batch), b.edge_index.shape[1]) for b in work.batches]
    N, E = (sum(column) / len(sizes) for column in zip(*sizes, strict=True))
    edges = E if work.inputs.edge_channels is not None else 0.0
    return count_step(work.shape.model, N, edges, work.shape.batch, work.parameters(), number_bytes, training)


def count_step(
    model: ModelConfig, N: float, E: float, G: int, parameters: int, number_bytes: int = 4, training: bool = True
) -> Count:
    """The formulas of this module; E = 0 where edges have no features."""
    rows, edge_rows, resampled, times_read, products = (5, 3, 4, 10, 3) if training else (2, 1, 2, 1, 1)
    D, K, T = model.width, model.particles, model.steps
    layers = [1] * model.layers + [K] * (T * (model.step_layers or model.layers))  # particles of each
    row = 2 * (15 / model.towers + 1) if model.backbone == "pna" else 4  # operations by D², a node and particle
    edge = 2 if model.backbone == "pna" else 0
    operations = sum(row * N * k + edge * E for k in layers)
    for t in range(T):
        operations += 2 * N * K + 2 * N * (K if t else 1) + 8 * G * K
    operations += 2 * G * (T + 1)
    numbers = sum(rows * N * k * D + edge_rows * E * D for k in layers) + T * resampled * N * K * D
    return Count(number_bytes * numbers + 4 * times_read * parameters, products * operations * D**2)


def measure_rates(
    device: torch.device, size: int = 8192, seconds: float = 0.3, precisions: tuple[str, ...] = PRECISIONS
) -> dict[str, float]:
    """Bytes a second of a copy, and operations a second of square matrix products, in some precisions."""
    source = torch.ones(4 * size * size, device=device)
    target = torch.empty_like(source)
    rates = {"bytes a second": 8 * source.numel() / _best(lambda: target.copy_(source), device, seconds)}
    a = torch.randn(size, size, device=device)
    was = torch.backends.cuda.matmul.allow_tf32
    for name in precisions:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        left = a.to(torch.bfloat16) if name == "bf16" else a
        rates[f"{name} operations a second"] = 2 * size**3 / _best(_product(left), device, seconds)
    torch.backends.cuda.matmul.allow_tf32 = was
    return rates


def _product(left: torch.Tensor) -> Callable[[], object]:
    return lambda: left @ left


def _best(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """The seconds of the quickest of several calls."""
    work()
    synchronise(device)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        synchronise(device)
        best = min(best, time.perf_counter() - begin)
    return best
