"""Export of a trained model to ONNX, so that it runs without torch."""

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


def export_onnx(
    model: PFGNN, example: "Data | GraphBatch", path: str | Path, *, particles: int | None = None, seed: int = 0
) -> None:
    """Write the evaluation pass of a model as an ONNX file, for any numbers of nodes, edges and graphs.

    The inputs of the file are x, edge_index, edge_attr and batch, without those that the model does not read; see
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
    made = torch.onnx.export(
        program, dynamo=True, verbose=False, custom_translation_table={torch.ops.aten.sort.stable: _sort}
    )
    assert made is not None
    write_atomically(Path(path), lambda temporary: made.save(str(temporary)))


def _sort(values: Any, *, stable: bool = False, dim: int = -1, descending: bool = False) -> Any:
    """A stable sort in ONNX, which torch cannot translate. ONNX's TopK keeps the order of equal values."""
    from onnxscript import opset18

    op: Any = opset18
    number = op.Gather(op.Shape(values), op.Constant(value_ints=[dim]), axis=0)
    return op.TopK(values, number, axis=dim, largest=int(descending), sorted=1)
