"""Where a run computes: one CPU, one GPU, or several processes started by torchrun, all through Lightning Fabric."""

import logging
import os

import torch
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.strategies.strategy import Strategy
from torch import Tensor

from pfgnn.arguments import choose
from pfgnn.errors import InputError

# It advises lower precision on every start with a GPU; ours is asked for by name.
logging.getLogger("lightning_fabric").setLevel(logging.WARNING)

PRECISIONS = {"float32": "32-true", "tf32": "32-true", "bf16": "bf16-mixed"}


def make_fabric(device: str = "auto", precision: str = "float32") -> Fabric:
    """The devices of this process, launched.

    Under torchrun every process is one device of many, and a training step's gradients are averaged over them.

    Args: device: "cpu", "cuda" or "auto".  precision: "float32"; "tf32", whose matrix products on GPUs round their
        inputs, and biases that go along with them, to 11 bits; or "bf16" (mixed). Whether TF32 is used is a setting of
        the process: the last call's counts.
    """
    choose("device", device, {"auto": 0, "cpu": 0, "cuda": 0})
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device is cuda, but torch sees no CUDA device; take cpu or auto")
    accelerator = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    world, local = (int(os.environ.get(name, 1)) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    # A policy without weight in the loss, or a backbone alone, leaves parameters without a gradient.
    strategy: str | Strategy = DDPStrategy(find_unused_parameters=True) if world > 1 else "auto"
    fabric = Fabric(
        accelerator=accelerator,
        devices=local,
        num_nodes=world // local,
        strategy=strategy,
        precision=choose("precision", precision, PRECISIONS),  # type: ignore[arg-type]
    )
    fabric.launch()
    if fabric.device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    return fabric


def over_devices(fabric: Fabric, tensor: Tensor, how: str) -> Tensor:
    """The "sum" or "mean" of a tensor over all devices."""
    reduced = fabric.all_reduce(tensor, reduce_op=how)
    assert isinstance(reduced, Tensor)
    return reduced


def gather_rows(fabric: Fabric, rows: Tensor) -> list[Tensor]:
    """Every device's rows [R_i, C], in the order of the devices; their numbers may differ."""
    if fabric.world_size == 1:
        return [rows]
    lengths = _gather(fabric, torch.tensor(len(rows), device=rows.device))
    padded = rows.new_zeros(int(lengths.max()), *rows.shape[1:])
    padded[: len(rows)] = rows
    return [part[:length] for part, length in zip(_gather(fabric, padded), lengths.tolist(), strict=True)]


def _gather(fabric: Fabric, tensor: Tensor) -> Tensor:
    """Every device's tensor of one shape: [devices, ...]."""
    gathered = fabric.all_gather(tensor)
    assert isinstance(gathered, Tensor)
    return gathered
