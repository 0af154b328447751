"""The devices of a run, through Lightning Fabric: a CPU, a GPU, or several processes started by torchrun."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed
from lightning_fabric import Fabric
from lightning_fabric.strategies.ddp import DDPStrategy
from lightning_fabric.strategies.strategy import Strategy
from torch import Tensor, nn

from pfgnn.argument_checks import choose
from pfgnn.errors import InputError, LostProcessError, cut

# On each start with a GPU, Fabric logs the advice to use a lower precision.
logging.getLogger("lightning_fabric").setLevel(logging.WARNING)

PRECISIONS = {"float32": "32-true", "tf32": "32-true", "bf16": "bf16-mixed"}  # our names → Fabric's names


class Processes(DDPStrategy):
    """Several processes. :class:`pfgnn.training.averaging.Averaging` averages their gradients, not torch's DDP."""

    def setup_module(self, module: nn.Module) -> nn.Module:  # type: ignore[override]
        """Return the model as it is."""
        return module


def make_fabric(device: str = "auto", precision: str = "float32") -> Fabric:
    """Launch Lightning Fabric on the device of this process.

    Under torchrun each process has one device, and the gradients of a training step are averaged over all processes.

    Args:
        device: "cpu", "cuda" or "auto".
        precision: "float32", "tf32" or "bf16" (mixed precision). With "tf32", matrix products on GPUs round their
            inputs to 11 bits, also biases that are computed as part of the product. TF32 is a setting of the whole
            process, so the last call decides.
    """
    choose("device", device, {"auto": 0, "cpu": 0, "cuda": 0})
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device is cuda, but torch sees no CUDA device; take cpu or auto")
    accelerator = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    world, local = (int(os.environ.get(name, 1)) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"))
    strategy: str | Strategy = Processes() if world > 1 else "auto"
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


def set_threads(threads: int | None) -> None:
    """Set the number of CPU threads that torch computes with.

    The default is one thread. The graphs are small, so more threads gain little. And they wait for each other: on a
    machine that also does other work, two threads can take several times as long as one.

    Args:
        threads: Number of threads; None for the environment variable OMP_NUM_THREADS, or 1 if that is not set.
    """
    if threads is not None or "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(threads or 1)


def over_devices(fabric: Fabric, tensor: Tensor, how: str) -> Tensor:
    """Reduce a tensor over all devices; ``how`` is "sum" or "mean". All devices wait for each other before it."""
    with _all_there():
        reduced = fabric.all_reduce(tensor, reduce_op=how)
    assert isinstance(reduced, Tensor)
    return reduced


def sum_over_devices(tensor: Tensor) -> None:
    """Replace a tensor by its sum over all devices. No GPU is waited for."""
    with _all_there():
        torch.distributed.all_reduce(tensor)


@contextmanager
def _all_there() -> Iterator[None]:
    """Say in one sentence that a process is lost, if this block finds so."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.distributed.DistError) and "gloo" not in str(error):
            raise
        raise LostProcessError(
            f"all processes of a run must stay, but one was lost ({cut(str(error), 200)}); "
            "--resume goes on from the last checkpoint, on any number of devices"
        ) from error


class AnyDevice:
    """Tells all devices whether something happened on any of them.

    The answer is that of the call before, and on GPUs it has its own stream. So no device waits for it, or for the work
    that it was just given.

    Args:
        fabric: The devices.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.stream = torch.cuda.Stream(fabric.device) if fabric.device.type == "cuda" else None
        self.before: tuple[Tensor, torch.cuda.Event | None] | None = None  # the answer, and when it is there

    def __call__(self, here: bool) -> bool:
        """Whether ``here`` was true on any device in the call before. All devices make the same calls."""
        with torch.cuda.stream(self.stream):
            sent = torch.full((), float(here), device=self.fabric.device)  # a tensor made from a number would wait
            sum_over_devices(sent)
            before, self.before = self.before, _on_its_way(sent)
        if before is None:
            return False
        answer, arrived = before
        if arrived is not None:
            arrived.synchronize()
        return float(answer) > 0


def _on_its_way(value: Tensor) -> tuple[Tensor, torch.cuda.Event | None]:
    """The value on the CPU, and the event from which on it is there; None if it is there already."""
    if not value.is_cuda:
        return value, None
    answer, arrived = torch.empty_like(value, device="cpu", pin_memory=True), torch.cuda.Event()
    answer.copy_(value, non_blocking=True)
    arrived.record()
    return answer, arrived


def gather_rows(fabric: Fabric, rows: Tensor) -> list[Tensor]:
    """Collect the rows [R_i, C] of every device i, in the order of the devices. The R_i may differ."""
    if fabric.world_size == 1:
        return [rows]
    lengths = _gather(fabric, torch.tensor(len(rows), device=rows.device))
    padded = rows.new_zeros(int(lengths.max()), *rows.shape[1:])
    padded[: len(rows)] = rows
    return [part[:length] for part, length in zip(_gather(fabric, padded), lengths.tolist(), strict=True)]


def _gather(fabric: Fabric, tensor: Tensor) -> Tensor:
    """Stack the tensors of all devices, which have the same shape: [devices, ...]."""
    gathered = fabric.all_gather(tensor)
    assert isinstance(gathered, Tensor)
    return gathered
