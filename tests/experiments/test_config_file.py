import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import pytest

from pfgnn.experiments.config import (
    Config,
    DataConfig,
    EvaluationConfig,
    ModelConfig,
    PairsConfig,
    TrainingConfig,
    check_together,
)
from pfgnn.experiments.config_file import config_mapping, parse_config, read_config, write_config

SMALL: dict[str, Any] = {"data": {"name": "csl"}, "training": {"epochs": 3}}


def write(folder: Path, text: str, name: str = "run.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def with_value(key: str, value: object) -> dict[str, Any]:
    """SMALL with a value at a dotted key."""
    mapping: dict[str, Any] = json.loads(json.dumps(SMALL))
    *sections, last = key.split(".")
    place = mapping
    for section in sections:
        place = place.setdefault(section, {})
    place[last] = value
    return mapping


def test_a_file_gives_its_values_and_defaults_elsewhere(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "data: {name: csl, tests: [test, all], options: {copies: 2, skips: [2, 3]}}\n"
        "training: {epochs: 3, learning_rate: 1e-3, weight_decay: 1, clip: null, schedule: {kind: plateau}}\n"
        "evaluation: {pairs: {}}\n",
    )
    config = read_config(path)
    assert config.data == DataConfig("csl", options={"copies": 2, "skips": [2, 3]}, tests=("test", "all"))
    assert config.model == ModelConfig()
    assert config.training.learning_rate == 1e-3
    assert isinstance(config.training.weight_decay, float)
    assert config.training.clip is None
    assert config.training.schedule.kind == "plateau"
    assert config.evaluation == EvaluationConfig(pairs=PairsConfig())


def test_overrides_change_add_and_remove(tmp_path: Path) -> None:
    path = write(tmp_path, "data: {name: csl}\nmodel: {step_layers: 2}\ntraining: {epochs: 3}\n")
    overrides = ["model.particles=16", "model.step_layers=null", "evaluation.pairs.draws=8", "data.tests=[all]"]
    overrides += ["training.epochs=null", "training.updates=7", "training.schedule.kind=plateau", "seed=5"]
    config = read_config(path, overrides)
    assert (config.model.particles, config.model.step_layers) == (16, None)
    assert config.evaluation.pairs == PairsConfig(draws=8)
    assert config.data.tests == ("all",)
    assert (config.training.epochs, config.training.updates, config.training.schedule.kind) == (None, 7, "plateau")
    assert config.seed == 5


@pytest.mark.parametrize("override", ["model.particles", "=3", "model.=3", ".seed=3"])
def test_an_override_that_is_none(tmp_path: Path, override: str) -> None:
    path = write(tmp_path, "data: {name: csl}\ntraining: {epochs: 3}\n")
    with pytest.raises(ValueError, match=re.escape(f"must look like model.particles=16, but it is {override!r}")):
        read_config(path, [override])


def test_an_override_of_wrong_yaml(tmp_path: Path) -> None:
    path = write(tmp_path, "data: {name: csl}\ntraining: {epochs: 3}\n")
    with pytest.raises(ValueError, match=r"the value of model\.steps, line 1 must be YAML"):
        read_config(path, ["model.steps=[3"])


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("model.particels", 4, "model.particels is not a setting, but it is set to 4; did you mean particles?"),
        (
            "training.schedule.knd",
            "x",
            "training.schedule.knd is not a setting, but it is set to 'x'; did you mean kind",
        ),
        ("modle", {}, "modle is not a setting, but it is set to {}; did you mean model?"),
        ("seed", True, "seed must be an integer, but it is True"),
        ("seed", 1.0, "seed must be an integer, but it is 1.0"),
        ("model.step_layers", "two", "model.step_layers must be an integer or null, but it is 'two'"),
        ("model.residual", 1, "model.residual must be true or false, but it is 1"),
        ("model.share", "half", "model.share must be a finite number, but it is 'half'"),
        ("model.share", False, "model.share must be a finite number, but it is False"),
        ("training.clip", float("inf"), "training.clip must be a finite number or null, but it is inf"),
        ("training.gamma", "nan", "training.gamma must be a finite number, but it is 'nan'"),
        ("training.gamma", 10**400, "training.gamma must be a finite number, but it is 1000"),
        ("data.name", 3, "data.name must be text, but it is 3"),
        ("data.tests", "test", "data.tests must be a list, but it is 'test'"),
        ("data.tests", ["test", 3], "data.tests[1] must be text, but it is 3"),
        ("data.options", [1], "data.options must be a mapping of names to values, but it is [1]"),
        ("data.options", {"seed": {1}}, "data.options.seed must be text, a finite number, true, false, null or a list"),
        ("data.options", {1: 2}, "the name of data.options.1 must be text, but it is 1"),
        ("model", None, "model must be a mapping of names to values, but it is None"),
        ("evaluation.pairs", 8, "evaluation.pairs must be a mapping of names to values or null, but it is 8"),
    ],
)
def test_wrong_keys_and_types(key: str, value: object, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(sentence)):
        parse_config(with_value(key, value))


