"""Shared fixtures: dtypes, devices, the seed of the run, and the folder of benchmark files."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.suite import shuffled

if not torch.cuda.is_available():  # before anybody imports triton
    os.environ["TRITON_INTERPRET"] = "1"

if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)  # the graphs are tiny, and the workers share the cores

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, help="what tests draw at random, and the order of --shuffle; by default fresh")
    parser.addoption("--shuffle", action="store_true", help="run the tests in a random order")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    option, of_the_first = config.option, getattr(config, "workerinput", {})  # which pytest-xdist has for the others
    if option.seed is None:
        option.seed = of_the_first.get("seed", random.SystemRandom().randrange(2**32))
    if getattr(option, "hypothesis_seed", "not installed") is None:
        option.hypothesis_seed = option.seed


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """All processes of pytest-xdist have the seed of the first one."""
    node.workerinput["seed"] = node.config.option.seed


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason="there is no CUDA device"))
    # The slow ones first, so that at the end no process waits long for another one.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if config.option.shuffle:
        items[:] = shuffled(items, config.option.seed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    again = f"--seed {config.option.seed}" + (" --shuffle" if config.option.shuffle else "")
    terminalreporter.write_line(f"To draw the same numbers again: pytest {again}")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A number that is another one in each run. The run prints it, and --seed gives it back."""
    of_the_run: int = request.config.option.seed
    return of_the_run


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    chosen: torch.dtype = request.param
    return chosen


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture
def on_the_gpu_where_there_is_one(device: torch.device) -> None:
    """For tests of kernels: Triton compiles them for a GPU if there is one, and interprets them otherwise."""
    if torch.cuda.is_available() and device.type == "cpu":
        pytest.skip("where there is a GPU, Triton's kernels are compiled for it, not interpreted")


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
