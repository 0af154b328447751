"""Plots show every run, and the paper's number beside it."""

from pathlib import Path

from tests.report.records import pair_counts, run, write

from pfgnn.report.plots import Dots, gather_panels, plot_table


def test_every_run_is_a_dot(tmp_path: Path) -> None:
    runs = [run(seed, pairs=pair_counts(105, 201 * seed, 21, 0, None)) for seed in range(2)]
    write(tmp_path, "table1", "sr25-gin-pf", runs)
    assert gather_panels(tmp_path, "table1") == {
        "told apart, paper's rule": {"SR25, GIN + PF": Dots([100.0, 100.0], 100.0)},
        "false alarms of that rule": {"SR25, GIN + PF": Dots([0.0, 20.0], None)},
        "told apart, reliable": {"SR25, GIN + PF": Dots([20.0, 20.0], None)},
        "false alarms, reliable": {"SR25, GIN + PF": Dots([0.0, 0.0], None)},
    }


def test_statistics_of_the_same_runs_are_drawn_once(tmp_path: Path) -> None:
    write(tmp_path, "table2", "gin", [run(0, 0, test={"accuracy": 0.1})])
    assert gather_panels(tmp_path, "table2") == {"mean": {"GIN": Dots([10.0], 10.0)}}


def test_pictures_are_written_of_what_was_run(tmp_path: Path) -> None:
    assert plot_table(tmp_path, "table8", tmp_path / "out") == []
    write(tmp_path, "table8", "csl-t4-k8", [run(0, fold, test={"accuracy": 0.9}) for fold in range(5)])
    pictures = plot_table(tmp_path, "table8", tmp_path / "out")
    assert pictures == ["table8.png", "table8-csl.png"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(pictures)
    assert all((tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG") for name in pictures)


def test_a_grid_of_one_t_becomes_lines_by_k(tmp_path: Path) -> None:
    for name, values in {"uniform-k1": [0.4, 0.5], "uniform-k4": [0.2], "learned-k4": [0.1]}.items():
        write(tmp_path, "zinc-particles", name, [run(seed, validation={"mae": v}) for seed, v in enumerate(values)])
    pictures = plot_table(tmp_path, "zinc-particles", tmp_path / "out")
    assert pictures == ["zinc-particles.png", "zinc-particles-particles.png"]
    assert all((tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
