"""Predict new graphs with the model of a finished run. Each prediction has a Monte Carlo standard error."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive, choose
from pfgnn.data.dataset import Dataset
from pfgnn.data.loader import Indices, Resident
from pfgnn.errors import warn
from pfgnn.experiments.build import reads_edges
from pfgnn.experiments.calibration import probabilities, read_calibration
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.draw_mean import MeanOfDraws
from pfgnn.experiments.finished_run import load_weights
from pfgnn.experiments.given_graphs import GivenGraph, pack_graphs
from pfgnn.experiments.intervals import Outside, check_intervals, with_intervals, with_sets
from pfgnn.experiments.model_folder import read_facts
from pfgnn.experiments.needs import Needs
from pfgnn.experiments.new_graphs import NewGraphs, open_source
from pfgnn.experiments.prediction_rows import node_places, some_pieces, with_gaps
from pfgnn.experiments.prediction_table import (
    Columns,
    Predictions,
    check_names,
    class_names,
    output_names,
    written_columns,
)
from pfgnn.experiments.run_directory import CONFIG, RECORD, read_record
from pfgnn.experiments.seen import Seen
from pfgnn.graphs.arrays import BoolArray, IntArray
from pfgnn.model.refine import check_module
from pfgnn.setting_types import check_draws
from pfgnn.training.devices import open_devices
from pfgnn.training.evaluate import Draws, Forward, predict
from pfgnn.training.seeds import prediction_seed
from pfgnn.workers import available_cores, ordered_map

ROUNDING = 1e-6  # of a prediction and the deviation of its target; float32 has seven digits
GRAPHS_ALONE = 4000  # so many graphs of a file are made in this process: another one would take a second to start


class TrainedRun:
    """A finished run that predicts new graphs. Make one with :func:`load_run`.

    Classes are predicted as probabilities, regression targets in their own units. Each prediction is a mean over
    independent draws. The draws of a graph depend on the seed and on its number in the list or file. They do not depend
    on other graphs.

    Args:
        directory: The run directory of `pfgnn train`, or the model folder of `pfgnn fit`.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        backbone: See :func:`load_run`.

    Attributes:
        config: The config of the run.
        task: What the run predicts.
        names: Names of the outputs.
        needs: What the run needs new graphs to be.
        facts: What `pfgnn fit` found in the data; None for a run of `pfgnn train`.
        calibration: For intervals and probabilities; None if no graphs were held out for it.
    """

    def __init__(self, directory: str | Path, device: str = "auto", backbone: nn.Module | None = None) -> None:
        folder = Path(directory)
        record = read_record(folder)
        self.config = read_config(folder / CONFIG)
        self.model, self.scaler, inputs = load_weights(folder, record, backbone)
        self.devices = open_devices(device, self.config.training.precision)
        self.model.to(self.devices.device)
        self.task = inputs.task
        self.names = output_names(self.task)
        self.facts, self.calibration = read_facts(folder), read_calibration(folder, self.task, record)
        channels = inputs.in_channels, inputs.edge_channels
        seen = Seen.read(folder / RECORD, record) if self.facts is None else self.facts.seen
        categories = inputs.node_categories, inputs.edge_categories
        self.needs = Needs(
            self.task, *channels, self.config.data, reads_edges(self.config.model, backbone), seen, *categories
        )
        self._forward: dict[int | None, Forward] = {}  # by K; on a GPU each has CUDA graphs of its own

    def predict(
        self,
        graphs: Iterable[GivenGraph] | Dataset,
        draws: int = 16,
        particles: int | None = None,
        seed: int | None = None,
        coverage: float | None = None,
    ) -> Predictions:
        """Predict a list of graphs.

        Args:
            graphs: SMILES, graph6 strings, :class:`pfgnn.Graph`, networkx graphs, PyG ``Data`` or a
                :class:`pfgnn.data.Dataset`, with the features that the run was trained on. Of a networkx graph, the
                node attributes x0, x1, ... and the edge attributes e0, e1, ... are read, as
                :func:`pfgnn.graphs.to_networkx` writes them.
            draws: R, number of draws. The Monte Carlo standard error is the standard deviation of the draws divided by
                √R. One draw has no error. A graph with at most K paths is computed once, because nothing is random.
            particles: K; None for ``evaluation.particles`` of the run.
            seed: Seed of the draws; None for that of the run.
            coverage: Share of the true values that should lie in the intervals, such as 0.9; None for no intervals. A
                target with too few graphs for calibration has NaN. For classes, share of the graphs whose set of
                classes should hold the true one.
        """
        check_draws(draws, particles, least=1)
        check_intervals(self.task, self.calibration, coverage)
        packed = pack_graphs(graphs, self.needs)
        given = _whole(self.needs.fit(packed, "graphs"))._replace(outside=self.needs.outside(packed))
        found = self._with_coverage(self._predict(given, self.draws(draws, seed), particles), coverage)
        outside = Outside()
        outside.add(found)
        if said := outside.say():
            warn(said)
        return found

    def prepare(self, graphs: Iterable[GivenGraph] | Dataset) -> Dataset:
        """The graphs as a dataset that the model can read. The targets are placeholders. See :meth:`predict`."""
        return self.needs.fit(pack_graphs(graphs, self.needs), "graphs")

    def outputs(self, graphs: Dataset, draws: int) -> list[Tensor]:
        """For each draw the outputs of graphs that :meth:`prepare` made, [G, C]: logits, or numbers in their units."""
        data = Resident(graphs, self.devices.device)
        return list(self._outputs(data, np.arange(len(graphs)), self.draws(draws, None), None))

    def predict_file(
        self,
        path: str | Path,
        draws: int = 16,
        particles: int | None = None,
        seed: int | None = None,
        *,
        coverage: float | None = None,
        smiles_column: str | None = None,
        on_error: str = "fail",
        processes: int | None = None,
        progress: Callable[[float, int], None] = lambda done, count: None,
    ) -> Iterator[Predictions]:
        """Predict the graphs of a file, piece by piece, with memory for a few pieces only.

        :func:`pfgnn.experiments.prediction_table.write_table` writes the pieces to a table.

        Args:
            path: File of the graphs: graph6 or sparse6 (.g6, .s6), JSON lines (.jsonl), a table with SMILES (.csv,
                .tsv), SMILES (.smi), or a packed dataset (.pfgnn) or a folder of shards. Text files may be gzipped.
            draws: See :meth:`predict`; at least 2.
            particles: See :meth:`predict`.
            seed: See :meth:`predict`.
            coverage: See :meth:`predict`.
            smiles_column: Name of the column of SMILES in a CSV file; None for the column that looks like it.
            on_error: What to do with a line that cannot be read: "fail", or "skip" it, so that it has no prediction.
            processes: Number of processes that make graphs. By default all cores if there are many graphs. They are
                spawned, so a script needs an ``if __name__ == "__main__"`` guard.
            progress: Called after each draw of each piece with the number of graphs done, and the number of all graphs.
        """
        check_draws(draws, particles)
        check_intervals(self.task, self.calibration, coverage)
        fail = choose("on_error", on_error, {"fail": True, "skip": False})
        file, how = Path(path), self.draws(draws, seed)
        source = open_source(file, self.needs, smiles_column, fail)
        check_names(file, source.columns, written_columns(self.task, self.needs.seen is not None, coverage))
        if processes is None:
            processes = available_cores() if source.costly and source.total > GRAPHS_ALONE else 1
        made = ordered_map(source.make, source.pieces(how.batch_size), processes)

        def predict_piece(new: NewGraphs) -> Predictions:
            def tell(share: float) -> None:
                progress(new.first + share * new.total, source.total)

            found = self._predict(new, how, particles, tell)._replace(carried=Columns(source.columns, new.rows))
            return self._with_coverage(found, coverage)

        return some_pieces(file, map(predict_piece, made), closing(made))

    def draws(self, draws: int, seed: int | None) -> Draws:
        """How predictions are drawn. The arguments are those of :meth:`predict`."""
        chosen = self.config.seed if seed is None else check_positive("seed", seed, least=0, most=2**63 - 1)
        batch_size = self.config.evaluation.batch_size or self.config.training.batch_size
        return Draws(prediction_seed(chosen), draws, batch_size=batch_size)

    def _predict(
        self,
        new: NewGraphs,
        how: Draws,
        particles: int | None,
        tell: Callable[[float], None] = lambda share: None,
    ) -> Predictions:
        """Predict the graphs of a piece. ``tell`` is called after each draw with the share that is done."""
        mean = error = torch.zeros(0, self.task.outputs, dtype=torch.float64)
        if new.dataset is not None:
            data = Resident(new.dataset, self.devices.device)
            mean, error = self._average(data, new.first + new.read, how, particles, tell)
        if self.task.level == "node":
            counts = new.dataset.node_counts.astype(np.int64) if new.dataset is not None else new.read
            where = node_places(torch.from_numpy(new.read), torch.from_numpy(counts))
        else:
            where = torch.arange(new.total)[:, None]
            if len(new.read) < new.total:
                mean, error = (with_gaps(rows, new) for rows in (mean, error))
        outside: list[str] | None = None
        if self.needs.seen is not None:
            reasons = dict(zip(new.read.tolist(), new.outside or (), strict=True))
            outside = [reasons.get(graph, "") for graph in where[:, 0].tolist()]
        where[:, 0] += new.first
        return Predictions(
            mean,
            error,
            self.names,
            where,
            first=new.first,
            rejects=new.rejects,
            outside=outside,
            classes=class_names(self.task),
            deviations=None if self.scaler is None else self.scaler.std,
        )

    def _with_coverage(self, found: Predictions, coverage: float | None) -> Predictions:
        return with_sets(with_intervals(found, self.task, self.calibration, coverage), self.calibration, coverage)

    def _average(
        self, data: Resident, names: Indices, how: Draws, particles: int | None, tell: Callable[[float], None]
    ) -> tuple[Tensor, Tensor]:
        """Mean of the draws, and its Monte Carlo standard error, both [rows, C]."""
        mean = MeanOfDraws()
        for number, output in enumerate(self._outputs(data, names, how, particles)):
            mean.add(self._as_probabilities(output))
            tell((number + 1) / how.count)
        return mean.mean, self.without_rounding(mean.error, mean.mean)

    def without_rounding(self, error: Tensor, prediction: Tensor) -> Tensor:
        """Monte Carlo standard errors, with 0 for those that are only rounding errors of float32.

        Args:
            error: Standard errors, [..., C].
            prediction: The predictions that they belong to, of a shape that broadcasts.
        """
        scale: Tensor | float = 0.0 if self.task.loss == "l1" else 1.0
        if self.scaler is not None and self.task.loss == "l1":
            scale = self.scaler.std
        return error.masked_fill(error <= ROUNDING * (prediction.abs() + scale), 0.0)

    def _outputs(self, data: Resident, names: Indices, how: Draws, particles: int | None) -> Iterator[Tensor]:
        """The outputs of each draw, [rows, C]: logits, or numbers in the units of the targets.

        Graphs without randomness are computed once. All draws have the same output for them.
        """
        random = ~self.is_exact(data.node_counts, particles)  # [G]
        rows = torch.from_numpy(np.repeat(random, data.node_counts) if data.node_level else random)
        graphs, forward = np.arange(len(random)), self.forward(particles)
        output = predict(forward, data, graphs, how, 0, names)
        yield self._in_units(output)
        for number in range(1, how.count):
            if random.any():
                output[rows] = predict(forward, data, graphs[random], how, number, names[random])
            yield self._in_units(output)

    def is_exact(self, num_nodes: IntArray, particles: int | None = None) -> BoolArray:
        """Whether nothing is random for a graph, such as if the particles go through all paths of its search tree, [G].

        Args:
            num_nodes: n, the number of vertices of each graph, [G].
            particles: See :meth:`predict`.
        """
        model = self.config.model
        draws_paths = model.sampling in ("distinct", "top") and model.resample == "none"
        if model.kind == "pfgnn" and model.steps > 0:
            most = self.particles(particles) if draws_paths and model.individualise != "random" else 0
            exact: BoolArray = num_nodes.astype(np.float64) ** model.steps <= most
            return exact
        return np.full(len(num_nodes), model.kind != "rni")

    def particles(self, particles: int | None) -> int:
        """K: as given, else as the run was tested, else as it was trained."""
        given = self.config.evaluation.particles if particles is None else particles
        return self.config.model.particles if given is None else given

    def forward(self, particles: int | None) -> Forward:
        """The model's forward pass with K particles; None for ``evaluation.particles`` of the run."""
        K = self.config.evaluation.particles if particles is None else particles
        if K not in self._forward:
            self._forward[K] = Forward(self.model, self.devices, K)
        return self._forward[K]

    def predictions(self, output: Tensor) -> Tensor:
        """Predictions from what :meth:`forward` gives: probabilities, or numbers in the units of the targets."""
        return self._as_probabilities(self._in_units(output))

    def _in_units(self, output: Tensor) -> Tensor:
        output = output.double()
        return self.scaler.unscale(output) if self.scaler is not None and self.task.loss == "l1" else output

    def _as_probabilities(self, output: Tensor) -> Tensor:
        if self.task.loss == "l1":
            return output
        return probabilities(output, self.task, 1.0 if self.calibration is None else self.calibration.temperature)


def load_run(directory: str | Path, device: str = "auto", backbone: nn.Module | None = None) -> TrainedRun:
    """Load a finished run to predict new graphs.

    Args:
        directory: The run directory that `pfgnn train` wrote, or the model folder that `pfgnn fit` wrote.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        backbone: The module that was given as the backbone of the run, with any parameters; None if none was given.
    """
    if backbone is not None:
        check_module("backbone", backbone)
    return TrainedRun(directory, device, backbone)


def _whole(dataset: Dataset) -> NewGraphs:
    return NewGraphs(0, len(dataset), np.arange(len(dataset)), dataset)
