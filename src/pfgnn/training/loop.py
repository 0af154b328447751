"""The training loop. All that it depends on is in its checkpoint, so a run that was killed goes on bit for bit."""

import math
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.data.loader import Indices, Loader, join_graphs
from pfgnn.data.task import Task
from pfgnn.training import checkpoint as files
from pfgnn.training.checkpoint import Checkpoint
from pfgnn.training.config import TrainingConfig
from pfgnn.training.devices import over_devices
from pfgnn.training.evaluate import Draws, Forward, evaluate, predict
from pfgnn.training.examples import Examples
from pfgnn.training.log import Metrics, Status
from pfgnn.training.losses import class_weights
from pfgnn.training.metrics import higher_is_better
from pfgnn.training.objective import Objective, Share, leave_one_out, no_baseline
from pfgnn.training.optimise import make_optimiser, make_schedule, set_rate
from pfgnn.training.replay import Replayed, own_stream, replayable
from pfgnn.training.step import Step
from pfgnn.training.targets import Standardise

BASELINES = {"leave_one_out": leave_one_out, "none": no_baseline}
SECONDS_BETWEEN_REPORTS = 0.5
SECONDS_BETWEEN_CHECKPOINTS = 10.0  # an epoch may take less than writing what it has learned
TIMES_ITS_OWN = 50.0  # and a checkpoint comes no sooner than so many times the seconds that the last one took


@dataclass
class State:
    """Where a run stands, but for its tensors.

    Args:
        epoch, batch: the next batch's; ``update``: how many were taken.
        best: the best validation result so far; ``best_update``: when it came.
        waited: validations since then.
        seconds: of training so far.
        finished: whether training is over.
    """

    epoch: int = 0
    batch: int = 0
    update: int = 0
    best: float | None = None
    best_update: int | None = None
    waited: int = 0
    seconds: float = 0.0
    finished: bool = False


