"""How the tests themselves are run."""

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from tests import machines
from tests.machines import NAMES, WAYS, make_runs
from tests.suite import shuffled

TESTS: Any = [SimpleNamespace(nodeid=f"tests/test_{file}.py::test_{number}") for file in "abcd" for number in range(5)]


def test_the_order_follows_from_the_seed_and_keeps_files_together() -> None:
    first, again, other = (shuffled(TESTS, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(test.nodeid for test in first) == [test.nodeid for test in TESTS]
    assert len(list(itertools.groupby(first, lambda test: test.nodeid.split("::")[0]))) == 4


def test_the_seed_of_the_run_is_given_to_tests(seed: int, request: pytest.FixtureRequest) -> None:
    assert seed == request.config.getoption("--seed")
    assert seed == request.config.getoption("--hypothesis-seed", seed)


def test_any_two_settings_of_machines_meet() -> None:
    for one, other in itertools.combinations(range(len(NAMES)), 2):
        values = [{way[place] for way in WAYS} for place in (one, other)]
        assert {(way[one], way[other]) for way in WAYS} == set(itertools.product(*values))


def test_every_run_has_a_command_that_repeats_it() -> None:
    runs = make_runs(2, 7, ["-x"])
    assert len(runs) == 2 * len(WAYS)
    assert runs[0].command.startswith("env -u ATEN_CPU_CAPABILITY -u MKL_CBWR OMP_NUM_THREADS=1 ")
    assert runs[0].command.endswith(" -m pytest --shuffle --seed 7 -x")
    assert runs[1].command.startswith("env ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE OMP_NUM_THREADS=1 ")
    assert len({tuple(run.arguments) for run in runs}) == len(runs)


def test_a_run_that_fails_is_named_in_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["machines", "--rounds", "1", "--seed", "7"])
    monkeypatch.setattr(machines.Run, "passes", lambda run: run.settings["ATEN_CPU_CAPABILITY"] != "avx2")
    with pytest.raises(SystemExit) as end:
        machines.main()
    said = capsys.readouterr().out
    assert end.value.code == 1
    assert "4 of 6 runs passed." in said
    assert said.count("Repeat it with:\nenv ") == 2