def test_a_choice_lists_the_choices() -> None:
    with pytest.raises(
        ValueError, match=r"model\.pool must be one of sum, mean, max, but it is 'men'; did you mean mean"
    ):
        parse_config(with_value("model.pool", "men"))
    with pytest.raises(ValueError, match=r"model\.pool must be one of sum, mean, max, but it is None"):
        parse_config(with_value("model.pool", None))


def test_a_name_like_no_other_lists_all() -> None:
    with pytest.raises(ValueError, match=r"xyzzy is not a setting, .* are data, model, training, evaluation, seed"):
        parse_config(with_value("xyzzy", 1))


def test_what_must_be_set() -> None:
    with pytest.raises(ValueError, match="data must be set, but it is missing"):
        parse_config({})
    with pytest.raises(ValueError, match=r"data\.name must be set, but it is missing"):
        parse_config({"data": {}})


WRONG: list[tuple[str, str, list[float]]] = [
    ("model.width", "at least 1", [0, -1]),
    ("training.patience", "at least 1", [0]),
    ("evaluation.pairs.draws", "at least 2", [1]),
    ("model.steps", "at least 0", [-1]),
    ("training.schedule.patience", "at least 0", [-1]),
    ("data.ring_walks", "0 or at least 3", [1, 2, -1]),
    ("training.gamma", "at least 0", [-0.5]),
    ("training.clip", "above 0", [0.0]),
    ("model.share", "above 0 and at most 1", [0.0, 1.01]),
    ("model.alpha", "between 0 and 1", [-0.1, 1.1]),
    ("model.dropout", "at least 0 and below 1", [-0.1, 1.0]),
    ("evaluation.pairs.level", "above 0 and below 1", [0.0, 1.0]),
    ("seed", "in 0..2**63 - 1", [-1, 2**63]),
]