def even_size(config: TrainingConfig, graphs: int) -> int:
    """The smallest batch size that gives an epoch no more batches than ``config.batch_size`` does.

    So no batch is much smaller than the others; the numbers of a norm over the batch would be worth little there.

    Args: config: of the training.  graphs: number of graphs to train on.
    """
    block = config.block if config.batch_size % config.block == 0 else 1
    blocks, most = graphs * config.copies // block, config.batch_size // block
    return max(1, -(-blocks // -(-blocks // most))) * block


class Trainer:
    """Trains a model on some graphs, validates it, keeps checkpoints and metrics in a folder.

    Args:
        model: called as :class:`pfgnn.model.PFGNN` is, and returns its output.
        examples: the graphs.
        task: loss and metric.
        config: how to train.
        seed: of the data's order and the model's draws.
        draws, particles: how to validate, and with what K; None for the model's own.
        fabric: the devices.
        folder: of the checkpoints and of metrics.jsonl.
        identity: what a checkpoint must have been made with, as JSON values.
        report: gets a :class:`Status` now and then.
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
        fabric: Fabric,
        folder: Path,
        identity: dict[str, Any],
        report: Callable[[Status], None] = lambda status: None,
    ) -> None:
        if len(examples.train) % config.block:
            raise ValueError(
                f"training.block must divide the {len(examples.train)} training graphs, not {config.block}"
            )
        if config.union > 1 and fabric.world_size > 1:
            raise ValueError("training.union must be 1 on several devices, where a batch is dealt out graph by graph")
        self.examples, self.task, self.config = examples, task, config
        self.seed, self.draws, self.fabric = seed, draws, fabric
        self.folder, self.identity, self.report = folder, identity, report
        self.state = State()
        y = examples.y(examples.train)
        self.scaler = Standardise.fit(y) if config.standardise else None
        self.class_weights = None
        if task.loss == "weighted_cross_entropy":
            self.class_weights = class_weights(y, task.outputs).to(fabric.device)
        self.loader = Loader(
            examples.data,
            examples.train.reshape(-1, config.block).repeat(config.copies, 0).reshape(-1),
            even_size(config, len(examples.train)),
            shuffle=True,
            seed=seed,
            rank=fabric.global_rank,
            world=fabric.world_size,
            block=config.block,
        )
        self.updates = config.updates or (config.epochs or 0) * len(self.loader)
        self.schedule = make_schedule(config, self.updates)
        own_stream(fabric.device)
        fabric.to_device(model)
        optimiser = make_optimiser(model.parameters(), config, fabric.device)
        self.model, self.optimiser = fabric.setup(model, optimiser)
        self.sums = torch.zeros(6, dtype=torch.float64, device=fabric.device)  # since the last validation, see Step
        self.draw = torch.zeros((), dtype=torch.int64, device=fabric.device)  # the seed of the next update
        self.plain = step = Step(
            self.model,
            self.optimiser,
            fabric,
            task,
            Objective(config.gamma, BASELINES[config.baseline], config.credit, config.entropy),
            config.clip,
            self.scaler and Standardise(*(numbers.to(fabric.device) for numbers in self.scaler)),
            self.class_weights,
            self.sums,
        )
        pad = examples.data.multiples(examples.train, self.loader.batch_size)
        capturable = all(group.get("capturable", False) for group in optimiser.param_groups)
        static = replayable(model, fabric) and capturable and (pad is None or config.union == 1)
        # Without gradients a graph makes them in memory of its own.
        self.step = Replayed(step, before=self.optimiser.zero_grad) if static else step
        if static:
            self.loader.pad = pad
        self.best: Checkpoint | None = None  # until it is written
        self.reported, self.due = 0.0, 0.0  # the next checkpoint
        self.metrics = Metrics(folder)
        self.forward = Forward(self.model.module, fabric, particles)

    def train(self) -> None:
        """Train to the end; a loss that is not finite stops the run with a sentence."""
        self.begun = time.perf_counter() - self.state.seconds
        if self.fabric.is_global_zero:
            # Within an epoch the last update is yet to be validated.
            self.metrics.cut(self.state.update - (self.state.batch > 0))
            for left_over in self.folder.glob(".*.safetensors"):  # by a process that was killed while it wrote
                left_over.unlink()
        try:
            while not self.state.finished:
                self._epoch()
        except BaseException:
            with suppress(OSError):  # the best weights so far outlast what stopped the run
                self._write_best()
            raise

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of this very run."""
        tensors, state = files.read_checkpoint(path)
        files.check_identity(path, state["identity"], self.identity)
        files.load_model(self.model.module, files.owned("model", tensors), path)
        files.load_optimiser(self.optimiser.optimizer, files.owned("optimiser", tensors), path)
        if tensors["sums"].shape != self.sums.shape:
            raise ValueError(f"{path} must be of this version of pfgnn, but is of an earlier one; train anew elsewhere")
        self.sums.copy_(tensors["sums"])
        self.state = State(**state["run"])
        self.schedule.load(state["schedule"])

    def load_best(self) -> str:
        """Put the best weights into the model, or leave the last where nothing was validated; which they are."""
        if self.state.best is None:
            return "last"
        self.fabric.barrier()  # the first device may still be writing them
        tensors, state = files.read_checkpoint(self.folder / files.BEST)
        files.check_identity(self.folder / files.BEST, state["identity"], self.identity)
        files.load_model(self.model.module, files.owned("model", tensors), self.folder / files.BEST)
        # A run that was stopped may have kept better weights than it came to again on another machine.
        self.state.best, self.state.best_update = state["run"]["best"], state["run"]["best_update"]
        return "best"

    def _epoch(self) -> None:
        state, config = self.state, self.config
        for batch in self.loader.epoch(state.epoch, state.batch):
            self._update(batch)
            if state.update == self.updates:
                break
            if config.checkpoint_every and state.update % config.checkpoint_every == 0:
                self._save()
        state.epoch, state.batch = state.epoch + 1, 0
        state.finished = state.update == self.updates
        if state.finished or state.epoch % config.validate_every == 0:
            self._validate()
            if state.finished or config.checkpoint_every or self._is_time():
                self._save()

    def _update(self, batch: GraphBatch) -> None:
        if self.config.union > 1 and self.state.update % 2:
            batch = join_graphs(batch, self.config.union)
        set_rate(self.optimiser, self.schedule.rate(self.state.update))
        self.draw.fill_(training_seed(self.seed, self.state.update))
        self._step(batch)
        self.state.update += 1
        self.state.batch += 1
        if time.perf_counter() - self.reported > SECONDS_BETWEEN_REPORTS:
            self.reported = time.perf_counter()
            self.report(self._status(self._means(self.sums), None))

    def _step(self, batch: GraphBatch) -> None:
        while True:
            try:
                if isinstance(self.step, Replayed):
                    self.step(batch, self.draw)
                else:
                    self.step(batch, self.draw, self._share(batch))
                return
            except torch.OutOfMemoryError as error:  # before anything was changed
                if not self._take_less():
                    raise MemoryError(
                        "a batch does not fit into the device's memory; "
                        "a smaller training.batch_size or model.particles takes less"
                    ) from error

    def _take_less(self) -> bool:
        """Compute half as many particles at a time from now on, if that is possible; the numbers stay the same."""
        chunk = self.plain.chunk or int(getattr(self.model.module, "particles", 1))
        if chunk == 1 or not getattr(self.model.module, "in_chunks", False):
            return False
        self.plain.chunk = (chunk + 1) // 2
        self.optimiser.zero_grad()
        if isinstance(self.step, Replayed):
            self.step = Replayed(self.plain, before=self.optimiser.zero_grad)
        torch.cuda.empty_cache()
        warnings.warn(
            f"{chunk} particles at a time do not fit into the device's memory; "
            f"from now on {self.plain.chunk} are computed at a time, which takes longer",
            stacklevel=2,
        )
        return True

    def _share(self, batch: GraphBatch) -> Share | None:
        """What part of the whole batch is here; None if all of it."""
        world = self.fabric.world_size
        if world == 1:
            return None
        begin = self.state.batch * self.loader.batch_size
        size = min(self.loader.batch_size, len(self.loader.graphs) - begin)
        weights = torch.ones(batch.num_graphs, device=self.fabric.device)
        weights[len(range(self.fabric.global_rank, size, world)) :] = 0
        return Share(weights, world, lambda tensor: over_devices(self.fabric, tensor, "sum"))

    def _means(self, sums: Tensor) -> list[float]:
        *totals, count = sums.tolist()
        means = [total / max(count, 1) for total in totals]
        if not all(map(math.isfinite, means)):
            kept = self.folder / files.LAST
            when = f"at update {self.state.update} or up to {int(count) - 1} before"
            raise FloatingPointError(
                f"the loss or its gradient is no longer finite, {when}; "
                "a smaller training.learning_rate or training.clip may help"
                + (f"; the last good checkpoint is {kept}" if kept.exists() else "")
            )
        return means

    def _validate(self) -> None:
        sums = self.sums
        if self.fabric.world_size > 1:  # devices hold shares of the losses
            sums = over_devices(self.fabric, sums, "mean")
            for buffer in self.model.module.buffers():  # running means of each device's own graphs
                if buffer.is_floating_point():
                    buffer.copy_(over_devices(self.fabric, buffer, "mean"))
        means = self._means(sums)
        state, graphs = self.state, self.examples.validation
        value, cost = None, means[0]
        if graphs is not None:
            value = self._score(graphs)
            sign = -1 if higher_is_better(self.task.metric) else 1
            cost, best = sign * value, math.inf if state.best is None else sign * state.best
            state.waited = 0 if cost < best else state.waited + 1
            if cost <= best:  # of equals the later, which has seen more
                state.best, state.best_update = value, state.update
                now = self._checkpoint()
                self.best = now._replace(tensors={name: tensor.clone() for name, tensor in now.tensors.items()})
        status = self._status(means, value)  # with the rate that was, not the one to come
        self.schedule.observe(cost)
        patience = self.config.patience
        state.finished |= self.schedule.exhausted or (patience is not None and state.waited > patience)
        state.seconds = time.perf_counter() - self.begun
        self._write(lambda: self.metrics.append(status, state.seconds))
        self.sums.zero_()
        self.report(status)

    def _score(self, graphs: Indices) -> float:
        prediction = predict(self.forward, self.examples.data, graphs, self.draws, 0)
        if self.scaler is not None:
            prediction = self.scaler.unscale(prediction)
        return evaluate([prediction], self.examples.y(graphs), self.task, average=False).value

    def _status(self, means: list[float], validation: float | None) -> Status:
        loss, policy_loss, ess, entropy, _ = means
        state, rate = self.state, self.schedule.rate(max(self.state.update - 1, 0))
        return Status(state.update, self.updates, state.epoch, loss, policy_loss, ess, entropy, rate, validation)

    def _is_time(self) -> bool:
        """Whether the next checkpoint is due, by the first device's clock."""
        return bool(self.fabric.broadcast(time.perf_counter() > self.due))

    def _save(self) -> None:
        if self.fabric.world_size > 1:  # the checkpoint holds one device's; from here on all hold the mean
            self.sums.copy_(over_devices(self.fabric, self.sums, "mean"))
        self._means(self.sums)  # never keep weights that a loss without a value has reached
        self.state.seconds = time.perf_counter() - self.begun
        begun = time.perf_counter()
        self._write_best()
        self._write(lambda: files.keep_last(self.folder, self._checkpoint()))
        took = time.perf_counter() - begun
        self.due = time.perf_counter() + max(SECONDS_BETWEEN_CHECKPOINTS, TIMES_ITS_OWN * took)

    def _write_best(self) -> None:
        if self.best is not None:
            best, self.best = self.best, None
            self._write(lambda: files.write_checkpoint(self.folder / files.BEST, best))

    def _write(self, write: Callable[[], None]) -> None:
        """Write in one process; what a full disk says is said with what is left."""
        if self.fabric.is_global_zero:
            try:
                write()
            except OSError as error:
                stopped = f"so training stopped at update {self.state.update}; what was written before is kept"
                raise OSError(error.errno, f"{error.strerror}, {stopped}", error.filename) from error

    def _checkpoint(self) -> Checkpoint:
        tensors = {
            **files.named("model", self.model.module.state_dict()),
            **files.named("optimiser", files.optimiser_tensors(self.optimiser.optimizer)),
            "sums": self.sums,
        }
        if self.scaler is not None:
            tensors |= {"target.mean": self.scaler.mean, "target.std": self.scaler.std}
        state = {"run": asdict(self.state), "schedule": self.schedule.state(), "identity": self.identity}
        return Checkpoint(tensors, state)


def training_seed(seed: int, update: int) -> int:
    """The seed of an update's draws; those of evaluation are negative, so that the two never meet."""
    return (seed % 2**31) * 2**32 + update


def evaluation_seed(seed: int) -> int:
    """The seed of the first evaluation draw of a run; validation takes this one, tests the next million."""
    return -(seed % 2**31 + 1) * 2**32
