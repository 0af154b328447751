"""Predictions in the order of the graphs, and the scores of several draws."""

import numpy as np
import pytest
import torch
from tests.experiments.run_samples import NODES
from tests.training.training_samples import CLASSES, graphs
from torch import Tensor

from pfgnn.data.loader import Resident
from pfgnn.data.relabel import sort_keys
from pfgnn.data.task import Task
from pfgnn.model import GIN, PFGNN, Distinct, Independent
from pfgnn.training import evaluate as module
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.evaluate import Draws, Forward, evaluate, predict

TARGETS = Task("graph", 2, "l1", "mae")
ALL = np.arange(20)


def model(level: str = "graph") -> PFGNN:
    torch.manual_seed(0)
    return PFGNN.paper(GIN(8, layers=1), 2, steps=2, particles=3, level=level)


def drawn(draws: Draws, number: int = 0, chosen: np.ndarray[tuple[int], np.dtype[np.int64]] = ALL) -> Tensor:
    return predict(Forward(model(), open_devices("cpu")), Resident(graphs()), chosen, draws, number)


def test_a_draw_depends_on_seed_and_number_alone() -> None:
    want = drawn(Draws(7), 3)
    assert torch.equal(drawn(Draws(7), 3), want)
    assert torch.equal(drawn(Draws(8), 2), want)  # the seeds follow each other
    assert not torch.allclose(drawn(Draws(7), 4), want)


def test_a_graph_is_predicted_the_same_in_any_batch_and_place() -> None:
    want = drawn(Draws(7))
    order = np.random.default_rng(0).permutation(20)
    torch.testing.assert_close(drawn(Draws(7, batch_size=3), chosen=order), want[order])


def test_particles_at_test_differ_from_those_of_training() -> None:
    asked: list[int | None] = []
    own = model()
    forward = own.forward
    own.forward = lambda *a, particles, **k: (asked.append(particles), forward(*a, particles=particles, **k))[1]  # type: ignore
    data, devices = Resident(graphs()), open_devices("cpu")
    one, many, same = (predict(Forward(own, devices, K), data, ALL, Draws(7), 0) for K in (None, 16, 3))
    assert asked == [None, 16, 3]
    assert torch.equal(one, same)
    assert not torch.allclose(one, many)


def test_a_prediction_computes_no_more_particles_than_there_are_paths() -> None:
    asked: list[int | None] = []
    torch.manual_seed(0)
    own = PFGNN(GIN(8, layers=1), 2)
    forward = own.forward
    own.forward = lambda *a, particles, **k: (asked.append(particles), forward(*a, particles=particles, **k))[1]  # type: ignore
    data, devices = Resident(graphs()), open_devices("cpu")
    all_paths = predict(Forward(own, devices, 1000), data, ALL, Draws(7), 0)
    few = predict(Forward(own, devices, 2), data, ALL, Draws(7), 0)
    largest = int(data.node_counts.max())
    assert asked == [largest, 2]
    asked.clear()
    own.sample = Independent()  # which draws a path twice, so more particles never come to an end
    predict(Forward(own, devices, 1000), data, ALL, Draws(7), 0)
    assert asked == [1000]
    own.sample = Distinct()
    with torch.no_grad():
        whole = own.eval()(Resident(graphs()).collate(ALL), particles=1000).prediction
    torch.testing.assert_close(all_paths, whole)
    assert not torch.allclose(all_paths, few)


def test_node_level_has_a_row_a_node_in_the_order_of_the_graphs() -> None:
    data, forward = Resident(graphs(task=NODES)), Forward(model("node"), open_devices("cpu"))
    chosen = np.array([5, 2, 9])
    found = predict(forward, data, chosen, Draws(7, batch_size=2), 0)
    one_by_one = [predict(forward, data, chosen[i : i + 1], Draws(7), 0) for i in range(3)]
    torch.testing.assert_close(found, torch.cat(one_by_one))
    assert len(found) == data.node_counts[chosen].sum()


