"""One side with one shape on a device: the time of a training step, its floor and the peak memory."""

from dataclasses import replace
from typing import Any

import torch

from benchmarks.roofline import count
from benchmarks.shapes import Shape
from benchmarks.steps import Effort, prepare, time_steps
from pfgnn.training.config import Precision

Rates = dict[str, float]
Record = dict[str, Any]


def measure(
    shape: Shape, device: str, effort: Effort, rates: Rates, side: str = "pfgnn", precision: Precision = "float32"
) -> Record:
    """Times and peak memory of one side with one shape, alone on the device; for pfgnn also the floor.

    Args:
        shape: What to measure.
        device: "cuda" or "cpu".
        effort: How long to measure.
        rates: Rates of the device, see :func:`benchmarks.roofline.measure_rates`.
        side: "pfgnn" or "baseline".
        precision: "float32" or "tf32"; for pfgnn also "bf16".
    """
    effort = replace(effort, batches=min(effort.batches, max(1, 1024 // shape.batch)))
    with prepare(shape, device, effort, precision) as work:
        if side == "baseline":
            return time_steps(work.baseline(), work.batches, work.device, effort).to_json() | memory(work.device)
        timing = time_steps(work.update, work.padded, work.device, effort)
        floor = count(work, 2 if precision == "bf16" else 4)
        seconds = {"floor ms": 1000 * floor.floor(rates, precision), "roofline": floor.to_json(rates)}
        return timing.to_json() | memory(work.device) | seconds


def memory(device: torch.device) -> Record:
    """Peak memory since the measurement began; 0 without a GPU."""
    if device.type != "cuda":
        return {"peak MiB": 0.0, "peak reserved MiB": 0.0}
    peaks = torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)
    return {"peak MiB": peaks[0] / 2**20, "peak reserved MiB": peaks[1] / 2**20}
