import math
from typing import Any

import pytest
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, PFGNN, MaxParticle, MeanParticle, PerParticle, SoftResampling
from pfgnn.model.belief import Belief
from pfgnn.model.chunks import Chunks
from pfgnn.model.per_particle import own_particles
from pfgnn.model.randomness import make_noise
from pfgnn.model.readout import Readout, embedding
from pfgnn.ops.weights import normalise

GRAPH = GraphBatch.from_tensors(None, torch.zeros(2, 0, dtype=torch.int64), None, torch.tensor([0, 0, 0, 1, 1]))
KINDS: list[type[Readout]] = [MeanParticle, PerParticle, MaxParticle]


def random_belief(K: int = 4) -> Belief:
    return Belief(torch.randn(5, K, 3), normalise(torch.randn(2, K)), None)


def pooled(H: Tensor) -> Tensor:
    """Sums over the nodes of both graphs."""
    return torch.stack([H[:3].sum(0), H[3:].sum(0)])


def test_moments_are_the_weighted_sums() -> None:
    belief = random_belief()
    w = belief.weights[GRAPH.batch][..., None]
    mean, square = (w * belief.embeddings).sum(1), (w * belief.embeddings**2).sum(1)
    torch.testing.assert_close(MeanParticle(3, 1, 2).moments(belief, GRAPH), mean)
    torch.testing.assert_close(
        MeanParticle(3, 1, 2, second_moment=True).moments(belief, GRAPH), torch.cat([mean, square], -1)
    )


def test_each_particle_is_read_by_itself() -> None:
    belief, readout = random_belief(), PerParticle(3, 1, 2, scale=0.5)
    parts = readout.parts[1](0.5 * pooled(readout.nodes[1](belief.embeddings).relu())).relu()
    reading = readout.read(1, belief, GRAPH)
    torch.testing.assert_close(reading.features, torch.einsum("gk,gkd->gd", belief.weights, parts))
    torch.testing.assert_close(reading.parts, parts)


def test_the_largest_particle() -> None:
    belief = random_belief()
    relative = belief.weights / belief.weights.amax(1, keepdim=True)
    want = (relative[..., None] * pooled(belief.embeddings)).amax(1)
    torch.testing.assert_close(MaxParticle(3, 1, 2, pool="sum").read(1, belief, GRAPH).features, want)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", ["graph", "node"])
def test_equal_particles_are_read_once(kind: type[Readout], level: str) -> None:
    belief = Belief(torch.randn(5, 1, 3), normalise(torch.zeros(2, 4)), None)
    spread = belief._replace(embeddings=belief.embeddings.expand(-1, 4, -1))
    readout = kind(3, 1, 2, level=level)
    torch.testing.assert_close(readout.read(0, belief, GRAPH).features, readout.read(0, spread, GRAPH).features)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_particles_does_not_matter(kind: type[Readout]) -> None:
    belief, order, readout = random_belief(), [3, 1, 0, 2], kind(3, 1, 2)
    turned = Belief(belief.embeddings[:, order], belief.log_weights[:, order], None)
    torch.testing.assert_close(readout.read(1, turned, GRAPH).features, readout.read(1, belief, GRAPH).features)


