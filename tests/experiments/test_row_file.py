"""The file of the records of a row."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pfgnn.experiments.row_file import gather, read_gathered


def test_no_record_is_lost_if_several_add_at_a_time(tmp_path: Path) -> None:
    """`reproduce` may run several times for one table."""
    path = tmp_path / "table" / "row.json"

    def add(seed: int) -> None:
        gather(path, {"seed": seed, "data": {"name": "csl", "fold": None}}, {"results": {"test": seed}})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert [run["seed"] for run in read_gathered(path).runs] == list(range(40))
