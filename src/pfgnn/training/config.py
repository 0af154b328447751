"""The settings of a training, as typed dataclasses."""

from dataclasses import dataclass, field
from typing import Literal

from pfgnn.setting_types import (
    BelowOne,
    Copies,
    InsideZeroOne,
    NonNegative,
    NonNegativeNumber,
    Positive,
    PositiveNumber,
)

Precision = Literal["float32", "tf32", "bf16"]


@dataclass(frozen=True)
class ScheduleConfig:
    """The schedule of the learning rate.

    - "constant": the rate stays at ``training.learning_rate``.
    - "plateau": the rate is multiplied by ``factor`` after more than ``patience`` validations without improvement. It
      never falls below ``min_lr``. Without a validation part, the training loss is watched instead.
    - "one_cycle": the rate rises to ``training.learning_rate`` and falls to almost 0, once, over all updates.
    - "cosine": the rate rises linearly from near 0 to ``training.learning_rate`` during the first ``warm_up`` of all
      updates. Then it falls to ``min_lr`` along half a cosine.

    Args:
        kind: One of the four above.
        factor: Factor of "plateau".
        patience: Validations without improvement that "plateau" tolerates.
        min_lr: Last rate of "plateau" and "cosine"; at most ``training.learning_rate``.
        stop_at_min: Whether training ends when "plateau" would reduce the rate, but it already is ``min_lr``.
        warm_up: Share of all updates in which "cosine" rises, at least 0 and below 1. With 0 it starts at the peak.
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
        epochs: Number of epochs. Set either this or ``updates``.
        updates: Number of updates.
        batch_size: Largest number of graphs in a batch, over all devices. An epoch has as few batches as this allows,
            and they have nearly equal sizes.
        copies: How often each graph is used in an epoch. More than 1 is useful for datasets of very few graphs.
        optimiser: "adam", "adamw" or "sgd".
        learning_rate: Learning rate; the peak of a schedule.
        weight_decay: Weight decay of the optimiser.
        clip: Largest norm of the gradient; None for no clipping.
        schedule: Schedule of the learning rate.
        gamma: γ, weight of the policy loss, see :class:`pfgnn.training.Objective`. It trains a learned policy.
        baseline: Baseline of the policy loss for ``credit: graph``: the mean loss of the other graphs of the batch
            ("leave_one_out"), or 0 ("none").
        credit: What the policy loss rewards: all draws of a graph equally, by its loss ("graph"), or each particle by
            how much the loss grows without it ("particle").
        entropy: Weight of the policy's entropy. A larger weight spreads the draws over more vertices.
        standardise: Whether to scale regression targets to mean 0 and standard deviation 1 over the training part.
            Predictions are mapped back.
        select: What the best weights are best in, on the validation part: the "metric" of the task, or for classes the
            "log_loss", see :func:`pfgnn.training.metrics.log_loss`. Accuracy says little if a class is rare.
        norm_batches: Training batches on which batch norms estimate their means and variances anew before each
            validation; 0 for running means, which are averages over older weights.
        validate_every: Epochs between two validations.
        patience: Training stops after more than this many validations without improvement; None for never.
        checkpoint_every: Updates between two checkpoints. None writes one after a validation; at least ten seconds,
            and fifty times the time that writing one takes, lie between two checkpoints.
        precision: "float32", "tf32" or "bf16", see :func:`pfgnn.training.devices.open_devices`.
    """

    epochs: Positive | None = None
    updates: Positive | None = None
    batch_size: Positive = 64
    copies: Copies = 1
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
    select: Literal["metric", "log_loss"] = "metric"
    norm_batches: NonNegative = 0
    validate_every: Positive = 1
    patience: Positive | None = None
    checkpoint_every: Positive | None = None
    precision: Precision = "float32"
