"""The training loop: how long, what is kept, what stops it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.training.training_samples import CONFIG, graphs, lines, off_the_kinks, trainer, weights
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.model.norms import BatchNorm
from pfgnn.training import loop
from pfgnn.training.checkpoint_file import BEST, LAST, owned, read_checkpoint
from pfgnn.training.config import ScheduleConfig
from pfgnn.training.evaluate import predict
from pfgnn.training.loop import Trainer
from pfgnn.training.metrics import log_loss
from pfgnn.training.metrics_file import Status
from pfgnn.training.seeds import evaluation_seed, training_seed
from pfgnn.training.validate import Validation

TARGET = Task("graph", 1, "l1", "mae")


def scripted(of: Trainer, values: list[float], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Tensor]]:
    """Let the validations come out as told; the weights at each of them are put into the list returned."""
    seen: list[dict[str, Tensor]] = []

    def score(self: Validation) -> float | None:
        if self.examples.validation is None:
            return None
        seen.append(weights(of))
        return values[len(seen) - 1]

    monkeypatch.setattr(Validation, "score", score)
    return seen


@pytest.mark.parametrize(
    ("length", "updates", "epochs"),
    [({"epochs": 3}, 6, 3), ({"epochs": None, "updates": 5}, 5, 3), ({"epochs": None, "updates": 1}, 1, 1)],
)
def test_training_by_epochs_and_by_updates(tmp_path: Path, length: dict[str, Any], updates: int, epochs: int) -> None:
    of = trainer(tmp_path, replace(CONFIG, **length))
    of.train()
    assert (of.state.update, of.state.epoch, of.state.finished) == (updates, epochs, True)
    assert [line["update"] for line in lines(tmp_path)] == [min(2 * n, updates) for n in range(1, epochs + 1)]


def test_copies_lengthen_an_epoch(tmp_path: Path) -> None:
    of = trainer(tmp_path, replace(CONFIG, copies=3))
    assert (len(of.loader), of.updates) == (6, 24)
    keys = torch.cat([batch.tensors()["graph_key"] for batch in of.loader.epoch(0)])
    assert keys.bincount().tolist() == [3] * 16


def test_validations_are_so_many_epochs_apart_and_the_last_is_at_the_end(tmp_path: Path) -> None:
    trainer(tmp_path, replace(CONFIG, epochs=5, validate_every=2)).train()
    assert [line["epoch"] for line in lines(tmp_path)] == [2, 4, 5]


def test_the_best_weights_are_kept_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equals the later."""
    of = trainer(tmp_path, CONFIG)
    seen = scripted(of, [0.5, 0.9, 0.9, 0.1], monkeypatch)
    of.train()
    assert (of.state.best, of.state.best_update, of.state.waited) == (0.9, 6, 2)
    last = weights(of)
    assert of.load_best() == "best"
    for name, tensor in weights(of).items():
        assert torch.equal(tensor, seen[2][name])
    assert not all(torch.equal(tensor, seen[2][name]) for name, tensor in last.items())
    assert read_checkpoint(tmp_path / BEST).state["run"]["update"] == 6


def test_the_units_of_several_targets_do_not_decide_which_weights_are_best(tmp_path: Path) -> None:
    """Errors are divided by the deviation of the training targets, if these are standardised."""
    scores = []
    for units in (1.0, 1000.0):
        dataset = graphs(task=Task("graph", 2, "l1", "mae"))
        scaled = replace(dataset, y=dataset.y * np.array([1.0, units]))
        of = trainer(tmp_path / str(units), replace(CONFIG, standardise=True), scaled)
        scores.append(of.validation.score())
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)
    assert scores[0] is not None
    assert scores[0] < 10


