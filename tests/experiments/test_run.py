"""A run directory proves its number."""

import json
import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.experiments.run_samples import NODES, PARTS, TARGETS, packed, small, written
from tests.training.training_samples import CLASSES, graphs, lines

from pfgnn.data import Dataset
from pfgnn.data.task import Task
from pfgnn.experiments import open_run
from pfgnn.experiments.config import EvaluationConfig, ModelConfig
from pfgnn.experiments.config_file import config_mapping, read_config
from pfgnn.experiments.finished_run import evaluate_run, load_weights
from pfgnn.experiments.open_run import Run, checksum
from pfgnn.experiments.packing import pack_run
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import Resume, read_record
from pfgnn.training.checkpoint_file import BEST, LAST, PREVIOUS, read_checkpoint
from pfgnn.training.evaluate import predict
from pfgnn.training.metrics_file import Status


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run directory; its data lie beside it."""
    folder = tmp_path_factory.mktemp("finished")
    run(small(packed(folder)), folder / "run", device="cpu")
    return folder / "run"


def test_the_directory_holds_config_metrics_record_and_checkpoints(finished: Path) -> None:
    names = {"config.yaml", "metrics.jsonl", "record.json", BEST, LAST, PREVIOUS}
    assert {path.name for path in finished.iterdir()} == names
    config = small(finished.parent / "graph-cross_entropy.pfgnn")
    assert read_config(finished / "config.yaml") == config
    assert [line["update"] for line in lines(finished)] == [3, 6]


def test_the_record(finished: Path) -> None:
    record = json.loads((finished / "record.json").read_text())
    config = small(finished.parent / "graph-cross_entropy.pfgnn")
    assert record["config"] == config_mapping(config)
    assert (record["seed"], record["epochs"], record["updates"], record["devices"]) == (0, 2, 6, 1)
    assert record["torch"] == torch.__version__
    assert record["device"].startswith("CPU")
    assert {"commit", "python", "pfgnn", "numpy", "torch_geometric"} <= record.keys()
    assert set(record["seconds"]) == {"training", "evaluation"}
    assert record["selected"] == "best"
    best = read_checkpoint(finished / BEST)
    assert record["selected_update"] == best.state["run"]["update"]
    model = load_weights(finished, read_record(finished)).model
    assert record["parameters"] == sum(p.numel() for p in model.parameters())
    assert record["data"] == checksum(Dataset.open(finished.parent / "graph-cross_entropy.pfgnn"))
    assert list(record["results"]) == ["validation", "test"]
    for result in record["results"].values():
        assert (result["metric"], len(result["draws"])) == ("accuracy", 3)
        assert result["value"] == pytest.approx(sum(result["draws"]) / 3)
    assert record["pairs"] is None


def test_a_run_with_a_linear_part(tmp_path: Path) -> None:
    """It is part of the checkpoint, so the run goes on, is evaluated, and is packed, without the fit. See also
    tests/training/test_linear_fit.py."""
    config = small(packed(tmp_path, TARGETS), {"standardise": True})
    config = replace(config, model=replace(config.model, linear=True))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    record = run(config, whole, device="cpu")
    interrupted(config, parts, 3)
    assert run(config, parts, device="cpu", resume="last")["results"] == record["results"]
    assert evaluate_run(whole, device="cpu")["results"] == record["results"]
    pack_run(whole, tmp_path / "packed", licence="MIT", limits="a test")
    exact = {"model.linear.weight", "model.linear.bias"}
    kept, packed_tensors = (read_checkpoint(folder / BEST).tensors for folder in (whole, tmp_path / "packed"))
    assert exact <= packed_tensors.keys()
    assert all(torch.equal(kept[name], packed_tensors[name]) for name in exact)  # float16 would lose digits


@pytest.mark.parametrize("task", [CLASSES, NODES, TARGETS], ids=lambda task: f"{task.level}-{task.loss}")
@pytest.mark.parametrize("validated", [True, False])
def test_evaluating_again_gives_the_recorded_results(tmp_path: Path, task: Task, validated: bool) -> None:
    config = small(packed(tmp_path, task), {"standardise": task is TARGETS}, evaluation=EvaluationConfig(draws=2))
    if not validated:
        config = replace(config, data=replace(config.data, validation=None))
    record = run(config, tmp_path / "run", device="cpu")
    assert record["selected"] == ("best" if validated else "last")
    found = evaluate_run(tmp_path / "run", device="cpu")
    assert found == {"results": record["results"], "pairs": None}
    assert found == {key: read_record(tmp_path / "run")[key] for key in found}


def test_errors_are_in_the_targets_own_units(tmp_path: Path) -> None:
    """The targets are 100 ± 10, so that a model of them scaled would err by about 100."""
    config = small(packed(tmp_path, TARGETS), {"standardise": True})
    result = run(config, tmp_path / "run", device="cpu")["results"]["test"]
    assert 1 < result["value"] < 30
    assert set(result["scores"]) == {"mae", "log_mae", "mae/a", "mae/b", "mae/c"}


def test_overrides_change_how_it_is_tested(finished: Path) -> None:
    recorded = read_record(finished)["results"]["test"]
    more = evaluate_run(finished, device="cpu", overrides=("evaluation.draws=5",))["results"]["test"]
    assert more["draws"][:3] == recorded["draws"]
    assert len(more["draws"]) == 5
    asked: list[int | None] = []

    def watched(forward: Any, *rest: Any) -> Any:
        asked.append(forward.particles)
        return predict(forward, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_run, "predict", watched)
        evaluate_run(finished, device="cpu", overrides=("evaluation.particles=16", "evaluation.draws=1"))
    assert asked == [16, 16]


def test_other_data_are_refused(tmp_path: Path) -> None:
    data = packed(tmp_path)
    run(small(data), tmp_path / "run", device="cpu")
    other = replace(graphs(20), splits=PARTS)
    replace(other, y=1 - other.y.astype(int)).save(data)
    with pytest.raises(ValueError, match=r"\.pfgnn must be the data of the run, .*; the file was changed after"):
        evaluate_run(tmp_path / "run", device="cpu")
    replace(other, splits={}).save(tmp_path / "own.pfgnn")  # what other data lack does not matter
    for name in (tmp_path / "own.pfgnn", "connectivity"):
        with pytest.raises(
            ValueError, match=f"{name} must be the data of the run, .*; name the data of the training, or"
        ):
            evaluate_run(tmp_path / "run", device="cpu", overrides=(f"data.name={name}",))


def test_a_named_dataset_that_has_changed_is_refused(tmp_path: Path) -> None:
    data = packed(tmp_path)
    run(small(data), tmp_path / "run", device="cpu")
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace(str(data), "connectivity"))
    with pytest.raises(ValueError, match=r"connectivity must be the data of the run, .*; PFGNN_DATA may name another"):
        evaluate_run(tmp_path / "run", device="cpu")


def test_the_checksum_knows_arrays_and_parts() -> None:
    made = replace(graphs(20), splits=PARTS)
    assert checksum(made) == checksum(replace(made, name="another"))
    others = [replace(made, splits={**PARTS, "test": PARTS["train"]}), made.subset(range(20)), graphs(20, TARGETS)]
    assert len({checksum(dataset) for dataset in [made, *others]}) == 4


def test_too_few_draws_of_pairs_are_refused_before_the_training(tmp_path: Path) -> None:
    config = read_config("ours/sr25", ["evaluation.pairs.draws=8"])
    with pytest.raises(ValueError, match="the draws of both graphs must be at least 17 to test 15 columns"):
        run(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_a_directory_with_a_run_is_not_overwritten(finished: Path) -> None:
    before = (finished / "record.json").read_bytes()
    config = read_config(finished / "config.yaml")
    with pytest.raises(ValueError, match="must be a new directory, but it holds a run; resume it or choose another"):
        run(config, finished, device="cpu")
    assert run(config, finished, device="cpu", resume="last") == json.loads(before)
    assert (finished / "record.json").read_bytes() == before


def interrupted(config: Any, directory: Path, update: int) -> None:
    """Stop the run at its first report from that update on."""

    def stop(status: Status) -> None:
        if status.update >= update:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pfgnn.training.loop.SECONDS_BETWEEN_REPORTS", 0.0)
        with pytest.raises(KeyboardInterrupt):
            run(config, directory, device="cpu", report=stop)


@pytest.mark.parametrize("resume", ["last", "previous"])
def test_an_interrupted_run_goes_on_from_either_checkpoint(tmp_path: Path, resume: Resume) -> None:
    config = small(packed(tmp_path))
    whole = run(config, tmp_path / "whole", device="cpu")
    interrupted(config, tmp_path / "run", 4)
    with pytest.raises(ValueError, match="must hold a finished run, but its run has not finished; go on with: pfgnn"):
        evaluate_run(tmp_path / "run", device="cpu")
    record = run(config, tmp_path / "run", device="cpu", resume=resume)
    assert record["results"] == whole["results"]
    one, other = (read_checkpoint(tmp_path / name / LAST).tensors for name in ("whole", "run"))
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    assert lines(tmp_path / "whole") == lines(tmp_path / "run")


def test_a_run_of_another_config_is_not_gone_on_with(tmp_path: Path) -> None:
    config = small(packed(tmp_path))
    interrupted(config, tmp_path / "run", 4)
    other = replace(config, training=replace(config.training, learning_rate=0.5))
    with pytest.raises(ValueError, match=r"config\.training\.learning_rate was 0\.01 there, but is 0\.5 here"):
        run(other, tmp_path / "run", device="cpu", resume="last")
    assert read_config(tmp_path / "run" / "config.yaml") == config


def test_resuming_what_never_began_begins_it_and_the_previous_must_be_there(tmp_path: Path) -> None:
    config = small(packed(tmp_path), {"epochs": 1})
    with pytest.raises(ValueError, match=r"previous\.safetensors must be a checkpoint, but there is no such file"):
        run(config, tmp_path / "run", device="cpu", resume="previous")
    assert run(config, tmp_path / "run", device="cpu", resume="last")["updates"] == 3


def test_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must hold a finished run, but no run is there"):
        read_record(tmp_path)


def test_a_wrong_config_leaves_no_directory(tmp_path: Path) -> None:
    config = small(packed(tmp_path), model=ModelConfig(backbone="gine"))
    with pytest.raises(ValueError, match=r"model\.backbone must be one that needs no edge features"):
        run(config, tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_tensorboard_files_on_request(tmp_path: Path) -> None:
    reading = "tensorboard.backend.event_processing.event_accumulator"
    reader = pytest.importorskip(reading, reason="needs the extra tensorboard")
    run(small(packed(tmp_path)), tmp_path / "run", device="cpu", tensorboard=True)
    events = reader.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    want = [(line["update"], pytest.approx(line["loss"])) for line in lines(tmp_path / "run")]
    assert [(event.step, event.value) for event in events.Scalars("loss")] == want
    assert set(events.Tags()["scalars"]) == {"loss", "policy_loss", "ess", "entropy", "learning_rate", "validation"}


def small_files(size: int) -> None:
    """In a process to be started: no file may grow beyond that, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.slow
