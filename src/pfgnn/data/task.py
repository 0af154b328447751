"""The task of a dataset: what a model predicts, and how the predictions are scored."""

from dataclasses import asdict, dataclass
from typing import Any

from pfgnn.argument_checks import check_number, check_positive
from pfgnn.errors import InputError, InputTypeError, shown

LEVELS = ("graph", "node", "pair")
CLASS_LOSSES = ("cross_entropy", "weighted_cross_entropy")  # their targets are class numbers
LOSSES = (*CLASS_LOSSES, "binary_cross_entropy", "l1", "none")
METRICS = ("accuracy", "roc_auc", "mean_roc_auc", "mae", "error_ratio", "pairs")


@dataclass(frozen=True)
class Task:
    """The task of a dataset.

    Args:
        level: What a prediction belongs to: a graph, a node, or a pair of graphs that the model must tell apart.
        outputs: How many numbers a model predicts: one for each class or regression target, or 1 for a binary label.
        loss: Loss of the training, one of `LOSSES`.
        metric: Metric of the evaluation, one of `METRICS`.
        targets: Names of the outputs, if they are known. Classes may have the name of their target instead.
        scales: For the metric error_ratio, the number by which each target's error is divided, such as its chemical
            accuracy.
    """

    level: str
    outputs: int
    loss: str
    metric: str
    targets: tuple[str, ...] = ()
    scales: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("level", self.level, LEVELS),
            ("loss", self.loss, LOSSES),
            ("metric", self.metric, METRICS),
        ):
            if value not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}, but it is {shown(value)}")
        check_positive("outputs", self.outputs)
        for name, values in (("targets", self.targets), ("scales", self.scales)):
            if not isinstance(values, tuple | list):
                raise InputTypeError(f"{name} must be a tuple, but it is {shown(values)}")
        one_target = self.loss in CLASS_LOSSES and len(self.targets) == 1
        for name, values in (("targets", () if one_target else self.targets), ("scales", self.scales)):
            if values and len(values) != self.outputs:
                raise InputError(f"{name} must have one entry for each of {self.outputs} outputs, not {len(values)}")
        for scale in self.scales:
            if not check_number("scales", scale) > 0:
                raise InputError(f"scales must be above 0, but one is {scale}")

    def to_json(self) -> dict[str, Any]:
        """The task as a dictionary of values that JSON can store."""
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Task":
        """The task from the values of :meth:`to_json`."""
        return Task(**{**values, "targets": tuple(values["targets"]), "scales": tuple(values["scales"])})
