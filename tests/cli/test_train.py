"""The training commands as a user meets them."""

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.experiments.run_samples import packed, small, written
from tests.training.training_samples import graphs

from pfgnn.cli.app import main
from pfgnn.cli.console import console
from pfgnn.experiments import run as running
from pfgnn.graphs import to_graph6
from pfgnn.training import loop
from pfgnn.training.metrics_file import Status

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def pfgnn(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command line in this process, in a folder of its own: exit status, output, errors."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pfgnn", *map(str, arguments)])
        monkeypatch.setattr(console, "_width", 200)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return call


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return written(tmp_path / "small.yaml", small(packed(tmp_path)))


def test_train_evaluate_and_predict(pfgnn: Command, config: Path, tmp_path: Path) -> None:
    status, out, err = pfgnn("train", config, "--set", "seed=3", "--set", "model.particles=4", "--device", "cpu")
    assert status == 0, err
    assert "6 updates in" in out
    assert "Wrote runs/small-seed3/record.json." in out
    directory = tmp_path / "runs" / "small-seed3"
    record = json.loads((directory / "record.json").read_text())
    assert (record["config"]["model"]["particles"], record["seed"]) == (4, 3)
    assert f"{record['results']['test']['value']:.4f}" in out
    status, out, err = pfgnn("evaluate", directory, "--device", "cpu")
    assert status == 0, err
    assert "Compared with the record: identical." in out
    status, out, err = pfgnn("evaluate", directory, "--device", "cpu", "--json")
    assert status == 0, err
    assert json.loads(out) == {"results": record["results"], "pairs": record["pairs"], "same_as_record": True}
    status, out, err = pfgnn("evaluate", directory, "--set", "evaluation.draws=9", "--device", "cpu")
    assert status == 0, err
    assert " 9 " in out
    assert "Compared with the record" not in out
    (tmp_path / "new.g6").write_text(f"{to_graph6(graphs(20).graph(0))}\n")
    status, out, err = pfgnn(
        "predict", directory, "new.g6", *("--out", "out.csv", "--draws", 3, "--particles", 2), "--device", "cpu"
    )
    assert status == 0, err
    assert "Predicted 1 graph, means of 3 draws; wrote out.csv." in out
    with (tmp_path / "out.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["graph"] == "0"
    assert float(row["probability of class 0"]) + float(row["probability of class 1"]) == pytest.approx(1)
    assert "The standard errors tell the noise of the draws alone. They do not tell how far" in out
    status, out, err = pfgnn("predict", directory, "new.g6", "--out", "out.csv", "--particles", 99, "--device", "cpu")
    assert status == 0, err
    assert "Predicted 1 graph; wrote out.csv.\nThe standard errors are 0, because nothing is drawn at random." in out


@pytest.mark.parametrize(
    ("key", "change", "said"),
    [
        ("value", 0.125, "different, the values by at most 0.1; the record was made on CPU"),
        (
            "spread",
            0.0625,
            "the same values; other numbers, such as the spread, differ by at most 0.06; the record was",
        ),
    ],
)
def test_a_record_that_is_not_met_is_said_to_differ(
    pfgnn: Command, config: Path, tmp_path: Path, key: str, change: float, said: str
) -> None:
    assert pfgnn("train", config, "--out", "run", "--device", "cpu")[0] == 0
    path = tmp_path / "run" / "record.json"
    record = json.loads(path.read_text())
    record["results"]["test"][key] += change
    path.write_text(json.dumps(record))
    status, out, _ = pfgnn("evaluate", "run", "--device", "cpu")
    assert status == 0
    assert f"Compared with the record: {said}" in out


def test_data_that_were_moved_are_asked_for_and_named(
    pfgnn: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(tmp_path)
    written(tmp_path / "here.yaml", small(Path(data.name)))
    assert pfgnn("train", "here.yaml", "--out", "run", "--device", "cpu")[0] == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    status, out, err = pfgnn("evaluate", "../run", "--device", "cpu")
    assert "identical" in out, err
    data.rename(tmp_path / "moved.pfgnn")
    status, _, err = pfgnn("evaluate", "../run", "--device", "cpu")
    said = f"pfgnn: {data} must be the data of the run, but it is not there; --set data.name=FILE names it\n"
    assert (status, err) == (2, said)
    status, out, err = pfgnn("evaluate", "../run", "--device", "cpu", "--set", "data.name=../moved.pfgnn")
    assert "identical" in out, err


def test_an_interrupted_run_says_how_to_go_on_and_does(
    pfgnn: Command, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = running.run

    def interrupted(*arguments: object, report: Callable[[Status], None], **options: object) -> object:
        def stop(status: Status) -> None:
            report(status)
            if status.update == 4:
                raise KeyboardInterrupt

        return run(*arguments, report=stop, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(running, "run", interrupted)
        patch.setattr(loop, "SECONDS_BETWEEN_REPORTS", 0.0)
        status, out, err = pfgnn("train", config, "--out", "run", "--device", "cpu")
    assert status == 130, err
    assert f"-m pfgnn train --resume {config} --out run --device cpu\n" in err
    assert "epoch" in out
    assert "loss" in out
    status, _, err = pfgnn("train", config, "--out", "run", "--device", "cpu")
    assert (status, err) == (2, "pfgnn: run must be a new directory, but it holds a run; resume it or choose another\n")
    last = tmp_path / "run" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-1])
    status, _, err = pfgnn("train", config, "--out", "run", "--resume", "--device", "cpu")
    assert status == 2
    assert "last.safetensors must be a whole checkpoint" in err
    assert "pfgnn train run/config.yaml --out run --resume-previous\n" in err
    status, out, err = pfgnn("train", config, "--out", "run", "--resume-previous", "--device", "cpu")
    assert status == 0, err
    assert "6 updates" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "missing.yaml"], "missing.yaml must be a config that can be read, but No such file"),
        (
            ["train", "small.yaml", "--set", "model.particels=3"],
            "is set to 3; did you mean particles?",
        ),
        (["train", "small.yaml", "--out", "small.yaml"], "small.yaml must be a folder, but it is a file"),
        (["train", "small.yaml", "--out", "small.yaml/a/b"], "small.yaml/a/b must be a folder, but /"),
        (["train", "small.yaml", "--set", "model.width=a"], "model.width must be an integer, but it is 'a'"),
        (
            ["train", "small.yaml", "--device", "gpu"],
            "device must be one of auto, cpu, cuda, or such as cuda:1",
        ),
        (
            ["train", "small.yaml", "--set", "training.learning_rate=1e30"],
            "its gradient is no longer finite",
        ),
        (["train", "small.yaml", "--set", "data.train=missing"], "must be one of train, validation, test, all, but it"),
        (["evaluate", "."], "must hold a finished run, but no run is there"),
        (
            ["evaluate", ".", "--set", "model.width=3"],
            "--set can only change evaluation.* and data.name here, but it is 'm",
        ),
        (["predict", ".", "new.g6"], "must hold a finished run, but no run is there"),
    ],
)
def test_wrong_input_gets_one_sentence_and_status_2(
    pfgnn: Command, config: Path, arguments: list[str], sentence: str
) -> None:
    cpu = [] if "--device" in arguments else ["--device", "cpu"]
    status, _, err = pfgnn(*arguments, *cpu)
    assert status == 2
    assert err.startswith("pfgnn: ")
    assert sentence in err
    assert err.count("\n") == 1


