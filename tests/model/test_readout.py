import math

import pytest
import torch

from pfgnn.kernels.weigh import normalise
from pfgnn.model import SoftResampling
from pfgnn.model.batch import make_batch
from pfgnn.model.belief import Belief
from pfgnn.model.randomness import make_noise
from pfgnn.model.readout import Readout

GRAPH = make_batch(None, torch.zeros(2, 0, dtype=torch.int64), None, torch.tensor([0, 0, 0, 1, 1]))


def random_belief(K: int = 4) -> Belief:
    return Belief(torch.randn(5, K, 3), normalise(torch.randn(2, K)), None)


def test_moments_are_the_weighted_sums() -> None:
    belief = random_belief()
    w = belief.weights[GRAPH.batch][..., None]
    mean, square = (w * belief.embeddings).sum(1), (w * belief.embeddings**2).sum(1)
    torch.testing.assert_close(Readout(3, 1, 2).moments(belief, GRAPH), mean)
    torch.testing.assert_close(
        Readout(3, 1, 2, second_moment=True).moments(belief, GRAPH), torch.cat([mean, square], -1)
    )


def test_equal_particles_are_read_once() -> None:
    belief = Belief(torch.randn(5, 1, 3), normalise(torch.zeros(2, 4)), None)
    spread = belief._replace(embeddings=belief.embeddings.expand(-1, 4, -1))
    readout = Readout(3, 1, 2, second_moment=True)
    torch.testing.assert_close(readout.moments(belief, GRAPH), readout.moments(spread, GRAPH))


@pytest.mark.parametrize(("pool", "by_hand"), [("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)])
def test_pooling(pool: str, by_hand: object) -> None:
    moments = [torch.randn(5, 3), torch.randn(5, 3)]
    features = Readout(3, 1, 2, pool=pool).features(moments, GRAPH)
    assert callable(by_hand)
    torch.testing.assert_close(features[1], by_hand(torch.cat(moments, -1)[3:], 0))
    assert features.shape == (2, 6)


def test_node_level_does_not_pool() -> None:
    assert Readout(3, 1, 2, level="node")([torch.randn(5, 3), torch.randn(5, 3)], GRAPH).shape == (5, 2)


def test_reading_before_or_after_resampling_has_the_same_expectation() -> None:
    """With α = 1 the mean particle after resampling is unbiased for the one before, and has more variance."""
    many = 20_000
    batch = torch.arange(many)
    graph = make_batch(None, torch.zeros(2, 0, dtype=torch.int64), None, batch)
    one = random_belief()
    belief = Belief(one.embeddings[:1].expand(many, -1, -1), one.log_weights[:1].expand(many, -1), None)
    readout = Readout(3, 1, 2)
    before = readout.moments(belief, graph)[0]
    resampled, _ = SoftResampling(1.0)(belief, make_noise(0, batch, torch.zeros_like(batch), graph.nodes), 1)
    after = readout.moments(resampled, graph)
    assert ((after.mean(0) - before).abs() < 4.5 * after.std(0) / math.sqrt(many)).all()
    assert (after.std(0) > 0.1).all()


def test_unknown_options() -> None:
    with pytest.raises(ValueError, match="pool must be one of sum, mean, max, but it is 'median'"):
        Readout(3, 1, 2, pool="median")
    with pytest.raises(ValueError, match="level must be one of graph, node, but it is 'edge'"):
        Readout(3, 1, 2, level="edge")
