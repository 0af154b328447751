"""One update of the parameters."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.data.task import Task
from pfgnn.errors import InputError
from pfgnn.model.output import Output
from pfgnn.model.readout import Readout
from pfgnn.ops.hashing import fold
from pfgnn.training.averaging import Averaging
from pfgnn.training.devices import Devices
from pfgnn.training.losses import graph_losses
from pfgnn.training.objective import Objective, Share
from pfgnn.training.particle_statistics import measured_beside
from pfgnn.training.stages import Stages, run_stages
from pfgnn.training.targets import Standardise


@dataclass
class Step:
    """Forward pass, loss, backward pass, clipping and optimiser. The numbers to report are added to ``sums``.

    Args:
        model: The model.
        optimiser: The optimiser.
        devices: The devices.
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
    devices: Devices
    task: Task
    objective: Objective
    clip: float | None
    scaler: Standardise | None
    class_weights: Tensor | None
    sums: Tensor
    average: Averaging | None = None
    chunk: int | None = None

    def __call__(self, batch: GraphBatch, seed: Tensor, share: Share | None = None) -> None:
        """Do one update. Nothing here waits for the device. The arguments are those of :meth:`stages`."""
        run_stages(self.stages(batch, seed, share))

    def stages(self, batch: GraphBatch, seed: Tensor, share: Share | None = None) -> Stages:
        """One update, see :mod:`pfgnn.training.stages`. With one device it is a single stage.

        Args:
            batch: The graphs; it may be padded.
            seed: Seed of the model's draws.
            share: The share of the batch on this device; None if the whole batch is here.
        """
        losses, output, gains = self.losses(batch, seed)
        own = share or Share(batch.real_graphs, batch.real_graphs)
        total = self.objective.total(losses, output.trace, own)
        if share is not None and total is not None:
            yield total
        loss = self.objective(losses, output.trace, own, gains, total)
        self.optimiser.zero_grad()
        with measured_beside(output, batch.real_graphs) as diversity:
            loss.total.backward()
        if self.average is not None:
            yield from self.average.stages()
        parameters = [parameter for parameter in self.model.parameters() if parameter.grad is not None]
        norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
        if self.clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self.clip, norm)
        self.optimiser.step()
        with torch.no_grad():  # otherwise the sums would keep the autograd graph of every update
            self.sums += torch.stack([loss.task, loss.policy, *diversity, norm, torch.ones_like(norm)])
        return None

    def losses(self, batch: GraphBatch, seed: Tensor) -> tuple[Tensor, Output, Tensor | None]:
        """The forward pass.

        Args:
            batch: The graphs; it may be padded.
            seed: Seed of the model's draws.

        Returns:
            The task loss of each graph, shape [G].
            The output of the model.
            The gains of the particles if the objective needs them, shape [T, G, K], otherwise None.
        """
        assert batch.graph_key is not None
        assert batch.y is not None
        rank, world = self.devices.rank, self.devices.world
        # With its place in the whole batch in the key, two copies of a graph draw differently, and several devices
        # draw what one process would draw.
        place = torch.arange(batch.num_graphs, device=batch.batch.device) * world + rank
        with self.devices.autocast():
            output: Output = self.model(batch, seed=seed, graph_key=fold(batch.graph_key, place), chunk=self.chunk)
        if self.devices.precision == "bf16":  # losses need full precision
            output = output.in_float32()
        y = batch.y if self.scaler is None else self.scaler.scale(batch.y)
        losses = graph_losses(self.task, output.prediction, y, batch.batch, batch.num_graphs, self.class_weights)
        if not self.objective.needs_gains:
            return losses, output, None
        if (linear := getattr(self.model, "linear", None)) is not None:  # the network predicts only the rest
            y = y - linear(batch).to(y.dtype)
        return losses, output, self._gains(output, y, batch.batch)

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
    """The readout of a model."""
    readout = getattr(model, "readout", None)
    if not isinstance(readout, Readout):
        raise InputError("training.credit must be graph for a model that is not a PFGNN, but it is particle")
    return readout
