"""Configs that come with pfgnn are found by name."""

from pathlib import Path

import pytest

from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.shipped import CONFIGS, find_config, first_comment, shipped_configs, similar_configs


def test_a_config_is_found_by_name_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zinc").mkdir()  # a folder of this name is no config
    assert find_config("zinc") == find_config("zinc.yaml") == CONFIGS / "zinc.yaml"
    assert find_config("ours/zinc") == CONFIGS / "ours" / "zinc.yaml"
    assert find_config("bases/ours") == CONFIGS / "bases" / "ours.yaml"
    assert find_config("gone") == Path("gone")


def test_a_file_comes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zinc.yaml").write_text("data: {name: csl}\n")
    assert find_config("zinc.yaml") == Path("zinc.yaml")
    assert find_config("zinc") == CONFIGS / "zinc.yaml"


def test_a_shipped_config_is_a_base(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("base: ours/csl\nmodel: {particles: 5}\n")
    assert read_config(tmp_path / "own.yaml") == read_config("ours/csl", ["model.particles=5"])


def test_every_config_has_a_name_and_a_comment() -> None:
    found = shipped_configs()
    assert {"zinc", "ours/zinc", "rivals/exp-ppgn", "ablations/csl-mlp"} <= set(found)
    assert not any(name.startswith("bases/") for name in found)
    assert len(found) == len([path for path in CONFIGS.rglob("*.yaml") if path.parent.name != "bases"])
    assert first_comment(found["exp"]) == "EXP: Table 1, with the hyperparameters of Table 15"
    for name, path in found.items():
        assert len(first_comment(path)) > 10, name


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ("znic", ["zinc", "ours/zinc"]),
        ("configs/ours/zinc.yaml", ["zinc", "ours/zinc"]),
        ("sr25-reliabel", ["sr25-reliable"]),
        ("rivals/exp-pgn.yaml", ["rivals/exp-ppgn"]),
        ("qqqqqq", []),
        ("", []),
    ],
)
def test_similar_names_are_suggested(given: str, near: list[str]) -> None:
    assert similar_configs(given) == near
