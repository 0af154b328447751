"""The base class of all shipped backbones: a stack of message-passing layers of one width."""

from collections.abc import Callable
from typing import Literal, TypedDict

from torch import Tensor, nn

from pfgnn.argument_checks import check_flag, check_number, check_positive, choose
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.mlp import MLP
from pfgnn.model.norms import NORMS, MarkNorm, Norm
from pfgnn.model.particle_context import Context
from pfgnn.model.randomness import Purpose
from pfgnn.ops.dropout import dropout
from pfgnn.ops.exchange import tell
from pfgnn.registry import Registry
from pfgnn.setting_types import MOST_LAYERS, MOST_WIDTH


class Options(TypedDict, total=False):
    """The keyword arguments of :class:`Stack` that all shipped backbones take."""

    norm: str
    residual: bool
    feed_forward: bool
    dropout: float


class Stack(nn.Module):
    """In each layer h ← h + relu(norm(conv(h))), or h ← relu(norm(conv(h))) without ``residual``.

    With ``feed_forward`` each layer is followed by h ← norm(h + MLP(h)), with 2 D hidden features. So the sum of the
    residuals is normalised as well, which makes deep stacks learn much faster.

    The residual matters on regular graphs. If all nodes of a graph are equal, a norm over them gives zero, and a
    multiplicative individualisation of zero is zero again.

    A shipped backbone takes embeddings [N, D], as in PyG, or [N, K, D] with a particle axis. All K particles share the
    edges and the edge embeddings [E, D].

    Args:
        layer: Function that makes one layer.
        width: D.
        layers: Number of layers.
        norm: "mark" (per graph and particle, with weights around the individualised vertex), "graph" (per graph and
            particle), "batch", "size" (batch, after division by √n), "layer" or "none".
        residual: Whether to add the input of a layer to its output.
        feed_forward: Whether an MLP follows each layer.
        dropout: Probability that an entry of a layer's output is set to 0 in training, before the residual is added.
            The draws are part of a pass of PFGNN, so the same seed gives the same draws.
    """

    particle_axis = True
    reads_edge_attr = False
    edge_features: Literal["unread", "optional", "needed"] = "unread"
    static = True  # all shapes are known from those of the input, so that a CUDA graph can record a pass

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
        self.width = check_positive("width", width, most=MOST_WIDTH)
        make_norm = choose("norm", norm, NORMS)
        self.residual, self.dropout = check_flag("residual", residual), check_number("dropout", dropout)
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must lie in [0, 1), but it is {dropout}")
        self.convs = nn.ModuleList(layer() for _ in range(check_positive("layers", layers, most=MOST_LAYERS)))
        self.norms = nn.ModuleList(make_norm(width) for _ in self.convs)
        self.hidden: nn.ModuleList | None = None
        self.hidden_norms: nn.ModuleList | None = None
        if check_flag("feed_forward", feed_forward):
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
        """Run the layers on tensors, as in PyG.

        Args:
            x: Embeddings, shape [N, D] or [N, K, D].
            edge_index: Source and target of each edge, shape [2, E].
            edge_attr: Edge embeddings, shape [E, D].
            batch: Graph number of each node, sorted, shape [N]. None if there is only one graph.
            batch_size: Not used. PyG's models have this argument too.
            graph: Pass a prebuilt GraphBatch to avoid building it again.

        Returns:
            The new embeddings, same shape as x.
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
            x: Embeddings, shape [N, D] or [N, K, D].
            graph: The batch of graphs.
            context: Context of the particles. None outside a pass of PFGNN.
            exchange: The :class:`Exchange` of each layer, or None.
            layers: A list to which the output of each layer is appended.

        Returns:
            The new embeddings, same shape as x.
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
        """One layer with its norm, dropout and residual.

        Args:
            x: Embeddings, shape [N, D] or [N, K, D].
            conv: The message-passing layer.
            norm: Its norm.
            graph: The batch of graphs.
            context: Context of the particles.
            exchange: The :class:`Exchange` of this layer, or None.
            near: Weight of each node in the means of the norm, shape [N, K], or None.
            number: Number of this dropout; see :meth:`drop`.

        Returns:
            The new embeddings, same shape as x.
        """
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
        """Node weights for :class:`MarkNorm`, shape [N, K]. None for other norms and before any individualisation."""
        if not isinstance(self.norms[0], MarkNorm) or context is None or context.vertices is None:
            return None
        return self.norms[0].weights(context.vertices, graph)

    def drop(self, y: Tensor, graph: GraphBatch, context: Context | None, number: int) -> Tensor:
        """Apply dropout to y in training. Each dropout of a stack has its own ``number``, and so its own draws."""
        if not (self.dropout and self.training):
            return y
        if context is None:
            raise InputError("dropout must be 0 in training outside a PFGNN, because it needs the noise of a pass")
        noise_key = context.noise.key(context.step, Purpose.DROPOUT)
        return dropout(y, self.dropout, noise_key, context.particles, number, context.noise.node, graph.nodes)


BACKBONES: Registry[Stack] = Registry("backbone")


def check_edge_attr(backbone: str, edge_attr: Tensor | None, width: int) -> Tensor:
    """Return the edge embeddings, or raise an error that says how to fix them.

    Args:
        backbone: Name of the backbone, for the message.
        edge_attr: Edge embeddings, which must be floats of shape [E, D].
        width: D.
    """
    if edge_attr is None:
        raise InputError(f"{backbone} reads edge features, but edge_attr is None")
    if edge_attr.dim() != 2 or edge_attr.shape[1] != width:
        raise InputError(
            f"{backbone} of width {width} needs edge_attr [E, {width}], but it is {list(edge_attr.shape)}; "
            "give PFGNN edge_channels to have the edges encoded"
        )
    if not edge_attr.is_floating_point():
        raise InputTypeError(
            f"{backbone} needs edge_attr of floats, but it has dtype {edge_attr.dtype}; "
            "give PFGNN edge_channels to have the edges encoded"
        )
    return edge_attr


def particles_like(edge_values: Tensor, x: Tensor) -> Tensor:
    """Add a particle axis to edge values [E, ...] if x has one, [N, K, D]. The result is [E, 1, ...] or [E, ...]."""
    return edge_values[:, None] if x.dim() == 3 else edge_values
