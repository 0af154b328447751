import json
import subprocess
from pathlib import Path

import pytest
import torch

from pfgnn.experiments import record
from pfgnn.experiments.record import provenance, write_atomically, write_json


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"good": 1})

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, fail)
    assert json.loads(path.read_text()) == {"good": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_provenance_names_versions_and_device() -> None:
    facts = provenance(torch.device("cpu"))
    assert facts["torch"] == torch.__version__ or facts["torch"] == torch.__version__.split("+")[0]
    assert str(facts["device"]).startswith("CPU")


def test_outside_a_checkout_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_git(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert record.commit() is None
