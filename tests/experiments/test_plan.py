"""The order in which missing runs are done."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.experiments.reproduce_samples import Stage

from pfgnn.errors import InputError
from pfgnn.experiments.plan import plan
from pfgnn.experiments.rows import ACCURACY, Row, TableSpec
from pfgnn.experiments.tables import TABLES, choose_tables


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(tmp_path, monkeypatch)
    rows = (
        Row("C", "c", "tiny.yaml", (), ACCURACY, seeds=2),
        Row("B", "b", "tiny.yaml", stage.rows[1].overrides, ACCURACY, seeds=1, folds=1, shared="tiny/b"),
    )
    monkeypatch.setitem(TABLES, "other", TableSpec("Other", rows))
    return stage


def places(stage: Stage, names: Sequence[str], rows: Sequence[str] = ()) -> list[str]:
    folder = stage.folder
    jobs = plan(names, out=folder / "results", runs=folder / "runs", configs=folder / "configs", rows=rows)
    return [job.directory.relative_to(folder / "runs").as_posix() for job in jobs]


SEED_0 = ["tiny/a/seed0-fold0", "tiny/b/seed0-fold0", "tiny/a/seed0-fold1"]
SEED_1 = ["tiny/a/seed1-fold0", "tiny/b/seed1-fold0", "tiny/a/seed1-fold1"]


def test_every_row_has_its_first_seed_before_any_has_its_second(stage: Stage) -> None:
    assert places(stage, ["tiny"]) == [*SEED_0, *SEED_1, "tiny/b/seed2-fold0"]


def test_the_tables_come_in_the_order_given_and_a_shared_run_once(stage: Stage) -> None:
    others = ["other/c/seed0", "tiny/b/seed0-fold0", "other/c/seed1"]
    assert places(stage, ["other", "tiny"]) == [
        *others,
        *(place for place in [*SEED_0, *SEED_1, "tiny/b/seed2-fold0"] if place not in others),
    ]
    assert places(stage, ["tiny", "other"])[-2:] == ["other/c/seed0", "other/c/seed1"]


def test_a_run_that_was_begun_comes_first_in_its_table(stage: Stage) -> None:
    for place in ("tiny/b/seed2-fold0", "tiny/a/seed1-fold1", "other/c/seed1"):
        (stage.folder / "runs" / place).mkdir(parents=True)
        (stage.folder / "runs" / place / "config.yaml").touch()
    assert places(stage, ["tiny", "other"]) == [
        *("tiny/a/seed1-fold1", "tiny/b/seed2-fold0"),
        *SEED_0,
        *SEED_1[:2],
        *("other/c/seed1", "other/c/seed0"),
    ]


def test_a_pattern_must_match_a_row_of_one_table(stage: Stage) -> None:
    assert places(stage, ["tiny", "other"], rows=["c"]) == ["other/c/seed0", "other/c/seed1"]
    [title] = {row.title for row in TABLES["other"].rows if row.name == "c"}
    assert places(stage, ["tiny", "other"], rows=[title]) == ["other/c/seed0", "other/c/seed1"]
    with pytest.raises(
        InputError, match="rows must each match the title of a row or one of a, b, c, b, but 'd' does not"
    ):
        places(stage, ["tiny", "other"], rows=["c", "d"])


def test_all_stands_for_all_tables_in_their_order() -> None:
    assert choose_tables(["all"]) == list(TABLES)
    assert choose_tables(["zinc", "all"]) == ["zinc", *(name for name in TABLES if name != "zinc")]
    with pytest.raises(InputError, match=r"name must be one of table1, .*, all, but it is 'table0'"):
        choose_tables(["zinc", "table0"])
