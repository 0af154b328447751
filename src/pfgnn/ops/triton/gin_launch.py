"""Launches the kernels of :mod:`pfgnn.ops.gin`."""

from collections.abc import Sequence

import torch
import triton
from torch import Tensor
from torch.nn.functional import linear

from pfgnn.ops.batch_norm import BatchNorming
from pfgnn.ops.gin import GINWeights, Maps, Particles
from pfgnn.ops.triton import gin, gin_backward
from pfgnn.ops.triton.batch_norm import activate
from pfgnn.ops.triton.rows import sum_columns

ROWS = 64  # rows of a program
ROWS_OF_EXCHANGE = 16  # there are few nodes and marks
HIDDEN = 64  # hidden features of a feed-forward block that a program computes at once
STEP = 4  # rows that are loaded at once in a sum
# With more warps a row of registers is shorter, and with one stage maps are loaded once, not ahead.
WIDE = {"num_warps": 8, "num_stages": 1}
COLUMNS = 16  # columns of a program in a sum over programs


def lowered(layers: Sequence[GINWeights], dtype: torch.dtype) -> list[GINWeights]:
    """The layers with all maps in a dtype, copied by one kernel."""

    def maps(layer: GINWeights) -> list[Maps]:
        return [of for of in (layer.update, layer.hidden, layer.mean, layer.mark) if of is not None]

    matrices = [matrix for layer in layers for of in maps(layer) for matrix in (of.first, of.last)]
    if all(matrix.dtype == dtype and matrix.is_contiguous() for matrix in matrices):
        return list(layers)
    flat = matrices[0].new_empty(sum(matrix.numel() for matrix in matrices), dtype=dtype)
    copies = [
        part.view_as(matrix)
        for part, matrix in zip(flat.split([matrix.numel() for matrix in matrices]), matrices, strict=True)
    ]
    torch._foreach_copy_(copies, matrices)
    low = iter(copies)

    def lower(of: Maps | None) -> Maps | None:
        return None if of is None else of._replace(first=next(low), last=next(low))

    made = []
    for layer in layers:
        update, hidden, mean, mark = (lower(of) for of in (layer.update, layer.hidden, layer.mean, layer.mark))
        assert update is not None
        assert hidden is not None
        made.append(layer._replace(update=update, hidden=hidden, mean=mean, mark=mark))
    return made


def edge_terms(edge_attr: Tensor | None, layers: Sequence[GINWeights], dtype: torch.dtype) -> Tensor | None:
    """W e + b of all layers in one product, shape [L, E, D]. The features of all layers lie side by side in memory."""
    if edge_attr is None:
        return None
    weight, bias = _edge_map(layers)
    made = linear(edge_attr.to(dtype), weight.to(dtype), bias.to(dtype))  # [E, L D]
    return made.view(len(made), len(layers), -1).transpose(0, 1)


def _edge_map(layers: Sequence[GINWeights]) -> tuple[Tensor, Tensor]:
    """Weight and bias of the edge maps of all layers, [L D, F] and [L D]."""
    maps = [layer.edge for layer in layers if layer.edge is not None]
    return torch.cat([weight for weight, _ in maps]), torch.cat([bias for _, bias in maps])


def transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """aᵀ b in float32, of matrices or of batches of them."""
    product = torch.bmm if a.dim() == 3 else torch.mm
    if a.dtype == torch.float32:
        return product(a.mT, b)
    return product(a.mT, b, out_dtype=torch.float32)


