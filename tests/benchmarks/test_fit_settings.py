"""The sets that `fit`'s settings are measured on, and two fits of the program."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from benchmarks import fit_settings
from benchmarks.fit_settings import DEFAULT, SETTINGS, Job, four_cycles, main, measure_missing, read

from pfgnn.experiments.fit_defaults import check_changes


def test_cycles_are_counted_as_networkx_does() -> None:
    dataset = four_cycles(6)
    for number, count in enumerate(dataset.y[:, 0]):
        graph = nx.from_edgelist(dataset.graph(number).edges.tolist())
        assert count == sum(len(cycle) == 4 for cycle in nx.simple_cycles(graph, length_bound=4))
    assert len(np.unique(dataset.y)) > 1


@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
def test_every_changed_setting_is_one_of_fit(changes: dict[str, object]) -> None:
    check_changes(changes)


@pytest.mark.slow
def test_the_program_measures_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fit_settings, "OUT", tmp_path / "rows.json")
    monkeypatch.setattr(fit_settings, "MADE", {"four-cycles": lambda: four_cycles(40)})
    monkeypatch.setattr(fit_settings, "TABLES", {})
    tiny = {"training.epochs": 1, "model.width": 8, "model.particles": 2, "evaluation.particles": 2}
    monkeypatch.setitem(SETTINGS, DEFAULT, tiny)
    folder = tmp_path / "sets"
    folder.mkdir()
    main(["make", "--folder", str(folder)])
    for what, part, models in (("settings", "validation", {"ours"}), ("models", "test", {"ours", "constant"})):
        main([what, "--folder", str(folder), "--seeds", "1", "--setting", DEFAULT, "--set", "four-cycles"])
        row = next(row for row in read() if row["part"] == part)
        assert row["metric"] == "mae"
        assert models <= row["scores"].keys()
        assert f"{part} part" in capsys.readouterr().out
    measure_missing([Job("four-cycles", DEFAULT, 0, True)], folder, "cpu", 1)
    assert len(read()) == 2
