"""Every number of a config and of a generator has a largest value, and a larger one is refused before any work."""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

from pfgnn.data import generated
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import parse_config, read_config
from pfgnn.setting_types import check_draws


def settings(wanted: type, section: Any = Config, prefix: str = "") -> list[str]:
    """The dotted names of all settings of a type."""
    found = []
    for name, hint in get_type_hints(section).items():
        [kind, *_] = [part for part in (*get_args(hint), hint) if part is not type(None)]
        if is_dataclass(kind):
            found += settings(wanted, kind, f"{prefix}{name}.")
        elif kind is wanted:
            found.append(f"{prefix}{name}")
    return found


def mapping_with(key: str, value: object) -> dict[str, Any]:
    """A small config with a value at a dotted key."""
    mapping: dict[str, Any] = {"data": {"name": "csl"}, "training": {"epochs": 1}}
    *sections, last = key.split(".")
    place = mapping
    for section in sections:
        place = place.setdefault(section, {})
    place[last] = value
    return mapping


@pytest.mark.parametrize("key", settings(int))
@pytest.mark.parametrize("value", [10**10, 10**20, 10**400])
def test_every_integer_of_a_config_has_a_largest_value(key: str, value: int) -> None:
    if key == "seed" and value < 2**63:
        pytest.skip("a seed may be any 63-bit number")
    with pytest.raises(ValueError, match=rf"^{key} must be (at most|in 0\.\.)[^,]*, but it is 10{{7}}") as caught:
        parse_config(mapping_with(key, value))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("key", settings(float))
def test_every_number_of_a_config_fits_into_float32(key: str) -> None:
    with pytest.raises(ValueError, match=rf"^{key} must be .*, but it is 1e\+300"):
        parse_config(mapping_with(key, 1e300))


def test_there_are_settings_to_test() -> None:
    assert {"model.particles", "evaluation.pairs.draws", "training.schedule.patience", "seed"} <= set(settings(int))
    assert {"training.weight_decay", "training.clip", "training.schedule.min_lr"} <= set(settings(float))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((10**9, None), "draws must be at most 10000, but it is 1000000000"),
        ((16, 10**6), "particles must be at most 10000, but it is 1000000"),
        ((16, 0), "particles must be at least 1, but it is 0"),
        ((1, None), "draws must be at least 2 for a standard error, but it is 1"),
    ],
)
def test_draws_and_particles_of_a_prediction(arguments: tuple[int, int | None], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_draws(*arguments)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (partial(generated.csl, nodes=10**20), "nodes must be at most 1000"),
        (partial(generated.csl, copies=10**5), "graphs must be at most 200000, but it is 1000000"),
        (partial(generated.triangles, train=10**9), "train must be at most 200000"),
        (partial(generated.lcc, large_nodes=10**6), "large_nodes must be at most 1000"),
        (partial(generated.connectivity, nodes=10**6), "nodes must be at most 1000"),
        (partial(generated.planarity, nodes=100), "nodes must be at most 30"),
        (partial(generated.bipartiteness, test=10**12), "test must be at most 200000"),
    ],
)
def test_generators_refuse_what_would_never_end(make: Callable[..., object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make(np.random.default_rng(0))


def test_overrides_are_bounded_too(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {name: csl}\ntraining: {epochs: 1}\n")
    for override, sentence in {
        "data.options.a=&a [*a]": "the value of data.options.a, line 1: an alias must not lead back to itself",
        "data.options=" + "[" * 1000: "the value of data.options must have at most 50 levels",
        "data.options." + "a." * 100_000 + "a=1": "an override must name at most 50 levels, but it is 'data.options.a",
        "model.particles=1000000": "model.particles must be at most 10000, but it is 1000000",
    }.items():
        with pytest.raises(ValueError, match="must") as caught:
            read_config(path, [override])
        assert str(caught.value).startswith(sentence)
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["sol.csv", "mols.smi", "graphs.g6", "own.pfgnn", "a.csv.gz"])
def test_graphs_in_place_of_a_config(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("smiles,y\n" + "CCO,1\n" * 1000)
    with pytest.raises(ValueError, match=rf"{name} must be a config \(YAML\), but it is named like graphs; see"):
        read_config(tmp_path / name)


def test_a_table_in_place_of_a_config_is_quoted_on_one_line(tmp_path: Path) -> None:
    (tmp_path / "sol.txt").write_text("smiles,y\n" + "CCO,1\n" * 1000)
    with pytest.raises(
        TypeError, match=r"sol.txt must hold settings such as data, .*, but it holds 'smiles,y"
    ) as caught:
        read_config(tmp_path / "sol.txt")
    assert len(str(caught.value)) < 300


def test_settings_that_contradict_each_other_are_told_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("data: {name: csl}\n")
    with pytest.raises(ValueError, match=r"run.yaml: exactly one of training.epochs and training.updates must be null"):
        read_config(tmp_path / "run.yaml")
