"""The demo in small: the full one is `make demo`."""

import itertools
from dataclasses import replace

import pytest
import torch

from pfgnn.experiments.demo import Batches, DemoResult, run_demo
from pfgnn.experiments.demo_config import SKIPS, DemoConfig
from pfgnn.graphs import is_isomorphic, wl_equivalent
from pfgnn.model import GIN, PFGNN
from pfgnn.training import Objective

SMALL = DemoConfig(nodes=41, width=8, layers=1, steps=1, particles=2, updates=2, copies=1, test_copies=1, draws=6)


@pytest.fixture(scope="module")
def result() -> DemoResult:
    return run_demo(SMALL, lambda *_: None)


def test_the_classes_are_one_to_1_wl_and_ten_to_isomorphism() -> None:
    for left, right in itertools.combinations(Batches(41, 0, 0).graphs, 2):
        assert wl_equivalent(left, right)
        assert not is_isomorphic(left, right)


def test_batches_are_fresh_and_follow_from_the_seed() -> None:
    first, again, other = Batches(41, 0, 0), Batches(41, 0, 0), Batches(41, 0, 1)
    edges = first.draw(2)[0]
    assert torch.equal(edges, again.draw(2)[0])
    assert not torch.equal(edges, first.draw(2)[0])
    assert not torch.equal(edges, other.draw(2)[0])


def test_gin_is_at_chance_whatever_it_learns(result: DemoResult) -> None:
    gin, pf = result.rows
    assert gin.accuracy == 1 / len(SKIPS)
    assert gin.different_pairs == (0, 45)
    assert gin.isomorphic_pairs == (0, 60)
    assert pf.different_pairs[1] == 45
    assert len(pf.curve) == SMALL.updates


@pytest.mark.parametrize("name", ["steps", "particles", "updates"])
def test_bad_settings_fail_before_the_training(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, but it is 0"):
        replace(SMALL, **{name: 0})


@pytest.mark.parametrize(("name", "value"), [("seed", -1), ("seed", 2**63), ("particles", 10**12)])
def test_settings_out_of_range_are_named(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must"):
        replace(SMALL, **{name: value})


def test_it_repeats_bit_for_bit(result: DemoResult) -> None:
    again = run_demo(SMALL, lambda *_: None)
    assert [row.curve for row in again.rows] == [row.curve for row in result.rows]
    for p, q in zip(result.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(p, q)


@pytest.mark.slow
def test_pfgnn_learns_two_classes() -> None:
    """Integration: a few dozen updates are enough to tell two circulants apart, fresh copies included."""
    torch.manual_seed(0)
    model, batches = PFGNN.paper(GIN(32), 10, steps=2, particles=8), Batches(41, 0, 0)
    batches.graphs = [batches.graphs[i % 2 * 8] for i in range(10)]  # skips 2 and 13, five times each
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        edge_index, batch, classes = batches.draw(1)
        output = model(None, edge_index, batch=batch)
        losses = torch.nn.functional.cross_entropy(output.prediction, classes % 2, reduction="none")
        optimiser.zero_grad()
        Objective()(losses, output.trace).total.backward()
        optimiser.step()
    model.eval()
    edge_index, batch, classes = batches.draw(4)
    with torch.no_grad():
        accuracy = (model(None, edge_index, batch=batch).prediction.argmax(1) == classes % 2).double().mean()
    assert accuracy > 0.9  # other machines train other weights; with each of 12 seeds 40 updates were enough for 1
