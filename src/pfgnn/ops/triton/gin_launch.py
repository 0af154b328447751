"""Launches the kernels of the forward pass of :mod:`pfgnn.ops.gin`."""

from collections.abc import Sequence

import torch
import triton
from torch import Tensor
from torch.nn.functional import linear

from pfgnn.ops.batch_norm import BatchNorming
from pfgnn.ops.gin import GINWeights, Maps, Particles
from pfgnn.ops.triton import gin
from pfgnn.ops.triton.batch_norm import activate
from pfgnn.ops.triton.messages import messages
from pfgnn.ops.triton.rows import tall_tile

ROWS_OF_EXCHANGE = 16  # there are few nodes and marks
STEP = 4  # rows that are loaded at once in a sum
# Rows of a program and how Triton compiles it, measured on an H200.
TILES = {
    "update": {"R": 64, "num_warps": 4, "num_stages": 1},
    "feed_forward": {"R": 64, "num_warps": 4, "num_stages": 1, "H": 64},
    "feed_forward_back": {"R": 64, "num_warps": 4, "num_stages": 1, "H": 64},
    "update_back": {"R": 64, "num_warps": 4, "num_stages": 2},
    "exchange_sum": {"R": 64, "num_warps": 4},
}


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


def own_weights(layers: Sequence[GINWeights]) -> Sequence[Tensor]:
    """1 + ε of all layers, computed by one kernel."""
    return torch._foreach_add([layer.eps for layer in layers], 1.0)


def edge_terms(edge_attr: Tensor | None, layers: Sequence[GINWeights], dtype: torch.dtype) -> Tensor | None:
    """W e + b of all layers in one product, shape [L, E, D]. The features of all layers lie side by side in memory."""
    if edge_attr is None:
        return None
    weight, bias = edge_map(layers)
    made = linear(edge_attr.to(dtype), weight.to(dtype), bias.to(dtype))  # [E, L D]
    return made.view(len(made), len(layers), -1).transpose(0, 1)


