"""GNNML3 (Balcilar et al., ICML 2021): message passing over learned functions of the Laplacian."""

from typing import Unpack

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_number, check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.backbones.stack import BACKBONES, Options, Stack, check_edge_attr, particles_like
from pfgnn.model.particle_context import Context
from pfgnn.model.rivals.matrices import places
from pfgnn.ops.segments import segment_sum, spread
from pfgnn.setting_types import MOST_LAYERS


class GNNML3Layer(nn.Module):
    """H ← Σ_s C'^(s) H W_s + b + (tanh(H P) ⊙ tanh(H Q)) V.

    C' = relu(M_4 [relu(M_1 C), tanh(M_2 C) ⊙ tanh(M_3 C)]), where C are the S supports of each edge. (The paper
    concatenates the two parts of H. Here the second one is mapped by V and added, so that the width stays D.)

    Args:
        width: D.
        supports: S, the number of supports.
    """

    def __init__(self, width: int, supports: int) -> None:
        super().__init__()
        hidden = 2 * supports
        self.plain = nn.Linear(supports, hidden)  # M_1
        self.edge_left = nn.Linear(supports, hidden)  # M_2
        self.edge_right = nn.Linear(supports, hidden)  # M_3
        self.mix = nn.Linear(2 * hidden, supports)  # M_4
        self.linear = nn.Linear(width, supports * width, bias=False)  # all W_s
        self.left = nn.Linear(width, width)  # P
        self.right = nn.Linear(width, width)  # Q
        self.gated = nn.Linear(width, width)  # V and b

    def forward(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Apply the layer to x [N, ..., D]. The graph has a loop at every node. Its edge_attr holds supports [E, S]."""
        supports = check_edge_attr("GNNML3", graph.edge_attr, self.plain.in_features)
        product = self.edge_left(supports).tanh() * self.edge_right(supports).tanh()
        c = self.mix(torch.cat([self.plain(supports).relu(), product], -1)).relu()  # C' [E, S]
        h = spread(self.linear(x).unflatten(-1, (c.shape[1], -1)), graph.sources)  # [E, ..., S, D]
        message = (particles_like(c, x)[..., None, :] @ h).squeeze(-2)  # [E, ..., D]
        gated = self.gated(self.left(x).tanh() * self.right(x).tanh())
        return segment_sum(message, graph.targets) + gated


@BACKBONES.register("gnnml3")
class GNNML3(Stack):
    """A stack of :class:`GNNML3Layer`. It is more expressive than 1-WL, as it counts cycles, but not more than 3-WL.

    The supports of an edge or a loop are its entries in the identity matrix and in U exp(-b (Λ - f_s)²) Uᵀ. Here
    L = I - D^(-1/2) A D^(-1/2) = U Λ Uᵀ, and the f_s are evenly spaced in [0, 2], which contains all eigenvalues. A
    function of L does not depend on the choice of the eigenvectors, so the supports are equivariant.

    Do not use the norm "graph": if all nodes are equal, as on vertex-transitive graphs, it gives zero, and the
    information in the supports is lost.

    Args:
        width: Width of the embeddings.
        layers: Number of layers.
        frequencies: Number of the f_s.
        bandwidth: b.
        options: Other arguments of :class:`Stack`. The default of norm is "layer".
    """

    def __init__(
        self,
        width: int,
        layers: int = 3,
        frequencies: int = 5,
        bandwidth: float = 5.0,
        **options: Unpack[Options],
    ) -> None:
        self_and_frequencies = 1 + check_positive("frequencies", frequencies, most=MOST_LAYERS)
        if not check_number("bandwidth", bandwidth) > 0:
            raise InputError(f"bandwidth must be positive, but it is {bandwidth}")
        options.setdefault("norm", "layer")
        super().__init__(lambda: GNNML3Layer(width, self_and_frequencies), width, layers, **options)
        self.frequencies = frequencies
        self.bandwidth = bandwidth

    static = False  # the size of the matrices depends on the batch

    def refine(
        self,
        x: Tensor,
        graph: GraphBatch,
        context: Context | None = None,
        exchange: nn.ModuleList | None = None,
        layers: list[Tensor] | None = None,
    ) -> Tensor:
        """Run the layers on undirected graphs; see :meth:`Stack.refine` for the arguments."""
        edge_index, batch = graph.edge_index, graph.batch
        loops = torch.arange(len(x), device=x.device).expand(2, -1)
        edges = torch.cat([edge_index, loops], 1)  # [2, E + N]
        # Entries of the identity matrix: 0 for edges, 1 for loops.
        entries = torch.cat([torch.zeros_like(edge_index[0]), torch.ones_like(loops[0])])[:, None]
        supports = spectral_supports(edge_index, edges, batch, graph.num_graphs, self.frequencies, self.bandwidth)
        supports = torch.cat([entries, supports], 1).to(x.dtype)
        return super().refine(
            x, GraphBatch.from_tensors(x.flatten(1), edges, supports, batch), context, exchange, layers
        )


@torch.no_grad()
def spectral_supports(
    edge_index: Tensor, pairs: Tensor, batch: Tensor, num_graphs: int, frequencies: int, bandwidth: float
) -> Tensor:
    """Entries of U exp(-b (Λ - f_s)²) Uᵀ at pairs of nodes.

    The matrices of smaller graphs are padded with zeros. The padding does not change their own block: the padded matrix
    is block diagonal, and so is each function of it, even if eigenvectors mix the blocks.

    Args:
        edge_index: Source and target of each edge, shape [2, E].
        pairs: Pairs of nodes of the same graph, shape [2, P].
        batch: Graph number of each node, sorted, shape [N].
        num_graphs: G.
        frequencies: S, the number of the f_s.
        bandwidth: b.

    Returns:
        The entries, float64, shape [P, S].
    """
    place, sizes = places(batch, num_graphs)
    n = int(sizes.max())
    A = torch.zeros(num_graphs, n, n, dtype=torch.float64, device=batch.device)
    for source, target in (edge_index, edge_index.flip(0)):
        A[batch[source], place[source], place[target]] = 1.0
    scale = A.sum(1).clamp(min=1).rsqrt()  # [G, n]
    own = torch.arange(n, device=batch.device) < sizes[:, None]  # [G, n], False for padding
    L = torch.diag_embed(own.to(A.dtype)) - scale[:, :, None] * A * scale[:, None]
    eigenvalues, U = torch.linalg.eigh(L)  # [G, n], [G, n, n]
    centres = torch.linspace(0, 2, frequencies, dtype=A.dtype, device=A.device)
    response = (-bandwidth * (eigenvalues[..., None] - centres).square()).exp()  # [G, n, S]
    C = torch.einsum("gvi,gis,gui->gvus", U, response, U)
    source, target = pairs
    return C[batch[source], place[source], place[target]]