@pytest.mark.parametrize(("pool", "by_hand"), [("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)])
def test_pooling(pool: str, by_hand: object) -> None:
    belief, readout = random_belief(K=1), MeanParticle(3, 1, 2, pool=pool)
    assert callable(by_hand)
    features = readout.read(1, belief, GRAPH).features
    torch.testing.assert_close(features[1], by_hand(belief.embeddings[3:, 0], 0))
    assert embedding([readout.read(t, belief, GRAPH) for t in (0, 1)]).shape == (2, 6)


@pytest.mark.parametrize("kind", KINDS)
def test_node_level_does_not_pool(kind: type[Readout]) -> None:
    readout = kind(3, 1, 2, level="node")
    assert readout([readout.read(t, random_belief(), GRAPH) for t in (0, 1)]).shape == (5, 2)


def test_at_node_level_a_vertex_is_read_with_the_mark_on_itself_if_there_is_one() -> None:
    belief, readout = random_belief(K=3), PerParticle(3, 1, 2, level="node")
    vertices = torch.tensor([[[0], [2], [0]], [[4], [4], [4]]])  # vertices 1 and 3 are individualised by no particle
    own = torch.zeros(5, 3)
    for node, particles in ((0, [0, 2]), (2, [1]), (4, [0, 1, 2])):
        w = belief.weights[GRAPH.batch[node], particles]
        own[node] = (w / w.sum()) @ belief.embeddings[node, particles]
    marked = torch.tensor([True, False, True, False, True])
    summed, total = own_particles(belief.embeddings, belief.log_weights, vertices, GRAPH)
    torch.testing.assert_close(summed[marked] / total[marked], own[marked])
    assert (total > 0).squeeze(1).equal(marked)
    mean = torch.einsum("nk,nkd->nd", belief.weights[GRAPH.batch], readout.parts[1](belief.embeddings).relu())
    features = readout.read(1, belief, GRAPH, vertices=vertices).features
    torch.testing.assert_close(features[marked], readout.own[0](own[marked]).relu())
    torch.testing.assert_close(features[~marked], mean[~marked])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("join", [(), (2, 2)])
def test_chunks_of_particles_are_read_as_all_at_once(kind: type[Readout], level: str, join: tuple[int, ...]) -> None:
    readout, belief = kind(3, 1, 2, level=level, join=join).double(), random_belief(K=5)
    layers = [torch.randn(5, 5, 3, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    belief = belief._replace(embeddings=layers[1], log_weights=belief.log_weights.double())
    vertices = torch.tensor([[[0], [2], [0], [1], [2]], [[4], [4], [4], [4], [4]]])
    found = []
    for size in (5, 2, 1):
        features = readout.read(1, belief, GRAPH, layers, vertices, Chunks(5, size)).features
        inputs = [*(layers if join else layers[1:]), *readout.parameters()]
        found.append([features, *torch.autograd.grad(features.sin().sum(), inputs, allow_unused=True)])
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            torch.testing.assert_close(one, same)


def test_joined_layers_are_mapped_to_one() -> None:
    readout = MeanParticle(3, 1, 2, join=(2, 1))
    layers = [torch.randn(5, 4, 3), torch.randn(5, 4, 3)]
    belief = random_belief()
    joined = belief._replace(embeddings=readout.join[0](torch.cat(layers, -1)))
    want = readout.pool(readout.moments(joined, GRAPH), GRAPH)
    torch.testing.assert_close(readout.read(0, belief, GRAPH, layers).features, want)
    model = PFGNN(GIN(4, layers=2), 1, steps=1, readout=PerParticle(4, 1, 1, join=(2, 2)))
    assert model(torch.zeros(3, 0), torch.tensor([[0, 1], [1, 0]])).prediction.shape == (1, 1)
    with pytest.raises(ValueError, match="join must have an entry for each of the 2 refinements, but it has 3 entries"):
        MeanParticle(3, 1, 2, join=(2, 1, 1))


def test_a_particle_left_out() -> None:
    """The others get its weight, in proportion to their own weights."""
    readout, beliefs = PerParticle(3, 2, 2), [random_belief() for _ in range(3)]
    readings = [readout.read(t, belief, GRAPH) for t, belief in enumerate(beliefs)]
    found = readout.without_each(readings, [belief.weights for belief in beliefs[1:]])
    assert found.shape == (2, 2, 5, 2)
    torch.testing.assert_close(found[:, :, -1], readout(readings).expand(2, -1, -1))  # with all particles
    for t, k in ((1, 0), (2, 3)):
        log_w = beliefs[t].log_weights.clone()
        log_w[:, k] = -1e30
        changed = readout.read(t, beliefs[t]._replace(log_weights=log_w.log_softmax(1)), GRAPH)
        torch.testing.assert_close(found[t - 1, :, k], readout([*readings[:t], changed, *readings[t + 1 :]]))
    mean = MeanParticle(3, 1, 2)
    readings = [mean.read(t, beliefs[t], GRAPH) for t in (0, 1)]
    with pytest.raises(ValueError, match="readout must be PerParticle to leave particles out, but it is MeanParticle"):
        mean.without_each(readings, [beliefs[1].weights])


def test_reading_before_or_after_resampling_has_the_same_expectation() -> None:
    """With α = 1 the mean particle after resampling is unbiased for the one before, and has more variance."""
    many = 20_000
    batch = torch.arange(many)
    graph = GraphBatch.from_tensors(None, torch.zeros(2, 0, dtype=torch.int64), None, batch)
    one = random_belief()
    belief = Belief(one.embeddings[:1].expand(many, -1, -1), one.log_weights[:1].expand(many, -1), None)
    readout = MeanParticle(3, 1, 2)
    before = readout.moments(belief, graph)[0]
    resampled, _ = SoftResampling(1.0)(belief, make_noise(0, batch, torch.zeros_like(batch), graph.nodes), 1)
    after = readout.moments(resampled, graph)
    assert ((after.mean(0) - before).abs() < 4.5 * after.std(0) / math.sqrt(many)).all()
    assert (after.std(0) > 0.1).all()


@pytest.mark.parametrize("join", [3, "23"])
def test_joined_layers_are_told_as_a_sequence(join: Any) -> None:
    with pytest.raises(TypeError, match=f"join must be a sequence of ints, but it is {join!r}"):
        PerParticle(3, 1, 2, join=join)


def test_unknown_options() -> None:
    with pytest.raises(ValueError, match="pool must be one of sum, mean, max, but it is 'median'"):
        MeanParticle(3, 1, 2, pool="median")
    with pytest.raises(ValueError, match="level must be one of graph, node, but it is 'edge'"):
        PerParticle(3, 1, 2, level="edge")
