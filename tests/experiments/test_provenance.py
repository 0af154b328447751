import subprocess

import pytest
import torch

from pfgnn.experiments.provenance import commit, provenance


def test_provenance_names_versions_and_device() -> None:
    facts = provenance(torch.device("cpu"))
    assert facts["torch"] == torch.__version__ or facts["torch"] == torch.__version__.split("+")[0]
    assert str(facts["device"]).startswith("CPU")


def test_outside_a_checkout_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_git(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert commit() is None
