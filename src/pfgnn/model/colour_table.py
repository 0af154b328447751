"""A readout and a policy that learn a number for each colour: tables, for the exact colours of 1-WL."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.belief import Belief
from pfgnn.model.chunks import Chunks
from pfgnn.model.colours import hash_rows
from pfgnn.model.policy import POLICIES
from pfgnn.model.readout import READOUTS, Options, Reading, Readout
from pfgnn.ops.hashing import mix

ROWS = 2**18  # of a table; of some 10,000 colours few share a row


@READOUTS.register("colour-table")
class ColourTable(Readout):
    """y_t = f_t = Σ_k w_k table_t[hash(Σ_v hash(h_v^k))]: one learned number for each colouring of a graph.

    The hash is one of the bits of the embeddings. So it fits :class:`pfgnn.model.ColourRefinement`, where equal colours
    have equal bits. Two colourings that differ only in the order of the vertices have the same row. There are T + 1
    outputs, one for each step, and no other layer: what is learned about one colouring changes no other one.

    Args:
        width: D.
        steps: T.
        out_channels: T + 1.
        rows: Number of rows of each table.
        options: Other arguments of :class:`Readout`. ``level`` must be "graph", ``join`` is not supported, and ``pool``
            and ``scale`` have no effect.
    """

    def __init__(
        self, width: int, steps: int, out_channels: int, *, rows: int = ROWS, **options: Unpack[Options]
    ) -> None:
        super().__init__(width, steps, out_channels, columns=1, **options)
        if self.reduce is None or self.join:
            raise InputError('a colour table must have level "graph" and no join')
        if out_channels != steps + 1:
            raise InputError(
                f"out_channels must be {steps + 1}, one for each step from 0 to {steps}, but it is {out_channels}"
            )
        self.rows = check_positive("rows", rows)
        self.head = nn.Identity()
        self.tables = nn.ParameterList(torch.zeros(rows) for _ in range(steps + 1))

    def summarise(self, t: int, belief: Belief, graph: GraphBatch, vertices: Tensor | None, chunks: Chunks) -> Reading:
        """Compute f_t; see the class."""
        [colouring] = chunks.run(self._colourings, [belief.embeddings], graph)  # [G, K]
        parts = self.tables[t][colouring % self.rows][..., None]  # [G, K, 1]
        if parts.shape[1] == 1:
            return Reading(parts.squeeze(1), parts)
        return Reading((belief.log_weights.exp()[..., None].to(parts.dtype) * parts).sum(1), parts)

    def _colourings(self, part: slice, H: Tensor, graph: GraphBatch) -> tuple[Tensor]:
        """A hash of the colours of each graph in the particles of a slice, shape [G, k]."""
        colours = hash_rows(H)  # [N, k]
        return (mix(colours.new_zeros(graph.num_graphs, colours.shape[1]).index_add_(0, graph.batch, colours)),)


@POLICIES.register("colour-table")
class ColourPolicy(nn.Module):
    """Scores each vertex by a learned number for its colour, table[hash(h_v^k)], from H [N, K, D] to [N, K].

    At first all are 0, and the policy is uniform.

    Args:
        rows: Number of rows of the table.
    """

    def __init__(self, rows: int = ROWS) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(check_positive("rows", rows)))

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The score of each vertex, shape [N, K]; see the class."""
        return self.table[hash_rows(H) % len(self.table)]
