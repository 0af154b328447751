"""Numbers behind the plots of a fitted model, and plots of odd inputs."""

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from pfgnn.report.fit_plots import plot_histogram, plot_parity, plot_roc, reliability, roc
from pfgnn.report.fit_scores import coverages
from pfgnn.report.html import inline_svg


def test_the_roc_curve_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.random(50) < 0.4
    positive[:2] = [True, False]
    scores = np.round(rng.random(50) + np.where(positive, 0.3, 0.0), 1)  # with ties
    x, y = roc(scores, positive)
    wrong, found, _ = roc_curve(positive, scores, drop_intermediate=False)
    np.testing.assert_allclose(x, wrong)
    np.testing.assert_allclose(y, found)


def test_reliability_counts_each_graph_once() -> None:
    rows = reliability(np.array([0.0, 0.05, 0.5, 1.0]), np.array([False, True, True, True]))
    assert rows == [(0.025, 0.5, 2), (0.5, 1.0, 1), (1.0, 1.0, 1)]


def test_coverage_keeps_its_promise(seed: int) -> None:
    """Errors of the test and of the calibration come from the same distribution: 90 % asked, about 90 % got."""
    rng = np.random.default_rng(seed)
    found = coverages(np.abs(rng.normal(size=(4000, 2))), [np.sort(np.abs(rng.normal(size=4000))) for _ in range(2)])
    for asked, got, half in found:
        assert got == pytest.approx(asked, abs=0.06)  # five standard errors of both samples
        assert len(half) == 2
    assert [asked for asked, _, _ in coverages(np.ones((3, 1)), [np.arange(9.0)])] == [0.5, 0.6, 0.7, 0.8, 0.9]


@pytest.mark.parametrize("values", [[], [np.nan], [3.0], [3.0, 3.0], [0.0, 1e9]])
def test_odd_values_are_drawn(values: list[float]) -> None:
    array = np.array(values, dtype=np.float64)
    for whole in (True, False):
        inline_svg(plot_histogram({"train": array, "_test": array[:0]}, "x", whole), "a")
    inline_svg(plot_parity(array, array, "$x^", 0.5), "b")


def test_a_page_may_hold_a_plot_twice() -> None:
    curves = {"日本 <b>": (np.array([0.1, 0.9]), np.array([False, True])), "_b": (np.ones(2), np.array([False, True]))}
    svg = inline_svg(plot_roc(curves), "roc")
    assert "日本 &lt;b&gt;" in svg
    assert "_b<" in svg
    assert 'id="roc-' in svg
    assert 'id="figure' not in svg
    assert inline_svg(plot_roc(curves), "roc") == svg  # the same page again
