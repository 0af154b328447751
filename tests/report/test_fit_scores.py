"""Test scores and their intervals."""

import numpy as np
import pytest

from pfgnn.report.fit_scores import Scored


def test_an_accuracy_of_one_is_not_certain() -> None:
    """All resamples of a test part on which all is right are right too."""
    low, high = Scored("accuracy", 1.0, np.ones(200), graphs=10).interval or (1.0, 0.0)
    assert (low, high) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert Scored("mae", 1.0, np.ones(200), graphs=10).interval == (1.0, 1.0)
