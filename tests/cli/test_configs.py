"""The command configs, and configs of an installed wheel."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from tests.cli.process import pfgnn

from pfgnn.experiments.config_file import parse_config, read_config
from pfgnn.experiments.shipped import CONFIGS

ROOT = Path(__file__).parents[2]


def test_a_config_is_printed_with_all_that_it_sets() -> None:
    done = pfgnn("configs", "ours/sr25")
    assert done.returncode == 0, done.stderr
    assert parse_config(yaml.safe_load(done.stdout)) == read_config("ours/sr25")


def test_json_of_a_config_holds_all_that_it_sets() -> None:
    done = pfgnn("configs", "ours/sr25", "--json")
    assert done.returncode == 0, done.stderr
    assert parse_config(json.loads(done.stdout)) == read_config("ours/sr25")


def test_an_unknown_config_is_told_with_similar_names() -> None:
    done = pfgnn("configs", "ours/zink")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("did you mean zinc or ours/zinc?\n")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel's content, as pip would install it."""
    pytest.importorskip("setuptools", "77", reason="needs setuptools to build a wheel")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(ROOT / "src" / "pfgnn", source / "src" / "pfgnn", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(source), *options], check=True)
    (wheel,) = folder.glob("*.whl")
    ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def outside(installed: Path, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the installed command in a folder outside the checkout."""
    code = f"import pfgnn; assert pfgnn.__file__.startswith({str(installed)!r}); from pfgnn.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


@pytest.mark.slow
def test_a_wheel_has_every_config(installed: Path) -> None:
    configs = installed / "pfgnn" / "configs"
    there = {path.relative_to(configs) for path in configs.rglob("*.yaml")}
    assert there == {path.relative_to(CONFIGS) for path in CONFIGS.rglob("*.yaml")}
    assert len(there) > 40


@pytest.mark.slow
def test_a_config_is_trained_by_name_after_a_plain_install(installed: Path, tmp_path: Path) -> None:
    small = ["training.epochs=null", "training.updates=1", "model.width=4", "evaluation.draws=1"]
    settings = [word for setting in small for word in ("--set", setting)]
    done = outside(installed, tmp_path, "train", "connectivity", *settings, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "connectivity-seed0" / "record.json").exists()
    wrong = outside(installed, tmp_path, "train", "conectivity")
    assert wrong.returncode == 2
    assert "did you mean connectivity or ours/connectivity?" in wrong.stderr
