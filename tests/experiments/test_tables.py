"""The lists of runs: every row can be read, named and told from the others."""

import re
from pathlib import Path

import pytest

from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.rows import Row
from pfgnn.experiments.shipped import CONFIGS
from pfgnn.experiments.tables import TABLES, find_table, row_path

ROWS = [pytest.param(name, row, id=f"{name}-{row.name}") for name, table in TABLES.items() for row in table.rows]


def test_every_table_of_results_is_there() -> None:
    ours = {
        "sr25-reliable",
        "precision",
        "one-setting",
        "zinc",
        "backbones",
        "molhiv-settings",
        "planarity-settings",
        "qm9-settings",
        "zinc-script",
        "zinc-parts",
        "zinc-particles",
        "zinc-precision",
        "zinc-spread",
    }
    assert set(TABLES) == {f"table{number}" for number in {*range(1, 18)} - {12, 15}} | ours


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_rows_config_is_read_and_has_what_it_measures(name: str, row: Row) -> None:
    config = read_config(CONFIGS / row.config, row.overrides)
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", row.name)
    for measure in row.measures:
        if measure.path.startswith("pairs."):
            assert config.evaluation.pairs is not None
        else:
            assert measure.path.split(".")[1] in config.data.tests
    assert (config.data.fold is None) == (row.folds is None)


def test_only_rows_that_say_so_share_a_file_and_their_configs_are_equal() -> None:
    results = Path("results")
    own = [row_path(results, name, row) for name, table in TABLES.items() for row in table.rows if row.shared is None]
    assert len(own) == len(set(own))
    configs = {
        row_path(results, name, row): (config_mapping(read_config(CONFIGS / row.config, row.overrides)), row.run_keys())
        for name, table in TABLES.items()
        for row in table.rows
        if row.shared is None
    }
    shared = [(name, row) for name, table in TABLES.items() for row in table.rows if row.shared]
    assert shared
    for name, row in shared:
        config = config_mapping(read_config(CONFIGS / row.config, row.overrides))
        assert configs[row_path(results, name, row)] == (config, row.run_keys())


def test_no_two_rows_of_a_table_are_the_same_run() -> None:
    for table in TABLES.values():
        configs = [str(config_mapping(read_config(CONFIGS / row.config, row.overrides))) for row in table.rows]
        assert len(configs) == len(set(configs))


def test_every_row_of_a_table_has_a_name_of_its_own() -> None:
    for table in TABLES.values():
        for names in ([row.name for row in table.rows], [row.title for row in table.rows]):
            assert len(names) == len(set(names))


def test_a_row_runs_every_seed_with_every_fold() -> None:
    row = next(row for row in TABLES["table2"].rows if row.title == "PF-GNN")
    assert len(row.run_keys()) == 20
    assert row.run_keys()[:6] == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0)]
    assert TABLES["table4"].rows[0].run_keys() == [(0, None), (1, None), (2, None), (3, None)]


def test_an_unknown_table_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"name must be one of table1, .*table17, .*zinc, .*but it is 'table12'"):
        find_table("table12")
