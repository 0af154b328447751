"""Replay of a training step or a prediction from CUDA graphs: one launch instead of thousands."""

import gc
from collections.abc import Callable

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from pfgnn.data.batch import GraphBatch
from pfgnn.model.refine import Refine

# A CUDA graph, the tensors of the batch that it reads, the seed that it reads, and the result that it writes.
Captured = tuple[torch.cuda.CUDAGraph, dict[str, Tensor], Tensor, Tensor | None]
WARM_UPS = 2  # plain calls with a shape before its graph is captured; in these, libraries choose their kernels


class Replayed:
    """A function of a batch and a seed that is replayed from CUDA graphs, one for each shape of a batch.

    The first calls with a new shape run the function itself.

    Args:
        function: The function. All other memory that it reads, such as parameters, must stay at the same address.
        before: Called before each capture.
    """

    def __init__(
        self, function: Callable[[GraphBatch, Tensor], Tensor | None], before: Callable[[], object] = lambda: None
    ) -> None:
        self.function, self.before = function, before
        self.seen: dict[tuple[object, ...], int] = {}
        self.graphs: dict[tuple[object, ...], Captured] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, batch: GraphBatch, seed: Tensor) -> Tensor | None:
        """The result of the function. The next call may overwrite it."""
        shapes = {name: tuple(tensor.shape) for name, tensor in batch.tensors().items()}
        shape = (*shapes.items(), batch.num_graphs, batch.padding)
        if shape not in self.graphs:
            self.seen[shape] = self.seen.get(shape, 0) + 1
            if self.seen[shape] <= WARM_UPS:
                return self.function(batch, seed)
            self.graphs[shape] = self._capture(batch, seed)
        graph, held, held_seed, result = self.graphs[shape]
        for name, tensor in batch.tensors().items():
            held[name].copy_(tensor)
        held_seed.copy_(seed)
        graph.replay()
        return result

    def _capture(self, batch: GraphBatch, seed: Tensor) -> Captured:
        held = batch.with_fields(**{name: tensor.clone() for name, tensor in batch.tensors().items()})
        held_seed = seed.clone()
        graph = torch.cuda.CUDAGraph()
        self.before()
        gc.collect()  # the capture would fail if the collector freed an older CUDA graph during it
        collecting = gc.isenabled()
        gc.disable()
        try:
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, pool=self.pool, stream=torch.cuda.current_stream()):
                result = self.function(held, held_seed)
        finally:
            if collecting:
                gc.enable()
        return graph, held.tensors(), held_seed, result


def replayable(model: nn.Module, fabric: Fabric) -> bool:
    """Whether a CUDA graph can hold a pass of the model.

    This needs one GPU, a model with static shapes, and none of torch's batch norms: these would count the padding.
    """
    static = all(getattr(part.backbone, "static", False) for part in model.modules() if isinstance(part, Refine))
    static = static and not any(isinstance(part, _BatchNorm) for part in model.modules())
    return fabric.device.type == "cuda" and fabric.world_size == 1 and static


def own_stream(device: torch.device) -> None:
    """Switch to a new stream: no CUDA graph can be captured on the default stream."""
    if device.type == "cuda" and torch.cuda.current_stream(device) == torch.cuda.default_stream(device):
        stream = torch.cuda.Stream(device)
        stream.wait_stream(torch.cuda.default_stream(device))  # it may still be writing the weights
        torch.cuda.set_stream(stream)
