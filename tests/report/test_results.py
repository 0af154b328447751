"""Numbers of runs become one number of a row."""

from pathlib import Path

import numpy as np
import pytest
from tests.report.records import pair_counts, run, write

from pfgnn.experiments.rows import ACCURACY, FIVE, PAIRS, Measure
from pfgnn.report.results import Runs, read_results, summary, values

SCORES = [0.2, 0.9, 0.4, 1.0]


@pytest.fixture
def csl() -> Runs:
    return Runs(Path("csl.json"), [run(0, fold, test={"accuracy": score}) for fold, score in enumerate(SCORES)])


def test_the_five_statistics_with_the_sample_deviation(csl: Runs) -> None:
    percent = 100 * np.array(SCORES)
    deviation = f"{percent.std(ddof=1):.2f}"
    assert values(csl, FIVE[0]) == pytest.approx(percent)
    assert [summary(csl, measure) for measure in FIVE] == [
        f"62.50 ± {deviation}",
        "65.00",
        "100.00",
        "20.00",
        deviation,
    ]


def test_a_single_run_has_no_spread(csl: Runs) -> None:
    single = csl._replace(runs=csl.runs[:1])
    assert summary(single, ACCURACY[0]) == "20.00"
    assert summary(single, FIVE[4]) == "0.00"


def test_scale_and_digits(csl: Runs) -> None:
    measure = Measure("error", "results.test.scores.accuracy", scale=1, digits=3)
    assert summary(csl._replace(runs=csl.runs[:2]), measure) == "0.550 ± 0.495"


def test_pairs_are_shares_and_false_alarms_add_up() -> None:
    row = Runs(
        Path("sr25.json"),
        [run(0, pairs=pair_counts(105, 1000, 105, 0, 0.5)), run(1, pairs=pair_counts(84, 5, 0, 1, 1))],
    )
    assert [summary(row, measure) for measure in PAIRS] == [
        "90.00 ± 14.14",
        "1005 of 2010",
        "50.00 ± 70.71",
        "1 of 2010",
        "75.00 ± 35.36",
    ]
    without_classes = Runs(Path("brec.json"), [run(0, pairs=pair_counts(0, 0, 0, 0, None))])
    assert summary(without_classes, PAIRS[4]) == "-"
    without_classes.runs[0]["pairs"]["pairs"] = None
    assert summary(without_classes, PAIRS[0]) == "-"


def test_a_record_without_the_number_is_named(csl: Runs) -> None:
    with pytest.raises(ValueError, match=r"csl.json, seed 0, fold 0: pairs.told_apart must be .* it is not there"):
        summary(csl, PAIRS[2])
    csl.runs[1]["results"]["test"]["scores"]["accuracy"] = "high"
    with pytest.raises(ValueError, match=r"seed 0, fold 1: results.test.scores.accuracy must .* but it is 'high'"):
        summary(csl, ACCURACY[0])


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 1e300, 10**200, 10**400])
def test_a_number_that_cannot_be_averaged_is_named(csl: Runs, value: float) -> None:
    csl.runs[1]["results"]["test"]["scores"]["accuracy"] = value
    with pytest.raises(
        ValueError, match=r"seed 0, fold 1: results.test.scores.accuracy must be a number of at most 1e\+100"
    ):
        summary(csl, ACCURACY[0])


def test_only_rows_of_the_table_are_read(tmp_path: Path) -> None:
    write(tmp_path, "table2", "gin", [run(0, 0, test={"accuracy": 0.1})])
    assert {row: len(found.runs) for row, found in read_results(tmp_path, "table2").items()} == {"gin": 1}
    assert read_results(tmp_path, "table3") == {}
    write(tmp_path, "table2", "other", [])
    with pytest.raises(ValueError, match=r"other.json must be named after a row of table2, but there is no row other"):
        read_results(tmp_path, "table2")
    (tmp_path / "table2" / "other.json").rename(tmp_path / "table2" / "gcn.json")
    with pytest.raises(ValueError, match=r"gcn.json must hold row gcn of table2, but it holds row other of table2"):
        read_results(tmp_path, "table2")


def test_tables_that_share_runs_read_the_same_file(tmp_path: Path) -> None:
    write(tmp_path, "table8", "triangles-t3-k4", [run(0, test={"accuracy": 0.9}, test_large={"accuracy": 0.6})])
    for name in ("table8", "table10", "table11", "table17"):
        assert list(read_results(tmp_path, name)) == ["triangles-t3-k4"]
