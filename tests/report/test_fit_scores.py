"""Test scores and their intervals."""

import numpy as np

from pfgnn.report.fit_scores import Scored


def test_an_accuracy_of_one_is_not_certain() -> None:
    """All resamples of a test part on which all is right are right too."""
    low, high = Scored("accuracy", 1.0, np.ones(200), graphs=10).interval or (1.0, 0.0)
    assert (round(low, 3), high) == (0.722, 1.0)
    assert Scored("mae", 1.0, np.ones(200), graphs=10).interval == (1.0, 1.0)
