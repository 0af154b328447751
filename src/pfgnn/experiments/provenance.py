"""What a result needs to be believed: the code, the versions and the device it came from."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import torch

import pfgnn


def provenance(device: torch.device) -> dict[str, str | None]:
    """Commit, versions and device of this process."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    return {
        "commit": commit(),
        "python": platform.python_version(),
        "pfgnn": pfgnn.__version__,
        **{package: version(package) for package in ("torch", "torch_geometric", "numpy")},
        "device": name,
    }


def commit() -> str | None:
    """The commit of the source tree, with a + where it was changed since; None outside a git checkout.

    What PFGNN_COMMIT says comes first, for a copy of the tree whose history stayed behind.
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
