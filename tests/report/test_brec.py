"""BREC by category, from records of `pfgnn pairs`."""

from pathlib import Path
from typing import Any

import pytest
from tests.report.records import write_brec

from pfgnn.errors import InputError
from pfgnn.files import read_json, write_json
from pfgnn.report.brec import CATEGORIES, brec_header, brec_rows, read_brec
from pfgnn.report.result_sections import brec_section


def cells(results: Path) -> dict[str, tuple[str, ...]]:
    (table,) = read_brec(results)
    return {row[0]: row[1:] for row in brec_rows(table.lines, table.first, table.steps)}


def test_the_categories_are_those_of_the_dataset() -> None:
    assert sum(CATEGORIES.values()) == 400
    assert list(CATEGORIES)[:3] == ["basic", "simple_regular", "strongly_regular"]


def test_pairs_are_counted_by_category(tmp_path: Path) -> None:
    write_brec(tmp_path, {0: 0, 1: 1, 59: 2, 110: None}, alarms=(110,))
    (table,) = read_brec(tmp_path)
    assert brec_header(table.first, table.steps) == (
        "category",
        "pairs",
        "T ≤ 0",
        "T ≤ 1",
        "T ≤ 2",
        "published rule",
        "false alarms",
        "seconds a pair",
    )
    found = cells(tmp_path)
    assert found["basic"] == ("3 of 60 compared", "1", "2", "3", "3", "0 of 6", "2.0 s")
    assert found["strongly regular"] == ("1 of 50 compared", "0", "0", "0", "0", "1 of 2", "2.0 s")
    assert found["CFI"] == ("100", "not run yet", "not run yet", "not run yet", "–", "–", "–")
    assert found["all"] == ("4 of 400 compared", "1", "2", "3", "3", "1 of 8", "2.0 s")
    first = brec_section(tmp_path, tmp_path).tables[0]
    assert first.caption == "Ours, `made-up`: T ≤ 2, not trained, K at most 64, 16 draws, 1 seed, CPU, 1 thread"


def test_a_trained_record_shows_its_own_t_only(tmp_path: Path) -> None:
    path = write_brec(tmp_path, {0: 2, 1: None})
    record = read_json(path)
    for row in record["comparisons"]:
        row["evidence"] = row["evidence"][2:]
    write_json(path, {**record, "settings": {**record["settings"], "updates": 32, "policy": "learned"}})
    assert cells(tmp_path)["basic"] == ("2 of 60 compared", "1", "1", "0 of 4", "2.0 s")
    caption = brec_section(tmp_path, tmp_path).tables[0].caption
    assert caption.startswith("Ours, `made-up`: T = 2, trained for each pair, learned policy, K at most 64")


def test_the_limit_has_no_controls(tmp_path: Path) -> None:
    rows = [{"seed": 0, "pair": pair, "seconds": 1.0, "least steps": least} for pair, least in ((0, 1), (1, None))]
    about: dict[str, Any] = {"dataset": "brec", "device": "CPU, 1 thread", "steps": 1, "comparisons": rows}
    write_json(tmp_path / "brec" / "limit.json", about)
    assert cells(tmp_path)["basic"] == ("2 of 60 compared", "0", "1", "–", "–", "1.0 s")
    assert "in the limit" in brec_section(tmp_path, tmp_path).tables[0].caption


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dataset": "sr25"}, "must hold comparisons of all pairs of BREC, .*, but its dataset is 'sr25'"),
        ({"comparisons": [{"pair": 400}]}, "must hold comparisons of all pairs of BREC, .* but it cannot be read"),
        ({"settings": {"steps": 1}}, "must hold comparisons .*, but it has no particles"),
        ({"comparisons": None}, "must hold comparisons"),
    ],
)
def test_a_wrong_record_gets_one_sentence(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    path = write_brec(tmp_path, {0: 0})
    write_json(path, {**read_json(path), **change})
    with pytest.raises(InputError, match=rf"made-up.json {sentence}"):
        read_brec(tmp_path)
