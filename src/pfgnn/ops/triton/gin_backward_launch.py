"""Launches the kernels of the backward pass of :mod:`pfgnn.ops.gin`."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pfgnn.ops.gin import GINWeights
from pfgnn.ops.side_stream import beside
from pfgnn.ops.triton import gin_backward
from pfgnn.ops.triton.gin_launch import ROWS_OF_EXCHANGE, STEP, Launch, both, edge_map, own_weights
from pfgnn.ops.triton.messages import messages_backward, messages_edge_backward
from pfgnn.ops.triton.rows import sum_columns


def transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """aᵀ b in float32, of matrices or of batches of them."""
    product = torch.bmm if a.dim() == 3 else torch.mm
    if a.is_cuda and a.dtype != torch.float32:
        return product(a.mT, b, out_dtype=torch.float32)
    return product(a.mT.float(), b.float())


class Backward:
    """The kernels of the backward pass, and the gradients of the parameters.

    Args:
        launch: Sizes and settings of the forward pass.
        layers: The parameters of the layers.
        edge: The edge terms of all layers, [L, E, D], or None.
        told: What the exchange's MLPs were told in all layers, [L, N + G K, D], or None.
    """

    def __init__(self, launch: Launch, layers: Sequence[GINWeights], edge: Tensor | None, told: Tensor | None) -> None:
        self.launch, self.layers, self.edge, self.told = launch, layers, edge, told
        self.own = own_weights(layers)
        L = len(layers)
        self.found: list[dict[str, Tensor]] = [{} for _ in layers]
        self.read_beside: list[Tensor] = []  # tensors that the side stream may still be reading
        self.d_edge = None if edge is None else edge.new_empty(edge.shape[1], L, edge.shape[2]).transpose(0, 1)
        if told is not None:
            self.d_said, self.u_said, self.du_said = (torch.empty_like(told) for _ in range(3))
            self.exchange_parts = told.new_empty(
                L, sum(launch.exchange_programs(layers[0])), 2, launch.D, dtype=torch.float32
            )

    def sums(
        self, g: Tensor, d_told: Tensor | None, h: Tensor | None = None, norm: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The gradient g of x with that through the exchange, and Σ g n and Σ g over all rows, [2, D], for x = norm(h).

        Args:
            g: The other gradients of x, [N, K, D].
            d_told: The gradient through the exchange, [N + G K, D], or None.
            h: What was normalised, [N, K, D]. None for the input of the first layer, which has no norm before it.
            norm: The vectors of the norm, [4, D].
        """
        of, layer = self.launch, self.layers[0]
        grid, tile = of.tile("exchange_sum")
        parts = torch.empty(grid[0], 2 * of.D, device=g.device)
        told = d_told is not None
        if h is None and not told:
            return g, parts
        out = torch.empty_like(g) if told else g
        with torch.cuda.device_of(g):
            gin_backward.exchange_sum[grid](
                g, d_told, of.of.log_weights, of.of.vertices, of.of.nodes.index, h, norm, out, parts,
                of.M, of.N, of.K, of.D, MEAN=told and layer.mean is not None, MARK=told and layer.mark is not None,
                NORM=h is not None, **tile,
            )  # fmt: skip
        return out, parts if h is None else sum_columns(parts).view(2, of.D)

    def feed_forward(
        self,
        number: int,
        layer: GINWeights,
        g: Tensor,
        x: Tensor,
        y: Tensor,
        y_norm: Tensor,
        out: Tensor,
        out_norm: Tensor,
        sums: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The gradient of x' = x + relu(norm(y)), and the sums for the norm of y, [2, D]."""
        of, found = self.launch, self.found[number]
        D, P = of.D, len(layer.hidden.first)
        dx, d_out, x_after = (torch.empty_like(g) for _ in range(3))
        u, du = (g.new_empty(of.M, P) for _ in range(2))
        grid, tile = of.tile("feed_forward_back", P)
        parts = torch.empty(grid[0], 3 * D + P, device=g.device)
        with torch.cuda.device_of(g):
            gin_backward.feed_forward_back[grid](
                g, x, y, y_norm, out, out_norm, sums, *layer.hidden[:3], of.real, dx, d_out, x_after, u, du, parts,
                of.M, of.K, D, P, TRAINING=of.training, IEEE=of.ieee, **tile,
            )  # fmt: skip
        found["hidden scale"], found["hidden shift"] = sums
        found["hidden last bias"], y_sums, found["hidden bias"] = sum_columns(parts).split([D, 2 * D, P])
        with beside(g):
            found["hidden last"] = transposed_product(d_out.view(of.M, D), u)
            found["hidden"] = transposed_product(du, x_after.view(of.M, D))
        self.read_beside += [d_out, u, du, x_after]
        return dx, y_sums.view(2, D)

    def update(
        self, number: int, layer: GINWeights, dx: Tensor, y: Tensor, y_norm: Tensor, sums: Tensor, z: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The gradient of z, [N, K, D], and that of ``told``, [N + G K, D], or None."""
        of, found = self.launch, self.found[number]
        D = of.D
        dy, u, du, dz = (torch.empty_like(dx) for _ in range(4))
        grid, tile = of.tile("update_back")
        parts = torch.empty(grid[0], 2 * D, device=dx.device)
        with torch.cuda.device_of(dx):
            gin_backward.update_back[grid](
                dx, y, y_norm, sums, z, *layer.update[:3], of.real, dy, u, du, dz, parts, of.M, of.K, D,
                TRAINING=of.training, IEEE=of.ieee, **tile,
            )  # fmt: skip
        found["scale"], found["shift"] = sums
        with beside(dx):
            found["last bias"], found["first bias"] = sum_columns(parts).view(2, D)
            found["last"] = transposed_product(dy.view(of.M, D), u.view(of.M, D))
            found["first"] = transposed_product(du.view(of.M, D), z.view(of.M, D))
        self.read_beside += [dy, u, du, z, parts]
        return dz, self._exchange(number, layer, dy)

    def _exchange(self, number: int, layer: GINWeights, dy: Tensor) -> Tensor | None:
        if self.told is None:
            return None
        of = self.launch
        mean, mark = both(layer)
        d_told = torch.empty_like(self.told[number])
        programs = of.exchange_programs(layer)
        with torch.cuda.device_of(dy):
            gin_backward.exchange_back[(sum(programs),)](
                dy, of.of.nodes.start, self.told[number], *mean[:3], *mark[:3],
                self.d_said[number], self.u_said[number], self.du_said[number], d_told, self.exchange_parts[number],
                of.N, of.cells, of.K, of.D, programs[0], IEEE=of.ieee, R=ROWS_OF_EXCHANGE, C=of.C, STEP=STEP,
            )  # fmt: skip
        return d_told

    def collect(self, number: int, dx: Tensor, dz: Tensor, x: Tensor) -> Tensor:
        """The gradient of the layer's input x without that through the exchange, [N, K, D]."""
        graph, sources = self.launch.of, self.launch.of.sources
        assert sources.across is not None
        assert sources.start is not None
        edge = None if self.edge is None else self.edge[number]
        g, parts = messages_backward(dz, x, edge, self.own[number], sources.order, sources.across, sources.start, dx)
        with beside(dz):
            if edge is not None and self.d_edge is not None:
                messages_edge_backward(dz, x, edge, sources.index, graph.targets.index, self.d_edge[number])
            self.found[number]["eps"] = parts.sum()
        self.read_beside += [dz, x, parts]
        return g

    def edges(self, edge_attr: Tensor | None, needed: bool) -> Tensor | None:
        """The gradient of the edge features, [E, F]; finds those of the edge maps too."""
        if self.d_edge is None or edge_attr is None:
            return None
        L, E, D = self.d_edge.shape
        d = self.d_edge.transpose(0, 1).view(E, L * D)
        weight, _ = edge_map(self.layers)
        weights = transposed_product(d, edge_attr.to(d.dtype)).view(L, D, -1)
        for found, of_weight, of_bias in zip(self.found, weights, sum_columns(d).view(L, D), strict=True):
            found["edge"], found["edge bias"] = of_weight, of_bias
        return (d @ weight.to(d.dtype)).to(edge_attr.dtype) if needed else None

    def gradients(self) -> list[Tensor]:
        """The gradients of all parameters, in the order of :meth:`GINWeights.parameters`."""
        names = ["eps", "first", "first bias", "last", "last bias", "scale", "shift", "hidden scale", "hidden shift"]
        names += ["hidden", "hidden bias", "hidden last", "hidden last bias"]
        if self.edge is not None:
            names += ["edge", "edge bias"]
        exchanged = self._of_exchange()
        made: list[Tensor] = []
        for number, (layer, found) in enumerate(zip(self.layers, self.found, strict=True)):
            own = [found[name] for name in names] + [of[number] for of in exchanged]
            made += [gradient.to(parameter.dtype) for gradient, parameter in zip(own, layer.parameters(), strict=True)]
        return made

    def _of_exchange(self) -> list[Tensor]:
        """The gradients of the exchange's maps in all layers: first map, bias, last map and bias, [L, ...] each."""
        if self.told is None:
            return []
        made: list[Tensor] = []
        N, layer = self.launch.N, self.layers[0]
        programs = self.launch.exchange_programs(layer)[0]
        rows = {"mean": slice(None, N), "mark": slice(N, None)}
        parts = {"mean": slice(None, programs), "mark": slice(programs, None)}
        for name, of in (("mean", layer.mean), ("mark", layer.mark)):
            if of is None:
                continue
            d, u, du, x = (tensor[:, rows[name]] for tensor in (self.d_said, self.u_said, self.du_said, self.told))
            last_bias, bias = self.exchange_parts[:, parts[name]].sum(1).unbind(1)
            made += [transposed_product(du, x), bias, transposed_product(d, u), last_bias]
        return made
