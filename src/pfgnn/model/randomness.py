"""Counter-based random numbers: every draw is a pure function of its key, without a generator state.

A key is (seed, graph key, step, purpose, particle, node, feature). So the draws of a graph do not depend on the other
graphs of the batch, on how many particles are computed at a time, or on the device.
"""

from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.ops.hashing import fold, mix, uniform
from pfgnn.ops.segments import Segments, make_segments, segment_sum
from pfgnn.ops.weights import NoiseKey


class Purpose(IntEnum):
    """The purpose of a draw. Draws for different purposes have different keys."""

    VERTEX = 0
    INDIVIDUALISE = 1
    RESAMPLE = 2
    DROPOUT = 3
    PATH = 4


class Noise(NamedTuple):
    """The random numbers of one forward pass. Step, purpose and particle are added to the key at each draw.

    Fields:
        graph: Hash of the seed and the graph key, shape [G].
        node: One key per node, shape [N]. By default the node's position in its graph.
        nodes: The nodes of each graph.
    """

    graph: Tensor
    node: Tensor
    nodes: Segments

    def key(self, step: int, purpose: Purpose) -> NoiseKey:
        """The key of all random numbers of one step and purpose."""
        return NoiseKey(self.graph, step, int(purpose))

    def per_node(self, step: int, purpose: Purpose, particles: Tensor, draw: int = 0) -> Tensor:
        """Uniform random numbers in (0, 1), one per node and particle, float64, shape [N, K].

        Args:
            step: t.
            purpose: What the numbers are for.
            particles: Numbers of the particles, shape [K].
            draw: Number of the draw, if there are several of the same step and purpose.
        """
        keys = self.key(step, purpose).keys_of(particles, draw)  # [G, K]
        return uniform(fold(keys[self.nodes.index], self.node[:, None]))

    def normal_per_particle(self, step: int, purpose: Purpose, particles: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Standard normal random numbers for each graph and particle, float64, shape [G, K, *shape].

        Args:
            step: t.
            purpose: What the numbers are for.
            particles: Numbers of the particles, shape [K].
            shape: Shape of the numbers of one particle.
        """
        keys = fold(self.key(step, purpose).keys()[:, None], particles)[(..., *(None,) * len(shape))]
        cells = torch.arange(torch.Size(shape).numel(), device=keys.device).view(shape)
        return torch.special.ndtri(uniform(fold(keys, cells)))


def make_noise(seed: int | Tensor, graph_key: Tensor, node_key: Tensor, nodes: Segments) -> Noise:
    """Make the noise of one pass.

    Args:
        seed: An int, or an int64 tensor of shape [].
        graph_key: One key per graph, shape [G].
        node_key: One key per node, shape [N].
        nodes: The nodes of each graph.
    """
    return Noise(fold(mix(_check_seed(seed, graph_key.device)), graph_key), node_key, nodes)


def _check_seed(seed: int | Tensor, device: torch.device) -> Tensor:
    if isinstance(seed, Tensor):
        if seed.dtype != torch.int64 or seed.dim():
            raise InputTypeError(
                f"seed must be an int64 scalar, but it has dtype {seed.dtype}, shape {list(seed.shape)}"
            )
        return seed.to(device)
    # torch.compile cannot ask an int for its attributes.
    if isinstance(seed, bool) or not (isinstance(seed, int) or hasattr(seed, "__index__")):
        raise InputTypeError(f"seed must be an int, but it is {seed!r}")
    if not -(2**63) <= seed < 2**63:
        raise InputError(f"seed must fit into 64 bits, but it is {seed}")
    return torch.tensor(int(seed), device=device)


def default_graph_key(graph: GraphBatch) -> Tensor:
    """One key per graph, made from its number of nodes and its edges in any order, shape [G].

    With it, a graph has the same draws at every position of every batch.
    """
    owner = graph.batch[graph.edge_index[0]]  # [E]
    source, target = graph.edge_index - graph.first[owner]
    return fold(
        segment_sum(fold(mix(source), target), make_segments(owner, graph.num_graphs, ordered=True)), graph.sizes
    )


def default_node_key(graph: GraphBatch) -> Tensor:
    """The position of each node in its graph, shape [N]."""
    return torch.arange(graph.num_nodes, device=graph.batch.device) - graph.first[graph.batch]
