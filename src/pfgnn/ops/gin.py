"""All layers of a refinement with GIN or GINE, batch norm and feed-forward blocks, in a few large kernels.

This is the fast path of :class:`pfgnn.model.backbones.gin.GIN` on a GPU, in bf16 and TF32. Its code for one layer after
the other defines the result. In each layer, with x the input and m, v the mean particle and the marked vertices,

    y = MLP((1 + ε) x_i + Σ_j relu(x_j + e_ij)) + MLP_A(m) + MLP_B(v)
    x' = x + relu(norm(y))
    x ← norm(x' + MLP(x'))

Only y and x' + MLP(x') are stored. The backward pass computes the rest again, layer by layer. This costs little time
and halves the memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pfgnn.ops.batch_norm import BatchNorming
from pfgnn.ops.dispatch import apply, fast, once, product_dtype
from pfgnn.ops.segments import Segments
from pfgnn.ops.side_stream import beside, joined

MAX_WIDTH = 128  # a program holds all features of some rows
STATES = 4  # tensors of each layer that the backward pass needs


class Maps(NamedTuple):
    """The parameters of V relu(W x + b) + c: W [P, D], b [P], V [Q, P] and c [Q]."""

    first: Tensor
    first_bias: Tensor
    last: Tensor
    last_bias: Tensor


class GINWeights(NamedTuple):
    """The parameters of one layer.

    Fields:
        eps: ε, shape [].
        update: The MLP of the messages.
        norm: The norm of y.
        hidden: The MLP of the feed-forward block.
        hidden_norm: The norm of its result.
        edge: Weight and bias of the map of the edges [D, F] and [D], or None.
        mean: MLP_A, or None.
        mark: MLP_B, or None.
    """

    eps: Tensor
    update: Maps
    norm: BatchNorming
    hidden: Maps
    hidden_norm: BatchNorming
    edge: tuple[Tensor, Tensor] | None
    mean: Maps | None
    mark: Maps | None

    def parameters(self) -> list[Tensor]:
        """All parameters, in the order of :meth:`with_parameters`."""
        norms = [self.norm.scale, self.norm.shift, self.hidden_norm.scale, self.hidden_norm.shift]
        return [
            self.eps,
            *self.update,
            *norms,
            *self.hidden,
            *(self.edge or ()),
            *(self.mean or ()),
            *(self.mark or ()),
        ]

    def with_parameters(self, values: Iterator[Tensor]) -> "GINWeights":
        """The same layer with other parameters."""

        def take(number: int) -> list[Tensor]:
            return list(islice(values, number))

        [eps], update = take(1), Maps(*take(4))
        scale, shift, hidden_scale, hidden_shift = take(4)
        return GINWeights(
            eps,
            update,
            self.norm._replace(scale=scale, shift=shift),
            Maps(*take(4)),
            self.hidden_norm._replace(scale=hidden_scale, shift=hidden_shift),
            None if self.edge is None else (next(values), next(values)),
            None if self.mean is None else Maps(*take(4)),
            None if self.mark is None else Maps(*take(4)),
        )


@dataclass(frozen=True)
class Particles:
    """What the kernels need to know about the graphs and the particles.

    Args:
        sources: The edges that leave each node.
        targets: The edges that reach each node. Edges are sorted by their targets.
        nodes: The nodes of each graph.
        padding: Number of graphs at the end of the batch that do not count in the norms.
        log_weights: log w, shape [G, K]. None without an exchange.
        vertices: The marked vertices, shape [G, K]. None without an exchange.
    """

    sources: Segments
    targets: Segments
    nodes: Segments
    padding: int
    log_weights: Tensor | None = None
    vertices: Tensor | None = None

    def contiguous(self) -> "Particles":
        """The same without gaps in memory, as kernels need it."""
        weights, vertices = (None if of is None else of.contiguous() for of in (self.log_weights, self.vertices))
        return replace(self, log_weights=weights, vertices=vertices)

    @property
    def real(self) -> Tensor:
        """Number of nodes that are no padding, shape []."""
        assert self.nodes.start is not None
        return self.nodes.start[self.nodes.size - self.padding]


def fits(x: Tensor, of: Particles) -> bool:
    """Whether :func:`refine_gin` can run: kernels are used, and products may have a low precision.

    In float32 without TF32 the products of cuBLAS are faster than those of a kernel.
    """
    weights = of.log_weights
    return (
        of.nodes.start is not None
        and of.sources.across is not None
        and fast(x)
        and low_products(x)
        and x.shape[-1] <= MAX_WIDTH
        and x.numel() > 0
        and not (weights is not None and weights.requires_grad)
    )


def low_products(x: Tensor) -> bool:
    """Whether matrix products with x may round their inputs. On a CPU, where only tests run kernels, always."""
    return not x.is_cuda or product_dtype(x) != torch.float32 or torch.backends.cuda.matmul.allow_tf32


def refine_gin(x: Tensor, edge_attr: Tensor | None, layers: Sequence[GINWeights], of: Particles) -> Tensor:
    """Apply all layers; see the module.

    Args:
        x: Embeddings, shape [N, K, D].
        edge_attr: Edge features, shape [E, F], or None.
        layers: The parameters of the layers. All have the same parts.
        of: Graphs and particles.

    Returns:
        The new embeddings, shape [N, K, D], in the dtype of autocast if that is enabled.
    """
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    keep = torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in (x, edge_attr, *parameters)
    )
    return apply(_Refine, x, edge_attr, layers, of.contiguous(), keep, *parameters)


class _Refine(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        edge_attr: Tensor | None,
        layers: Sequence[GINWeights],
        of: Particles,
        keep: bool,
        *parameters: Tensor,
    ) -> Tensor:
        from pfgnn.ops.triton.gin_launch import Launch, edge_terms, lowered, own_weights

        dtype = product_dtype(x)
        launch = Launch(of, x.shape, dtype, layers[0].norm.training)
        x_own, x = x, x.to(dtype).contiguous()
        low, edge, told = lowered(layers, dtype), edge_terms(edge_attr, layers, dtype), launch.told(layers, x)
        own, states = own_weights(layers), [x]  # the input, then STATES of each layer
        for number, layer in enumerate(low):
            said = launch.exchange(x, layer, None if told is None else told[number])
            z = launch.collect(x, None if edge is None else edge[number], own[number])
            y = launch.update(z, layer, said)
            y_norm = launch.norm(layer.norm)
            out = launch.feed_forward(x, y, y_norm, layer)
            out_norm = launch.norm(layer.hidden_norm)
            x = launch.normalise(out, out_norm)
            if keep:
                states += [y, y_norm, out, out_norm]
        if keep:
            ctx.save_for_backward(edge_attr, edge, told, *states, *parameters)
            ctx.layers, ctx.of, ctx.dtype, ctx.own = layers, of, dtype, x_own.dtype
        return x

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from pfgnn.ops.triton.gin_backward_launch import Backward
        from pfgnn.ops.triton.gin_launch import Launch, lowered

        edge_attr, edge, told, first, *saved = ctx.saved_tensors
        states, values = saved[: STATES * len(ctx.layers)], iter(saved[STATES * len(ctx.layers) :])
        layers = [layer.with_parameters(values) for layer in ctx.layers]
        launch = Launch(ctx.of, gradients[0].shape, ctx.dtype, layers[0].norm.training)
        back, low = Backward(launch, layers, edge, told), lowered(layers, ctx.dtype)
        g = gradients[0].to(ctx.dtype).contiguous()
        d_told: Tensor | None = None

        def inputs(number: int) -> tuple[Tensor, Tensor]:
            """The input x of a layer and that of its MLP, z, computed again."""
            x = launch.normalise(*states[STATES * number - 2 : STATES * number]) if number else first
            return x, launch.collect(x, None if edge is None else edge[number], back.own[number])

        x, z = inputs(len(layers) - 1)
        for number in reversed(range(len(layers))):
            y, y_norm, out, out_norm = states[STATES * number : STATES * (number + 1)]
            with joined(g):
                with beside(g):
                    ahead = inputs(number - 1) if number else (x, z)
                g, sums = back.sums(g, d_told, out, out_norm)
                dx, y_sums = back.feed_forward(number, low[number], g, x, y, y_norm, out, out_norm, sums)
                dz, d_told = back.update(number, low[number], dx, y, y_norm, y_sums, z)
                g = back.collect(number, dx, dz, x)
            back.read_beside.clear()
            x, z = ahead
        g, _ = back.sums(g, d_told)
        d_edge_attr = back.edges(edge_attr, ctx.needs_input_grad[1])
        return g.to(ctx.own), d_edge_attr, None, None, None, *back.gradients()
