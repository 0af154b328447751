"""What fit says of the test of each target."""

from typing import Any

import pytest

from pfgnn.cli.fit_results import target_scores


@pytest.mark.parametrize(
    ("scores", "names"),
    [
        ({"mae": 2.0, "log_mae": 0.1}, [""]),
        ({"mae": 2.0, "mae/logp": 1.0, "mae/a/b": 3.0}, ["logp", "a/b"]),
        ({"mae": 2.0, "mae/0": 1.0, "mae/1": 3.0}, ["target 0", "target 1"]),
    ],
)
def test_targets_have_names(scores: dict[str, float], names: list[str]) -> None:
    result: dict[str, Any] = {"metric": "mae", "scores": scores}
    assert list(target_scores(result)) == names
