"""What every shipped backbone is: a stack of message-passing layers of one width."""

from collections.abc import Callable

from torch import Tensor, nn

from pfgnn.model.batch import GraphBatch, make_batch
from pfgnn.model.norms import NORMS
from pfgnn.model.numeric import check_positive, choose


class Stack(nn.Module):
    """h ← h + relu(norm(conv(h))), layer after layer; without the first h where ``residual`` is off.

    The residual matters on regular graphs: there the norm of equal nodes is zero, and a multiplicative
    individualisation of zero would be zero again.

    A shipped backbone runs in PyG's manner on [N, D], and with a particle axis on [N, K, D], where all K
    particles share the edges. Edge embeddings are [E, D], the same for all particles.

    Args: layer: makes one layer.  width: D.  layers: how many.  norm: "graph" (per graph and particle), "batch",
        "layer" or "none".
    """

    particle_axis = True
    reads_edge_attr = False
    static = True  # all shapes follow from those of the input, so that a CUDA graph may hold a pass

    def __init__(
        self, layer: Callable[[], nn.Module], width: int, layers: int, norm: str = "graph", residual: bool = True
    ) -> None:
        super().__init__()
        self.width = check_positive("width", width)
        make_norm = choose("norm", norm, NORMS)
        self.residual = residual
        self.convs = nn.ModuleList(layer() for _ in range(check_positive("layers", layers)))
        self.norms = nn.ModuleList(make_norm(width) for _ in self.convs)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        graph: GraphBatch | None = None,
    ) -> Tensor:
        """Run the layers: x [N, D] or [N, K, D], edge_index [2, E], edge_attr [E, D], batch [N] -> like x.

        Whoever has the ``graph`` that the other arguments make gives it too, and it is not made again.
        """
        if graph is None:
            graph = make_batch(x.flatten(1), edge_index, edge_attr, batch)
        return self.refine(x, graph)

    def refine(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Run the layers on a graph: x [N, D] or [N, K, D] -> like x."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, graph), x if self.residual else None, graph)
        return x


def check_edge_attr(backbone: str, edge_attr: Tensor | None, width: int) -> Tensor:
    """The edge embeddings [E, D] that ``backbone`` needs, or a sentence that says what to do."""
    if edge_attr is None:
        raise ValueError(f"{backbone} reads edge features, but edge_attr is None")
    if edge_attr.dim() != 2 or edge_attr.shape[1] != width:
        raise ValueError(
            f"{backbone} of width {width} needs edge_attr [E, {width}], but it is {list(edge_attr.shape)}; "
            "give PFGNN edge_channels to have the edges encoded"
        )
    if not edge_attr.is_floating_point():
        raise TypeError(f"{backbone} needs edge_attr of floats, but it has dtype {edge_attr.dtype}; see edge_channels")
    return edge_attr


def particles_like(edge_values: Tensor, x: Tensor) -> Tensor:
    """Edge values [E, ...] with a particle axis where x [N, K, D] has one: [E, 1, ...]."""
    return edge_values[:, None] if x.dim() == 3 else edge_values
