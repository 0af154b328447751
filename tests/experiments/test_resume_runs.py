"""Runs that go on or are tested again: after an earlier version, from another folder, after damage."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.experiments.prediction_samples import predict_run
from tests.experiments.run_samples import packed, small
from tests.experiments.test_run import interrupted
from tests.training.training_samples import graphs

from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.finished_run import evaluate_run
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import Resume, read_record, read_run_config, with_absolute_path
from pfgnn.graphs import to_graph6
from pfgnn.training.checkpoint_file import BEST, LAST, PREVIOUS, Checkpoint, read_checkpoint, write_checkpoint

DATA = "graph-cross_entropy.pfgnn"


@pytest.fixture
def stopped(tmp_path: Path) -> Config:
    """A run in tmp_path/run that was stopped at update 4, after a validation."""
    config = small(packed(tmp_path))
    interrupted(config, tmp_path / "run", 4)
    return config


def rewrite(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the identity in all checkpoints of a run."""
    for name in (LAST, PREVIOUS, BEST):
        tensors, state = read_checkpoint(directory / name)
        change(state["identity"])
        write_checkpoint(directory / name, Checkpoint(tensors, state))


def without_new_settings(identity: dict[str, Any]) -> None:
    del identity["config"]["training"]["entropy"], identity["config"]["model"]["scale_sums"]
    del identity["config"]["data"]["ring_walks"]


def with_retired_settings(identity: dict[str, Any]) -> None:
    identity["config"]["training"] |= {"block": 1, "union": 1}


@pytest.mark.parametrize("earlier", [without_new_settings, with_retired_settings])
def test_a_checkpoint_of_a_version_with_other_settings_goes_on(
    tmp_path: Path, stopped: Config, earlier: Callable[[dict[str, Any]], None]
) -> None:
    rewrite(tmp_path / "run", earlier)
    record = run(stopped, tmp_path / "run", device="cpu", resume="last")
    assert record["results"] == run(stopped, tmp_path / "whole", device="cpu")["results"]


def test_a_new_setting_that_is_not_at_its_default_is_another_run(tmp_path: Path, stopped: Config) -> None:
    rewrite(tmp_path / "run", without_new_settings)
    other = replace(stopped, training=replace(stopped.training, entropy=0.5))
    with pytest.raises(ValueError, match=r"config\.training\.entropy was 0\.0 there, but is 0\.5 here"):
        run(other, tmp_path / "run", device="cpu", resume="last")


def test_a_setting_that_is_gone_is_named_with_the_file(tmp_path: Path, stopped: Config) -> None:
    rewrite(tmp_path / "run", lambda identity: identity["config"]["training"].update(block=4))
    with pytest.raises(
        ValueError, match=r"last\.safetensors must be of this version of pfgnn, but training\.block is not"
    ):
        run(stopped, tmp_path / "run", device="cpu", resume="last")


def test_a_state_without_a_new_field_has_its_default(tmp_path: Path, stopped: Config) -> None:
    tensors, state = read_checkpoint(tmp_path / "run" / LAST)
    del state["run"]["seconds"]
    state["run"]["retired"] = 1
    write_checkpoint(tmp_path / "run" / LAST, Checkpoint(tensors, state))
    assert run(stopped, tmp_path / "run", device="cpu", resume="last")["updates"] == 6


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def do(commands: str, folder: Path) -> dict[str, Any]:
    """Do the commands of a message: files to remove, and a training."""
    *removing, training = (shlex.split(command) for command in commands.split(" && "))
    for program, *paths in removing:
        assert program == "rm"
        for path in paths:
            Path(path).unlink()
    options = training[5:]
    assert training[:2] + training[3:5] == ["pfgnn", "train", "--out", str(folder)]
    start: Resume = "no" if not options else "last" if options == ["--resume"] else "previous"
    return run(read_config(training[2]), folder, device="cpu", resume=start)


@pytest.mark.parametrize("harm", [damage, Path.unlink], ids=["truncated", "missing"])
def test_a_last_checkpoint_that_is_lost_leads_to_the_one_before_it(
    tmp_path: Path, stopped: Config, harm: Callable[[Path], None]
) -> None:
    """It is not begun anew without a word, which would overwrite the one before it."""
    harm(tmp_path / "run" / LAST)
    with pytest.raises(ValueError, match=r"last\.safetensors must be a .*checkpoint, but") as caught:
        run(stopped, tmp_path / "run", device="cpu", resume="last")
    record = do(str(caught.value).split("go on from the checkpoint before it with: ")[1], tmp_path / "run")
    assert record["results"] == run(stopped, tmp_path / "whole", device="cpu")["results"]