def test_relabelling_is_drawn_anew_and_again_the_same() -> None:
    plain, want = drawn(Draws(7)), drawn(Draws(7, relabel=True))
    assert torch.equal(drawn(Draws(7, relabel=True)), want)
    assert not torch.allclose(plain, want)


@pytest.mark.parametrize("level", ["graph", "node"])
def test_a_relabelling_does_not_depend_on_the_device_of_a_graph(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Resident(graphs(task=NODES if level == "node" else CLASSES))

    def found(rank: int, world: int) -> Tensor:
        forward = Forward(model(level), Devices(torch.device("cpu"), rank=rank, world=world))
        return predict(forward, data, ALL, Draws(7, relabel=True, batch_size=3), 2)

    monkeypatch.setattr(module, "gather_rows", lambda devices, rows: [rows])  # each process returns its own rows
    alone = found(0, 1).split(data.node_counts.tolist() if level == "node" else 1)
    for rank in range(3):
        torch.testing.assert_close(found(rank, 3), torch.cat(alone[rank::3]))
    assert not torch.allclose(
        torch.cat(alone), predict(Forward(model(level), open_devices("cpu")), data, ALL, Draws(7), 2)
    )


def test_keys_drawn_in_parts_are_those_drawn_at_once() -> None:
    whole, parts = np.random.default_rng(0), np.random.default_rng(0)
    assert sort_keys(12, whole).tolist() == [key for size in (5, 0, 7) for key in sort_keys(size, parts).tolist()]


def test_at_node_level_a_relabelled_prediction_comes_back_to_its_node() -> None:
    torch.manual_seed(0)
    data = Resident(graphs(task=NODES))
    exact = PFGNN(GIN(4, layers=1), 2, particles=int(data.node_counts.max()), level="node").eval()
    plain, relabelled = (
        predict(Forward(exact, open_devices("cpu")), data, ALL, Draws(7, relabel=shuffled), 0)
        for shuffled in (False, True)
    )
    torch.testing.assert_close(relabelled, plain)
    assert len(plain.unique(dim=0)) > 1


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_the_model_is_kept(training: bool) -> None:
    own = model().train(training)
    seen: list[bool] = []
    own.register_forward_hook(lambda module, inputs, output: seen.append(module.training))
    predict(Forward(own, open_devices("cpu")), Resident(graphs()), ALL, Draws(0), 0)
    assert (seen, own.training) == ([False], training)


def test_the_mean_of_the_scores_and_their_spread() -> None:
    y = torch.tensor([[0.0, 0.0], [0.0, 0.0]])
    draws = [torch.full((2, 2), 1.0), torch.full((2, 2), -2.0), torch.tensor([[3.0, 5.0]] * 2)]
    found = evaluate(draws, y, TARGETS, average=False)
    assert found.metric == "mae"
    assert found.draws == [1, 2, 4]
    assert found.value == found.scores["mae"] == pytest.approx(7 / 3)
    assert found.std == pytest.approx((((1 - 7 / 3) ** 2 + (2 - 7 / 3) ** 2 + (4 - 7 / 3) ** 2) / 2) ** 0.5)
    assert found.scores["mae/1"] == pytest.approx(8 / 3)
    assert found.spread == pytest.approx(((19 / 3 + 37 / 3) / 2) ** 0.5)  # variances of 1, -2, 3 and of 1, -2, 5


def test_the_score_of_the_mean_prediction() -> None:
    y = torch.tensor([[0.0, 0.0]])
    draws = [torch.full((1, 2), 1.0), torch.full((1, 2), -2.0)]
    found = evaluate(draws, y, TARGETS, average=True)
    assert found.value == found.scores["mae"] == 0.5
    assert found.draws == [1, 2]
    assert found.std == pytest.approx(0.5**0.5)


def test_one_draw_has_no_spread() -> None:
    found = evaluate([torch.tensor([[1.0, 0.0], [1.0, 0.0]])], torch.tensor([[0], [1]]), CLASSES, average=False)
    assert (found.value, found.std, found.spread, found.draws) == (0.5, 0.0, 0.0, [0.5])
