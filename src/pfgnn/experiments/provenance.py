"""Where a result comes from: the commit, the versions of the packages and the device."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

import pfgnn


def provenance(device: torch.device) -> dict[str, str | None]:
    """The commit, the versions and the name of the device, for the record of a run."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "pfgnn": pfgnn.__version__,
        **{package: version(package) for package in ("torch", "torch_geometric", "numpy")},
        "device": name,
    }


def commit() -> str | None:
    """The git commit of the source code, with a + if files were changed since; None outside a git checkout.

    If the environment variable PFGNN_COMMIT is set, its value is returned instead. This is for copies of the source
    code without the git history.
    """
    if told := os.environ.get("PFGNN_COMMIT"):
        return told
    try:
        head = _git("rev-parse", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    source = Path(__file__).parents[1]
    done = subprocess.run(["git", *arguments], cwd=source, check=True, capture_output=True, text=True)
    return done.stdout.strip()
