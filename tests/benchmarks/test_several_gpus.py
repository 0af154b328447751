"""The expectation for several GPUs follows its formulas, and the page has the table of the record."""

import json
from pathlib import Path

import pytest
from benchmarks.gpu import RESULT
from benchmarks.several_gpus import expect, largest, reduction, ring, table

ROOT = Path(__file__).parents[2]


def test_a_ring_sends_two_times_the_buffer_but_for_a_part() -> None:
    assert ring(8e9, 8, 1e9, 0.0) == pytest.approx(14.0)  # 2 · 7/8 · 8 seconds
    assert ring(0.0, 8, 1e9, 2.0) == pytest.approx(28.0)
    assert ring(8e9, 1, 1e9, 2.0) == 0


def test_a_reduction_within_nodes_and_between_them() -> None:
    assert reduction(4e6, 1) == 0
    near = 20e-6 + 14 * (4e6 / 8 / 450e9 + 3e-6)
    assert reduction(4e6, 8) == pytest.approx(near)
    assert reduction(4e6, 64) == pytest.approx(near + 14 * (4e6 / 8 / 400e9 + 10e-6))


def test_the_largest_of_normal_numbers() -> None:
    assert largest(1) == pytest.approx(0.0)
    assert largest(8) == pytest.approx(1.42, abs=0.02)  # tables of order statistics say 1.4236
    assert largest(64) == pytest.approx(2.36, abs=0.04)


def test_more_gpus_do_more_but_less_each() -> None:
    one, eight, many = (expect(4e-3, 128, [2e6], 0.02, gpus) for gpus in (1, 8, 64))
    assert (one.step, one.throughput, one.efficiency) == (4e-3, 32_000, 1)
    assert eight.step == pytest.approx(4e-3 + eight.waiting + eight.reduction)
    assert eight.throughput == pytest.approx(8 * 32_000 * eight.efficiency)
    assert 1 > eight.efficiency > many.efficiency > 0.5


def test_the_page_has_the_table_of_the_record() -> None:
    """Else run `python -m benchmarks.several_gpus` and put its table into the page."""
    record = json.loads((ROOT / RESULT).read_text())
    assert table(record) in (ROOT / "docs/several-gpus.md").read_text()
