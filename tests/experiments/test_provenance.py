import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from pfgnn.experiments.provenance import commit, provenance

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture(autouse=True)
def _not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PFGNN_COMMIT", raising=False)


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package in a repository of its own, with all files committed."""
    folder = tmp_path / "own" / "src" / "pfgnn"
    (folder / "data").mkdir(parents=True)
    for name in ("__init__.py", "data/load.py"):
        (folder / name).write_text("")
    (tmp_path / "own" / ".gitignore").write_text("__pycache__/\n.venv/\n")
    git(tmp_path / "own", "init", "--quiet")
    git(tmp_path / "own", "add", ".")
    git(tmp_path / "own", "commit", "--quiet", "-m", "first")
    return folder


def test_provenance_names_versions_and_device() -> None:
    facts = provenance(torch.device("cpu"))
    assert facts["torch"] == torch.__version__ or facts["torch"] == torch.__version__.split("+")[0]
    assert str(facts["device"]).startswith("CPU")


def test_outside_a_checkout_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commit(tmp_path) is None

    def no_git(*_: object, **__: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert commit() is None


@needs_git
def test_a_clean_checkout_gives_its_commit(package: Path) -> None:
    assert commit(package) == git(package, "rev-parse", "HEAD")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "load.pyc").write_text("")
    (package.parents[1] / "notes.txt").write_text("not a source")
    assert commit(package) == git(package, "rev-parse", "HEAD")


@needs_git
@pytest.mark.parametrize("name", ["data/load.py", "data/new.py", "plots/new.py"], ids=["changed", "new", "new folder"])
def test_sources_that_are_changed_or_untracked_are_marked(package: Path, name: str) -> None:
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("a = 1\n")
    assert commit(package) == git(package, "rev-parse", "HEAD") + "+"


@needs_git
@pytest.mark.parametrize("where", [".venv/lib/site-packages/pfgnn", "vendor/pfgnn"], ids=["ignored", "untracked"])
def test_the_commit_of_a_repository_that_only_surrounds_it_is_not_recorded(package: Path, where: str) -> None:
    installed = package.parents[1] / where
    shutil.copytree(package, installed)
    assert commit(installed) is None


@needs_git
def test_a_repository_of_the_environment_is_not_recorded(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git hook of another repository sets these variables."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    git(other, "commit", "--quiet", "--allow-empty", "-m", "another")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    assert commit(package) == git(package, "rev-parse", "HEAD")


def test_what_is_told_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFGNN_COMMIT", "abc")
    assert commit() == "abc"
