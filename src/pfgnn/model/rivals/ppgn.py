"""PPGN (Maron et al., NeurIPS 2019): embeddings of pairs of nodes, as expressive as 3-WL (2-FWL)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.model.backbones.stack import check_edge_attr
from pfgnn.model.rivals.backbone_alone import Alone
from pfgnn.model.rivals.matrices import places
from pfgnn.setting_types import MOST_LAYERS, MOST_WIDTH

EPS = 1e-5  # added to the variance, which is 0 if all pairs are equal, as in a graph of one node


class PPGNBlock(nn.Module):
    """B ← W [B, norm(M_1(B) M_2(B))] + b, with one matrix product for each of the D channels.

    M_1 and M_2 are MLPs on the embedding of each pair. The norm gives each channel mean 0 and standard deviation 1 over
    the pairs of a graph. The paper does not have it. Without it the product is nearly the same for all pairs, and after
    a few blocks the differences between pairs and graphs are lost in rounding errors.

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.left = _mlp(width)  # M_1
        self.right = _mlp(width)  # M_2
        self.skip = nn.Linear(2 * width, width)  # W and b

    def forward(self, B: Tensor, pairs: Tensor) -> Tensor:
        """Apply the block.

        Args:
            B: Embeddings of the pairs, 0 in the padding, shape [G, n, n, D].
            pairs: False in the padding, shape [G, n, n, 1].

        Returns:
            The new embeddings, 0 in the padding, shape [G, n, n, D].
        """
        # The sum of the product leaves out the padding. The norm would remove its part, but not its rounding errors.
        left = torch.where(pairs, self.left(B), 0.0)
        product = _normalise(torch.einsum("guwd,gwvd->guvd", left, self.right(B)), pairs)
        return torch.where(pairs, self.skip(torch.cat([B, product], -1)), 0.0)


class PPGNStack(nn.Module):
    """The PPGN blocks as a backbone, from node and edge embeddings to node embeddings.

    At first B_vv = h_v, B_uv = e_vu on edges, and 0 elsewhere. After the blocks, h_v ← W [B_vv, mean_{u ≠ v} B_vu],
    with the B of all blocks concatenated.

    Args:
        width: D.
        layers: Number of blocks.
    """

    reads_edge_attr = True

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.width = check_positive("width", width, most=MOST_WIDTH)
        self.blocks = nn.ModuleList(PPGNBlock(width) for _ in range(check_positive("layers", layers, most=MOST_LAYERS)))
        self.summary = nn.Linear(2 * layers * width, width)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor, batch_size: int) -> Tensor:
        """Run the blocks; see the class.

        Args:
            x: Node embeddings, shape [N, D].
            edge_index: Source and target of each edge, shape [2, E].
            edge_attr: Edge embeddings, shape [E, D].
            batch: Graph number of each node, sorted, shape [N].
            batch_size: G.

        Returns:
            The new node embeddings, shape [N, D].
        """
        edge_attr = check_edge_attr("PPGN", edge_attr, self.width)
        place, sizes = places(batch, batch_size)
        n = int(sizes.max())
        source, target = edge_index
        at = (torch.cat([batch, batch[target]]), torch.cat([place, place[target]]), torch.cat([place, place[source]]))
        values = torch.cat([x, edge_attr])
        B = values.new_zeros(batch_size, n, n, self.width).index_put(at, values, accumulate=True)

        own = torch.arange(n, device=x.device) < sizes[:, None]  # [G, n]
        pairs = (own[:, :, None] & own[:, None])[..., None]  # [G, n, n, 1]
        others = (sizes - 1).clamp(min=1).view(-1, 1, 1).to(x.dtype)
        nodes = []
        for block in self.blocks:
            B = block(B, pairs)
            diagonal = B.diagonal(dim1=1, dim2=2).mT  # [G, n, D]
            off = (B.sum(2) - diagonal) / others
            nodes += [diagonal, off]
        return self.summary(torch.cat(nodes, -1)[batch, place])


class PPGN(Alone):
    """y = MLP(pool_v h_v), with h from :class:`PPGNStack`.

    With pool="mean" these are means over the diagonal and over the other entries of B. A pass needs memory of order
    G n² D, where n is the number of nodes of the largest graph in the batch. The model is not random: K and the seed of
    a call have no effect.

    Args:
        width: D.
        out_channels: C.
        layers: Number of blocks.
        in_channels: As in :class:`PFGNN`.
        edge_channels: As in :class:`PFGNN`, but None if there are no edge features.
        level: See :class:`Readout`.
        pool: See :class:`Readout`.
    """

    def __init__(
        self,
        width: int,
        out_channels: int,
        *,
        layers: int = 3,
        in_channels: int | Sequence[int] = 0,
        edge_channels: int | Sequence[int] | None = None,
        level: str = "graph",
        pool: str = "mean",
    ) -> None:
        super().__init__(
            PPGNStack(width, layers),
            out_channels,
            in_channels=in_channels,
            edge_channels=0 if edge_channels is None else edge_channels,  # with 0, all edges have one learned embedding
            level=level,
            pool=pool,
        )


def _normalise(P: Tensor, pairs: Tensor) -> Tensor:
    """(P - mean P) / √(var P + ε) over the pairs of each graph, and 0 in the padding.

    Args:
        P: Embeddings of the pairs, shape [G, n, n, D].
        pairs: False in the padding, shape [G, n, n, 1].

    Returns:
        The normalised embeddings, shape [G, n, n, D].
    """
    count = pairs.sum((1, 2), keepdim=True).to(P.dtype)
    mean = torch.where(pairs, P, 0.0).sum((1, 2), keepdim=True) / count
    centred = torch.where(pairs, P - mean, 0.0)
    return centred * torch.rsqrt(centred.square().sum((1, 2), keepdim=True) / count + EPS)


def _mlp(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
