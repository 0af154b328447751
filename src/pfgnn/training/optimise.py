"""Optimisers and learning rate schedules."""

import inspect
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn, optim

from pfgnn.training.config import ScheduleConfig, TrainingConfig

WARM_UP = 0.3  # share of all updates in which a one-cycle schedule rises
START, END = 1 / 25, 1e-6  # first and last rate of a one-cycle schedule, relative to the peak


def _without_guards(kind: type[optim.Optimizer]) -> type[optim.Optimizer]:
    """The same optimiser without what keeps torch's compiler away from it.

    These guards import the compiler, which takes seconds before the first update. Nothing compiles an optimiser here.
    """
    guarded = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in guarded}
    return type(kind.__name__, (kind,), methods | {"step": torch.no_grad()(inspect.unwrap(kind.step))})


OPTIMISERS = {
    "adam": _without_guards(optim.Adam),
    "adamw": _without_guards(optim.AdamW),
    "sgd": _without_guards(optim.SGD),
}


def make_optimiser(parameters: Iterable[nn.Parameter], config: TrainingConfig, device: torch.device) -> optim.Optimizer:
    """The optimiser that ``config`` names.

    On a GPU, Adam and AdamW are fused and can be captured by a CUDA graph, and the learning rate is a tensor. The
    parameters are sorted by size: a fused kernel updates some thirty of them, and takes as long as the largest one
    needs. So it is best if the large ones share a kernel.
    """
    options: dict[str, Any] = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if device.type == "cuda" and config.optimiser != "sgd":
        rate = torch.tensor(config.learning_rate, device=device)
        options |= {"lr": rate, "capturable": True, "fused": True}
    by_size = sorted(parameters, key=lambda parameter: parameter.numel(), reverse=True)
    return OPTIMISERS[config.optimiser](by_size, **options)


def set_rate(optimiser: optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters; in place if it is a tensor, since CUDA graphs read that memory."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


class Schedule:
    """A constant learning rate, and the base class of the other schedules.

    Args:
        peak: Largest rate.
        config: Settings of the schedule.
        updates: Number of updates in the training.
    """

    def __init__(self, peak: float, config: ScheduleConfig, updates: int) -> None:
        self.peak, self.config, self.updates = peak, config, updates

    def rate(self, update: int) -> float:
        """The rate of an update, counted from 0."""
        return self.peak

    def observe(self, cost: float) -> None:
        """Receive the result of a validation. Lower is better."""

    @property
    def exhausted(self) -> bool:
        """Whether the schedule asks the training to stop."""
        return False

    def state(self) -> dict[str, float]:
        """The state of the schedule, for a checkpoint."""
        return {}

    def load(self, state: dict[str, float]) -> None:
        """Restore what :meth:`state` returned."""


class OneCycle(Schedule):
    """Rises from peak/25 to the peak in the first 30 % of the updates, then falls to almost 0.

    Both parts are half a cosine.
    """

    def rate(self, update: int) -> float:
        """The rate of an update, counted from 0."""
        top = max(1.0, WARM_UP * self.updates)
        if update <= top:
            return _half_cosine(self.peak * START, self.peak, update / top)
        return _half_cosine(self.peak, self.peak * END, (update - top) / max(1.0, self.updates - 1 - top))


class Cosine(Schedule):
    """Rises linearly from near 0 to the peak in the first ``warm_up`` of the updates, then falls to ``min_lr``.

    The second part is half a cosine. The last update has ``min_lr``.
    """

    def rate(self, update: int) -> float:
        """The rate of an update, counted from 0."""
        last = self.updates - 1
        top = min(round(self.config.warm_up * self.updates), last)  # the update that has the peak
        if update < top:
            return self.peak * (update + 1) / (top + 1)
        low = min(self.config.min_lr, self.peak)
        return min(self.peak, _half_cosine(self.peak, low, (update - top) / max(1, last - top)))


class Plateau(Schedule):
    """Multiplies the rate by ``factor`` after more than ``patience`` validations in a row without a new best.

    The rate never falls below ``min_lr``.
    """

    def __init__(self, peak: float, config: ScheduleConfig, updates: int) -> None:
        super().__init__(peak, config, updates)
        self.current, self.best, self.waited, self.ended = peak, math.inf, 0, False

    def rate(self, update: int) -> float:
        """The rate of an update, counted from 0."""
        return self.current

    def observe(self, cost: float) -> None:
        """Receive the result of a validation. Lower is better."""
        if cost < self.best:
            self.best, self.waited = cost, 0
            return
        self.waited += 1
        if self.waited > self.config.patience:
            self.waited = 0
            self.ended = self.current <= self.config.min_lr
            self.current = max(self.current * self.config.factor, self.config.min_lr)

    @property
    def exhausted(self) -> bool:
        """Whether the rate should be reduced again, but already is ``min_lr``. Only if ``stop_at_min`` is set."""
        return self.config.stop_at_min and self.ended

    def state(self) -> dict[str, float]:
        """The state of the schedule, for a checkpoint."""
        return {"current": self.current, "best": self.best, "waited": self.waited, "ended": self.ended}

    def load(self, state: dict[str, float]) -> None:
        """Restore what :meth:`state` returned."""
        self.current, self.best = state["current"], state["best"]
        self.waited, self.ended = int(state["waited"]), bool(state["ended"])


SCHEDULES: dict[str, type[Schedule]] = {
    "constant": Schedule,
    "plateau": Plateau,
    "one_cycle": OneCycle,
    "cosine": Cosine,
}


def make_schedule(config: TrainingConfig, updates: int) -> Schedule:
    """The schedule that ``config`` names, for a training of at most ``updates`` updates."""
    return SCHEDULES[config.schedule.kind](config.learning_rate, config.schedule, updates)


def _half_cosine(first: float, last: float, share: float) -> float:
    """Half a cosine from ``first`` at share 0 to ``last`` at share 1."""
    return last + (first - last) * (1 + math.cos(math.pi * min(share, 1.0))) / 2