def test_classes_can_be_selected_by_their_log_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path, replace(CONFIG, select="log_loss"))
    held = of.examples.validation
    assert held is not None
    assert of.validation.score() == log_loss(
        predict(of.forward, of.examples.data, held, of.draws, 0), of.examples.y(held)
    )
    scripted(of, [0.7, 0.5, 0.6, 0.55], monkeypatch)
    of.train()
    assert (of.state.best, of.state.best_update) == (0.5, 4)
    with pytest.raises(InputError, match=r"training\.select must be metric for the loss l1, but it is log_loss"):
        trainer(tmp_path, replace(CONFIG, select="log_loss"), graphs(task=TARGET))


def test_small_errors_are_the_best_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path, CONFIG, graphs(task=TARGET))
    scripted(of, [5.0, 4.0, 6.0, 4.5], monkeypatch)
    of.train()
    assert (of.state.best, of.state.best_update) == (4.0, 4)


def test_without_validation_the_last_weights_are_kept(tmp_path: Path) -> None:
    of = trainer(tmp_path, CONFIG)
    of.validation = replace(of.validation, examples=of.examples._replace(validation=None))
    of.train()
    last = weights(of)
    assert of.load_best() == "last"
    assert all(torch.equal(tensor, last[name]) for name, tensor in weights(of).items())
    assert not (tmp_path / BEST).exists()
    assert {line["validation"] for line in lines(tmp_path)} == {None}


def test_patience_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path, replace(CONFIG, epochs=20, patience=2))
    scripted(of, [0.1, 0.5, 0.4, 0.6, 0.5, 0.6, 0.5] + [0.0] * 13, monkeypatch)
    of.train()
    assert of.state.epoch == 7  # three in a row, more than its patience, without improvement
    assert of.state.best_update == 12  # an equal one is none, yet it is kept


def test_a_schedule_at_its_end_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = ScheduleConfig("plateau", patience=0, min_lr=5e-3, stop_at_min=True)
    of = trainer(tmp_path, replace(CONFIG, epochs=20, schedule=schedule))
    scripted(of, [0.5] * 20, monkeypatch)
    of.train()
    assert [line["learning_rate"] for line in lines(tmp_path)] == [0.01, 0.01, 0.005]  # of its updates


def test_without_validation_the_schedule_follows_the_loss(tmp_path: Path) -> None:
    of = trainer(tmp_path, replace(CONFIG, schedule=ScheduleConfig("plateau")))
    of.validation = replace(of.validation, examples=of.examples._replace(validation=None))
    of.train()
    assert of.schedule.state()["best"] == min(line["loss"] for line in lines(tmp_path))


def test_every_update_has_its_own_rate_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path, replace(CONFIG, schedule=ScheduleConfig("one_cycle")), seed=3)
    step: Callable[..., object] = of.step
    rates, seeds = [], []

    def watched(batch: GraphBatch, seed: Tensor, share: None) -> None:
        rates.append(of.optimiser.param_groups[0]["lr"])
        seeds.append(int(seed))
        step(batch, seed, share)

    monkeypatch.setattr(of, "step", watched)
    of.train()
    assert rates == [of.schedule.rate(update) for update in range(8)]
    assert seeds == [training_seed(3, update) for update in range(8)]
    assert max(rates) == pytest.approx(0.01, rel=0.05)


def test_seeds_of_training_and_evaluation_never_meet() -> None:
    trained = [training_seed(seed, update) for seed in (0, 1, 2**31 - 1) for update in (0, 2**32 - 1)]
    tested = [evaluation_seed(seed) + draw for seed in (0, 1, 2**31 - 1) for draw in (0, 2**20)]
    assert len({*trained, *tested}) == 12
    assert min(trained) >= 0 > max(tested)
    assert max(trained) < 2**63
    assert min(tested) >= -(2**63)


def test_the_line_says_the_means_since_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path, CONFIG)
    before, each = torch.zeros_like(of.sums), []
    step: Callable[..., object] = of.step

    def watched(*arguments: object) -> None:
        before.copy_(of.sums)
        step(*arguments)
        each.append((of.sums - before).tolist())

    monkeypatch.setattr(of, "step", watched)
    of.train()
    for number, line in enumerate(lines(tmp_path)):
        pair = each[2 * number : 2 * number + 2]
        for place, name in enumerate(("loss", "policy_loss", "ess", "entropy")):
            assert line[name] == pytest.approx(np.mean([values[place] for values in pair]))
        assert 1 <= line["ess"] <= 3
        assert 0 < line["entropy"] < 10


