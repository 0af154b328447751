"""torch.compile instead of our kernels: a part of `python -m benchmarks.gpu`."""

from collections.abc import Iterator
from dataclasses import replace

import torch

from benchmarks.measure import Rates, Record, memory
from benchmarks.shapes import OURS
from benchmarks.steps import Effort, prepare, time_steps
from pfgnn.model import PFGNN
from pfgnn.ops import use
from pfgnn.training.config import Precision

PRECISIONS: tuple[Precision, ...] = ("tf32", "bf16")


def compiled(device: str, effort: Effort, rates: Rates) -> Iterator[Record]:
    """Measure our method in plain torch code, with each refinement compiled whole, and the steps in CUDA graphs.

    There is one batch, because each shape would be compiled again.
    """
    found: Record = {}
    for precision in PRECISIONS:
        with prepare(OURS, device, replace(effort, batches=1), precision) as work, use("plain"):
            model = work.trainer.model
            assert isinstance(model, PFGNN)
            for refine in model.refine:
                refine.compile(dynamic=False)
            timing = time_steps(work.update, work.padded, work.device, effort)
            found[precision] = timing.to_json() | memory(work.device)
            yield found
        torch.compiler.reset()
