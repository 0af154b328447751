import math

import pytest
import torch
from tests.graph_samples import circulant_edges, random_edges
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model.randomness import Noise, Purpose, default_graph_key, default_node_key, make_noise
from pfgnn.ops.hashing import fold, mix, uniform

PARTICLES = torch.arange(50)


def noise(seed: int = 0, keys: Tensor | None = None, nodes: int = 40) -> Noise:
    graph = GraphBatch.from_tensors(
        torch.zeros(2 * nodes, 0), torch.zeros(2, 0, dtype=torch.int64), None, torch.arange(2).repeat_interleave(nodes)
    )
    return make_noise(seed, torch.tensor([5, 6]) if keys is None else keys, default_node_key(graph), graph.nodes)


def test_mix_is_splitmix64() -> None:
    # The generator's first outputs from state 0, computed with Python's unbounded integers.
    def reference(z: int) -> int:
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    states = [0x9E3779B97F4A7C15 * (i + 1) % 2**64 for i in range(100)]
    signed = torch.tensor([s - 2**64 if s >= 2**63 else s for s in states])
    assert [int(z) % 2**64 for z in mix(signed)] == [reference(s) for s in states]
    assert [int(fold(torch.zeros((), dtype=torch.int64), i)) % 2**64 for i in range(100)] == [
        reference(s) for s in states
    ]


def test_uniform_by_kolmogorov_smirnov() -> None:
    u = uniform(fold(torch.zeros(1, dtype=torch.int64), torch.arange(100_000))).sort().values
    assert u[0] > 0
    assert u[-1] < 1
    distance = (u - (torch.arange(100_000) + 0.5) / 100_000).abs().max()
    assert distance < 1.95 / math.sqrt(100_000)  # p = 0.001


@pytest.mark.parametrize("axis", ["graph", "node", "particle", "step", "purpose", "draw", "seed"])
def test_keys_that_differ_in_one_part_give_independent_draws(axis: str) -> None:
    base = noise().per_node(1, Purpose.VERTEX, PARTICLES)
    other = {
        "graph": noise(keys=torch.tensor([7, 8])).per_node(1, Purpose.VERTEX, PARTICLES),
        "node": base.roll(1, 0),
        "particle": noise().per_node(1, Purpose.VERTEX, PARTICLES + 1),
        "step": noise().per_node(2, Purpose.VERTEX, PARTICLES),
        "purpose": noise().per_node(1, Purpose.RESAMPLE, PARTICLES),
        "draw": noise().per_node(1, Purpose.VERTEX, PARTICLES, draw=1),
        "seed": noise(seed=1).per_node(1, Purpose.VERTEX, PARTICLES),
    }[axis]
    assert not (base == other).any()
    correlation = torch.corrcoef(torch.stack([base.flatten(), other.flatten()]))[0, 1]
    assert abs(correlation) < 4 / math.sqrt(base.numel())


def test_a_particle_draws_the_same_in_any_chunk() -> None:
    whole = noise().per_node(1, Purpose.VERTEX, PARTICLES)
    parts = [noise().per_node(1, Purpose.VERTEX, part) for part in torch.split(PARTICLES, 7)]
    assert torch.equal(whole, torch.cat(parts, 1))


def test_normal_numbers_have_the_moments_of_a_normal() -> None:
    z = noise().normal_per_particle(1, Purpose.INDIVIDUALISE, torch.arange(1000), (1, 50))
    assert z.shape == (2, 1000, 1, 50)
    assert abs(float(z.mean())) < 4 / math.sqrt(z.numel())
    assert abs(float(z.square().mean()) - 1) < 4 * math.sqrt(2 / z.numel())


def test_no_global_state() -> None:
    before = torch.random.get_rng_state()
    noise().per_node(1, Purpose.VERTEX, PARTICLES)
    assert torch.equal(before, torch.random.get_rng_state())


def test_default_key_ignores_edge_order_and_batch_but_not_the_graph() -> None:
    ring, other = circulant_edges(9, 1), random_edges(9, 9)

    def key(*edges: Tensor) -> list[int]:
        joined = torch.cat([e + 9 * i for i, e in enumerate(edges)], 1)
        batch = torch.arange(len(edges)).repeat_interleave(9)
        return default_graph_key(GraphBatch.from_tensors(None, joined, None, batch)).tolist()

    [alone] = key(ring)
    assert key(other, ring)[1] == alone
    assert key(ring[:, torch.randperm(18)]) == [alone]
    assert key(other) != [alone]
    assert key(torch.zeros(2, 0, dtype=torch.int64)) != [alone]
    bare = GraphBatch.from_tensors(
        None, torch.zeros(2, 0, dtype=torch.int64), None, torch.tensor([0, 0, 0, 1, 1, 1, 1])
    )
    assert default_graph_key(bare).unique().numel() == 2  # the number of nodes counts, too


@pytest.mark.parametrize(
    ("seed", "error", "sentence"),
    [
        (1.7, TypeError, "seed must be an int, but it is 1.7"),
        (True, TypeError, "seed must be an int, but it is True"),
        ("1", TypeError, "seed must be an int, but it is '1'"),
        (2**63, ValueError, "seed must fit into 64 bits, but it is 9223372036854775808"),
        (-(2**63) - 1, ValueError, "seed must fit into 64 bits, but it is -9223372036854775809"),
        (torch.tensor(1.5), TypeError, "seed must be an int64 scalar, but it has dtype torch.float32"),
        (torch.tensor([1, 2]), TypeError, r"seed must be an int64 scalar, but it has dtype torch.int64, shape \[2\]"),
    ],
)
def test_seeds_that_are_none(seed: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        noise(seed=seed)  # type: ignore[arg-type]


def test_the_least_and_the_largest_seed() -> None:
    least, largest = noise(seed=-(2**63)), noise(seed=2**63 - 1)
    assert not torch.equal(least.graph, largest.graph)
