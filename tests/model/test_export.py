"""An exported model gives the predictions of the original, also for other sizes than those of the example."""

import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.graph_samples import random_graph
from tests.suite import needs_torch_2_13
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

import pfgnn
from pfgnn.errors import InputError, InputTypeError, MissingPackageError
from pfgnn.model import GIN, GINE, PFGNN, ByDistance, ByPosition, Distinct, MLPPolicy
from pfgnn.model.export_onnx import LOGGED, WARNED, quiet

D = 8


def plain() -> PFGNN:
    return PFGNN(GIN(D, layers=1, norm="batch"), 2, in_channels=3, particles=3)


def nodes() -> PFGNN:
    return PFGNN.paper(GIN(D, layers=1), 2, in_channels=3, steps=1, level="node")


def bonds() -> PFGNN:
    backbone = GINE(D, layers=1)
    return PFGNN(backbone, 2, in_channels=[4], edge_channels=[3], policy=MLPPolicy(D), particles=3)


def space() -> PFGNN:
    return PFGNN(GIN(D, layers=1), 2, in_channels=3, particles=3, individualise=ByPosition(D, 1))


def short() -> PFGNN:
    """A model of few operations, because the translation to ONNX is slow."""
    parts = {"sample": Distinct(smoothing=1), "individualise": ByDistance(D, 1, max_distance=1)}
    return PFGNN(GINE(D, layers=1), 2, in_channels=[4], edge_channels=[3], exchange=False, **parts)  # type: ignore[arg-type]


def graphs(*sizes: int, categories: bool = False) -> Batch:
    made = []
    for n in sizes:
        x, edges, weights = random_graph(n, n - 1, 3, seed=n)
        assert weights is not None
        if categories:
            made.append(Data(x=x[:, :1].abs().long() % 4, edge_index=edges, edge_attr=weights[:, :1].abs().long() % 3))
        else:
            made.append(Data(x=x, edge_index=edges, pos=x[:, [2, 0, 1]]))
    return Batch.from_data_list(made)


def tensors(batch: Batch, model: PFGNN) -> tuple[Tensor | None, ...]:
    inputs = batch.x, batch.edge_index, batch.edge_attr, batch.batch
    return (*inputs, batch.pos) if model.reads_positions else inputs


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")  # torch 2.11 reads the file so
@pytest.mark.parametrize(("make", "categories"), [(plain, False), (nodes, False), (bonds, True), (space, False)])
def test_other_sizes_have_the_original_predictions(make: Callable[[], PFGNN], categories: bool, tmp_path: Path) -> None:
    model = make().eval()
    torch.export.save(
        pfgnn.export(model, graphs(6, categories=categories), particles=4, seed=7), tmp_path / "model.pt2"
    )
    program = torch.export.load(tmp_path / "model.pt2").module()
    for sizes in ((5, 4, 9), (3,), (1,), (12, 2)):
        batch = graphs(*sizes, categories=categories)
        want = model(batch, particles=4, seed=7).prediction
        torch.testing.assert_close(program(*tensors(batch, model)), want)
    # The control: another seed has other predictions, so the program has drawn with its own.
    other = model(batch, particles=4, seed=8).prediction
    assert not torch.allclose(other, want)


def test_what_cannot_be_exported_gets_a_sentence() -> None:
    with pytest.raises(InputError, match="model must be in evaluation mode, but it is in training mode"):
        pfgnn.export(plain(), graphs(4))
    with pytest.raises(InputTypeError, match="model must be a PFGNN, but it is a Linear"):
        pfgnn.export(nn.Linear(1, 1), graphs(4))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="x must have 3 columns, but it has 1"):
        pfgnn.export(plain().eval(), Data(x=torch.zeros(2, 1), edge_index=torch.zeros(2, 0, dtype=torch.int64)))


@pytest.mark.slow
@needs_torch_2_13
def test_an_onnx_file_has_the_original_predictions(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxscript")
    runtime: Any = pytest.importorskip("onnxruntime")
    model = short().eval()
    pfgnn.export_onnx(model, graphs(6, categories=True), tmp_path / "model.onnx", particles=4, seed=7)
    assert capfd.readouterr() == ("", "")  # nothing that a user cannot act on
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    for sizes in ((5, 4, 9), (3,), (1,)):
        batch = graphs(*sizes, categories=True)
        [found] = session.run(None, {given.name: batch[given.name].numpy() for given in session.get_inputs()})
        want = model(batch, particles=4, seed=7).prediction
        torch.testing.assert_close(torch.from_numpy(found), want, rtol=1e-4, atol=1e-5)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_only_known_messages_of_the_exporter_are_silenced(caplog: pytest.LogCaptureFixture) -> None:
    loggers = [logging.getLogger(name) for name in LOGGED]
    for logger in loggers:
        logger.addHandler(caplog.handler)  # torch's do not hand messages on
    try:
        with quiet():
            for logger, text in zip(loggers, LOGGED.values(), strict=True):
                logger.warning(f"{text}. And more")
                logger.warning("something else")
            for category in WARNED.values():
                with pytest.warns(category, match="something else"):
                    warnings.warn("something else", category, stacklevel=1)
            warnings.warn("overflow encountered in cast", RuntimeWarning, stacklevel=1)
        assert {record.getMessage() for record in caplog.records} == {"something else"}
        caplog.clear()
        loggers[0].warning(LOGGED[loggers[0].name])
        assert caplog.records  # afterwards they are shown again
    finally:
        for logger in loggers:
            logger.removeHandler(caplog.handler)


def test_onnx_needs_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingPackageError, match="onnxscript is not installed; install it"):
        pfgnn.export_onnx(plain().eval(), graphs(4), tmp_path / "model.onnx")
