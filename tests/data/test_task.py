import json
from typing import Any

import pytest

from pfgnn.data.task import Task


@pytest.mark.parametrize(
    "task",
    [
        Task("graph", 10, "cross_entropy", "accuracy"),
        Task("node", 3, "weighted_cross_entropy", "mean_roc_auc"),
        Task("pair", 16, "none", "pairs"),
        Task("graph", 3, "cross_entropy", "accuracy", ("toxic",)),
        Task("graph", 2, "l1", "error_ratio", ("mu", "alpha"), (0.1, 0.043)),
    ],
    ids=lambda task: f"{task.level}-{task.metric}-{task.outputs}",
)
def test_a_task_survives_json(task: Task) -> None:
    assert Task.from_json(json.loads(json.dumps(task.to_json()))) == task


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"level": "edge"}, "level must be one of graph, node, pair, but it is 'edge'"),
        ({"loss": "mse"}, "loss must be one of cross_entropy, .*, but it is 'mse'"),
        ({"metric": "f1"}, "metric must be one of accuracy, .*, but it is 'f1'"),
        ({"outputs": 0}, "outputs must be at least 1, but it is 0"),
        ({"targets": ("mu",)}, "targets must have one entry for each of 2 outputs, not 1"),
        (
            {"targets": ("a", "b", "c"), "loss": "cross_entropy"},
            "targets must have one entry for each of 2 outputs, not 3",
        ),
        ({"scales": (1.0, 2.0, 3.0)}, "scales must have one entry for each of 2 outputs, not 3"),
    ],
)
def test_a_bad_task_gets_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Task(**{"level": "graph", "outputs": 2, "loss": "l1", "metric": "mae", **change})
