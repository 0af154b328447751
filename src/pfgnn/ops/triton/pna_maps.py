"""Triton kernels for the linear maps of :mod:`pfgnn.ops.pna`.

One kernel pads all maps of a layer, and another one cuts the padding from their gradients.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.pna import Weights
from pfgnn.ops.triton.rows import BLOCK, cut_blocks, pad_blocks, padded

PROGRAMS = 64  # programs per map


@triton.jit
def pad_maps(
    pre, pre_bias, edge, post, mix, mix_bias, W, C, U, V,
    EDGES: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, FO: tl.constexpr, DP: tl.constexpr,
    DO: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """Pad all maps of a layer. The first axis of the grid is the number of the map."""
    which = tl.program_id(0)
    if which == 0:
        pad_blocks(post, post, U, 4 * T, 3 * F, F, 3 * FP, FP, 0, 1, B)  # each row has the F columns of one scaler
    if which == 1:
        pad_blocks(pre, pre_bias, W, 3 * T, F, F, FP, FO, 2, 3, B)
    if which == 2:
        pad_blocks(mix, mix_bias, V, 1, T * F, T * F, DP, DO, 1, 1, B)
    if EDGES:
        if which == 3:
            pad_blocks(edge, edge, C, T, F, T * F, FP, DP, 0, 1, B)


@triton.jit
def cut_maps(
    W, C, U, V, pre, pre_bias, edge, post, mix, mix_bias, S,
    EDGES: tl.constexpr, T: tl.constexpr, F: tl.constexpr, FP: tl.constexpr, FO: tl.constexpr, DP: tl.constexpr,
    DO: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    """The gradients of a layer's maps, from the gradients of the padded ones. W and U come in S shares."""
    which = tl.program_id(0)
    if which == 0:
        cut_blocks(U, post, post, S, 4 * T, 3 * F, F, 3 * FP, FP, 0, 4, B)
    if which == 1:
        cut_blocks(W, pre, pre_bias, S, 3 * T, F, F, FP, FO, 2, 3, B)
    if which == 2:
        cut_blocks(V, mix, mix_bias, 1, 1, T * F, T * F, DP, DO, 1, 1, B)
    if EDGES:
        if which == 3:
            cut_blocks(C, edge, edge, 1, T, F, T * F, FP, DP, 0, 1, B)


class Maps(NamedTuple):
    """The padded maps of a layer, or their gradients. The gradients of W and U come in S shares, shape [T, S, ...].

    Fields:
        W: A, B and the map of own_i, shape [T, 3 F', F°].
        C: The edge map, shape [T F', D'], or None.
        U: The maps of the aggregates, shape [T, 4 F', 3 F'].
        V: The map that mixes the towers, shape [D', D°].
    """

    W: Tensor
    C: Tensor | None
    U: Tensor
    V: Tensor


def pad_weights(weights: Weights, dtype: torch.dtype) -> Maps:
    """Pad the maps with zeros. The biases become a column after the weights."""
    sizes = _sizes(weights.post)
    T, near, one_more, all_near, all_more = (sizes[name] for name in ("T", "FP", "FO", "DP", "DO"))
    shapes = (T, 3 * near, one_more), (T * near, all_near), (T, 4 * near, 3 * near), (all_near, all_more)
    edges = weights.edge is not None
    W, C, U, V = (weights.post.new_empty(shape, dtype=dtype) for shape in shapes)
    maps = Maps(W, C if edges else None, U, V)
    tensors = [None if tensor is None else tensor.contiguous() for tensor in weights]
    with torch.cuda.device_of(U):
        pad_maps[(3 + edges, PROGRAMS)](*tensors, *maps, EDGES=edges, **sizes, B=BLOCK)
    return maps


def cut_gradients(gradients: Maps, like: Weights) -> Weights:
    """The gradients of the weights, from the gradients of the padded maps.

    Args:
        gradients: Gradients of the padded maps. Those of W and U come in S shares.
        like: The weights, for shapes and dtypes.
    """
    out = Weights._make(None if tensor is None else tensor.new_empty(tensor.shape) for tensor in like)
    shares = gradients.U.shape[1]
    with torch.cuda.device_of(out.post):
        edges = out.edge is not None
        cut_maps[(3 + edges, PROGRAMS)](*gradients, *out, shares, EDGES=edges, **_sizes(like.post), B=BLOCK)
    return out


def _sizes(post: Tensor) -> dict[str, int]:
    T, F = len(post), post.shape[2] // 3
    D = T * F
    return {"T": T, "F": F, "FP": padded(F), "FO": padded(F + 1), "DP": padded(D), "DO": padded(D + 1)}