def test_converted_graphs_get_parts_as_the_error_advises(pfgnn: Command, tmp_path: Path) -> None:
    (tmp_path / "own.g6").write_text(20 * "A_\n")
    (tmp_path / "labels.txt").write_text("".join(f"{number}.5\n" for number in range(20)))
    (tmp_path / "own.yaml").write_text("data: {name: own.pfgnn}\nmodel: {width: 4, layers: 1}\ntraining: {epochs: 1}\n")
    convert = ("data", "convert", "own.g6", "own.pfgnn", "--labels", "labels.txt")
    train = ("train", "own.yaml", "--device", "cpu")
    assert pfgnn(*convert)[0] == 0
    status, _, err = pfgnn(*train, "--out", "none")
    assert status == 2
    assert err.startswith("pfgnn: own has no parts, but its part 'train' is wanted; `pfgnn data convert FILE OUT ")
    advised = re.findall(r"--set '?([^\s']+)", err)
    assert len(advised) == 3
    status, _, err_all = pfgnn(*train, "--out", "all", *(word for setting in advised for word in ("--set", setting)))
    assert status == 0, err_all
    (option,) = re.findall(r"FILE OUT (--split \S+)`", err)
    assert pfgnn(*convert, *option.split())[0] == 0
    status, _, err = pfgnn(*train, "--out", "parts")
    assert status == 0, err
