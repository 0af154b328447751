"""How a model is trained, as typed dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from pfgnn.limits import BelowOne, InsideZeroOne, NonNegative, NonNegativeNumber, Positive, PositiveNumber

Precision = Literal["float32", "tf32", "bf16"]


@dataclass(frozen=True)
class ScheduleConfig:
    """How the learning rate goes.

    Args:
        kind: "constant"; "plateau": times ``factor`` after more than ``patience`` validations without improvement (of
            the training loss, where nothing is validated), never below ``min_lr``; "one_cycle": up and down once, over
            all updates, with ``training.learning_rate`` as its peak; "cosine": in a straight line from near 0 up
            to ``training.learning_rate``, over the share ``warm_up`` of all updates, then as half a cosine down to
            ``min_lr``.
        min_lr: the rate at which "plateau" and "cosine" end; at most ``training.learning_rate``.
        stop_at_min: end the training when a plateau would take the rate below ``min_lr``, where it already is.
        warm_up: the share of all updates in which "cosine" rises, at least 0 and below 1; 0 starts at the peak.
    """

    kind: Literal["constant", "plateau", "one_cycle", "cosine"] = "constant"
    factor: InsideZeroOne = 0.5
    patience: NonNegative = 20
    min_lr: NonNegativeNumber = 1e-5
    stop_at_min: bool = False
    warm_up: BelowOne = 0.05


@dataclass(frozen=True)
class TrainingConfig:
    """How the model is trained.

    Args:
        epochs, updates: how long; one of the two.
        batch_size: graphs a batch at most, over all devices. An epoch has as few batches as that allows, of nearly
            equal sizes.
        copies: times that each graph goes through in an epoch, for sets of very few graphs.
        optimiser, learning_rate, weight_decay: of the parameters.
        clip: largest norm of the gradient; None for no clipping.
        schedule: of the learning rate.
        gamma, baseline, credit, entropy: of the policy's term, see :class:`pfgnn.training.Objective`.
        standardise: scale regression targets to mean 0 and deviation 1 over the training part; predictions are
            mapped back.
        validate_every: epochs from one validation to the next.
        patience: training stops after more than so many validations without improvement; None for never.
        checkpoint_every: updates from one checkpoint to the next; None for one after a validation, if the one before
            is ten seconds old, and fifty times what it took to write.
        precision: "float32", "tf32" or "bf16", see :func:`pfgnn.training.devices.make_fabric`.
    """

    epochs: Positive | None = None
    updates: Positive | None = None
    batch_size: Positive = 64
    copies: Positive = 1
    optimiser: Literal["adam", "adamw", "sgd"] = "adam"
    learning_rate: PositiveNumber = 1e-3
    weight_decay: NonNegativeNumber = 0.0
    clip: PositiveNumber | None = 1.0
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    gamma: NonNegativeNumber = 0.0
    baseline: Literal["leave_one_out", "none"] = "leave_one_out"
    credit: Literal["graph", "particle"] = "graph"
    entropy: NonNegativeNumber = 0.0
    standardise: bool = False
    validate_every: Positive = 1
    patience: Positive | None = None
    checkpoint_every: Positive | None = None
    precision: Precision = "float32"
