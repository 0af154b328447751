"""One update of the parameters, and the same replayed from a CUDA graph."""

import math
from dataclasses import dataclass

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from pfgnn.data.batching import Batch
from pfgnn.data.task import Task
from pfgnn.kernels.hashing import fold
from pfgnn.model.refine import Refine
from pfgnn.training.losses import graph_losses
from pfgnn.training.objective import Objective, Share
from pfgnn.training.targets import Standardise

WARM_UPS = 2  # updates of a shape before its graph is captured, in which libraries choose their kernels


@dataclass
class Step:
    """Forward, loss, backward, clipping, optimiser; then ``sums`` is raised by what there is to report.

    Args:
        model, optimiser: set up by the fabric.
        fabric: the devices.
        task: the loss.
        objective: with the policy's term.
        clip: largest norm of the gradient; None for no clipping.
        scaler: of regression targets, or None.
        class_weights: [C], or None.
        sums: float64 [5]: loss, policy loss, effective sample size, norm of the gradient, updates.
    """

    model: nn.Module
    optimiser: torch.optim.Optimizer
    fabric: Fabric
    task: Task
    objective: Objective
    clip: float | None
    scaler: Standardise | None
    class_weights: Tensor | None
    sums: Tensor

    def __call__(self, batch: Batch, seed: Tensor, share: Share | None = None) -> None:
        """Take one update with a batch, padded or not; nothing here waits for the device."""
        graphs, rank, world = len(batch.graph_key), self.fabric.global_rank, self.fabric.world_size
        # The place in the whole batch, so that copies of a graph draw apart, and devices as one process would.
        place = torch.arange(graphs, device=batch.batch.device) * world + rank
        output = self.model(
            batch.x,
            batch.edge_index,
            batch.edge_attr,
            batch.batch,
            seed=seed,
            graph_key=fold(batch.graph_key, place),
            num_graphs=graphs,
        )
        y = batch.y if self.scaler is None else self.scaler.scale(batch.y)
        losses = graph_losses(self.task, output.prediction, y, batch.batch, graphs, self.class_weights)
        if graphs > batch.num_graphs:  # the last graph is padding
            share = Share((torch.arange(graphs, device=place.device) < batch.num_graphs).to(losses.dtype), 1, _as_it_is)
        loss = self.objective(losses, output.trace, share)
        self.optimiser.zero_grad()
        self.fabric.backward(loss.total)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip or math.inf)
        self.optimiser.step()
        ess = torch.zeros_like(norm)
        if output.trace:
            ess = torch.stack([step.ess[: batch.num_graphs].mean() for step in output.trace]).mean()
        with torch.no_grad():  # else the sums would hold on to the graph of every update
            self.sums += torch.stack([loss.task, loss.policy, ess, norm, torch.ones_like(norm)])


class Replayed:
    """A step replayed from CUDA graphs, one for each shape of a batch; the first updates of a shape are plain ones.

    A replay costs one launch where a plain step costs thousands.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self.seen: dict[tuple[object, ...], int] = {}
        self.graphs: dict[tuple[object, ...], tuple[torch.cuda.CUDAGraph, list[Tensor], Tensor]] = {}
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, batch: Batch, seed: Tensor) -> None:
        """Take one update with a batch."""
        shape = tuple(tuple(field.shape) if isinstance(field, Tensor) else field for field in batch)
        if shape not in self.graphs:
            self.seen[shape] = self.seen.get(shape, 0) + 1
            if self.seen[shape] <= WARM_UPS:
                self.step(batch, seed)
                return
            self.graphs[shape] = self._capture(batch, seed)
        graph, held, held_seed = self.graphs[shape]
        for into, out_of in zip(held, _tensors(batch), strict=True):
            into.copy_(out_of)
        held_seed.copy_(seed)
        graph.replay()

    def _capture(self, batch: Batch, seed: Tensor) -> tuple[torch.cuda.CUDAGraph, list[Tensor], Tensor]:
        held = Batch._make(field.clone() if isinstance(field, Tensor) else field for field in batch)
        held_seed = seed.clone()
        graph = torch.cuda.CUDAGraph()
        self.step.optimiser.zero_grad()  # so that the gradients live in the graph's own memory
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, pool=self.pool, stream=torch.cuda.current_stream()):
            self.step(held, held_seed)
        return graph, _tensors(held), held_seed


def replayable(model: nn.Module, optimiser: torch.optim.Optimizer, fabric: Fabric) -> bool:
    """Whether a step may be held by a CUDA graph: one GPU, a model of static shapes, an optimiser that allows it.

    And no norm over the batch, which its padding would enter.
    """
    static = all(getattr(part.backbone, "static", False) for part in model.modules() if isinstance(part, Refine))
    static = static and not any(isinstance(part, _BatchNorm) for part in model.modules())
    capturable = all(group.get("capturable", False) for group in optimiser.param_groups)
    return fabric.device.type == "cuda" and fabric.world_size == 1 and static and capturable


def _tensors(batch: Batch) -> list[Tensor]:
    return [field for field in batch if isinstance(field, Tensor)]


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor
