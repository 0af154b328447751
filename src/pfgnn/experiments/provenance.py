"""Where a result comes from: the commit, the versions of the packages and the device."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

import pfgnn
from pfgnn.errors import counted


def provenance(device: torch.device) -> dict[str, str | None]:
    """The commit, the versions and the name of the device, for the record of a run."""
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "pfgnn": pfgnn.__version__,
        **{package: version(package) for package in ("torch", "torch_geometric", "numpy")},
        "device": device_name(device, torch.get_num_threads()),
    }


def device_name(device: torch.device, threads: int) -> str:
    """The name of a device, as records have it.

    Args:
        device: The device.
        threads: Number of CPU threads that torch computes with.
    """
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {counted(threads, 'thread')}"


def commit(source: Path = Path(pfgnn.__file__).parent) -> str | None:
    """The git commit of the source code, with a + if files were changed or added since; None outside a git checkout.

    A package that is installed in the environment of another repository is not part of that repository, so its commit
    is None too. If the environment variable PFGNN_COMMIT is set, its value is returned instead. This is for copies of
    the source code without the git history.

    Args:
        source: Folder of the package.
    """
    if told := os.environ.get("PFGNN_COMMIT"):
        return told
    try:
        _git(source, "ls-files", "--error-unmatch", "__init__.py")  # fails if it only lies within some repository
        head = _git(source, "rev-parse", "HEAD")
        return head + ("+" if _git(source, "status", "--porcelain", "--untracked-files=all", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    # Variables such as GIT_DIR, which are set in the hooks of a repository, would name that repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()
