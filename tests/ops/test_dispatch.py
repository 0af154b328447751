"""Which code runs, and the message about compiling."""

import logging
from pathlib import Path

import pytest
import torch

from pfgnn.ops import dispatch, use


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="mode must be one of auto, plain, triton, but it is 'fast'"), use("fast"):
        pass


def test_plain_is_plain_and_float64_always_is() -> None:
    with use("triton"):
        assert dispatch.fast(torch.zeros(1))
        assert not dispatch.fast(torch.zeros(1, dtype=torch.float64))
        with use("plain"):
            assert not dispatch.fast(torch.zeros(1))
    assert not dispatch.fast(torch.zeros(1))


def test_the_first_compilation_on_a_device_is_announced_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    with caplog.at_level(logging.WARNING, logger="pfgnn"):
        dispatch._announce()
        dispatch._announce()
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Another GPU")
        dispatch._announce()
    assert len(caplog.messages) == 2
    assert str(tmp_path / "cache") in caplog.messages[0]


def test_a_cache_that_cannot_be_written_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    dispatch._announce()
    assert "compiling kernels" in caplog.text


def test_the_announced_folder_is_tritons_own_also_below_another_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    dispatch._announce()
    assert str(tmp_path / ".triton" / "cache") in caplog.text
