"""One update of the parameters."""

from dataclasses import dataclass

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.model.output import Output
from pfgnn.model.readout import Readout
from pfgnn.ops.hashing import fold
from pfgnn.training.averaging import Averaging
from pfgnn.training.losses import graph_losses
from pfgnn.training.objective import Loss, Objective, Share
from pfgnn.training.particle_statistics import measured_beside
from pfgnn.training.targets import Standardise


@dataclass
class Step:
    """Forward pass, loss, backward pass, clipping and optimiser. The numbers to report are added to ``sums``.

    Args:
        model: The model, set up by the fabric.
        optimiser: The optimiser, set up by the fabric.
        fabric: The devices.
        task: Names the loss.
        objective: Training objective.
        clip: Largest norm of the gradient; None for no clipping.
        scaler: Scaling of regression targets, or None.
        class_weights: Weights of the classes [C], or None.
        sums: Sums of task loss, policy loss, effective sample size, entropy, norm of the gradient, and the number of
            updates, float64 [6].
        average: Averages the gradients of all devices; None if there is one.
        chunk: Particles computed at a time; None for all.
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
    average: Averaging | None = None
    chunk: int | None = None

    def __call__(self, batch: GraphBatch, seed: Tensor, share: Share | None = None) -> None:
        """Do one update. Nothing here waits for the device.

        Args:
            batch: The graphs; it may be padded.
            seed: Seed of the model's draws.
            share: The share of the batch on this device; None if the whole batch is here.
        """
        loss, output = self.loss(batch, seed, share)
        if self.average is None:
            self.optimiser.zero_grad()
        else:
            self.average.clear()
        with measured_beside(output, batch.real_graphs) as diversity:
            self.fabric.backward(loss.total)
        if self.average is not None:
            self.average()
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
        if self.clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self.clip, norm)
        self.optimiser.step()
        with torch.no_grad():  # otherwise the sums would keep the autograd graph of every update
            self.sums += torch.stack([loss.task, loss.policy, *diversity, norm, torch.ones_like(norm)])

    def loss(self, batch: GraphBatch, seed: Tensor, share: Share | None = None) -> tuple[Loss, Output]:
        """The loss of a batch, and the output of the model. The arguments are those of the call."""
        assert batch.graph_key is not None
        assert batch.y is not None
        rank, world = self.fabric.global_rank, self.fabric.world_size
        # With its place in the whole batch in the key, two copies of a graph draw differently, and several devices
        # draw what one process would draw.
        place = torch.arange(batch.num_graphs, device=batch.batch.device) * world + rank
        output = self.model(batch, seed=seed, graph_key=fold(batch.graph_key, place), chunk=self.chunk)
        y = batch.y if self.scaler is None else self.scaler.scale(batch.y)
        losses = graph_losses(self.task, output.prediction, y, batch.batch, batch.num_graphs, self.class_weights)
        gains = self._gains(output, y, batch.batch) if self.objective.needs_gains else None
        return self.objective(losses, output.trace, share, gains, batch.real if batch.padding else None), output

    @torch.no_grad()
    def _gains(self, output: Output, y: Tensor, batch: Tensor) -> Tensor | None:
        """How much each particle of each step lowers the loss of its graph: [T, G, K]; None without steps."""
        if not output.trace:
            return None
        if self.task.level == "node":
            raise InputError("training.credit must be graph at node level, but it is particle")
        readout = _readout(self.model)
        with torch.autocast(y.device.type, enabled=False):  # differences of losses need full precision
            without = readout.without_each(output.readings, [step.log_weights.exp() for step in output.trace])
        T, G, K, C = without.shape  # K is one more than the particles: the last entry leaves out none
        rows = without.transpose(1, 2).reshape(-1, C)  # [T K G, C]
        losses = graph_losses(self.task, rows, y.repeat(T * K, 1), batch, len(rows), self.class_weights)
        losses = losses.view(T, K, G).transpose(1, 2)
        return losses[..., :-1] - losses[..., -1:]


def _readout(model: nn.Module) -> Readout:
    """The readout of a model, which may be wrapped by the fabric."""
    readout = getattr(getattr(model, "module", model), "readout", None)
    if not isinstance(readout, Readout):
        raise InputError("training.credit must be graph for a model that is not a PFGNN, but it is particle")
    return readout
