"""Tables show the paper's numbers, ours, and what is missing."""

from pathlib import Path

import pytest
from tests.report.records import pair_counts, run, write

from pfgnn.experiments.tables import TABLES
from pfgnn.report.published import PUBLISHED
from pfgnn.report.tables import Line, table_lines, table_numbers, tables_with_records


def test_csl_shows_all_statistics_and_what_was_not_run(tmp_path: Path) -> None:
    write(tmp_path, "table2", "pf-gnn", [run(0, fold, test={"accuracy": score}) for fold, score in enumerate((1, 0.9))])
    lines = table_lines(tmp_path, "table2")
    assert [line[1:] for line in lines if line.row == "PF-GNN"] == [
        ("mean", "100.0", "95.00 ± 7.07", "2 of 20"),
        ("median", "100.0", "95.00", "2 of 20"),
        ("max", "100.0", "100.00", "2 of 20"),
        ("min", "100.0", "90.00", "2 of 20"),
        ("std", "0", "7.07", "2 of 20"),
    ]
    assert Line("GIN", "mean", "10 (Dwivedi et al., 2020)", "not run yet", "0 of 20") in lines
    assert Line("3-WL GNN", "mean", "97.8 (Dwivedi et al., 2020)", "not run yet", "0 of 20") in lines
    assert not any(line.row == "3-WL GNN" and line.column == "median" for line in lines)  # neither has it
    assert [line.column for line in lines if line.row == "PF-GNN, T=4"] == ["mean"]  # only ours, and not run
    assert Line("RP-GIN", "min", "10 (Dwivedi et al., 2020)", "-", "-") in lines
    assert Line("PF-GNN, T=4", "mean", "-", "not run yet", "0 of 20") in lines


def test_both_rules_for_pairs_come_with_their_false_alarms(tmp_path: Path) -> None:
    write(
        tmp_path, "table1", "sr25-gin-pf", [run(seed, pairs=pair_counts(105, 1005, 21, 0, 0.25)) for seed in range(2)]
    )
    assert [line[1:] for line in table_lines(tmp_path, "table1") if line.row == "SR25, GIN + PF"] == [
        ("told apart, paper's rule", "100.0 ± 0.0", "100.00 ± 0.00", "2 of 10"),
        ("false alarms of that rule", "-", "2010 of 2010", "2 of 10"),
        ("told apart, reliable", "-", "20.00 ± 0.00", "2 of 10"),
        ("false alarms, reliable", "-", "0 of 2010", "2 of 10"),
        ("accuracy on relabelled graphs", "-", "25.00 ± 0.00", "2 of 10"),
    ]


def test_a_program_gets_numbers(tmp_path: Path) -> None:
    write(tmp_path, "table2", "pf-gnn", [run(0, fold, test={"accuracy": score}) for fold, score in enumerate((1, 0.9))])
    counts = pair_counts(105, 1005, 21, 0, 0.25)
    write(tmp_path, "table1", "sr25-gin-pf", [run(seed, pairs=counts) for seed in (3, 1)])
    by_column = {line["column"]: line for line in table_numbers(tmp_path, "table2") if line["row"] == "PF-GNN"}
    assert by_column["mean"] == {
        "row": "PF-GNN",
        "column": "mean",
        "paper": {"value": 100.0, "std": None, "source": None},
        "measured": {"mean": 95.0, "std": pytest.approx(7.0711, abs=1e-4), "n": 2, "seeds": [0]},
        "runs": {"done": 2, "planned": 20},
    }
    assert by_column["max"]["measured"] == {"max": 100.0, "n": 2, "seeds": [0]}
    pairs = {line["column"]: line for line in table_numbers(tmp_path, "table1") if line["row"] == "SR25, GIN + PF"}
    assert pairs["false alarms of that rule"]["measured"] == {"total": 2010, "of": 2010, "n": 2, "seeds": [1, 3]}
    assert pairs["told apart, paper's rule"]["paper"] == {"value": 100.0, "std": 0.0, "source": None}
    (time,) = [
        line for line in table_numbers(tmp_path, "table13") if (line["row"], line["column"]) == ("ZINC, [6]", "time")
    ]
    assert (time["paper"]["value"], time["measured"], time["runs"]) == (8.92, None, None)
    assert all(table_numbers(tmp_path, name) for name in PUBLISHED if name in TABLES)  # every cell is a number


def test_a_column_that_only_the_paper_has_is_shown(tmp_path: Path) -> None:
    assert Line("ZINC, [6]", "time", "8.92s", "-", "-") in table_lines(tmp_path, "table13")


def test_tables_with_records(tmp_path: Path) -> None:
    assert tables_with_records(tmp_path) == []
    write(tmp_path, "table14", "connectivity-gin", [run(0, test={"accuracy": 0.5})])
    assert tables_with_records(tmp_path) == ["table14"]


def test_an_unknown_table_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name must be one of table1, .*, but it is 'table15'"):
        table_lines(tmp_path, "table15")
