"""The training loop. A checkpoint holds its whole state, so a run that was killed continues exactly."""

import math
import time
from contextlib import suppress
from pathlib import Path
from signal import SIGINT
from typing import Any

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.data.task import Task
from pfgnn.errors import DivergedError, OutOfMemoryError, warn
from pfgnn.interrupts import Interrupts, Stopped
from pfgnn.model.linear_part import LinearPart
from pfgnn.training.averaging import Averaging
from pfgnn.training.batches import Examples, make_loader
from pfgnn.training.checkpoint_file import LAST
from pfgnn.training.checkpoints import Checkpoints, Compared, State
from pfgnn.training.config import TrainingConfig
from pfgnn.training.cuda_graphs import Replayed, own_stream, replayable
from pfgnn.training.devices import AnyDevice, Devices, agreed, mean_over_devices
from pfgnn.training.evaluate import Draws, Forward
from pfgnn.training.finite import FirstUpdate
from pfgnn.training.linear_fit import fit_linear
from pfgnn.training.losses import class_weights
from pfgnn.training.metrics_file import MetricsFile, Report, Status
from pfgnn.training.norm_statistics import estimate
from pfgnn.training.objective import Objective, Share, leave_one_out, no_baseline
from pfgnn.training.optimise import make_optimiser, make_schedule, set_rate
from pfgnn.training.seeds import training_seed
from pfgnn.training.stages import TOO_LARGE
from pfgnn.training.step import Step
from pfgnn.training.targets import Standardise
from pfgnn.training.validate import Validation

BASELINES = {"leave_one_out": leave_one_out, "none": no_baseline}
SECONDS_BETWEEN_REPORTS = 0.5


