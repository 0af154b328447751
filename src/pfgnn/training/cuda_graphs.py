"""Replay of a training step or a prediction from CUDA graphs: one launch instead of thousands."""

import gc
from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from pfgnn.data.batch import GraphBatch
from pfgnn.model.refine import Refine
from pfgnn.training.devices import Devices, sum_over_devices
from pfgnn.training.stages import Stages, run_stages

WARM_UPS = 2  # plain calls with a shape before its graphs are captured; in these, libraries choose their kernels


class Captured(NamedTuple):
    """The CUDA graphs of one shape.

    Fields:
        tensors: The tensors of the batch that the graphs read.
        seed: The seed that they read.
        stages: The graph of each stage, and the tensor to sum over all devices after it; None after the last stage.
        result: The result that they write.
    """

    tensors: dict[str, Tensor]
    seed: Tensor
    stages: list[tuple[torch.cuda.CUDAGraph, Tensor | None]]
    result: Tensor | None


class Replayed:
    """A function of a batch and a seed that is replayed from CUDA graphs, for each shape of a batch one per stage.

    The first calls with a new shape run the function itself. A capture computes nothing and sums nothing: the replay
    after it does. So with every call each tensor is summed once, and a device may capture while others replay.

    Args:
        function: The function. All other memory that it reads, such as parameters, must stay at the same address.
        before: Called before each capture.
    """

    def __init__(self, function: Callable[..., Stages], before: Callable[[], object] = lambda: None) -> None:
        self.function, self.before = function, before
        self.seen: dict[Hashable, int] = {}
        self.graphs: dict[Hashable, Captured] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, batch: GraphBatch, seed: Tensor, *rest: Hashable) -> Tensor | None:
        """The result of the function. The next call may overwrite it.

        Args:
            batch: The batch.
            seed: The seed.
            rest: Other arguments of the function. Each value has graphs of its own.
        """
        shapes = {name: tuple(tensor.shape) for name, tensor in batch.tensors().items()}
        shape = (*shapes.items(), batch.num_graphs, batch.padding, *rest)
        if shape not in self.graphs:
            self.seen[shape] = self.seen.get(shape, 0) + 1
            if self.seen[shape] <= WARM_UPS:
                return run_stages(self.function(batch, seed, *rest))
            self.graphs[shape] = self._capture(batch, seed, *rest)
        held = self.graphs[shape]
        for name, tensor in batch.tensors().items():
            held.tensors[name].copy_(tensor)
        held.seed.copy_(seed)
        for graph, summed in held.stages:
            graph.replay()
            if summed is not None:
                sum_over_devices(summed)
        return held.result

    def _capture(self, batch: GraphBatch, seed: Tensor, *rest: Hashable) -> Captured:
        held = batch.with_fields(**{name: tensor.clone() for name, tensor in batch.tensors().items()})
        found = Captured(held.tensors(), seed.clone(), [], None)
        self.before()
        gc.collect()  # the capture would fail if the collector freed an older CUDA graph during it
        collecting = gc.isenabled()
        gc.disable()
        # With several devices, a thread of NCCL looks whether its work is done. That must not end the capture.
        mode = "thread_local" if torch.distributed.is_initialized() else "global"
        try:
            torch.cuda.synchronize()
            stages = self.function(held, found.seed, *rest)
            while not found.stages or found.stages[-1][1] is not None:
                graph, summed = torch.cuda.CUDAGraph(), None
                stream = torch.cuda.current_stream()
                with torch.cuda.graph(graph, pool=self.pool, stream=stream, capture_error_mode=mode):
                    try:
                        summed = next(stages)
                    except StopIteration as end:
                        found = found._replace(result=end.value)
                found.stages.append((graph, summed))
        finally:
            if collecting:
                gc.enable()
        return found


def replayable(model: nn.Module, devices: Devices) -> bool:
    """Whether a CUDA graph can hold a pass of the model.

    This needs a GPU, a model with static shapes, and none of torch's batch norms: these would count the padding.
    """
    static = all(getattr(part.backbone, "static", False) for part in model.modules() if isinstance(part, Refine))
    static = static and not any(isinstance(part, _BatchNorm) for part in model.modules())
    return devices.device.type == "cuda" and static


def own_stream(device: torch.device) -> None:
    """Switch to a new stream: no CUDA graph can be captured on the default stream."""
    if device.type == "cuda" and torch.cuda.current_stream(device) == torch.cuda.default_stream(device):
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.default_stream(device))  # it may still be writing the weights
        torch.cuda.set_stream(stream)
