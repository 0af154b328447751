import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pfgnn.report.curves import SMOOTHED_FROM, draw_curve, draw_training, plot_training, running_median
from pfgnn.report.metrics_reader import Line, read_metrics

LINES = [{"epoch": n, "loss": 1 / n, "validation": None if n == 1 else 2 / n} for n in (1, 2, 3)]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def falling(count: int, validation: Sequence[float | None] = ()) -> list[Line]:
    """The metrics of a run whose loss falls."""
    values = [*validation, *[None] * count][:count]
    return [{"epoch": n + 1, "loss": 0.7 * 0.9**n, "validation": value} for n, value in enumerate(values)]


def test_a_runs_metrics_are_read_and_drawn(tmp_path: Path) -> None:
    file = write(tmp_path / "run" / "metrics.jsonl", "".join(json.dumps(line) + "\n" for line in LINES))
    assert read_metrics(file) == read_metrics(file.parent) == LINES
    plot_training({"runs": [LINES, LINES[:1]], "others": [LINES]}, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("count", [1, 4, SMOOTHED_FROM - 1])
def test_few_points_are_drawn_as_they_are(count: int) -> None:
    lines = falling(count)
    (drawn,) = draw_training({"run": [lines]}).axes[0].lines
    assert np.asarray(drawn.get_ydata()).tolist() == [line["loss"] for line in lines]
    assert drawn.get_marker() == "."  # a single point has no line


def test_many_points_are_smoothed_and_their_single_values_stay_visible() -> None:
    lines = falling(SMOOTHED_FROM)
    faint, bold = draw_training({"run": [lines]}).axes[0].lines
    values = np.array([line["loss"] for line in lines], dtype=float)
    assert np.asarray(faint.get_ydata()).tolist() == values.tolist()
    assert np.asarray(bold.get_ydata()).tolist() == running_median(values).tolist()


@pytest.mark.parametrize(
    ("validation", "names"),
    [((), ["loss in training"]), ((0.5, 0.4), ["loss in training", "metric in validation"])],
)
def test_loss_and_metric_have_axes_of_their_own(validation: Sequence[float], names: list[str]) -> None:
    axes = draw_training({"run": [falling(2, validation)]}).axes
    assert [of.get_ylabel() for of in axes] == names
    assert axes[-1].get_xlabel() == "epoch"


def test_different_metrics_have_axes_of_their_own() -> None:
    """A group keeps its colour. A run whose metric is not known stands apart too."""
    runs = {"a": [falling(2, (0.5, 0.4))], "b": [falling(2, (0.9, 0.8))], "c": [falling(2, (0.1, 0.2))]}
    loss, mae, accuracy = draw_training(runs, {"a": "mae", "b": "accuracy", "c": "mae"}).axes
    assert [len(axes.lines) for axes in (loss, mae, accuracy)] == [3, 2, 1]
    assert (mae.get_ylabel(), accuracy.get_ylabel()) == ("mae in validation", "accuracy in validation")
    assert accuracy.lines[0].get_color() == loss.lines[1].get_color() == "C1"
    assert [axes.get_ylabel() for axes in draw_training(runs, {"a": "mae", "b": "mae"}).axes[1:]] == [
        "mae in validation",
        "metric in validation",
    ]


def test_one_curve_says_what_it_is() -> None:
    (axes,) = draw_curve({"run": [falling(2, (3.0, 4.0))]}, "validation", "error, in units of $m").axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "error, in units of $m")
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [3.0, 4.0]


def test_the_legend_names_what_is_drawn_and_nothing_else() -> None:
    """The second run of "both" alone has a validation part, and "diverged" has no value at all."""
    nothing: list[Line] = [{"epoch": 1, "loss": float("nan"), "validation": None}]
    runs = {"both": [falling(3), falling(3, (0.5, 0.4, 0.3))], "diverged": [nothing], "one": [falling(1)]}
    loss, metric = draw_training(runs).axes
    for axes, names, lines in ((loss, ["both", "one"], 3), (metric, ["both"], 1)):
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == names
        assert len(axes.lines) == lines


def test_without_any_value_there_is_no_legend(tmp_path: Path) -> None:
    nothing = [{"epoch": 1, "loss": float("inf"), "validation": None}]
    assert draw_training({"diverged": [nothing]}).axes[0].get_legend() is None
    plot_training({"diverged": [nothing]}, tmp_path / "curve.png")


@pytest.mark.parametrize(("lowest", "scale"), [(0.1, "log"), (0.4, "linear"), (0.0, "linear"), (-0.5, "linear")])
def test_values_that_have_no_logarithm_are_drawn_too(lowest: float, scale: str) -> None:
    axes = draw_training({"run": [falling(2, (0.5, lowest))]}).axes[1]
    assert axes.get_yscale() == scale
    axes.figure.canvas.draw()  # the limits follow from the data
    low, high = axes.get_ylim()
    assert low <= lowest < high


def test_a_running_median_does_not_see_single_peaks() -> None:
    values = np.arange(20.0)
    peaked = values.copy()
    peaked[10] = 1000
    assert running_median(values)[4:16].tolist() == values[4:16].tolist()
    assert abs(running_median(peaked) - running_median(values)).max() <= 1
    assert running_median(values)[0] == 2  # of 0 to 4: there is nothing before


def test_a_running_median_leaves_out_what_is_not_finite() -> None:
    assert running_median(np.array([1, np.nan, 3, np.inf, 5]), window=3).tolist()[:1] == [1]
    assert np.isfinite(running_median(np.array([1, np.nan, 3, np.inf, 5]), window=3)).all()
    assert np.isnan(running_median(np.array([np.nan]))).all()


def test_any_name_of_a_folder_is_shown_as_it_is(tmp_path: Path) -> None:
    """A dollar begins no formula. A name with an underscore is not left out, as matplotlib does."""
    names = ["_hidden", "$x_", "a$b$", "\\alpha"]
    figure = draw_training({name: [falling(3)] for name in names})
    figure.savefig(tmp_path / "picture.png")
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text().strip() for text in legend.get_texts()] == names
    assert not any(text.get_parse_math() for text in legend.get_texts())
