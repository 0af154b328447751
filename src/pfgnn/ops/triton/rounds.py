"""Triton kernels that go through the edges of a graph several times. Each program handles one graph.

A barrier separates the rounds. It holds for the threads of one program only, so no two programs share a node.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops import candidates
from pfgnn.ops.segments import Segments
from pfgnn.ops.triton.hashing import fold_word, unit
from pfgnn.ops.weights import NoiseKey

UNIT = tl.constexpr(candidates.UNIT)
MEAN_SIZE = 256  # up to this mean size of the graphs one program for each is faster than a kernel for each round


@triton.jit
def smooth_rounds(
    keys, node_key, signal, other, source, start, graph_start, step, purpose, rounds, B: tl.constexpr,
):  # fmt: skip
    """Give each node a random number, and average it with those of its neighbours ``rounds`` times, with integers.

    The rounds read and write the two buffers in turn.
    """
    graph = tl.program_id(0)
    begin, end = tl.load(graph_start + graph), tl.load(graph_start + graph + 1)
    key = fold_word(fold_word(fold_word(fold_word(tl.load(keys + graph), step), purpose), 0), 0)
    for first in range(begin, end, B):
        node = first + tl.arange(0, B)
        u = unit(fold_word(key, tl.load(node_key + node, node < end, 0)))
        tl.store(signal + node, (u * UNIT).to(tl.int64), node < end)
    tl.debug_barrier()
    before, after = signal, other
    for _ in range(rounds):
        for first in range(begin, end, B):
            node = first + tl.arange(0, B)
            there = node < end
            low, high = tl.load(start + node, there, 0), tl.load(start + node + 1, there, 0)
            own = tl.load(before + node, there, 0)
            around = tl.zeros([B], tl.int64)
            for number in range(0, tl.max(high - low)):
                more = low + number < high
                j = tl.load(source + low + number, more, 0)
                around += tl.load(before + j, more, 0)
            degree = high - low
            mean = (degree * own + around) // tl.maximum(2 * degree, 1)
            tl.store(after + node, tl.where(degree > 0, mean, own), there)
        tl.debug_barrier()
        before, after = after, before


@triton.jit
def distance_rounds(vertices, valid, source, start, graph_start, out, K, V, largest, B: tl.constexpr, P: tl.constexpr):
    """Breadth-first search from the marks of P particles. Round r finds the nodes at distance r."""
    graph = tl.program_id(0)
    begin, end = tl.load(graph_start + graph), tl.load(graph_start + graph + 1)
    k = tl.program_id(1) * P + tl.arange(0, P)
    cell = (graph * K + k) * V
    for first in range(begin, end, B):
        node = first + tl.arange(0, B)
        d = tl.zeros([B, P], tl.int64) + (largest + 1)
        for v in range(V):
            marked = (tl.load(vertices + cell + v, k < K, -1)[None, :] == node[:, None]) & (
                tl.load(valid + cell + v, k < K, 0) != 0
            )[None, :]
            d = tl.where(marked, 0, d)
        tl.store(out + node[:, None] * K + k[None, :], d, (node < end)[:, None] & (k < K)[None, :])
    tl.debug_barrier()
    for r in range(1, largest + 1):
        for first in range(begin, end, B):
            node = first + tl.arange(0, B)
            there = node < end
            mask = there[:, None] & (k < K)[None, :]
            low, high = tl.load(start + node, there, 0), tl.load(start + node + 1, there, 0)
            place = out + node[:, None] * K + k[None, :]
            d = tl.load(place, mask, 0)
            near = d
            for step in range(0, tl.max(high - low)):
                more = low + step < high
                j = tl.load(source + low + step, more, 0)
                found = tl.load(out + j[:, None] * K + k[None, :], mask & more[:, None], largest + 1)
                near = tl.minimum(near, found)
            # What another thread writes in this round is r, which is not below r.
            tl.store(place, tl.where((near < r) & (d > r), r, d), mask)
        tl.debug_barrier()


def fits(nodes: Segments, targets: Segments) -> bool:
    """Whether the graphs are small enough for one program each."""
    return nodes.start is not None and targets.start is not None and len(nodes.index) <= MEAN_SIZE * nodes.size


def smooth_noise(
    noise_key: NoiseKey, node_key: Tensor, rounds: int, sources: Segments, targets: Segments, nodes: Segments
) -> Tensor:
    """See :func:`pfgnn.ops.candidates.smooth_noise`."""
    signal, other = torch.empty(2, len(node_key), dtype=torch.int64, device=node_key.device)
    with torch.cuda.device_of(signal):
        smooth_rounds[(nodes.size,)](
            noise_key.key.contiguous(), node_key.contiguous(), signal, other, sources.index, targets.start, nodes.start,
            noise_key.step, noise_key.purpose, rounds, **_tile(nodes, 1),
        )  # fmt: skip
    return other if rounds % 2 else signal


def distances(
    vertices: Tensor, valid: Tensor, largest: int, sources: Segments, targets: Segments, nodes: Segments
) -> Tensor:
    """See :func:`pfgnn.ops.distance.distances`."""
    G, K, V = vertices.shape
    out = vertices.new_empty(len(nodes.index), K)
    P = min(16, triton.next_power_of_2(K))
    with torch.cuda.device_of(out):
        distance_rounds[(G, triton.cdiv(K, P))](
            vertices.contiguous(), valid.contiguous(), sources.index, targets.start, nodes.start, out, K, V, largest,
            P=P, **_tile(nodes, P),
        )  # fmt: skip
    return out


def _tile(nodes: Segments, columns: int) -> dict[str, int]:
    """How many nodes a program handles at once, and with how many warps."""
    B = min(512 // columns, max(16, triton.next_power_of_2(2 * len(nodes.index) // max(1, nodes.size))))
    return {"B": B, "num_warps": max(1, min(8, B * columns // 64))}
