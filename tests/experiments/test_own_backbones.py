"""Backbones of the user's own: by import path in a config, and as objects in Python."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.experiments.run_samples import PARTS, packed, small, written
from tests.training.training_samples import CLASSES, graphs
from torch_geometric.nn import GraphConv

from pfgnn import load_run
from pfgnn.cli.app import main
from pfgnn.errors import InputError, InputTypeError
from pfgnn.experiments.backbones import import_trusted
from pfgnn.experiments.config import Config, ModelConfig
from pfgnn.experiments.config_file import config_mapping, parse_config
from pfgnn.experiments.run import run
from pfgnn.model import PFGNN

CODE = """
from pathlib import Path

from torch import nn
from torch_geometric.nn import GraphConv

Path(__file__).with_name("code-was-run").touch()


class OwnGNN(nn.Module):
    def __init__(self, width, layers, slope):
        super().__init__()
        self.width, self.slope = width, slope
        self.convs = nn.ModuleList(GraphConv(width, width) for _ in range(layers))

    def forward(self, x, edge_index):
        for conv in self.convs:
            x = x + nn.functional.leaky_relu(conv(x, edge_index), self.slope)
        return x
"""
OWN = {
    "backbone_options": {"slope": 0.3},
    "exchange": "none",
    "width": 8,
    "layers": 2,
    "step_layers": 1,
    "particles": 2,
}


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module, of which the code lies in a folder that Python does not search."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(CODE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return name


def own(data: Path, name: str, **changes: object) -> Config:
    return small(data, {"epochs": 1}, model=ModelConfig(**{"backbone": name, **OWN, **changes}))  # type: ignore[arg-type]


def test_a_class_that_is_imported_is_built_with_settings_and_options(
    tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(code)
    config = own(packed(tmp_path), f"{code}:OwnGNN")
    assert parse_config(config_mapping(config)) == config
    run(config, tmp_path / "run", device="cpu")
    trained = load_run(tmp_path / "run", "cpu")
    assert isinstance(trained.model, PFGNN)
    first, step = (refine.get_submodule("backbone") for refine in trained.model.refine)
    assert getattr(first, "slope", None) == 0.3
    assert [len(list(of.get_submodule("convs").children())) for of in (first, step)] == [2, 1]
    made = graphs(3)
    assert trained.predict([made.graph(number) for number in range(3)], draws=2).mean.isfinite().all()


def test_no_command_runs_code_that_only_a_folder_names(
    tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pfgnn(*arguments: object) -> tuple[object, str]:
        """The exit status, and what is printed to stderr, of a command in a process that has not imported the code."""
        sys.modules.pop(code, None)
        monkeypatch.setattr(sys, "argv", ["pfgnn", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, " ".join(capsys.readouterr().err.split())

    monkeypatch.chdir(tmp_path)
    file = written(tmp_path / "own.yaml", own(packed(tmp_path), f"{code}:OwnGNN"))
    (tmp_path / "new.g6").write_text("D?{\n")
    ran = tmp_path / "code-was-run"
    cpu = ("--device", "cpu")
    for command in (
        ("train", file, "--out", "run", *cpu),
        ("evaluate", "run", *cpu),
        ("predict", "run", "new.g6", *cpu),
        ("explain", "run", "D?{", *cpu),
        ("explore", "new.g6", "--run", "run"),
    ):
        status, said = pfgnn(*command)
        assert status == 2
        assert f"if you trust it, add --import {code}" in said
        assert not ran.exists()
        status, said = pfgnn(*command, "--import", code)
        assert not status, said
        assert ran.exists()
        ran.unlink()


def test_a_dataset_a_module_and_the_name_of_a_folder(tmp_path: Path) -> None:
    dataset = replace(graphs(20, CLASSES), splits=PARTS)
    folder = str(tmp_path / "run")
    config = small(Path("mine"), {"epochs": 1}, model=ModelConfig(exchange="none", width=8, particles=2))
    record = run(config, folder, dataset=dataset, backbone=GraphConv(8, 8), device="cpu")
    assert record["config"]["model"]["backbone"] == "given"
    with pytest.raises(InputError, match="the run has a module that was given in Python, so it must be given again"):
        load_run(folder, "cpu")
    made: Any = GraphConv
    with pytest.raises(InputTypeError, match=r"backbone must be a torch module .* it is the class GraphConv; make an"):
        load_run(folder, "cpu", backbone=made)
    trained = load_run(folder, "cpu", backbone=GraphConv(8, 8))
    with torch.no_grad():
        trained.model.get_submodule("refine.0.backbone")(torch.ones(1, 8), torch.zeros(2, 0, dtype=torch.int64))
    test = [dataset.graph(int(number)) for number in PARTS["test"]]
    predicted = trained.predict(test, draws=2).mean
    assert np.allclose(predicted.sum(1), 1)
    again = run(config, folder, dataset=dataset, backbone=GraphConv(8, 8), device="cpu", resume="last")
    assert again == record
    with pytest.raises(InputTypeError, match="backbone must be a torch module"):
        run(config, tmp_path / "other", dataset=dataset, backbone=GraphConv, device="cpu")
    listed: Any = dataset.to_pyg()
    with pytest.raises(InputTypeError, match=r"^dataset must be a Dataset, as Dataset.from_pyg makes .* it is a list$"):
        run(config, tmp_path / "other", dataset=listed, device="cpu")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("torch.nn:Linear", "torch.nn:Linear must be made by its settings slope, but it raised TypeError"),
        ("torch.nn:init", "model.backbone must name a class of torch modules, but torch.nn:init is none"),
        ("no.such:GNN", "model.backbone is no.such:GNN, which is code, and code is not imported because"),
    ],
)
def test_a_class_that_cannot_be_built(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises((InputError, InputTypeError), match=sentence):
        run(own(packed(tmp_path), name), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"exchange": "mark"}, "model.exchange must be none with a backbone of your own, GraphConv, but it is mark"),
        ({"join_layers": True}, "model.join_layers must be false with a backbone of your own, GraphConv"),
    ],
)
def test_what_only_shipped_backbones_have(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    config = own(packed(tmp_path), "given", **changes)
    with pytest.raises(InputError, match=sentence):
        run(config, tmp_path / "run", backbone=GraphConv(8, 8), device="cpu")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["a:", ":A", "a.b", "a:b:c", "a b:C", "os.system('ls'):A", "../a:B"])
def test_other_names_are_no_backbones(name: str) -> None:
    with pytest.raises(InputError, match=r"model\.backbone must be one of"):
        parse_config({"data": {"name": "csl"}, "model": {"backbone": name}})


def test_options_belong_to_a_class_of_your_own() -> None:
    model = {"backbone": "gin", "backbone_options": {"a": 1}}
    settings = {"data": {"name": "csl"}, "training": {"epochs": 1}, "model": model}
    with pytest.raises(InputError, match=r"model\.backbone_options must be empty with model\.backbone gin"):
        parse_config(settings)


def test_modules_that_cannot_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken_module.py").write_text("1 / 0")
    with pytest.raises(ImportError, match="--import must name a module, but 'no_such_module' is none"):
        import_trusted(["no_such_module"])
    with pytest.raises(InputError, match="'broken_module' raised ZeroDivisionError: division by zero"):
        import_trusted(["broken_module"])