def edge_map(layers: Sequence[GINWeights]) -> tuple[Tensor, Tensor]:
    """Weight and bias of the edge maps of all layers, [L D, F] and [L D]."""
    maps = [layer.edge for layer in layers if layer.edge is not None]
    return torch.cat([weight for weight, _ in maps]), torch.cat([bias for _, bias in maps])


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
        self.real = of.real
        self.cells = of.nodes.size * self.K
        self.ieee = dtype == torch.float32 and not torch.backends.cuda.matmul.allow_tf32
        self.parts = torch.empty(0)  # moments of the last result
        self.rows = 0  # rows of each of these parts

    def tile(self, kernel: str, hidden: int = 0) -> tuple[tuple[int], dict[str, int]]:
        """The grid and the tile of a kernel; ``hidden`` is the number of hidden features."""
        tile = dict(TILES[kernel], C=self.C)
        if hidden:
            tile["H"] = min(tile["H"], max(16, triton.next_power_of_2(hidden)))
        return (triton.cdiv(self.M, tile["R"]),), tile

    @property
    def C(self) -> int:
        """Columns of a tile."""
        return max(16, triton.next_power_of_2(self.D))

    def told(self, layers: Sequence[GINWeights], x: Tensor) -> Tensor | None:
        """Memory for the inputs of the exchange's MLPs in all layers, [L, N + G K, D]; None without an exchange."""
        if layers[0].mean is None and layers[0].mark is None:
            return None
        return x.new_empty(len(layers), self.N + self.cells, self.D)

    def exchange_programs(self, layer: GINWeights) -> tuple[int, int]:
        """How many programs of the exchange handle nodes, and how many handle marks."""
        return (
            0 if layer.mean is None else triton.cdiv(self.N, ROWS_OF_EXCHANGE),
            0 if layer.mark is None else triton.cdiv(self.cells, ROWS_OF_EXCHANGE),
        )

    def exchange(self, x: Tensor, layer: GINWeights, told: Tensor | None) -> Tensor | None:
        """The terms of the exchange, [N + G K, D], those of the nodes first; None without an exchange."""
        if told is None:
            return None
        said = torch.empty_like(told)
        mean, mark = both(layer)
        programs = self.exchange_programs(layer)
        with torch.cuda.device_of(x):
            gin.exchange_forward[(sum(programs),)](
                x, self.of.log_weights, self.of.vertices, self.of.nodes.index, *mean, *mark, told, said,
                self.N, self.cells, self.K, self.D, programs[0],
                IEEE=self.ieee, R=ROWS_OF_EXCHANGE, C=self.C, STEP=STEP,
            )  # fmt: skip
        return said

    def collect(self, x: Tensor, edge: Tensor | None, own: Tensor) -> Tensor:
        """The input z of the first MLP, [N, K, D]; ``own`` is 1 + ε."""
        assert self.of.targets.start is not None
        return messages(x, edge, own, self.of.sources.index, self.of.targets.start)

    def update(self, z: Tensor, layer: GINWeights, said: Tensor | None) -> Tensor:
        """y = MLP(z) + terms of the exchange, [N, K, D]."""
        y, (grid, tile) = torch.empty_like(z), self.tile("update")
        self._moments_of(grid, tile)
        with torch.cuda.device_of(z):
            gin.update_forward[grid](
                z, *layer.update, said, self.of.nodes.index, self.real, y, self.parts, self.M, self.N, self.K, self.D,
                MEAN=layer.mean is not None, MARK=layer.mark is not None, MOMENTS=self.training, IEEE=self.ieee, **tile,
            )  # fmt: skip
        return y

    def feed_forward(self, x: Tensor, y: Tensor, y_norm: Tensor, layer: GINWeights) -> Tensor:
        """x' + MLP(x'), with x' = x + relu(norm(y)), [N, K, D]."""
        out, P = torch.empty_like(y), len(layer.hidden.first)
        grid, tile = self.tile("feed_forward", P)
        self._moments_of(grid, tile)
        with torch.cuda.device_of(x):
            gin.feed_forward[grid](
                x, y, y_norm, *layer.hidden, self.real, out, self.parts, self.M, self.K, self.D, P,
                MOMENTS=self.training, IEEE=self.ieee, **tile,
            )  # fmt: skip
        return out

    def norm(self, norming: BatchNorming) -> Tensor:
        """The vectors mean, root, scale and shift of a norm, [4, D]. In training, from the last moments."""
        if not self.training:
            root = torch.rsqrt(norming.variance.float() + norming.eps)
            return torch.stack([norming.mean.float(), root, norming.scale.float(), norming.shift.float()])
        vectors, number = torch.empty(4, self.D, device=self.parts.device), len(self.parts)
        R, C = tall_tile(number)
        with torch.cuda.device_of(vectors):
            gin.combine_moments[(triton.cdiv(self.D, C),)](
                self.parts, self.real, norming.scale, norming.shift, norming.mean, norming.variance, vectors,
                number, self.rows, self.K, self.D, norming.momentum, norming.eps, R=R, C=C, num_warps=8,
            )  # fmt: skip
        return vectors

    def normalise(self, h: Tensor, norm: Tensor) -> Tensor:
        """norm(h), [N, K, D]."""
        mean, root, scale, shift = norm
        norming = BatchNorming(scale, shift, mean, root, 0.0, 0.0, float(gin.LIMIT.value), True)
        return activate(h, None, norming, mean, root, relu=False, dtype=self.dtype)

    def _moments_of(self, grid: tuple[int], tile: dict[str, int]) -> None:
        if self.training:
            self.parts, self.rows = torch.empty(grid[0], 2, self.D, device=self.real.device), tile["R"]


def both(layer: GINWeights) -> tuple[Maps, Maps]:
    """MLP_A and MLP_B. One that does not exist is replaced by the other, which no program then reads."""
    mean, mark = layer.mean or layer.mark, layer.mark or layer.mean
    assert mean is not None
    assert mark is not None
    return mean, mark
