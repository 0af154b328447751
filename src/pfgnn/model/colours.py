"""1-WL colour refinement as a backbone: exact, with nothing to learn."""

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.ops.hashing import GOLDEN, fold, mix
from pfgnn.setting_types import MOST_LAYERS, MOST_WIDTH

BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}  # the integers with as many bytes as a float


class ColourRefinement(nn.Module):
    """Colour refinement with hashes for colours.

        c_v = hash(h_v)                             the bits of the embedding
        c_v ← hash(c_v, Σ_{edges (u, v)} hash(c_u))   in each round
        h_v = D random numbers in [-√3, √3], with c_v as their seed

    A GNN can compute the colours of 1-WL, but need not learn to. Here they are given. Vertices with equal colours have
    equal embeddings, to the last bit. Vertices with different colours have unrelated ones, unless two of the 64-bit
    hashes are equal. The sum is one of integers, so the order of the edges does not matter. Edge features e_uv become
    part of hash(c_u).

    No gradient passes through it. Only what reads the embeddings can be trained. It compares bits, so it needs an
    individualisation that gives equal vertices equal bits, such as :class:`pfgnn.model.individualise.Mark`. A product
    with a matrix does not: its rounding may depend on the place of a row.

    Args:
        width: D.
        layers: Number of rounds.
    """

    particle_axis = True

    def __init__(self, width: int, layers: int = 16) -> None:
        super().__init__()
        self.width = check_positive("width", width, most=MOST_WIDTH)
        self.layers = check_positive("layers", layers, most=MOST_LAYERS)

    @torch.no_grad()
    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, graph: GraphBatch | None = None
    ) -> Tensor:
        """Refine embeddings; see the class.

        Args:
            x: Embeddings, shape [N, D] or [N, K, D].
            edge_index: Source and target of each edge, shape [2, E].
            edge_attr: Edge embeddings, shape [E, F].
            graph: Not used. With it, :class:`pfgnn.model.refine.Refine` passes a batch, not copies of the graphs.

        Returns:
            The new embeddings, same shape and dtype as x.
        """
        kind = None if edge_attr is None else hash_rows(edge_attr).view(-1, *(1,) * (x.dim() - 2))
        colour = refine_colours(hash_rows(x), edge_index, kind, self.layers)
        words = torch.arange(-(-self.width // 4), device=x.device)
        numbers = fold(colour[..., None], words).view(torch.int16)[..., : self.width]  # four from the bits of a hash
        return (numbers * (3**0.5 / 2**15)).to(x.dtype)


def refine_colours(colour: Tensor, edge_index: Tensor, kind: Tensor | None, rounds: int) -> Tensor:
    """Some rounds of colour refinement; see :class:`ColourRefinement`.

    Args:
        colour: Colours, int64, shape [N, ...].
        edge_index: Source and target of each edge, shape [2, E].
        kind: A hash of the features of each edge, shape [E, ...], broadcast to the particles. None if it has none.
        rounds: Number of rounds.

    Returns:
        The new colours, shape [N, ...].
    """
    source, target = edge_index
    for _ in range(rounds):
        told = mix(colour ^ GOLDEN).index_select(0, source)
        told = told if kind is None else mix(told ^ kind)
        colour = mix(mix(colour) + torch.zeros_like(colour).index_add_(0, target, told))
    return colour


def hash_rows(x: Tensor) -> Tensor:
    """A hash of the bits of each row, from x [..., D] to int64 [...]."""
    bits = (x + 0.0).view(BITS[x.element_size()])  # -0.0 becomes 0.0
    factors = mix(GOLDEN * (torch.arange(x.shape[-1], device=x.device) + 1))
    return mix((bits * (2 * factors + 1)).sum(-1))