class Trainer:
    """Trains and validates a model, and writes checkpoints and metrics into a folder.

    Args:
        model: A model with the call and the output of :class:`pfgnn.model.PFGNN`.
        examples: The graphs.
        task: Loss and metric.
        config: Settings of the training.
        seed: Seed of the order of the data and of the model's draws.
        draws: How predictions are drawn in validation.
        particles: K in validation; None for the K of the model.
        devices: The devices.
        folder: Folder of the checkpoints and of metrics.jsonl.
        identity: JSON values that identify the run. A checkpoint with another identity is refused.
        compared: See :class:`pfgnn.training.checkpoints.Checkpoints`.
        report: Called with a :class:`Status` after each validation, and at most twice a second in between. The training
            ends after a validation for which it returns True, in the first process.
    """

    def __init__(
        self,
        model: nn.Module,
        examples: Examples,
        task: Task,
        config: TrainingConfig,
        *,
        seed: int,
        draws: Draws,
        particles: int | None = None,
        devices: Devices,
        folder: Path,
        identity: dict[str, Any],
        compared: Compared = lambda identity: identity,
        report: Report = lambda status: None,
    ) -> None:
        y, device = examples.y(examples.train), devices.device
        self.examples, self.config, self.devices, self.draws = examples, config, devices, draws
        self.seed, self.report, self.state = seed, report, State()
        weights = class_weights(y, task.outputs).to(device) if task.loss == "weighted_cross_entropy" else None
        own_stream(device)
        self.model = model.to(device)
        self.scaler = self._fit_scaler() if config.standardise else None
        self.optimiser = make_optimiser(model.parameters(), config, device)
        capturable = all(group.get("capturable", False) for group in self.optimiser.param_groups)
        static = replayable(model, devices) and capturable
        self.loader = make_loader(examples, config, seed, devices, pad=static)
        self.updates = config.updates or (config.epochs or 0) * len(self.loader)
        self.schedule = make_schedule(config, self.updates)
        self.sums = torch.zeros(6, dtype=torch.float64, device=device)  # since the last validation, see Step
        self.draw = torch.zeros((), dtype=torch.int64, device=device)  # the seed of the next update
        self.plain = Step(
            self.model,
            self.optimiser,
            devices,
            task,
            Objective(config.gamma, BASELINES[config.baseline], config.credit, config.entropy),
            config.clip,
            self.scaler and Standardise(*(numbers.to(device) for numbers in self.scaler)),
            weights,
            self.sums,
            Averaging(model) if devices.world > 1 else None,
        )
        self.step = self._replayed() if static else self.plain
        self.forward = Forward(self.model, devices, particles)
        self.validation = Validation(self.forward, examples, draws, self.scaler, task, config.select)
        self.metrics = MetricsFile(folder)
        self.checkpoints = Checkpoints(
            folder,
            identity,
            compared,
            devices,
            self.state,
            self.model,
            self.optimiser,
            self.schedule,
            self.sums,
            self.scaler,
        )
        self.interrupts = Interrupts()
        self.reported = 0.0

    def _fit_scaler(self) -> Standardise:
        """The scaling of the targets. If the model has a linear part, it is fitted too."""
        linear = getattr(self.model, "linear", None)
        if isinstance(linear, LinearPart):
            return fit_linear(linear, self.examples)
        return Standardise.fit(self.examples.y(self.examples.train))

    def resume(self, path: Path) -> None:
        """Continue from a checkpoint of this run."""
        self.checkpoints.resume(path)

    def load_best(self) -> str:
        """Load the best weights and return "best"; without validation, keep the last ones and return "last"."""
        return self.checkpoints.load_best()

    def train(self) -> None:
        """Train to the end. Raises DivergedError if the loss or its gradient is not finite.

        Ctrl-C is held back until the update is done and a checkpoint is written, and then raises a KeyboardInterrupt.
        """
        self.begun = time.perf_counter() - self.state.seconds
        self.stopped_anywhere = AnyDevice(self.devices)
        if self.devices.first:
            # A checkpoint within an epoch is older than the validation of its last update, which will be done again.
            self.metrics.cut(self.state.update - (self.state.batch > 0))
            self.checkpoints.remove_left_overs()
        try:
            with self.interrupts.held_back():
                while not self.state.finished:
                    self._epoch()
        except BaseException:
            with suppress(OSError):  # keep the best weights, but raise the first error
                self.checkpoints.write_best()
            raise

    def _epoch(self) -> None:
        state, config = self.state, self.config
        left = state.update < self.updates  # no update is left after a stop in the last validation
        for batch in self.loader.epoch(state.epoch, state.batch) if left else ():
            self._update(batch)
            if state.update == self.updates:
                break
            signal = self._stopped_by()
            if signal is not None or (config.checkpoint_every and state.update % config.checkpoint_every == 0):
                self._save()
            if signal is not None:
                raise Stopped(signal)
        finished = state.update == self.updates
        validates = finished or (state.epoch + 1) % config.validate_every == 0
        measured = self._measure() if validates else None
        state.epoch, state.batch, state.finished = state.epoch + 1, 0, finished
        if measured is not None:
            self._validate(*measured)
            if state.finished or config.checkpoint_every or self.checkpoints.is_time():
                self._save()

    def _stopped_by(self) -> int | None:
        """The signal that asked to stop, or None.

        Of several processes, all stop after the same update: the one after that in which one of them got a signal.
        """
        number = self.interrupts.pending
        if self.devices.world == 1:
            return number
        return (number or SIGINT) if self.stopped_anywhere(number is not None) else None

    def _update(self, batch: GraphBatch) -> None:
        set_rate(self.optimiser, self.schedule.rate(self.state.update))
        self.draw.fill_(training_seed(self.seed, self.state.update))
        if self.state.update == 0:
            first = FirstUpdate(self.plain, self.examples.data, self.loader.order(0)[: batch.real_graphs])
            self._step(batch)
            first.check(self.draw)
        else:
            self._step(batch)
        self.state.update += 1
        self.state.batch += 1
        if time.perf_counter() - self.reported > SECONDS_BETWEEN_REPORTS:
            self.reported = time.perf_counter()
            self.report(self._status(self._means(self.sums), None))

    def _step(self, batch: GraphBatch) -> None:
        while True:
            try:
                self.step(batch, self.draw, self._share())
                return
            except torch.OutOfMemoryError as error:  # no weight was changed yet
                if not self._take_less():
                    raise OutOfMemoryError(TOO_LARGE) from error

    def _take_less(self) -> bool:
        """Compute half as many particles at a time from now on, if possible. The results stay the same."""
        chunk = self.plain.chunk or int(getattr(self.model, "particles", 1))
        if chunk == 1 or not getattr(self.model, "in_chunks", False):
            return False
        self.plain.chunk = (chunk + 1) // 2
        self.optimiser.zero_grad()
        if isinstance(self.step, Replayed):
            self.step = self._replayed()
        torch.cuda.empty_cache()
        warn(
            f"{chunk} particles at a time do not fit into the device's memory; "
            f"from now on {self.plain.chunk} are computed at a time, which takes longer",
        )
        return True

    def _replayed(self) -> Replayed:
        """The step, replayed. With the gradients freed before it is captured, they lie in the CUDA graph's memory."""
        return Replayed(self.plain.stages, before=self.optimiser.zero_grad)

    def _share(self) -> Share | None:
        """The share of the batch on this device; None if there is only one device."""
        rank, world = self.devices.rank, self.devices.world
        if world == 1:
            return None
        begin = self.state.batch * self.loader.batch_size
        size = min(self.loader.batch_size, len(self.loader.graphs) - begin)
        return Share(len(range(rank, size, world)), size, world)

    def _means(self, sums: Tensor) -> list[float]:
        *totals, count = sums.tolist()
        means = [total / max(count, 1) for total in totals]
        if not all(map(math.isfinite, means)):
            kept = self.checkpoints.folder / LAST
            when = f"at update {self.state.update} or up to {int(count) - 1} before"
            raise DivergedError(
                f"the loss or its gradient is no longer finite, {when}; "
                "a smaller training.learning_rate or training.clip may help"
                + (f"; the last good checkpoint is {kept}" if kept.exists() else "")
            )
        return means

    def _measure(self) -> tuple[list[float], float | None]:
        """The means of what is reported, and the score of the validation part. The state of the run stays as it is."""
        self.draw.fill_(training_seed(self.seed, self.state.update))  # the same after a stop here
        batches = self.loader.epoch(self.state.epoch)
        estimate(self.model, batches, self.config.norm_batches, lambda batch: self.plain.losses(batch, self.draw))
        self._agree()
        means = self._means(self.sums)
        if self.devices.world > 1:
            return means, self.validation.score()  # a process that stopped here would leave the others waiting
        try:
            with self.interrupts.let_through():
                return means, self.validation.score()
        except KeyboardInterrupt:
            self._save()
            raise

    def _validate(self, means: list[float], value: float | None) -> None:
        """Note the result of a validation.

        Args:
            means: Means of what is reported.
            value: Score of the validation part, or None.
        """
        state = self.state
        if value is not None and self.validation.note(value, state):
            self.checkpoints.remember_best()
        state.seconds = time.perf_counter() - self.begun
        status = self._status(means, value)._replace(seconds=state.seconds)  # before the schedule may change the rate
        self.schedule.observe(means[0] if value is None else self.validation.cost(value))
        patience = self.config.patience
        state.finished |= self.schedule.exhausted or (patience is not None and state.waited > patience)
        self.checkpoints.write(lambda: self.metrics.append(status))
        self.sums.zero_()
        state.finished |= agreed(self.devices, bool(self.report(status)))

    def _status(self, means: list[float], validation: float | None) -> Status:
        loss, policy_loss, ess, entropy, _ = means
        state, rate = self.state, self.schedule.rate(max(self.state.update - 1, 0))
        return Status(state.update, self.updates, state.epoch, loss, policy_loss, ess, entropy, rate, validation)

    def _agree(self) -> None:
        """Average what each device has of its own graphs: the sums to report, and the model's running statistics."""
        if self.devices.world > 1:
            for tensor in (self.sums, *self.model.buffers()):
                if tensor.is_floating_point():
                    tensor.copy_(mean_over_devices(self.devices, tensor))

    def _save(self) -> None:
        self._agree()  # a checkpoint holds the tensors of one device
        self._means(self.sums)  # raises if a loss was not finite: such weights are not saved
        self.state.seconds = time.perf_counter() - self.begun
        self.checkpoints.save()
