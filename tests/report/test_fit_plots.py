"""Numbers behind the plots of a fitted model, and plots of odd inputs."""

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from pfgnn.report.fit_certainty_section import chance_error
from pfgnn.report.fit_plots import (
    calibration_error,
    plot_coverage,
    plot_histogram,
    plot_parity,
    plot_reliability,
    plot_roc,
    reliability,
    roc,
)
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


def test_few_graphs_make_few_dots_and_each_graph_counts_once() -> None:
    p = np.array([0.9, 0.1, 0.2, 0.8])
    assert reliability(p, np.array([True, False, True, True])) == [(0.5, 0.75, 4)]
    for graphs, dots in ((19, 1), (20, 2), (55, 5), (1000, 10)):
        rows = reliability(np.linspace(0, 1, graphs), np.ones(graphs, dtype=bool))
        assert len(rows) == dots
        assert sum(count for _, _, count in rows) == graphs


def test_each_dot_of_probabilities_has_its_number_of_graphs() -> None:
    svg = inline_svg(plot_reliability([(0.2, 0.1, 11), (0.9, 1.0, 13)], "$red$", "molecules"), "a")
    for words in (">11<", ">13<", "predicted probability of $red$", "share of molecules with $red$"):
        assert words in svg


@pytest.mark.parametrize("graphs", [1, 9, 400])
def test_bars_of_shares_are_seen_whole(graphs: int) -> None:
    """Also where all graphs are covered, or none: no bar leaves 0 to 1, or the plot."""
    rows = [(0.5, 0.0, graphs), (0.7, 0.9, graphs), (0.9, 1.0, graphs)]
    [axes] = plot_reliability(rows, "x", "graphs").axes
    [(_, caps, _)] = axes.containers
    ends = np.array([cap.get_ydata() for cap in caps])  # low ones, then high ones
    assert ((ends >= 0) & (ends <= 1)).all()
    assert (ends[0] < ends[1]).all()  # also one graph that is covered has a bar
    low, high = axes.get_ylim()
    assert ((ends > low) & (ends < high)).all()


def test_a_coverage_stands_beside_what_chance_gives() -> None:
    [axes] = plot_coverage(np.array([0.5, 0.9]), np.array([0.0, 1.0]), [(0.3, 0.7), (0.8, 1.0)], "x").axes
    low, high = axes.get_ylim()
    assert low < 0.0 < 1.0 < high
    assert len(axes.collections[0].get_paths()) == 2


def test_the_calibration_error_is_the_mean_distance_from_the_line(seed: int) -> None:
    assert calibration_error([(0.2, 0.1, 10), (0.9, 0.6, 30)]) == pytest.approx((10 * 0.1 + 30 * 0.3) / 40)
    rng = np.random.default_rng(seed)
    p = rng.random(20_000)
    right = calibration_error(reliability(p, rng.random(20_000) < p))
    assert right == pytest.approx(chance_error(p), abs=0.008)  # ten dots, each with a standard error of 0.01 at most
    assert chance_error(p[:30]) > 3 * chance_error(p)  # few graphs are off the line by chance


def test_coverage_keeps_its_promise(seed: int) -> None:
    """Errors of the test and of the calibration come from the same distribution: 90 % asked, about 90 % got."""
    rng = np.random.default_rng(seed)
    found = coverages(np.abs(rng.normal(size=4000)), np.sort(np.abs(rng.normal(size=4000))))
    for coverage in found:
        assert coverage.got == pytest.approx(coverage.asked, abs=0.06)  # five standard errors of both samples
        assert coverage.graphs == 4000
    unknown = np.array([1.0, np.nan, 9.0])
    assert [of[:3] for of in coverages(unknown, np.arange(9.0))] == [(c, 1, 2) for c in (0.5, 0.6, 0.7, 0.8, 0.9)]
    assert coverages(unknown[1:2], np.arange(9.0)) == []


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