@pytest.mark.parametrize("resume", ["last", "previous"])
@pytest.mark.parametrize(
    ("damaged", "missing"),
    [
        ((LAST,), (PREVIOUS,)),
        ((PREVIOUS,), (LAST,)),
        ((LAST, PREVIOUS), ()),
        ((BEST,), (PREVIOUS,)),
        ((), (BEST, PREVIOUS)),
    ],
)
def test_without_a_whole_checkpoint_the_run_starts_anew_by_the_printed_command(
    tmp_path: Path, stopped: Config, resume: Resume, damaged: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    for name in damaged:
        damage(tmp_path / "run" / name)
    for name in missing:
        (tmp_path / "run" / name).unlink()
    with pytest.raises(ValueError, match="no other one is there, so start the run anew with: ") as caught:
        run(stopped, tmp_path / "run", device="cpu", resume=resume)
    record = do(str(caught.value).split("with: ")[1], tmp_path / "run")
    assert record["results"] == run(stopped, tmp_path / "whole", device="cpu")["results"]


def test_a_damaged_previous_checkpoint_leads_to_the_last_one(tmp_path: Path, stopped: Config) -> None:
    damage(tmp_path / "run" / PREVIOUS)
    with pytest.raises(ValueError, match="go on from the checkpoint after it with: ") as caught:
        run(stopped, tmp_path / "run", device="cpu", resume="previous")
    assert do(str(caught.value).split("with: ")[1], tmp_path / "run")["updates"] == 6


def test_damaged_weights_of_a_finished_run_are_trained_again_by_the_printed_command(
    tmp_path: Path, stopped: Config
) -> None:
    directory = tmp_path / "run"
    record = run(stopped, directory, device="cpu", resume="last")
    damage(directory / f"{record['selected']}.safetensors")
    with pytest.raises(ValueError, match=r"must be a whole checkpoint.*; train the model again with: ") as caught:
        evaluate_run(directory, device="cpu")
    again = do(str(caught.value).split("with: ")[1], tmp_path / "run-again")
    assert again["results"] == record["results"]


@pytest.fixture
def relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a finished run whose data were named relative to the folder; now one stands elsewhere."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    packed(tmp_path / "project")
    run(small(Path(DATA)), Path("runs") / "first", device="cpu")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "project" / "runs" / "first"


def test_a_run_is_tested_and_used_from_another_folder(relative: Path) -> None:
    assert evaluate_run(relative, device="cpu")["results"] == read_record(relative)["results"]
    Path("new.g6").write_text(f"{to_graph6(graphs(20).graph(0))}\n")
    assert len(predict_run(Path("..", "project", "runs", "first"), Path("new.g6"), draws=2, device="cpu").mean) == 1


def test_the_record_names_the_data_as_they_were_given(relative: Path) -> None:
    """So that a record does not tell where somebody keeps his files."""
    assert read_record(relative)["config"]["data"]["name"] == DATA
    assert read_config(relative / "config.yaml").data.name == str(relative.parents[1] / DATA)


def test_a_run_goes_on_from_another_folder(relative: Path, tmp_path: Path) -> None:
    """By its own config, and by one that names the data from there."""
    assert run(read_config(relative / "config.yaml"), relative, device="cpu", resume="last") == read_record(relative)
    (relative / "record.json").unlink()
    config = small(Path("..", "project", DATA))
    assert run(config, relative, device="cpu", resume="last")["updates"] == 6
    assert run(config, relative, device="cpu", resume="last")["updates"] == 6
    other = replace(graphs(20), splits=Dataset.open(tmp_path / "project" / DATA).splits)
    replace(other, y=1 - other.y.astype(int)).save(tmp_path / "elsewhere" / "other.pfgnn")
    with pytest.raises(ValueError, match=r"data\.name was .* there, but is .*other\.pfgnn' here"):
        run(small(Path("other.pfgnn")), relative, device="cpu", resume="last")
    (relative / "record.json").unlink()
    with pytest.raises(ValueError, match=r"last\.safetensors belongs to another run: data was"):
        run(small(Path("other.pfgnn")), relative, device="cpu", resume="last")


def test_the_data_of_an_earlier_versions_run_are_searched_above_it(relative: Path) -> None:
    config = yaml.safe_load((relative / "config.yaml").read_text())
    config["data"]["name"] = DATA
    (relative / "config.yaml").write_text(yaml.safe_dump(config))
    assert evaluate_run(relative, device="cpu")["results"] == read_record(relative)["results"]
    (relative.parents[1] / DATA).unlink()
    assert read_run_config(relative).data.name == str(Path(DATA).absolute())


def test_data_that_were_moved_are_named(relative: Path) -> None:
    (relative.parents[1] / DATA).rename("moved.pfgnn")
    again = evaluate_run(relative, device="cpu", overrides=("data.name=moved.pfgnn",))
    assert again["results"] == read_record(relative)["results"]


def test_a_named_dataset_keeps_its_name() -> None:
    config = read_config("csl")
    assert with_absolute_path(config) == config


def test_other_weights_are_another_run(tmp_path: Path, stopped: Config) -> None:
    weights = [float(1 + number) for number in range(20)]
    with pytest.raises(InputError, match="belongs to another run: weights was None there"):
        run(stopped, tmp_path / "run", device="cpu", resume="last", weights=weights)
    with pytest.raises(InputError, match="weights must have one number for each of"):
        run(stopped, tmp_path / "new", device="cpu", weights=weights[1:])
