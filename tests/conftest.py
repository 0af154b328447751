"""Shared fixtures: dtypes, devices, and the folder of benchmark files."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

if not torch.cuda.is_available():  # before anybody imports triton
    os.environ["TRITON_INTERPRET"] = "1"

torch.set_num_threads(1)  # the graphs are tiny, and the workers share the cores

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")),
]


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    chosen: torch.dtype = request.param
    return chosen


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(autouse=True)
def _fixed_parameters() -> None:
    torch.manual_seed(0)  # parameters only; the model's own draws never touch the global generator


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the benchmark files, named by PFGNN_DATA."""
    folder = os.environ.get("PFGNN_DATA")
    if folder is None or not Path(folder).is_dir():
        pytest.skip("PFGNN_DATA does not name the folder with the benchmark files")
    return Path(folder)
