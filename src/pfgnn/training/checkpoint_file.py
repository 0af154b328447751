"""Checkpoints: one safetensors file each, with the JSON state in the header of the file.

A checkpoint is written to a temporary file and then renamed, so a half-written one never appears. Each file holds a
checksum of its content, and a damaged file is refused. Nothing is unpickled.
"""

import json
import math
import os
import shutil
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn, optim

from pfgnn.errors import InputError
from pfgnn.files import check_version, reading, write_atomically
from pfgnn.training.checkpoint_names import BEST as BEST
from pfgnn.training.checkpoint_names import LAST as LAST
from pfgnn.training.checkpoint_names import PREVIOUS as PREVIOUS

KIND, VERSION = "pfgnn checkpoint", 1  # a newer pfgnn reads all older versions
FORMAT = f"{KIND} {VERSION}"


class DamagedCheckpointError(InputError):
    """A file is missing, or it is not a whole checkpoint."""


class Checkpoint(NamedTuple):
    """The content of a checkpoint.

    Fields:
        tensors: The tensors by name.
        state: JSON values.
    """

    tensors: dict[str, Tensor]
    state: dict[str, Any]


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint to a temporary file, then rename the file to ``path``."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    state = json.dumps(checkpoint.state)
    meta = {"format": FORMAT, "state": state, "crc": str(_checksum(tensors, state))}
    # safetensors refuses tensors that share memory.
    content = save({name: tensor.clone() for name, tensor in tensors.items()}, meta)
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def keep_last(folder: Path, checkpoint: Checkpoint) -> None:
    """Write last.safetensors, and keep the checkpoint before it as previous.safetensors.

    Once there is a checkpoint, there is a complete one at every moment.
    """
    last, previous = folder / LAST, folder / PREVIOUS
    if last.exists():
        write_atomically(previous, lambda temporary: _link(last, temporary))
    write_checkpoint(last, checkpoint)


def _link(source: Path, target: Path) -> None:
    """Let another name stand for the same file. File systems without hard links get a copy."""
    try:
        os.link(source, target)
    except OSError:  # which error it is depends on the file system
        shutil.copyfile(source, target)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises DamagedCheckpointError if the file is missing, truncated, damaged or something else."""
    if not path.is_file():
        raise DamagedCheckpointError(f"{path} must be a checkpoint, but there is no such file")
    try:
        with safe_open(path, framework="pt") as file:
            meta = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except SafetensorError as error:
        raise DamagedCheckpointError(
            f"{path} must be a whole checkpoint, but it is truncated or no checkpoint ({error})"
        ) from None
    said = meta.get("format")
    kind, _, version = str(said).rpartition(" ")
    if kind != KIND or not version.isdecimal() or int(version) < 1:
        raise DamagedCheckpointError(f"{path} must be a checkpoint of pfgnn, but its header says format {said!r}")
    check_version(path, int(version), VERSION)
    if meta.get("crc") != str(_checksum(tensors, meta.get("state", ""))):
        raise DamagedCheckpointError(f"{path} is damaged: its checksum does not fit its content")
    with reading(path, "be a whole checkpoint"):
        return Checkpoint(tensors, json.loads(meta["state"]))


def optimiser_tensors(optimiser: optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as tensors, named by parameter number and state, such as "0.exp_avg"."""
    state = optimiser.state_dict()["state"]
    return {f"{number}.{name}": torch.as_tensor(value) for number, of in state.items() for name, value in of.items()}


def load_optimiser(optimiser: optim.Optimizer, tensors: dict[str, Tensor], path: Path) -> None:
    """Load what :func:`optimiser_tensors` returned. The optimiser keeps its hyperparameters.

    Args:
        optimiser: The optimiser to load into.
        tensors: The state by name.
        path: The checkpoint, named in the InputError that is raised if a shape does not fit.
    """
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = tensor
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for place, moments in state.items():
        want = parameters[place].shape if place < len(parameters) else None
        if any(tensor.dim() and tensor.shape != want for tensor in moments.values()):
            raise InputError(f"{path} does not fit the optimiser: its state {place} is not that of parameter {place}")
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def load_model(model: nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Load parameters and buffers into a model.

    Args:
        model: The model to load into.
        tensors: Parameters and buffers by name.
        path: The checkpoint, named in the InputError that is raised if a name or a shape does not fit.
    """
    own = model.state_dict()
    for name in sorted(own.keys() ^ tensors.keys()):
        raise InputError(f"{path} does not fit the model: {name} is only in one of them")
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise InputError(
                f"{path} does not fit the model: {name} has shape {list(tensors[name].shape)}, not {list(tensor.shape)}"
            )
    model.load_state_dict(tensors)


def named(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with ``prefix`` and a dot before each name."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def owned(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The inverse of :func:`named`: the tensors under ``prefix``, with the prefix removed."""
    return {name.removeprefix(f"{prefix}."): t for name, t in tensors.items() if name.startswith(f"{prefix}.")}


def check_identity(path: Path, found: dict[str, Any], wanted: dict[str, Any], where: str = "") -> None:
    """Raise an InputError that names the first key in which a checkpoint differs from this run.

    Args:
        path: The checkpoint, for the message.
        found: Identity stored in the checkpoint.
        wanted: Identity of this run.
        where: Keys of the enclosing dictionaries, for the message.
    """
    for key in [*wanted, *(key for key in found if key not in wanted)]:
        name = f"{where}{key}"
        here, there = wanted.get(key), found.get(key)
        if isinstance(here, dict) and isinstance(there, dict):
            check_identity(path, there, here, f"{name}.")
        elif not _same(here, there):
            raise InputError(f"{path} belongs to another run: {name} was {there!r} there, but is {here!r} here")


def _same(here: Any, there: Any) -> bool:
    """Whether two values are equal; floats up to rounding, which may differ between machines."""
    if isinstance(here, float) and isinstance(there, float):
        return math.isclose(here, there, rel_tol=1e-12)
    return bool(here == there)


def _checksum(tensors: dict[str, Tensor], state: str) -> int:
    crc = zlib.crc32(state.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        crc = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), crc)
        crc = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().tobytes(), crc)
    return crc
