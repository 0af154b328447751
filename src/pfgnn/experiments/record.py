"""What a result needs to be believed: the code, the versions and the device it came from."""

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

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


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file, or a sentence where there is none."""
    try:
        content = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} must hold JSON, but it does not: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} must hold a JSON object, but it holds a {type(content).__name__}")
    return content


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
