"""Models that come with pfgnn: found by name, packed from runs, with a card."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.experiments.test_old_run import GRAPHS, OLD

import pfgnn
from pfgnn.cli.app import main
from pfgnn.cli.console import console
from pfgnn.errors import InputError
from pfgnn.experiments import pretrained
from pfgnn.experiments.packing import pack_run
from pfgnn.experiments.run_directory import read_record, read_run_config
from pfgnn.files import write_json
from pfgnn.training import checkpoint_file as files

Command = Callable[..., tuple[object, str, str]]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of pretrained models."""
    monkeypatch.setattr(pretrained, "FOLDER", tmp_path / "pretrained")
    return tmp_path / "pretrained"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """A command in this process, in a folder of its own: exit status, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "_width", 200)

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["pfgnn", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return call


@pytest.mark.parametrize("half", [True, False])
def test_a_packed_run_predicts_as_the_run(shelf: Path, half: bool) -> None:
    pack_run(OLD, shelf / "old", licence="MIT", limits="a test", half=half)
    want = pfgnn.load_run(OLD, "cpu").predict(GRAPHS, draws=4).mean
    got = pfgnn.load_pretrained("old", "cpu").predict(GRAPHS, draws=4).mean
    torch.testing.assert_close(got, want, rtol=5e-3 if half else 0, atol=0)
    assert torch.equal(got, want) is not half  # float16 rounds, so the parameters really are stored in it
    tensors, _ = files.read_checkpoint(shelf / "old" / files.BEST)
    assert {name.partition(".")[0] for name in tensors} == {"model", "target"}  # not the state of the optimiser


def test_a_card_tells_data_error_parameters_limits_and_licence(shelf: Path, command: Command) -> None:
    assert command("cards") == (
        0,
        "No trained model comes with this version of pfgnn. `pfgnn pack` makes one from a run.\n",
        "",
    )
    status, said, _ = command("pack", OLD, shelf / "tiny", "--licence", "CC0", "--limits", "for tests only")
    assert status == 0, said
    record = read_record(OLD)
    status, card, _ = command("cards", "tiny")
    error = record["results"]["test"]["value"]
    assert "before they were rounded to float16" in card
    assert "evaluate" not in card  # nobody else has the file of its data
    for fact in (
        "old, checksum",
        f"test mae {error:.4g}",
        f"{record['parameters']:,}",
        "for tests only",
        "CC0",
        "float16",
    ):
        assert fact in card
    status, listed, _ = command("cards")
    assert f"Trained on old; validation mae {record['results']['validation']['value']:.4g}" in listed
    assert "for tests only" in listed


def test_the_command_predicts_by_name(shelf: Path, command: Command, tmp_path: Path) -> None:
    pack_run(OLD, shelf / "tiny", licence="MIT", limits="a test")
    data = "packed.pfgnn"
    pfgnn.data.Dataset.from_graphs(GRAPHS, [[0.0, 0.0]] * 2, node_categories=(3,), edge_categories=(2,)).save(data)
    status, said, errors = command("predict", "tiny", data, "--draws", 2, "--device", "cpu")
    assert (status, errors) == (0, "")
    assert "Limits of this model: a test." in said
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 3
    status, _, errors = command("predict", "tinny", data)
    assert status == 2
    assert "tinny must be a folder or a pretrained model, but it is none; did you mean tiny?" in errors


def test_other_commands_take_the_name_too(shelf: Path, command: Command, tmp_path: Path) -> None:
    """Also if a folder of this name is here, as long as it holds no run."""
    pack_run(OLD, shelf / "tiny", licence="MIT", limits="a test", half=False)
    (tmp_path / "tiny").mkdir()
    status, _, errors = command("evaluate", "tiny", "--device", "cpu")
    assert (status, "name must be one of csl" in errors) == (2, True)  # the name is found, its data are not
    status, _, errors = command("explain", "tiny", "CCO", "--device", "cpu")
    assert "no run is there" not in errors
    (tmp_path / "tiny" / "config.yaml").touch()
    status, _, errors = command("evaluate", "tiny")
    assert "tiny must hold a finished run, but its run has not finished" in errors


def test_a_wrong_name_gets_a_sentence(shelf: Path) -> None:
    with pytest.raises(InputError, match="must be one that comes with pfgnn, but this version has none; it is 'zinc'"):
        pfgnn.load_pretrained("zinc")
    pack_run(OLD, shelf / "zinc", licence="MIT", limits="a test")
    with pytest.raises(InputError, match="must be one of zinc; it is 'znic'; did you mean zinc"):
        pfgnn.load_pretrained("znic")


def test_the_card_needs_a_licence(shelf: Path) -> None:
    with pytest.raises(ValueError, match="licence must be a text for the card of the model, but it is empty"):
        pack_run(OLD, shelf / "a", licence=" ", limits="a test")


def test_nothing_is_left_of_a_run_that_does_not_fit(shelf: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must hold a finished run, but no run is there"):
        pack_run(tmp_path / "none", shelf / "a", licence="MIT", limits="")
    tensors, state = files.read_checkpoint(OLD / files.BEST)
    run = tmp_path / "large"
    write_json(run / "record.json", {**read_record(OLD), "results": {"test": {"value": 1}}})
    (run / "config.yaml").write_bytes((OLD / "config.yaml").read_bytes())
    files.write_checkpoint(run / files.BEST, files.Checkpoint(tensors, {"identity": []}))
    with pytest.raises(InputError, match=r"best\.safetensors must be the checkpoint of a run, but it has no run"):
        pack_run(run, shelf / "a", licence="MIT", limits="")
    files.write_checkpoint(run / files.BEST, files.Checkpoint(tensors, state))
    with pytest.raises(InputError, match=r"record\.json must be the record of a run, but it has no metric"):
        pack_run(run, shelf / "a", licence="MIT", limits="")
    write_json(run / "record.json", read_record(OLD))
    large = {name: tensor * 1e6 if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    files.write_checkpoint(run / files.BEST, files.Checkpoint(large, state))
    with pytest.raises(InputError, match="must lie within the range of float16, but it does not"):
        pack_run(run, shelf / "a", licence="MIT", limits="")
    assert not shelf.exists()
    pack_run(run, shelf / "a", licence="MIT", limits="", half=False)
    with pytest.raises(InputError, match="a must be a new folder, but it is there already"):
        pack_run(run, shelf / "a", licence="MIT", limits="", half=False)


def test_no_local_path_is_packed(shelf: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    record = read_record(OLD)
    text = (OLD / "config.yaml").read_text().replace("name: old", f"name: {tmp_path}/secret/old.pfgnn")
    run.mkdir()
    (run / "config.yaml").write_text(text)
    (run / files.BEST).write_bytes((OLD / files.BEST).read_bytes())
    write_json(
        run / "record.json", {**record, "config": {**record["config"], "data": {"name": f"{tmp_path}/secret/x"}}}
    )
    assert read_run_config(run).data.name.startswith(str(tmp_path))
    pack_run(run, shelf / "a", licence="MIT", limits="")
    for path in (shelf / "a").iterdir():
        assert b"secret" not in path.read_bytes()
    assert json.loads((shelf / "a" / "record.json").read_text())["config"]["data"]["name"] == "old.pfgnn"
