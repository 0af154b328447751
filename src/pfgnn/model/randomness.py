"""Counter-based random numbers: every draw is a pure function of its key, and no generator has a state.

A key is (seed, graph key, step, purpose, particle, node, feature). So a graph's draws depend neither on its
neighbours in the batch, nor on how many particles are computed at a time, nor on the device.
"""

from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.ops.hashing import fold, mix, uniform
from pfgnn.ops.segments import Segments, make_segments, segment_sum
from pfgnn.ops.weigh import NoiseKey


class Purpose(IntEnum):
    """What a draw is for; distinct purposes never share a draw."""

    VERTEX = 0
    INDIVIDUALISE = 1
    RESAMPLE = 2
    DROPOUT = 3
    PATH = 4


class Noise(NamedTuple):
    """The random numbers of one forward pass, before step, purpose and particle are known.

    Fields: ``graph`` [G], seed and graph key hashed together; ``node`` [N], a key per node, its position in
    its graph unless the caller carried the keys along with a relabelling; ``nodes``, those of each graph.
    """

    graph: Tensor
    node: Tensor
    nodes: Segments

    def key(self, step: int, purpose: Purpose) -> NoiseKey:
        """Where the numbers of one step and purpose come from."""
        return NoiseKey(self.graph, step, int(purpose))

    def per_node(self, step: int, purpose: Purpose, particles: Tensor, draw: int = 0) -> Tensor:
        """Uniform numbers in (0, 1) for particle numbers [K], float64 [N, K]; ``draw`` numbers repeats."""
        keys = self.key(step, purpose).keys_of(particles, draw)  # [G, K]
        return uniform(fold(keys[self.nodes.index], self.node[:, None]))

    def normal_per_particle(self, step: int, purpose: Purpose, particles: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Standard normal numbers for particle numbers [K], float64 [G, K, *shape]."""
        keys = fold(self.key(step, purpose).keys()[:, None], particles)[(..., *(None,) * len(shape))]
        cells = torch.arange(torch.Size(shape).numel(), device=keys.device).view(shape)
        return torch.special.ndtri(uniform(fold(keys, cells)))


def make_noise(seed: int | Tensor, graph_key: Tensor, node_key: Tensor, nodes: Segments) -> Noise:
    """Bind a seed (an int or an int64 scalar), graph keys [G] and node keys [N] into the noise of one pass."""
    return Noise(fold(mix(_check_seed(seed, graph_key.device)), graph_key), node_key, nodes)


def _check_seed(seed: int | Tensor, device: torch.device) -> Tensor:
    if isinstance(seed, Tensor):
        if seed.dtype != torch.int64 or seed.dim():
            raise InputTypeError(
                f"seed must be an int64 scalar, but it has dtype {seed.dtype}, shape {list(seed.shape)}"
            )
        return seed.to(device)
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise InputTypeError(f"seed must be an int, but it is {seed!r}")
    if not -(2**63) <= seed < 2**63:
        raise InputError(f"seed must fit into 64 bits, but it is {seed}")
    return torch.tensor(int(seed), device=device)


def default_graph_key(graph: GraphBatch) -> Tensor:
    """A key per graph from its node count and its edges, whatever their order: [G].

    It makes a graph's draws the same wherever the graph stands in whichever batch.
    """
    owner = graph.batch[graph.edge_index[0]]  # [E]
    source, target = graph.edge_index - graph.first[owner]
    return fold(
        segment_sum(fold(mix(source), target), make_segments(owner, graph.num_graphs, ordered=True)), graph.sizes
    )


def default_node_key(graph: GraphBatch) -> Tensor:
    """Each node's position in its graph: [N]."""
    return torch.arange(len(graph.batch), device=graph.batch.device) - graph.first[graph.batch]
