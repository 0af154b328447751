"""Commands keep freed memory, so that large tensors do not get theirs anew from the system each time."""

import os
import subprocess
import sys

import pytest

# Makes and frees a block of 64 MB eight times, and prints how many pages the system had to give.
CODE = """
import ctypes, resource
from pfgnn.cli.threads import keep_memory
if {kept}:
    keep_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for number in range(9):
    if number == 1:
        begin = faults()
    block = libc.malloc(2**26)
    ctypes.memset(block, 1, 2**26)
    libc.free(ctypes.c_void_p(block))
print(faults() - begin)
"""


def pages(kept: bool) -> int:
    done = subprocess.run([sys.executable, "-c", CODE.format(kept=kept)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(("told", "threads"), [("abc", 1), ("0", 1), ("", 1), ("2", 2), ("2,3", 2)])
def test_only_a_number_of_threads_in_the_environment_counts(told: str, threads: int) -> None:
    code = "import torch; from pfgnn.training.devices import set_threads; set_threads(None); "
    code += "print(torch.get_num_threads())"
    environment = {**os.environ, "OMP_NUM_THREADS": told}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) == threads


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has glibc")
def test_freed_memory_is_kept() -> None:
    if pages(kept=False) < 1000:
        pytest.skip("this C library keeps large blocks by itself")
    assert pages(kept=True) < 1000
