"""Every kernel compiles for a GPU, even on a machine without one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_kernel_compiles_for_a_gpu(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.ops.compiling"],
        cwd=ROOT,
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["missed"] == []
    assert found["gaps"] == []  # each kernel reads its tensors as if they had none
    assert len(found["compiled"]) > 25
    # On a GPU, unlike in the interpreter, a plain maximum of NaN and 0 is 0.
    keep = {"norm_forward", "score_forward", "add_forward", "batch_forward", "messages_forward"}
    keep |= {
        "feed_forward",
        "update_forward",
        "feed_forward_back",
        "update_back",
        "_reduce_rows",
        "normalise_forward",
        "resample_forward",
        "aggregate_forward",
    }
    assert keep <= set(found["keeps_nan"])
