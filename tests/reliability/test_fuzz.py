import random
from collections.abc import Callable
from pathlib import Path

import pytest
from reliability import commands, fuzz
from reliability.mutate import mutate_bytes, mutate_table, mutate_tree
from reliability.samples import write_samples

from pfgnn.errors import InputError

TEXT = "id,y\na,1\nb,2\n"
TREE = {"model": {"width": 8, "parts": [1, 2, 3]}, "seed": 0}


@pytest.mark.parametrize(
    "change",
    [
        lambda rng: mutate_bytes(rng, TEXT.encode()),
        lambda rng: mutate_table(rng, TEXT),
        lambda rng: repr(mutate_tree(rng, TREE)),
    ],
    ids=["bytes", "table", "tree"],
)
def test_changes_repeat_with_the_seed_and_differ_between_seeds(change: Callable[[random.Random], object]) -> None:
    found = [change(random.Random(seed)) for seed in range(50)]
    assert found == [change(random.Random(seed)) for seed in range(50)]
    assert len(set(found)) > 30


def test_a_tree_is_not_changed_in_place() -> None:
    before = repr(TREE)
    for seed in range(50):
        mutate_tree(random.Random(seed), TREE)
    assert repr(TREE) == before


def plant(monkeypatch: pytest.MonkeyPatch, target: Callable[[random.Random, Path, Path], bool]) -> None:
    monkeypatch.setattr(commands, "TARGETS", (target,))
    monkeypatch.setattr("reliability.calls.TARGETS", ())


@pytest.mark.parametrize(
    ("error", "found"),
    [(KeyError("x"), "KeyError: 'x'"), (InputError("it is wrong"), "InputError"), (MemoryError(), "bytes")],
)
def test_a_planted_fault_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, found: str
) -> None:
    def broken(rng: random.Random, samples: Path, folder: Path) -> bool:
        raise error

    plant(monkeypatch, broken)
    name, accepted, wrong = fuzz.try_input(0, 0, tmp_path)
    assert (name, accepted) == ("broken", False)
    assert found in str(wrong)


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def endless(rng: random.Random, samples: Path, folder: Path) -> bool:
        while True:
            pass

    plant(monkeypatch, endless)
    monkeypatch.setattr(fuzz, "SECONDS", 0.1)
    assert fuzz.try_input(0, 0, tmp_path) == ("endless", None, "it took over 0.1 seconds")


def test_a_good_target_is_no_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def good(rng: random.Random, samples: Path, folder: Path) -> bool:
        return True

    plant(monkeypatch, good)
    assert fuzz.try_input(0, 0, tmp_path) == ("good", True, None)


def test_an_output_of_a_failed_command_is_found(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert not commands.check_output(False, out)
    out.write_text("half")
    assert commands.check_output(True, out)
    with pytest.raises(commands.Wrong, match=r"^the command failed, but out.csv is there$"):
        commands.check_output(False, out)
    (tmp_path / ".out-1.csv").write_text("")
    with pytest.raises(commands.Wrong, match=r"^left behind: \['.out-1.csv'\]$"):
        commands.check_output(True, out)


def test_every_setting_can_be_changed() -> None:
    names = [name for name, _ in commands.setting_names()]
    assert {"seed", "model.width", "training.schedule.kind", "evaluation.pairs.draws", "data.name"} <= set(names)


# Inputs that once ended with a traceback or a hang. Each fault also has a test of its own, which does not change when
# the fuzzer does.
FAILED = (
    (11, 3000001),  # a list instead of edge_index
    (11, 9249000000),  # csl(graph, 5) and the like
    (11, 9322000000),  # tensors without values
    (11, 11141000001),  # n of 400 digits
    (11, 3523000000),  # an epoch of 400 digits in metrics.jsonl
    (11, 4016000000),  # processes in a daemon
    (12, 175000000),  # features without axes
    (12, 548000000),  # a backbone as a policy
    (12, 1804000001),  # a graph of 10**30 nodes
    (12, 4265000000),  # a million times a million weights
    (12, 5175000000),  # more outputs than fit 64 bits
    (21, 15715000001),  # an infinite score in a record
    (43, 6577000001),  # the folder "." as a config
)


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    write_samples(folder)
    return folder


@pytest.mark.filterwarnings("ignore:Unable to accurately infer:UserWarning")  # by PyG
@pytest.mark.parametrize(("seed", "number"), FAILED)
def test_inputs_that_once_failed(seed: int, number: int, samples: Path) -> None:
    assert fuzz.try_input(seed, number, samples)[2] is None
