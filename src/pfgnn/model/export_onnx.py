"""Export of a trained model to ONNX, so that it runs without torch."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pfgnn.errors import MissingPackageError
from pfgnn.files import write_atomically
from pfgnn.model.export import export
from pfgnn.model.pfgnn import PFGNN

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from pfgnn.data.batch import GraphBatch


# What is logged, by the name of the logger, and the warnings that are silenced. Each is the beginning of a message.
LOGGED = {
    "torch.onnx._internal.exporter._registration": "torchvision is not installed",
    "onnx_ir._convenience": "Attribute type is ambiguous because it is an empty sequence",
}
WARNED: dict[str, type[Warning]] = {
    r"`isinstance\(treespec, LeafSpec\)` is deprecated": FutureWarning,
    "overflow encountered in cast": RuntimeWarning,  # the predictions are right all the same
}


def export_onnx(
    model: PFGNN, example: "Data | GraphBatch", path: str | Path, *, particles: int | None = None, seed: int = 0
) -> None:
    """Write the evaluation pass of a model as an ONNX file, for any numbers of nodes, edges and graphs.

    The inputs of the file are x, edge_index, edge_attr, batch and pos, without those that the model does not read; see
    :class:`pfgnn.model.export.EvaluationPass`. It gives the predictions of ``model(data, particles=..., seed=...)``.

    Args:
        model: The model, in evaluation mode.
        example: A graph, or a batch, of the kind that the file will get. Only its dtypes and columns are used.
        path: File to write, such as "model.onnx".
        particles: K, fixed in the file. None for that of the model.
        seed: Seed of all draws, fixed in the file.
    """
    try:
        import onnxscript  # noqa: F401
    except ImportError:
        raise MissingPackageError("onnxscript is not installed; install it, or pfgnn with its extra onnx") from None
    program = export(model, example, particles=particles, seed=seed)
    with quiet():
        made = torch.onnx.export(
            program, dynamo=True, verbose=False, custom_translation_table={torch.ops.aten.sort.stable: _sort}
        )
        assert made is not None
        write_atomically(Path(path), lambda temporary: made.save(str(temporary)))


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what torch's exporter and onnx_ir say about their own code, for no user can act on it.

    These are the messages of torch 2.13 and onnx_ir 1.1.0. All others are still shown.
    """
    filters = {logging.getLogger(name): _without(text) for name, text in LOGGED.items()}
    try:
        for logger, keep in filters.items():
            logger.addFilter(keep)
        with warnings.catch_warnings():
            for text, category in WARNED.items():
                warnings.filterwarnings("ignore", text, category)
            yield
    finally:
        for logger, keep in filters.items():
            logger.removeFilter(keep)


def _without(text: str) -> Callable[[logging.LogRecord], bool]:
    """A filter of a logger that leaves out messages that begin with a text."""
    return lambda record: not record.getMessage().startswith(text)


def _sort(values: Any, *, stable: bool = False, dim: int = -1, descending: bool = False) -> Any:
    """A stable sort in ONNX, which torch cannot translate. ONNX's TopK keeps the order of equal values."""
    from onnxscript import opset18

    op: Any = opset18
    number = op.Gather(op.Shape(values), op.Constant(value_ints=[dim]), axis=0)
    return op.TopK(values, number, axis=dim, largest=int(descending), sorted=1)
