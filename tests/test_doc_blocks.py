"""Every code block of the README and the documentation works: Python runs, configs are read, commands exist."""

import importlib.util
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.doc_blocks import PAGES, ROOT, Block, blocks, commands, inline_commands, name_of
from typer.core import TyperGroup
from typer.main import get_command

from pfgnn.cli.app import app
from pfgnn.experiments.config import Config, DataConfig, EvaluationConfig, ModelConfig
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.run import run
from pfgnn.experiments.shipped import shipped_configs
from pfgnn.training.config import TrainingConfig

LANGUAGES = {"", "python", "yaml"}
RUN_ELSEWHERE = {"CONTRIBUTING.md"}  # its examples register parts: tests/test_contributing.py
NEED_FILES = {"docs/guide.md"}  # the benchmark files
PYTHON_PAGES = [
    page for page in PAGES if name_of(page) not in RUN_ELSEWHERE and any(b.language == "python" for b in blocks(page))
]
PROGRAMS = {"git", "cd", ".", "printf", "python3", "sbatch"}  # not checked further


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages' commands would have made: the run runs/first, and graphs.g6."""
    folder = tmp_path_factory.mktemp("pages")
    config = Config(
        DataConfig("connectivity", options={"train": 8, "test": 4}, validation=None),
        ModelConfig(width=8, layers=1, particles=2),
        TrainingConfig(epochs=1, batch_size=4),
        EvaluationConfig(draws=2),
    )
    run(config, folder / "runs" / "first", device="cpu")
    (folder / "graphs.g6").write_text("D?{\nDQc\n")
    return folder


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Pages may seed torch."""
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


@pytest.mark.filterwarnings("ignore:.* unlike the training data")  # pages predict tiny graphs
@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON_PAGES, ids=name_of)
def test_the_python_of_a_page_runs(
    page: Path,
    first_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name_of(page) in NEED_FILES:
        request.getfixturevalue("data_dir")
    for word, package in (("smiles", "rdkit"), ("PFGNNRegressor", "sklearn")):
        if word in page.read_text():
            pytest.importorskip(package)
    shutil.copytree(first_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            # Blank lines in front give errors the line numbers of the page.
            exec(compile("\n" * (block.line - 1) + block.code, block.page, "exec"), names)
            printed = capsys.readouterr().out.splitlines()
            for line in re.findall(r"# prints: (.*)$", block.code, re.MULTILINE):
                assert line in printed


def test_every_block_is_of_a_known_kind() -> None:
    found = [block for page in PAGES for block in blocks(page)]
    assert {block.language for block in found} <= LANGUAGES
    assert sum(block.language == "python" for block in found) > 10


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_configs_are_read(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.language == "yaml":
            (tmp_path / "page.yaml").write_text(block.code)
            read_config(tmp_path / "page.yaml")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    for block in blocks(page):
        for command in commands(block) if block.language == "" else []:
            check_command(command)
    for command in inline_commands(page):
        check_command(command)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("pfgnn trian csl", "trian"),
        ("pfgnn train csl --seeds 2", "--seeds"),
        ("pfgnn data prepar zinc", "prepar"),
        ("pfgnn train ours/missing --out runs/a", "missing"),
        ("sbatch docs/missing.sh", "missing"),
        ("make tests", "tests"),
        ("python -m benchmarks.nothing", "nothing"),
        ("pip install '.[chemistry]'", "chemistry"),
        ("torchrun --nproc-per-node 2 -m pfgnn train csl --ut runs/a", "--ut"),
        ("conda install pfgnn", "conda"),
    ],
)
def test_a_wrong_command_is_found(command: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_command(command)


def check_command(command: str) -> None:
    """Assert that a command can be given: its program, subcommand, options, and files of the repository exist."""
    words = shlex.split(command, comments=True)
    if not words:
        return
    for word in words:
        if re.fullmatch(r"(docs|results|examples)/[\w./-]+", word):
            assert (ROOT / word).exists(), f"{command}: there is no {word}"
    program, *rest = words
    if joint := next((word for word in rest if word in ("&&", "|")), None):
        check_command(shlex.join(words[: words.index(joint)]))
        check_command(shlex.join(words[words.index(joint) + 1 :]))
    elif program == "torchrun":
        assert "-m" in rest, command
        check_command(shlex.join(rest[rest.index("-m") + 1 :]))
    elif program == "pfgnn":
        check_options(command, rest)
        if len(rest) > 1 and rest[0] == "train" and re.fullmatch(r"[a-z][\w/-]*", rest[1]):
            assert rest[1] in shipped_configs(), f"{command}: there is no config {rest[1]}"
    elif program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(rest) <= set(targets), f"make has no target {rest}"
    elif program == "python":
        assert rest[0] in ("-m", "-c") or (ROOT / rest[0]).exists(), command
        if rest[0] == "-m":
            assert importlib.util.find_spec(rest[1]), f"there is no module {rest[1]}"
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for asked in re.findall(r"\[([\w,]+)\]", command):
            assert set(asked.split(",")) <= set(extras), f"{command}: there is no extra {asked}"
    else:
        assert program in PROGRAMS, f"{program} is unknown: {command}"


def check_options(command: str, words: list[str]) -> None:
    """Assert that a command of pfgnn and its options exist."""
    found: Any = get_command(app)
    known = {"--help"} | {option for parameter in found.params for option in parameter.opts}
    while words and isinstance(found, TyperGroup):
        word, *words = words
        if word.startswith("-"):
            assert word in known, f"{command}: there is no option {word}"
        elif word in ("...", "COMMAND"):  # stands for any command
            return
        else:
            assert word in found.commands, f"{command}: there is no command {word}"
            found = found.commands[word]
            known |= {option for parameter in found.params for option in parameter.opts}
    for word in words:
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in known, f"{command}: there is no option {word}"


def test_blocks_are_found_with_their_lines() -> None:
    [first, *_] = [block for block in blocks(ROOT / "README.md") if block.language == "python"]
    assert isinstance(first, Block)
    lines = (ROOT / "README.md").read_text().splitlines()
    assert lines[first.line - 1] == first.code.splitlines()[0]
