"""Triton kernels for :mod:`pfgnn.kernels.select`: one program has one node's particles, and some features."""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _select(source, ancestors, graph, out, K, D, BACK: tl.constexpr, C: tl.constexpr):
    node = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * C + tl.arange(0, C)
    inside = column < D
    own = node * K * D + column
    of_graph = ancestors + tl.load(graph + node) * K
    if BACK:  # gradients of copies meet in their ancestor; no other program touches this node's
        for k in range(K):
            tl.store(out + own + k * D, tl.zeros([C], tl.float32), inside)
        for k in range(K):
            there = out + own + tl.load(of_graph + k) * D
            tl.store(there, tl.load(there, inside, 0.0) + tl.load(source + own + k * D, inside, 0.0), inside)
    else:
        for k in range(K):
            tl.store(out + own + k * D, tl.load(source + own + tl.load(of_graph + k) * D, inside, 0.0), inside)


def select(H: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
    """H'[n, k] = H[n, a[n's graph, k]]."""
    return _launch(H, ancestors, graph, back=False)


def select_backward(g: Tensor, ancestors: Tensor, graph: Tensor) -> Tensor:
    """The gradient of H from that of H', g."""
    return _launch(g, ancestors, graph, back=True)


def _launch(source: Tensor, ancestors: Tensor, graph: Tensor, back: bool) -> Tensor:
    N, K, D = source.shape
    out = torch.empty_like(source)
    C = min(256, triton.next_power_of_2(D))
    with torch.cuda.device_of(source):
        _select[(N, triton.cdiv(D, C))](source, ancestors.contiguous(), graph, out, K, D, BACK=back, C=C)
    return out
