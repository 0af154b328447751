"""Evaluation: predictions of several draws and their scores. Each graph counts once."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.data.loader import GraphStore, Indices, Loader
from pfgnn.data.padding import pad_batch
from pfgnn.data.relabel import reorder, sort_keys
from pfgnn.data.task import Task
from pfgnn.graphs.arrays import IntArray
from pfgnn.model import PFGNN, Distinct, Top
from pfgnn.training.cuda_graphs import Replayed, own_stream, replayable
from pfgnn.training.devices import Devices, gather_rows
from pfgnn.training.finite import check_predictions
from pfgnn.training.metrics import score
from pfgnn.training.stages import Stages, run_stages


@dataclass(frozen=True)
class Evaluation:
    """The result of one part of the data.

    Args:
        metric: Main metric of the task.
        value: Score of the mean prediction of all draws if ``average`` is set, otherwise mean score of the draws.
        std: Standard deviation of the scores of the draws; 0 with one draw.
        spread: Standard deviation of a prediction over the draws: root of the mean variance; 0 with one draw.
        draws: Score of each draw.
        scores: All metrics by name, computed as ``value`` is.
    """

    metric: str
    value: float
    std: float
    spread: float
    draws: list[float]
    scores: dict[str, float]


@dataclass(frozen=True)
class Draws:
    """How predictions are drawn.

    Args:
        seed: Seed of the first draw. Draw i has seed + i.
        count: Number of draws.
        average: Whether to score the mean prediction of all draws.
        relabel: Whether to relabel the nodes of each graph at random in each draw.
        batch_size: Graphs in a batch.
    """

    seed: int
    count: int = 1
    average: bool = False
    relabel: bool = False
    batch_size: int = 64


class Forward:
    """The predictions of a model for a batch, replayed from CUDA graphs if possible.

    Args:
        model: A model with the call of :class:`pfgnn.model.PFGNN`.
        devices: The devices.
        particles: K; None for the K of the model.
        embed: Whether to append the embedding to the prediction of each row.
        chunk: Particles computed at a time; None for all.
    """

    def __init__(
        self,
        model: nn.Module,
        devices: Devices,
        particles: int | None = None,
        embed: bool = False,
        chunk: int | None = None,
    ) -> None:
        self.model, self.devices, self.particles, self.embed, self.chunk = model, devices, particles, embed, chunk
        own_stream(devices.device)
        self.replayed = Replayed(self._predict) if replayable(model, devices) else None

    @torch.no_grad()
    def __call__(self, batch: GraphBatch, seed: int, pad: tuple[int, int] | None) -> Tensor:
        """The predictions of a batch, [G, C] or [N, C]; with embeddings [G, C + F].

        Args:
            batch: The graphs, with edges sorted by target.
            seed: Seed of the model's draws.
            pad: Before a replay, the batch is padded to multiples of these numbers of nodes and edges.
        """
        rows = len(batch.batch) if batch.node_level else batch.real_graphs
        was_training = self.model.training
        if was_training:  # setting the mode of all parts takes longer than some of the layers
            self.model.eval()
        number = torch.tensor(seed, device=self.devices.device)
        try:
            if self.replayed is None:
                predicted = run_stages(self._predict(batch, number))
            else:
                predicted = self.replayed(batch if pad is None else pad_batch(batch, *pad), number)
            assert predicted is not None
            return predicted if self.replayed is None else predicted[:rows].clone()
        finally:
            if was_training:
                self.model.train()

    def _predict(self, batch: GraphBatch, seed: Tensor) -> Stages:
        yield from ()  # a device needs nothing from the others
        K = self.particles
        if self.replayed is None:  # a replay needs the same shapes for all batches
            K = useful_particles(self.model, K, batch)
        with self.devices.autocast():
            output = self.model(batch, particles=K, seed=seed, chunk=self.chunk)
        prediction: Tensor = output.prediction.float()
        return torch.cat([prediction, output.embedding.float()], -1) if self.embed else prediction


def useful_particles(model: nn.Module, particles: int | None, batch: GraphBatch) -> int | None:
    """K, or fewer if all paths are different: then particles beyond the number of paths have no weight.

    Args:
        model: As in :class:`Forward`.
        particles: K; None for the K of the model.
        batch: The graphs.
    """
    if not isinstance(model, PFGNN) or not isinstance(model.sample, Distinct | Top):
        return particles
    largest = int(batch.sizes.max())
    return min(model.particles if particles is None else particles, max(largest, 1) ** model.steps)


def predict(
    forward: Forward, data: GraphStore, graphs: Indices, draws: Draws, number: int, names: Indices | None = None
) -> Tensor:
    """One draw of the predictions, [G, C] or [N, C] in the order of ``graphs``, on the CPU. All must be finite.

    Each device predicts a share of the graphs, and all devices get all predictions.

    Args:
        forward: The model.
        data: The dataset.
        graphs: Numbers of the graphs to predict.
        draws: How to draw.
        number: Number of the draw, from 0.
        names: What each graph is called in messages, in the order of ``graphs``. By default its number.
    """
    devices = forward.devices
    own = graphs[devices.rank :: devices.world]
    shown = own if len(own) else graphs[:1]  # a device without graphs predicts one, to know the number of outputs
    keys = _relabelling(data, graphs, draws, number)[devices.rank :: devices.world] if draws.relabel else []
    pad = data.multiples(shown, draws.batch_size)
    rows = []
    for place, batch in enumerate(Loader(data, shown, draws.batch_size)):
        of_batch = keys[place * draws.batch_size :][: draws.batch_size]
        seen, new = reorder(batch, np.concatenate(of_batch)) if of_batch else (batch, None)
        predicted = forward(seen, draws.seed + number, pad)
        rows.append(predicted[new] if data.node_level and new is not None else predicted)
    mine = torch.cat(rows)
    found = _in_order(data, graphs, [part.cpu() for part in gather_rows(devices, mine if len(own) else mine[:0])])
    check_predictions(found, data, graphs, forward.model, names)
    return found


def _relabelling(data: GraphStore, graphs: Indices, draws: Draws, number: int) -> list[IntArray]:
    """The sort keys of the nodes of each graph. They do not depend on how the graphs are divided among the devices."""
    counts = data.node_counts[graphs]
    keys = sort_keys(int(counts.sum()), np.random.default_rng([draws.seed % 2**63, number, 0]))
    return np.split(keys, np.cumsum(counts)[:-1])


def _in_order(data: GraphStore, graphs: Indices, parts: list[Tensor]) -> Tensor:
    """Put the rows of all devices into the order of ``graphs``. Graph i was predicted by device i mod world size."""
    if len(parts) == 1:
        return parts[0]
    count = data.node_counts[graphs] if data.node_level else np.ones(len(graphs), dtype=np.int64)
    pieces: list[Tensor | None] = [None] * len(graphs)
    for rank, part in enumerate(parts):
        pieces[rank :: len(parts)] = part.split(count[rank :: len(parts)].tolist())
    return torch.cat([piece for piece in pieces if piece is not None])


def evaluate(predictions: list[Tensor], y: Tensor, task: Task, average: bool) -> Evaluation:
    """Score the predictions of one part of the data.

    Args:
        predictions: Predictions of each draw, [rows, C].
        y: Targets, [rows, C'].
        task: Names the metric.
        average: Whether to score the mean prediction of all draws.
    """
    each = [score(task, prediction, y) for prediction in predictions]
    metric = next(iter(each[0]))
    draws = [scores[metric] for scores in each]
    if average:
        scores = score(task, torch.stack(predictions).mean(0), y)
    else:
        scores = {name: float(np.mean([of[name] for of in each])) for name in each[0]}
    std = spread = 0.0
    if len(draws) > 1:
        std = float(np.std(draws, ddof=1))
        spread = math.sqrt(float(torch.stack(predictions).double().var(0).mean()))
    return Evaluation(metric, scores[metric], std, spread, draws, scores)
