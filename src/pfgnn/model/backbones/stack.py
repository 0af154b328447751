"""What every shipped backbone is: a stack of message-passing layers of one width."""

from collections.abc import Callable
from typing import Literal, TypedDict

from torch import Tensor, nn

from pfgnn.arguments import check_positive, choose
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.context import Context
from pfgnn.model.mlp import MLP
from pfgnn.model.norms import NORMS, MarkNorm, Norm
from pfgnn.model.randomness import Purpose
from pfgnn.ops.dropout import dropout
from pfgnn.ops.exchange import tell
from pfgnn.registry import Registry


class Options(TypedDict, total=False):
    """The arguments of a :class:`Stack` that all shipped backbones take."""

    norm: str
    residual: bool
    feed_forward: bool
    dropout: float


class Stack(nn.Module):
    """h ← h + relu(norm(conv(h))), layer after layer; without the first h where ``residual`` is off.

    With ``feed_forward`` each layer is followed by h ← norm(h + MLP(h)), with 2 D hidden features. So the sum of all
    residuals is normalised as well, which makes deep stacks learn much faster.

    The residual matters on regular graphs: there the norm of equal nodes is zero, and a multiplicative
    individualisation of zero would be zero again.

    A shipped backbone runs in PyG's manner on [N, D], and with a particle axis on [N, K, D], where all K
    particles share the edges. Edge embeddings are [E, D], the same for all particles.

    Args:
        layer: makes one layer.
        width: D.
        layers: how many.
        norm: "mark" (around each particle's mark), "graph" (per graph and particle), "batch", "size" (batch, after a
            division by √n), "layer" or "none".
        residual: whether a layer's input is added to its output.
        feed_forward: whether an MLP follows each layer.
        dropout: share of each layer's output that is set to 0 in training, before the residual is added. Its draws are
            those of a pass of PFGNN, so they repeat with the seed.
    """

    particle_axis = True
    reads_edge_attr = False
    edge_features: Literal["unread", "optional", "needed"] = "unread"
    static = True  # all shapes follow from those of the input, so that a CUDA graph may hold a pass

    def __init__(
        self,
        layer: Callable[[], nn.Module],
        width: int,
        layers: int,
        norm: str = "graph",
        residual: bool = True,
        feed_forward: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.width = check_positive("width", width)
        make_norm = choose("norm", norm, NORMS)
        if not 0 <= dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), but it is {dropout}")
        self.residual, self.dropout = residual, dropout
        self.convs = nn.ModuleList(layer() for _ in range(check_positive("layers", layers)))
        self.norms = nn.ModuleList(make_norm(width) for _ in self.convs)
        self.hidden: nn.ModuleList | None = None
        self.hidden_norms: nn.ModuleList | None = None
        if feed_forward:
            self.hidden = nn.ModuleList(MLP(width, 2 * width, width) for _ in self.convs)
            self.hidden_norms = nn.ModuleList(make_norm(width) for _ in self.convs)

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

        Pass a prebuilt ``graph`` to avoid building it again.
        """
        if graph is None:
            graph = GraphBatch.from_tensors(x.flatten(1), edge_index, edge_attr, batch)
        return self.refine(x, graph)

    def refine(
        self,
        x: Tensor,
        graph: GraphBatch,
        context: Context | None = None,
        exchange: nn.ModuleList | None = None,
        layers: list[Tensor] | None = None,
    ) -> Tensor:
        """Run the layers on a graph.

        Args:
            x: embeddings, [N, D] or [N, K, D].
            graph: the graphs.
            context: of the particles; None outside a pass of PFGNN.
            exchange: what the particles tell each other in each layer; None for nothing.
            layers: a list to which each layer's output is appended.

        Returns: like x.
        """
        near = self._near(graph, context)
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            talk = None if exchange is None else exchange[number]
            x = self.layer_output(x, conv, norm, graph, context, talk, near, 2 * number)
            if self.hidden is not None and self.hidden_norms is not None:
                last = self.hidden_norms[number]
                assert isinstance(last, Norm)
                x = last.normalise(x + self.drop(self.hidden[number](x), graph, context, 2 * number + 1), graph, near)
            if layers is not None:
                layers.append(x)
        return x

    def layer_output(
        self,
        x: Tensor,
        conv: nn.Module,
        norm: nn.Module,
        graph: GraphBatch,
        context: Context | None,
        exchange: nn.Module | None,
        near: Tensor | None,
        number: int,
    ) -> Tensor:
        """One layer with its norm, dropout and residual."""
        if exchange is None:
            y = conv(x, graph)
        else:
            x, to_nodes, to_particles = exchange(x, graph, context)
            y = tell(conv(x, graph), to_nodes, to_particles, graph.nodes)
        before = x if self.residual else None
        if not (self.dropout and self.training):
            return norm(y, before, graph, near)
        y = self.drop(norm(y, None, graph, near), graph, context, number)
        return y if before is None else before + y

    def _near(self, graph: GraphBatch, context: Context | None) -> Tensor | None:
        """The weights of the nodes in a norm around the marks, [N, K]; None with other norms and before a mark."""
        if not isinstance(self.norms[0], MarkNorm) or context is None or context.vertices is None:
            return None
        return self.norms[0].weights(context.vertices, graph)

    def drop(self, y: Tensor, graph: GraphBatch, context: Context | None, number: int) -> Tensor:
        """Dropout in training; ``number`` keeps the draws of several dropouts apart."""
        if not (self.dropout and self.training):
            return y
        if context is None:
            raise InputError("dropout must be 0 in training outside a PFGNN, whose random numbers it needs")
        noise_key = context.noise.key(context.step, Purpose.DROPOUT)
        return dropout(y, self.dropout, noise_key, context.particles, number, context.noise.node, graph.nodes)


BACKBONES: Registry[Stack] = Registry("backbone")


def check_edge_attr(backbone: str, edge_attr: Tensor | None, width: int) -> Tensor:
    """The edge embeddings [E, D] that ``backbone`` needs, or a sentence that says what to do."""
    if edge_attr is None:
        raise InputError(f"{backbone} reads edge features, but edge_attr is None")
    if edge_attr.dim() != 2 or edge_attr.shape[1] != width:
        raise InputError(
            f"{backbone} of width {width} needs edge_attr [E, {width}], but it is {list(edge_attr.shape)}; "
            "give PFGNN edge_channels to have the edges encoded"
        )
    if not edge_attr.is_floating_point():
        raise InputTypeError(
            f"{backbone} needs edge_attr of floats, but it has dtype {edge_attr.dtype}; see edge_channels"
        )
    return edge_attr


def particles_like(edge_values: Tensor, x: Tensor) -> Tensor:
    """Edge values [E, ...] with a particle axis where x [N, K, D] has one: [E, 1, ...]."""
    return edge_values[:, None] if x.dim() == 3 else edge_values