class Launch:
    """The kernels of the forward pass.

    Args:
        of: Graphs and particles.
        shape: [N, K, D].
        dtype: Dtype of the embeddings.
        training: Whether the norms use the statistics of the batch.
    """

    def __init__(self, of: Particles, shape: torch.Size, dtype: torch.dtype, training: bool) -> None:
        self.of, self.shape, self.dtype, self.training = of, shape, dtype, training
        self.N, self.K, self.D = shape
        self.M = self.N * self.K
        self.C = max(16, triton.next_power_of_2(self.D))
        self.real = of.real
        self.cells = of.nodes.size * self.K
        self.grid = (triton.cdiv(self.M, ROWS),)
        self.parts = torch.empty(0)

    def identity(self, device: torch.device) -> Tensor:
        """The vectors of a norm that changes nothing, [4, D]."""
        vectors = torch.zeros(4, self.D, device=device)
        vectors[1:3] = 1
        return vectors

    def told(self, layers: Sequence[GINWeights], h: Tensor) -> Tensor | None:
        """Memory for the inputs of the exchange's MLPs in all layers, [L, N + G K, D]; None without an exchange."""
        if layers[0].mean is None and layers[0].mark is None:
            return None
        return h.new_empty(len(layers), self.N + self.cells, self.D)

    def exchange_programs(self, layer: GINWeights) -> tuple[int, int]:
        """How many programs of the exchange handle nodes, and how many handle marks."""
        return (
            0 if layer.mean is None else triton.cdiv(self.N, ROWS_OF_EXCHANGE),
            0 if layer.mark is None else triton.cdiv(self.cells, ROWS_OF_EXCHANGE),
        )

    def exchange(self, h: Tensor, norm: Tensor, layer: GINWeights, told: Tensor | None) -> Tensor | None:
        """The terms of the exchange, [N + G K, D], those of the nodes first; None without an exchange."""
        if told is None:
            return None
        said = torch.empty_like(told)
        mean, mark = layer.mean or layer.mark, layer.mark or layer.mean
        assert mean is not None
        assert mark is not None
        programs = self.exchange_programs(layer)
        with torch.cuda.device_of(h):
            gin.exchange_forward[(sum(programs),)](
                h, norm, self.of.log_weights, self.of.vertices, self.of.nodes.index, *mean, *mark, told, said,
                self.N, self.cells, self.K, self.D, programs[0], R=ROWS_OF_EXCHANGE, C=self.C, STEP=STEP,
            )  # fmt: skip
        return said

    def update(
        self, h: Tensor, norm: Tensor, edge: Tensor | None, layer: GINWeights, said: Tensor | None, keep: bool
    ) -> tuple[Tensor, Tensor]:
        """The input z of the first MLP and y, [M, D]; z is empty unless ``keep``."""
        y = h.new_empty(self.shape)
        z = h.new_empty(self.shape if keep else 0)
        self._moments_of(y)
        with torch.cuda.device_of(h):
            gin.update_forward[self.grid](
                h, norm, h if edge is None else edge, self.of.sources.index, self.of.targets.start, layer.eps,
                *layer.update, h if said is None else said, self.of.nodes.index, self.real, z, y, self.parts,
                self.M, self.N, self.K, self.D, 0 if edge is None else edge.stride(0),
                EDGES=edge is not None, MEAN=layer.mean is not None, MARK=layer.mark is not None, KEEP=keep,
                MOMENTS=self.training, R=ROWS, C=self.C, **WIDE,
            )  # fmt: skip
        return z, y

    def feed_forward(self, h: Tensor, norm: Tensor, y: Tensor, y_norm: Tensor, layer: GINWeights) -> Tensor:
        """x + MLP(x), with x = norm(h) + relu(norm(y)), [N, K, D]."""
        out, P = torch.empty_like(y), len(layer.hidden.first)
        self._moments_of(out)
        with torch.cuda.device_of(h):
            gin.feed_forward[self.grid](
                h, norm, y, y_norm, *layer.hidden, self.real, out, self.parts, self.M, self.K, self.D, P,
                MOMENTS=self.training, R=ROWS, C=self.C, H=self.hidden_step(P), **WIDE,
            )  # fmt: skip
        return out

    def hidden_step(self, P: int) -> int:
        """How many hidden features a program computes at once."""
        return min(HIDDEN, max(16, triton.next_power_of_2(P)))

    def norm(self, norming: BatchNorming) -> Tensor:
        """The vectors mean, root, scale and shift of a norm, [4, D]. In training, from the last moments."""
        if not self.training:
            root = torch.rsqrt(norming.variance.float() + norming.eps)
            return torch.stack([norming.mean.float(), root, norming.scale.float(), norming.shift.float()])
        vectors = torch.empty(4, self.D, device=self.parts.device)
        with torch.cuda.device_of(vectors):
            gin.combine_moments[(triton.cdiv(self.D, COLUMNS),)](
                self.parts, self.real, norming.scale, norming.shift, norming.mean, norming.variance, vectors,
                self.grid[0], ROWS, self.K, self.D, norming.momentum, norming.eps, R=128, C=COLUMNS,
            )  # fmt: skip
        return vectors

    def finish(self, h: Tensor, norm: Tensor) -> Tensor:
        """norm(h), [N, K, D]."""
        mean, root, scale, shift = norm
        norming = BatchNorming(scale, shift, mean, root, 0.0, 0.0, float(gin.LIMIT.value), True)
        return activate(h, None, norming, mean, root, relu=False, dtype=self.dtype)

    def _moments_of(self, like: Tensor) -> None:
        if self.training:
            self.parts = torch.empty(self.grid[0], 2, self.D, device=like.device)


