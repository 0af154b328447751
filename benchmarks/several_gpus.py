"""What to expect of several GPUs, on paper: `python -m benchmarks.several_gpus`.

The time of a step on one GPU is measured (results/bench/gpu.json). What the other devices add is computed from an
assumed network, see docs/several-gpus.md, which holds the table that this program prints.
"""

import json
import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.gpu import RESULT
from benchmarks.measure import Record
from benchmarks.shapes import OURS, ZINC, Shape
from benchmarks.steps import count_parameters
from pfgnn.experiments.build import build_model, describe

GPUS = (1, 8, 64)
GPUS_OF_A_NODE = 8
NVLINK, NODE_TO_NODE = 450e9, 400e9  # bytes a second, each way: of a GPU, and of a node with 8 links of 400 Gb/s
HOP, FAR_HOP = 3e-6, 10e-6  # seconds that a message takes beyond its bytes: within a node, and between nodes
LAUNCH = 20e-6  # seconds to launch a reduction and one more CUDA graph
SAMPLE = 2000  # graphs whose sizes are looked at


class Expected(NamedTuple):
    """What is expected of a number of GPUs. All times are in seconds.

    Fields:
        gpus: Number of GPUs. Each has a whole batch.
        waiting: Time to wait for the GPU with the largest batch.
        reduction: Time of all sums over the GPUs.
        step: Time of a step.
        throughput: Graphs a second.
        efficiency: Throughput by that of as many GPUs that know nothing of each other.
    """

    gpus: int
    waiting: float
    reduction: float
    step: float
    throughput: float
    efficiency: float


def ring(size: float, devices: int, rate: float, hop: float) -> float:
    """Seconds to sum buffers in a ring: each device sends 2 (n - 1) messages of 1 / n of a buffer.

    Args:
        size: Bytes of a buffer.
        devices: Number of devices n.
        rate: Bytes a second that a device sends.
        hop: Seconds that a message takes beyond its bytes.
    """
    return 2 * (devices - 1) * (size / devices / rate + hop)


def reduction(size: float, gpus: int) -> float:
    """Seconds to sum buffers over all GPUs: in a ring within each node, and in rings of one GPU of each node.

    Args:
        size: Bytes of a buffer.
        gpus: Number of GPUs.
    """
    if gpus == 1:
        return 0.0
    near = min(gpus, GPUS_OF_A_NODE)
    return LAUNCH + ring(size, near, NVLINK, HOP) + ring(size, gpus // near, NODE_TO_NODE, FAR_HOP)


def largest(count: int) -> float:
    """How many standard deviations the largest of some normal numbers lies above their mean, by Blom's formula."""
    return statistics.NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def expect(step: float, batch: int, sizes: Sequence[float], spread: float, gpus: int) -> Expected:
    """What is expected of a number of GPUs.

    Args:
        step: Seconds of a step on one GPU.
        batch: Graphs of a batch of one GPU.
        sizes: Bytes of each buffer that is summed over all GPUs.
        spread: Standard deviation of the nodes of a batch, by their mean. A step takes as long as it has nodes.
        gpus: Number of GPUs.
    """
    waiting, reduced = step * spread * largest(gpus), sum(reduction(size, gpus) for size in sizes)
    total = step + waiting + reduced
    return Expected(gpus, waiting, reduced, total, gpus * batch / total, step / total)


def table(record: Record) -> str:
    """The expected throughput by shape and number of GPUs, as Markdown.

    Args:
        record: Record of :mod:`benchmarks.gpu`. A shape that it does not have is left out.
    """
    lines = [
        "| shape, graphs a GPU | step on one GPU, measured | gradients | GPUs | waiting | reduction | step | "
        "graphs a second | efficiency |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for shape in (OURS, ZINC):
        if (of := record["steps"].get(f"{shape.name}, tf32")) is None:
            continue
        size, spread = gradient_bytes(shape), batch_spread(shape)
        step = of["pfgnn"]["in a row ms"] / 1000
        sizes = [size] if shape.model.policy == "uniform" else [size, 4.0]  # a policy loss needs the sum of the losses
        for found in (expect(step, shape.batch, sizes, spread, gpus) for gpus in GPUS):
            times = " | ".join(f"{1000 * t:.2f} ms" for t in (found.waiting, found.reduction, found.step))
            lines.append(
                f"| {shape.name}, TF32 | {1000 * step:.2f} ms | {size / 1e6:.2f} MB | {found.gpus} | {times} | "
                f"{found.throughput:,.0f} | {found.efficiency:.1%} |"
            )
    return "\n".join(lines)


def gradient_bytes(shape: Shape) -> float:
    """Bytes of the gradients of a shape's model, in float32."""
    dataset = shape.graphs(8)
    return 4 * count_parameters(build_model(shape.model, describe(dataset, np.arange(8)), 0))


def batch_spread(shape: Shape) -> float:
    """The standard deviation of the nodes of a batch, by their mean."""
    counts = shape.graphs(SAMPLE).node_counts
    return float(counts.std() / counts.mean()) / math.sqrt(shape.batch)


def main() -> None:
    """Print the table."""
    print(table(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
