"""The devices of a run: a CPU, a GPU, or several processes started by torchrun."""

import atexit
import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as distributed
from torch import Tensor

from pfgnn.argument_checks import choose
from pfgnn.errors import InputError, LostProcessError, counted, cut, shown

PRECISIONS = ("float32", "tf32", "bf16")
GPU = re.compile(r"cuda:\d{1,4}")
TORCHRUN = {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1}  # what it sets, or else what holds


@dataclass(frozen=True)
class Devices:
    """The device of this process, and its place among the processes of the run.

    Args:
        device: The device of this process.
        precision: "float32", "tf32" or "bf16".
        rank: Number of this process, from 0.
        world: Number of processes.
    """

    device: torch.device
    precision: str = "float32"
    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the first process, which writes all files."""
        return self.rank == 0

    def autocast(self) -> torch.autocast:
        """Context manager for a pass of a model: in bf16 its matrix products have that precision."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            with _all_there():
                distributed.barrier()


def check_device(device: str) -> str:
    """The device to take: "cpu", "cuda", or a GPU with its number. Raises an InputError if it is not there.

    Args:
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
    """
    known = ("auto", "cpu", "cuda")
    if not isinstance(device, str) or (device not in known and not GPU.fullmatch(device)):
        raise InputError(f"device must be one of {', '.join(known)}, or such as cuda:1, but it is {shown(device)}")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device != "cpu" and not torch.cuda.is_available():
        raise InputError(f"device is {device}, but torch sees no CUDA device; take cpu or auto")
    gpus = torch.cuda.device_count()
    if (number := device.removeprefix("cuda:")) != device and int(number) >= gpus:
        there = "the only one is cuda:0" if gpus == 1 else f"they are cuda:0 to cuda:{gpus - 1}"
        raise InputError(f"device is {device}, but torch sees {counted(gpus, 'CUDA device')}; {there}")
    return device


def open_devices(device: str = "auto", precision: str = "float32") -> Devices:
    """Find the device of this process. Under torchrun, also meet the other processes.

    Under torchrun each process has one device, and the gradients of a training step are averaged over all processes.

    Args:
        device: See :func:`check_device`. A GPU with a number is for a single process.
        precision: "float32", "tf32" or "bf16" (mixed precision). With "tf32", matrix products on GPUs round their
            inputs to 11 bits, also biases that are computed as part of the product. TF32 is a setting of the whole
            process, so the last call decides.
    """
    own, backend = torch.device(check_device(device)), "gloo"
    choose("precision", precision, dict.fromkeys(PRECISIONS))
    rank, world, local, local_world = (int(os.environ.get(name, number)) for name, number in TORCHRUN.items())
    if world > 1 and own.index is not None:
        raise InputError(f"device must be cuda or auto under torchrun, which numbers the GPUs, but it is {device}")
    if own.type == "cuda":
        gpus = torch.cuda.device_count()
        backend = "nccl" if local_world <= gpus else "gloo"  # NCCL never shares a GPU
        own = torch.device("cuda", local % gpus) if own.index is None else own
        torch.cuda.set_device(own)
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    if world > 1 and not distributed.is_initialized():
        distributed.init_process_group(backend)
        if backend == "gloo":  # NCCL has no such threads, and would wait here for a process that is lost
            atexit.register(_end_threads)
    return Devices(own, precision, rank, world)


def _end_threads() -> None:
    """End gloo's threads while Python still runs. One that lets go of a tensor later aborts the process."""
    distributed.destroy_process_group()
    gc.collect()  # after a process was lost, the traceback of the error still holds the group


def set_threads(threads: int | None) -> None:
    """Set the number of CPU threads that torch computes with.

    The default is one thread. The graphs are small, so more threads gain little. And they wait for each other: on a
    machine that also does other work, two threads can take several times as long as one.

    Args:
        threads: Number of threads; None for the environment variable OMP_NUM_THREADS, or 1 if that is not a number.
    """
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list has the number of each level
    if threads is not None or not told.isdecimal() or not int(told):
        torch.set_num_threads(threads or 1)


def mean_over_devices(devices: Devices, tensor: Tensor) -> Tensor:
    """The mean of a tensor over all devices. All devices wait for each other before it."""
    total = tensor.clone()
    if devices.world > 1:
        devices.barrier()
        sum_over_devices(total)
    return total / devices.world


def sum_over_devices(tensor: Tensor) -> None:
    """Replace a tensor by its sum over all devices. No GPU is waited for."""
    with _all_there():
        distributed.all_reduce(tensor)


def agreed(devices: Devices, here: bool) -> bool:
    """The answer of the first process, for all of them."""
    if devices.world == 1:
        return here
    answer = torch.tensor(float(here), device=devices.device)
    with _all_there():
        distributed.broadcast(answer, 0)
    return float(answer) > 0


@contextmanager
def _all_there() -> Iterator[None]:
    """Say in one sentence that a process is lost, if this block finds so."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
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
        devices: The devices.
    """

    def __init__(self, devices: Devices) -> None:
        self.devices = devices
        self.stream = torch.cuda.Stream(devices.device) if devices.device.type == "cuda" else None
        self.before: tuple[Tensor, torch.cuda.Event | None] | None = None  # the answer, and when it is there

    def __call__(self, here: bool) -> bool:
        """Whether ``here`` was true on any device in the call before. All devices make the same calls."""
        with torch.cuda.stream(self.stream):
            sent = torch.full((), float(here), device=self.devices.device)  # a tensor made from a number would wait
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


def gather_rows(devices: Devices, rows: Tensor) -> list[Tensor]:
    """Collect the rows [R_i, C] of every device i, in the order of the devices. The R_i may differ."""
    if devices.world == 1:
        return [rows]
    lengths = _gather(devices, torch.tensor(len(rows), device=rows.device))
    padded = rows.new_zeros(int(max(lengths)), *rows.shape[1:])
    padded[: len(rows)] = rows
    return [part[: int(length)] for part, length in zip(_gather(devices, padded), lengths, strict=True)]


def _gather(devices: Devices, tensor: Tensor) -> list[Tensor]:
    """The tensors of all devices, which have the same shape."""
    gathered = [torch.empty_like(tensor) for _ in range(devices.world)]
    with _all_there():
        distributed.all_gather(gathered, tensor)
    return gathered