def test_reports_between_validations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_REPORTS", 0.0)
    seen: list[Status] = []
    trainer(tmp_path, replace(CONFIG, epochs=2), report=seen.append).train()
    assert [(s.update, s.validation is None) for s in seen] == [
        *[(1, True), (2, True), (2, False)],
        *[(3, True), (4, True), (4, False)],
    ]


def test_targets_are_scaled_by_the_training_part_and_mapped_back(tmp_path: Path) -> None:
    """The same weights come from y and from 1000 y + 50,000, and the error is in y's own units."""
    y = np.random.default_rng(1).normal(0, 1, (20, 1))
    y[16:] += 100  # the validation part must not count
    made = replace(CONFIG, standardise=True)
    plain, far = (
        trainer(tmp_path / name, made, replace(graphs(task=TARGET), y=targets))
        for name, targets in (("plain", y), ("far", 1000 * y + 5e4))
    )
    assert plain.scaler is not None
    assert plain.scaler.mean.item() == pytest.approx(y[:16].mean())
    assert plain.scaler.std.item() == pytest.approx(y[:16].std())
    for of in (plain, far):
        of.train()
    for one, other in zip(lines(tmp_path / "plain"), lines(tmp_path / "far"), strict=True):
        assert other["loss"] == pytest.approx(one["loss"], rel=1e-4)
        assert other["validation"] == pytest.approx(1000 * one["validation"], rel=1e-4)
    assert far.examples.validation is not None
    prediction = predict(far.forward, far.examples.data, far.examples.validation, far.draws, 0)
    assert far.scaler is not None
    error = np.abs(far.scaler.unscale(prediction).numpy() - (1000 * y[16:] + 5e4)).mean()
    assert lines(tmp_path / "far")[-1]["validation"] == pytest.approx(error)
    target = owned("target", read_checkpoint(tmp_path / "far" / LAST).tensors)
    assert (target["mean"], target["std"]) == far.scaler


def test_particles_that_do_not_fit_are_computed_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not Adam, which makes as much of a rounding error as of a gradient, where that is zero.
    config = replace(CONFIG, optimiser="sgd", epochs=2)
    whole, tight = trainer(tmp_path / "whole", config), trainer(tmp_path / "tight", config)
    for of in (whole, tight):
        off_the_kinks(of.model)
    chunks: list[int | None] = []
    forward = tight.model.forward

    def small(*a: Any, chunk: int | None, **k: Any) -> Any:
        chunks.append(chunk)
        if chunk is None or chunk > 1:
            raise torch.OutOfMemoryError
        return forward(*a, chunk=chunk, **k)

    monkeypatch.setattr(tight.forward, "_predict", whole.forward._predict)  # of equal weights, and never in turns
    monkeypatch.setattr(tight.model, "forward", small)
    whole.train()
    with pytest.warns(UserWarning, match="particles at a time do not fit") as warned:
        tight.train()
    assert len(warned) == 2  # from 3 to 2, from 2 to 1
    assert chunks[:4] == [None, 2, 1, 1]
    for name, tensor in weights(whole).items():
        torch.testing.assert_close(weights(tight)[name], tensor)


def test_memory_that_is_too_small_for_one_particle_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = trainer(tmp_path)

    def none(*a: Any, **k: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(of.model, "forward", none)
    with pytest.raises(MemoryError, match="a batch does not fit"), pytest.warns(UserWarning, match="do not fit"):
        of.train()


def test_a_model_with_batch_norm_is_not_computed_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = trainer(tmp_path)
    of.model.batch_norm = BatchNorm(4)

    def none(*a: Any, **k: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(of.model, "forward", none)
    with pytest.raises(MemoryError, match=r"a smaller training\.batch_size or model\.particles takes less"):
        of.train()