def test_a_full_disk_ends_the_command_with_its_cause_and_it_goes_on_later(tmp_path: Path) -> None:
    config = small(packed(tmp_path))
    path = written(tmp_path / "config.yaml", config)
    interrupted(config, tmp_path / "run", 2)
    good = (tmp_path / "run" / LAST).read_bytes()
    command = [sys.executable, "-m", "pfgnn", "train", str(path), "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [*command, "--resume", "--device", "cpu"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: small_files(
            len(good) // 2
        ),  # the seconds in it make the next one some bytes longer or shorter
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"{tmp_path / 'run' / LAST}: File too large, so training stopped at update 2; what was" in done.stderr
    assert (tmp_path / "run" / LAST).read_bytes() == good
    whole = run(config, tmp_path / "whole", device="cpu")
    assert run(config, tmp_path / "run", device="cpu", resume="last")["results"] == whole["results"]
    one, other = (read_checkpoint(tmp_path / name / LAST).tensors for name in ("whole", "run"))
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_the_data_of_a_run(tmp_path: Path) -> None:
    this = Run.open(small(packed(tmp_path, TARGETS)), "cpu")
    assert this.examples.targets.dtype == torch.float64  # the units of evaluation are exact
    assert {name: part.tolist() for name, part in this.parts.items()} == {n: p.tolist() for n, p in PARTS.items()}
    assert (this.draws.count, this.draws.batch_size) == (3, 5)
