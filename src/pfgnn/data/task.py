"""What is to be predicted, and how it is scored."""

from dataclasses import asdict, dataclass
from typing import Any

from pfgnn.errors import InputError

LEVELS = ("graph", "node", "pair")
LOSSES = ("cross_entropy", "weighted_cross_entropy", "binary_cross_entropy", "l1", "none")
METRICS = ("accuracy", "roc_auc", "mean_roc_auc", "mae", "error_ratio", "pairs")


@dataclass(frozen=True)
class Task:
    """One dataset's task.

    Args:
        level: what a prediction belongs to: a graph, a node, or a pair of graphs to be told apart.
        outputs: numbers a model predicts: classes, or regression targets, or 1 for a binary label.
        loss: of training.
        metric: of evaluation.
        targets: names of the targets, where there are several.
        scales: by which each target's error is divided for the metric error_ratio, such as chemical accuracy.
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
                raise InputError(f"{name} must be one of {', '.join(allowed)}, but it is {value!r}")
        if self.outputs < 1:
            raise InputError(f"outputs must be at least 1, but it is {self.outputs}")
        for name, values in (("targets", self.targets), ("scales", self.scales)):
            if values and len(values) != self.outputs:
                raise InputError(f"{name} must have one entry for each of {self.outputs} outputs, not {len(values)}")

    def to_json(self) -> dict[str, Any]:
        """The task as JSON-like values."""
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Task":
        """The task of :meth:`to_json`."""
        return Task(**{**values, "targets": tuple(values["targets"]), "scales": tuple(values["scales"])})