class Backward:
    """The kernels of the backward pass, and the gradients of the parameters.

    Args:
        launch: Sizes and settings of the forward pass.
        layers: The parameters of the layers.
        edge: The edge terms of all layers, [L, E, D], or None.
        told: What the exchange's MLPs were told in all layers, [L, N + G K, D], or None.
    """

    def __init__(
        self, launch: Launch, layers: Sequence[GINWeights], edge: Tensor | None, told: Tensor | None
    ) -> None:
        self.launch, self.layers, self.edge, self.told = launch, layers, edge, told
        L = len(layers)
        self.found: list[dict[str, Tensor]] = [{} for _ in layers]
        self.d_edge = None if edge is None else edge.new_empty(edge.shape[1], L, edge.shape[2]).transpose(0, 1)
        if told is not None:
            self.d_said, self.u_said, self.du_said = (torch.empty_like(told) for _ in range(3))
            self.exchange_parts = told.new_empty(
                L, sum(launch.exchange_programs(layers[0])), 2, launch.D, dtype=torch.float32
            )

    def last_norm(self, g: Tensor, h: Tensor, norm: Tensor) -> Tensor:
        """Σ g n and Σ g over all rows, [2, D], for the norm after the last layer."""
        of = self.launch
        parts = torch.empty(of.grid[0], 2 * of.D, device=g.device)
        with torch.cuda.device_of(g):
            gin_backward.norm_parts[of.grid](g, h, norm, parts, of.M, of.D, R=ROWS, C=of.C)
        return sum_columns(parts).view(2, of.D)

    def feed_forward(
        self,
        number: int,
        layer: GINWeights,
        g: Tensor,
        h: Tensor,
        norm: Tensor,
        y: Tensor,
        y_norm: Tensor,
        out: Tensor,
        out_norm: Tensor,
        sums: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The gradient of x' = norm(h) + relu(norm(y)), and the sums for the norm of y, [2, D]."""
        of, found = self.launch, self.found[number]
        D, P = of.D, len(layer.hidden.first)
        dx, d_out, x = (torch.empty_like(g) for _ in range(3))
        u, du = (g.new_empty(of.M, P) for _ in range(2))
        parts = torch.empty(of.grid[0], 3 * D + P, device=g.device)
        with torch.cuda.device_of(g):
            gin_backward.feed_forward_back[of.grid](
                g, h, norm, y, y_norm, out, out_norm, sums, *layer.hidden[:3], of.real, dx, d_out, x, u, du, parts,
                of.M, of.K, D, P, TRAINING=of.training, R=ROWS, C=of.C, H=of.hidden_step(P), **WIDE,
            )  # fmt: skip
        found["hidden scale"], found["hidden shift"] = sums
        found["hidden last bias"], y_sums, found["hidden bias"] = sum_columns(parts).split([D, 2 * D, P])
        found["hidden last"] = transposed_product(d_out.view(of.M, D), u)
        found["hidden"] = transposed_product(du, x.view(of.M, D))
        return dx, y_sums.view(2, D)

    def update(
        self, number: int, layer: GINWeights, dx: Tensor, y: Tensor, y_norm: Tensor, sums: Tensor, z: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """The gradient of z, [N, K, D], and that of ``told``, [N + G K, D], or None."""
        of, found = self.launch, self.found[number]
        D = of.D
        dy, u, du, dz = (torch.empty_like(dx) for _ in range(4))
        parts = torch.empty(of.grid[0], 2 * D, device=dx.device)
        with torch.cuda.device_of(dx):
            gin_backward.update_back[of.grid](
                dx, y, y_norm, sums, z, *layer.update[:3], of.real, dy, u, du, dz, parts, of.M, of.K, D,
                TRAINING=of.training, R=ROWS, C=of.C, **WIDE,
            )  # fmt: skip
        found["scale"], found["shift"] = sums
        found["last bias"], found["first bias"] = sum_columns(parts).view(2, D)
        found["last"] = transposed_product(dy.view(of.M, D), u.view(of.M, D))
        found["first"] = transposed_product(du.view(of.M, D), z.view(of.M, D))
        return dz, self._exchange(number, layer, dy)

    def _exchange(self, number: int, layer: GINWeights, dy: Tensor) -> Tensor | None:
        if self.told is None:
            return None
        of = self.launch
        mean, mark = layer.mean or layer.mark, layer.mark or layer.mean
        assert mean is not None
        assert mark is not None
        d_told = torch.empty_like(self.told[number])
        programs = of.exchange_programs(layer)
        with torch.cuda.device_of(dy):
            gin_backward.exchange_back[(sum(programs),)](
                dy, of.of.nodes.start, self.told[number], *mean[:3], *mark[:3],
                self.d_said[number], self.u_said[number], self.du_said[number], d_told, self.exchange_parts[number],
                of.N, of.cells, of.K, of.D, programs[0], R=ROWS_OF_EXCHANGE, C=of.C, STEP=STEP,
            )  # fmt: skip
        return d_told

    def collect(
        self, number: int, layer: GINWeights, dx: Tensor, dz: Tensor, d_told: Tensor | None, h: Tensor, norm: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The gradient g of the layer's input x = norm(h), and Σ g n and Σ g over all rows, [2, D]."""
        of = self.launch
        graph, sources = of.of, of.of.sources
        D, edge = of.D, None if self.edge is None else self.edge[number]
        g = torch.empty_like(dx)
        parts = torch.empty(of.grid[0], 3 * D, device=dx.device)
        stride = 0 if edge is None else edge.stride(0)
        with torch.cuda.device_of(dx):
            gin_backward.collect_back[of.grid](
                dx, dz, h, norm, h if edge is None else edge, sources.order, sources.across, sources.start, layer.eps,
                h if d_told is None else d_told, graph.log_weights, graph.vertices, graph.nodes.index, g, parts,
                of.M, of.N, of.K, D, stride,
                EDGES=edge is not None, PICKED=sources.order is not None, MEAN=layer.mean is not None,
                MARK=layer.mark is not None, R=ROWS, C=of.C, **WIDE,
            )  # fmt: skip
            if edge is not None and self.d_edge is not None:
                E = len(edge)
                gin_backward.edge_back[(triton.cdiv(E, ROWS_OF_EXCHANGE),)](
                    dz, h, norm, edge, sources.index, graph.targets.index, self.d_edge[number],
                    E, of.K, D, stride, R=ROWS_OF_EXCHANGE, C=of.C,
                )  # fmt: skip
        of_n, of_all, of_eps = sum_columns(parts).view(3, D)
        self.found[number]["eps"] = of_eps.sum()
        return g, torch.stack([of_n, of_all])

    def edges(self, edge_attr: Tensor | None, needed: bool) -> Tensor | None:
        """The gradient of the edge features, [E, F]; finds those of the edge maps too."""
        if self.d_edge is None or edge_attr is None:
            return None
        L, E, D = self.d_edge.shape
        d = self.d_edge.transpose(0, 1).view(E, L * D)
        weight, _ = _edge_map(self.layers)
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
            made += [
                gradient.to(parameter.dtype) for gradient, parameter in zip(own, layer.parameters(), strict=True)
            ]
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