@pytest.mark.parametrize(
    ("key", "value", "rule"), [(key, value, rule) for key, rule, wrong in WRONG for value in wrong]
)
def test_values_out_of_range(key: str, value: float, rule: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{key} must be {rule}, but it is {value}")):
        parse_config(with_value(key, value))


def test_one_of_epochs_and_updates() -> None:
    config = parse_config(SMALL)
    for epochs, updates in ((None, None), (3, 3)):
        with pytest.raises(ValueError, match=r"exactly one of training\.epochs and training\.updates must be null"):
            check_together(replace(config, training=TrainingConfig(epochs=epochs, updates=updates)))


def test_a_plateau_starts_above_its_end() -> None:
    wrong = with_value("training.schedule", {"kind": "plateau", "min_lr": 0.1})
    with pytest.raises(ValueError, match=r"min_lr must be at most training\.learning_rate, 0\.001, but it is 0\.1"):
        parse_config(wrong)
    wrong["training"]["schedule"]["kind"] = "constant"  # where the smallest rate is not read
    parse_config(wrong)


def test_options_are_the_generators() -> None:
    with pytest.raises(ValueError, match=r"data\.options must hold options of the generator, but it holds edge_"):
        parse_config(with_value("data.options", {"edge_features": False, "seed": 1}))


def test_a_base_is_changed_value_by_value(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    write(tmp_path, "data: {name: csl, fold: 1}\nmodel: {steps: 5, width: 8}\ntraining: {epochs: 3}\n", "base.yaml")
    write(tmp_path / "below", "base: ../base.yaml\nmodel: {steps: 4}\n", "middle.yaml")
    path = write(tmp_path / "below", "base: middle.yaml\ndata: {fold: null}\nmodel: {width: 16}\n", "top.yaml")
    config = read_config(path)
    assert (config.data.name, config.data.fold) == ("csl", None)
    assert (config.model.steps, config.model.width) == (4, 16)


def test_a_base_that_leads_back(tmp_path: Path) -> None:
    write(tmp_path, "base: b.yaml\n", "a.yaml")
    write(tmp_path, "base: a.yaml\n", "b.yaml")
    with pytest.raises(ValueError, match="base must not lead back to the file itself, but it does"):
        read_config(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("data: {name: csl}\nseed: 1\nseed: 2\n", "run.yaml, line 3 must be YAML, but the key seed occurs twice"),
        ("data:\n  name: csl\n  name: exp\n", "run.yaml, line 3 must be YAML, but the key name occurs twice"),
        ("data: {name: csl\nseed: 1\n", "run.yaml, line 2 must be YAML, but "),
        ("data: csl\n[1]: 2\n", "run.yaml, line 2 must be YAML, but found unhashable key"),
        ("data: \x00\n", "run.yaml must be YAML, but unacceptable character"),
        ("", "run.yaml must hold settings such as data, model and training, but it holds None"),
        ("- 1\n", "run.yaml must hold settings such as data, model and training, but it holds [1]"),
        ("base: 3\n", "run.yaml: base must be the name of a file, but it is 3"),
        ('base: "a\\0b"\n', r"run.yaml: base must be the name of a file, but it is 'a\x00b'"),
        (
            f"base: {'a' * 300}\n",
            f"{'a' * 300}, the base of run.yaml, must be a config that can be read, but File name",
        ),
        ("base: gone.yaml\n", "gone.yaml, the base of run.yaml, must be a config that can be read, but No such file"),
        ("data: {nam: csl}\n", "run.yaml: data.nam is not a setting, but it is set to 'csl'; did you mean name?"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError, OSError), match=re.escape(sentence)) as caught:
        read_config(write(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.yaml must be a config that can be read, but No such file"):
        read_config(tmp_path / "gone.yaml")
    with pytest.raises(IsADirectoryError, match=r"^\. must be a config that can be read, but Is a directory"):
        read_config(Path("."))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"bytes\.yaml must be text in UTF-8, but line 1 has the byte 0xff"):
        read_config(tmp_path / "bytes.yaml")


def test_a_setting_that_is_gone_may_stand_there_if_it_did_nothing(tmp_path: Path) -> None:
    text = "data: {name: csl}\ntraining: {epochs: 3, block: VALUE, union: 1}\n"
    plain = read_config(write(tmp_path, "data: {name: csl}\ntraining: {epochs: 3}\n"))
    assert read_config(write(tmp_path, text.replace("VALUE", "1"))) == plain
    with pytest.raises(ValueError, match=r"training\.block"):
        read_config(write(tmp_path, text.replace("VALUE", "2")))


def test_configs_survive_json_and_yaml(tmp_path: Path) -> None:
    config = Config(
        DataConfig("csl", options={"skips": [2, 3], "note": "null"}, fold=2, tests=("test", "all")),
        ModelConfig(share=0.125, step_layers=1),
        TrainingConfig(updates=10, learning_rate=1e-5, clip=None),
        EvaluationConfig(pairs=PairsConfig(level=1e-9)),
        seed=2**62,
    )
    assert parse_config(json.loads(json.dumps(config_mapping(config)))) == config
    write_config(tmp_path / "run" / "config.yaml", config)
    assert read_config(tmp_path / "run" / "config.yaml") == config


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"model": {"policy": "mlp"}, "training": {"gamma": 0.1}},
            "training.credit must be particle, or training.gamma 0, for a learned policy with model.sampling distinct",
        ),
        (
            {"model": {"sampling": "independent"}, "training": {"entropy": 0.1}},
            "training.entropy must be 0 with model.sampling independent, but it is 0.1",
        ),
        (
            {"model": {"second_moment": True}},
            "model.readout must be mean if model.second_moment is true, but it is particle",
        ),
        (
            {"model": {"linear": True}},
            "training.standardise must be true if model.linear is true, but it is false",
        ),
        (
            {"model": {"vertices_per_step": 2}},
            "model.vertices_per_step must be 1 with model.sampling distinct, but it is 2",
        ),
    ],
)
def test_settings_that_do_not_go_together(changes: dict[str, dict[str, Any]], sentence: str) -> None:
    training = {"epochs": 1, **changes.get("training", {})}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        parse_config({"data": {"name": "csl"}, **changes, "training": training})


def numbers(section: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting that is a number, with its type."""
    for name, hint in get_type_hints(section, include_extras=True).items():
        place = f"{key}.{name}" if key else name
        (kind, *_) = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        if is_dataclass(kind):
            yield from numbers(kind, place)
        elif (get_args(kind)[0] if get_origin(kind) is Annotated else kind) in (int, float):
            yield place, kind


def test_every_number_has_a_limit() -> None:
    found = dict(numbers(Config))
    assert len(found) > 35
    assert [key for key, kind in found.items() if get_origin(kind) is not Annotated] == []


def test_a_run_without_its_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text("{}")
    with pytest.raises(OSError, match=r"config\.yaml must be .*is a run that has lost it; copy the whole folder again"):
        read_config(tmp_path / "config.yaml")
