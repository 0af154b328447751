"""Export of a trained model: its evaluation pass as a program that runs without pfgnn, on graphs of any size."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch, as_batch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.pfgnn import PFGNN
from pfgnn.setting_types import MOST_PATHS

if TYPE_CHECKING:
    from torch_geometric.data import Data


class EvaluationPass(nn.Module):
    """The prediction of a model at a fixed K and seed, from tensors alone.

    Two nodes joined by an edge are appended to every batch, and their prediction is left out. So a batch of one graph,
    or without edges, has no size 0 or 1, which torch.export would treat apart. The other graphs' draws stay the same.

    Args:
        model: The model, in evaluation mode.
        particles: K.
        seed: Seed of all draws.
    """

    def __init__(self, model: PFGNN, particles: int, seed: int) -> None:
        super().__init__()
        self.model, self.particles, self.seed = model, particles, seed
        self.node_level = model.readout.reduce is None

    def forward(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        edge_attr: Tensor | None,
        batch: Tensor,
        pos: Tensor | None = None,
    ) -> Tensor:
        """Predict.

        Args:
            x: Node features, shape [N, F], or None.
            edge_index: Source and target of each edge, shape [2, E].
            edge_attr: Edge features, shape [E, ...], or None.
            batch: Graph number of each node, sorted, shape [N].
            pos: Node positions, shape [N, 3], for a model that reads them.

        Returns:
            The predictions, shape [G, C], or [N, C] at node level.
        """
        nodes, graphs = batch.shape[0], batch[-1].item() + 1  # int() cannot be traced
        pair = torch.arange(2, device=batch.device)
        output = self.model(
            _longer(x),
            torch.cat([edge_index, nodes + torch.stack([pair, pair.flip(0)])], 1),
            _longer(edge_attr),
            torch.cat([batch, torch.full_like(pair, graphs)]),
            pos=_longer(pos),
            batch_size=graphs + 1,
            particles=self.particles,
            seed=self.seed,
        ).prediction
        return output[:-2] if self.node_level else output[:-1]


def export(
    model: PFGNN, example: "Data | GraphBatch", *, particles: int | None = None, seed: int = 0
) -> ExportedProgram:
    """Export the evaluation pass of a model with ``torch.export``, for any numbers of nodes, edges and graphs.

    The program is called as ``program.module()(x, edge_index, edge_attr, batch)``, see :class:`EvaluationPass`. If the
    model reads positions, pos is a fifth argument. It gives the predictions of
    ``model(data, particles=particles, seed=seed)``, and does not check its input.
    ``torch.export.save`` writes it to a file.

    Args:
        model: The model, in evaluation mode.
        example: A graph, or a batch, of the kind that the program will get. Only its dtypes and columns are used.
        particles: K, fixed in the program. None for that of the model.
        seed: Seed of all draws, fixed in the program.
    """
    if not isinstance(model, PFGNN):
        raise InputTypeError(f"model must be a PFGNN, but it is a {type(model).__name__}")
    if model.training:
        raise InputError("model must be in evaluation mode, but it is in training mode; call model.eval() before")
    K = model.particles if particles is None else check_positive("particles", particles, most=MOST_PATHS)
    given = as_batch(example, None, None, None, None, None, None, reads_positions=model.reads_positions)
    pairs = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]], device=given.batch.device)  # two graphs of two nodes
    inputs = [_zeros(given.x), pairs, _zeros(given.edge_attr), pairs[0] // 2]
    if model.reads_positions:
        inputs.append(_zeros(given.pos))
    sizes = [None if of is None else {1 if of is pairs else 0: Dim.DYNAMIC} for of in inputs]
    one_pass = EvaluationPass(model, K, seed)
    with torch.no_grad():
        one_pass(*inputs)  # an input that the model refuses gets its sentence here, before it is traced
        return torch.export.export(one_pass, tuple(inputs), dynamic_shapes=tuple(sizes))


def _longer(rows: Tensor | None) -> Tensor | None:
    """The features with two more rows of zeros."""
    return None if rows is None else torch.cat([rows, rows.new_zeros(2, *rows.shape[1:])])


def _zeros(rows: Tensor | None) -> Tensor | None:
    """Features of four rows, of the same kind."""
    return None if rows is None else rows.new_zeros(4, *rows.shape[1:])
