"""Predict new graphs with the model of a finished run. Each prediction has a Monte Carlo standard error."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pfgnn.argument_checks import check_positive, choose
from pfgnn.data.convert import Reject
from pfgnn.data.loader import Indices, Resident
from pfgnn.data.task import CLASS_LOSSES
from pfgnn.errors import InputError
from pfgnn.experiments.build import reads_edges
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.finished_run import load_weights
from pfgnn.experiments.given_graphs import GivenGraph, pack_graphs
from pfgnn.experiments.needs import Needs
from pfgnn.experiments.new_graphs import NewGraphs, open_source
from pfgnn.experiments.prediction_table import Columns, Predictions, check_names, output_names
from pfgnn.experiments.run_directory import CONFIG, read_record
from pfgnn.setting_types import check_draws
from pfgnn.training.devices import make_fabric
from pfgnn.training.evaluate import Draws, Forward, predict
from pfgnn.training.seeds import prediction_seed
from pfgnn.workers import available_cores, ordered_map

GRAPHS_ALONE = 4000  # so many graphs of a file are made in this process: another one would take a second to start


class TrainedRun:
    """A finished run that predicts new graphs. Make one with :func:`load_run`.

    Classes are predicted as probabilities, regression targets in their own units. Each prediction is a mean over
    independent draws. The draws of a graph depend on the seed and on its number in the list or file. They do not depend
    on other graphs.

    Args:
        directory: The run directory.
        device: "cpu", "cuda" or "auto".

    Attributes:
        config: The config of the run.
        task: What the run predicts.
        names: Names of the outputs.
    """

    def __init__(self, directory: str | Path, device: str = "auto") -> None:
        folder = Path(directory)
        record = read_record(folder)
        self.config = read_config(folder / CONFIG)
        self.model, self.scaler, inputs = load_weights(folder, record["selected"])
        self.fabric = make_fabric(device, self.config.training.precision)
        self.model.to(self.fabric.device)
        self.task = inputs.task
        self.names = output_names(self.task)
        channels = inputs.in_channels, inputs.edge_channels
        self._needs = Needs(self.task, *channels, self.config.data, reads_edges(self.config.model))
        self._forward: dict[int | None, Forward] = {}  # by K; on a GPU each has CUDA graphs of its own

    def predict(
        self, graphs: Iterable[GivenGraph], draws: int = 16, particles: int | None = None, seed: int | None = None
    ) -> Predictions:
        """Predict a list of graphs.

        Args:
            graphs: SMILES, :class:`pfgnn.Graph`, networkx graphs or PyG ``Data``, with the features that the run was
                trained on. Of a networkx graph, the node attributes x0, x1, ... and the edge attributes e0, e1, ... are
                read, as :func:`pfgnn.graphs.to_networkx` writes them.
            draws: R, number of draws. The Monte Carlo standard error is the standard deviation of the draws divided by
                √R. One draw is the fastest, and has no error.
            particles: K; None for ``evaluation.particles`` of the run.
            seed: Seed of the draws; None for that of the run.
        """
        check_draws(draws, particles, least=1)
        dataset = self._needs.fit(pack_graphs(graphs, self._needs), "graphs")
        given = NewGraphs(0, len(dataset), np.arange(len(dataset)), dataset)
        return self._predict(given, self._draws(draws, seed), particles)

    def predict_file(
        self,
        path: str | Path,
        draws: int = 16,
        particles: int | None = None,
        seed: int | None = None,
        *,
        smiles_column: str = "smiles",
        on_error: str = "fail",
        processes: int | None = None,
        progress: Callable[[float, int], None] = lambda done, count: None,
    ) -> Iterator[Predictions]:
        """Predict the graphs of a file, piece by piece, with memory for a few pieces only.

        :func:`pfgnn.experiments.prediction_table.write_table` writes the pieces to a table.

        Args:
            path: File of the graphs: graph6 or sparse6 (.g6, .s6), a table with SMILES (.csv, .tsv), SMILES (.smi), or
                a packed dataset (.pfgnn) or a folder of shards. Text files may be gzipped.
            draws: See :meth:`predict`; at least 2.
            particles: See :meth:`predict`.
            seed: See :meth:`predict`.
            smiles_column: Name of the column of SMILES in a CSV file.
            on_error: What to do with a line that cannot be read: "fail", or "skip" it, so that it has no prediction.
            processes: Number of processes that make graphs. By default all cores if there are many graphs. They are
                spawned, so a script needs an ``if __name__ == "__main__"`` guard.
            progress: Called after each draw of each piece with the number of graphs done, and the number of all graphs.
        """
        check_draws(draws, particles)
        fail = choose("on_error", on_error, {"fail": True, "skip": False})
        file, how = Path(path), self._draws(draws, seed)
        source = open_source(file, self._needs, smiles_column, fail)
        check_names(file, source.columns, self.names)
        if processes is None:
            processes = available_cores() if source.costly and source.total > GRAPHS_ALONE else 1
        made = ordered_map(source.make, source.pieces(how.batch_size), processes)

        def predict_piece(new: NewGraphs) -> Predictions:
            def tell(share: float) -> None:
                progress(new.first + share * new.total, source.total)

            return self._predict(new, how, particles, tell)._replace(carried=Columns(source.columns, new.rows))

        return _some(file, map(predict_piece, made), closing(made))

    def _draws(self, draws: int, seed: int | None) -> Draws:
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
            data = Resident(new.dataset, self.fabric.device)
            mean, error = self._average(data, new.first + new.read, how, particles, tell)
        if self.task.level == "node":
            counts = new.dataset.node_counts.astype(np.int64) if new.dataset is not None else new.read
            where = _nodes(torch.from_numpy(new.read), torch.from_numpy(counts))
        else:
            where = torch.arange(new.total)[:, None]
            if len(new.read) < new.total:
                mean, error = (_with_gaps(rows, new) for rows in (mean, error))
        where[:, 0] += new.first
        return Predictions(mean, error, self.names, where, first=new.first, rejects=new.rejects)

    def _average(
        self, data: Resident, names: Indices, how: Draws, particles: int | None, tell: Callable[[float], None]
    ) -> tuple[Tensor, Tensor]:
        """Mean of the draws, and its Monte Carlo standard error, both [rows, C]."""
        K = self.config.evaluation.particles if particles is None else particles
        if K not in self._forward:
            self._forward[K] = Forward(self.model, self.fabric, K)
        graphs = np.arange(len(data.node_counts))
        mean, squares = torch.zeros(()), torch.zeros(())  # of all draws so far; squares of the deviations (Welford)
        for number in range(how.count):
            output = predict(self._forward[K], data, graphs, how, number, names).double()
            if self.task.loss in CLASS_LOSSES:
                output = output.softmax(-1)
            elif self.task.loss == "binary_cross_entropy":
                output = output.sigmoid()
            elif self.scaler is not None:
                output = self.scaler.unscale(output)
            deviation = output - mean
            mean = mean + deviation / (number + 1)
            squares = squares + deviation * (output - mean)
            tell((number + 1) / how.count)
        return mean, (squares / (how.count - 1) / how.count).sqrt() if how.count > 1 else squares * torch.nan


def load_run(directory: str | Path, device: str = "auto") -> TrainedRun:
    """Load a finished run to predict new graphs.

    Args:
        directory: The run directory that `pfgnn train` wrote.
        device: "cpu", "cuda" or "auto".
    """
    return TrainedRun(directory, device)


def _some(path: Path, pieces: Iterator[Predictions], made: AbstractContextManager[object]) -> Iterator[Predictions]:
    """The pieces. Raises an InputError at the end if all lines of the file were rejected.

    Args:
        path: The file.
        pieces: The predictions.
        made: Ends the processes that make graphs.
    """
    rejected: Reject | None = None
    only_rejects = True
    with made:
        for piece in pieces:
            rejected = rejected or next(iter(piece.rejects), None)
            only_rejects = only_rejects and bool(piece.mean.isnan().all())
            yield piece
    if rejected is not None and only_rejects:
        cause = f"all lines were rejected, line {rejected.line} since {rejected.reason}"
        raise InputError(f"{path} must have at least one graph, but it has none: {cause}")


def _with_gaps(rows: Tensor, new: NewGraphs) -> Tensor:
    """One row for each graph of a piece, NaN for those that could not be read, [count, C]."""
    filled = rows.new_full((new.total, rows.shape[1]), torch.nan)
    filled[torch.from_numpy(new.read)] = rows
    return filled


def _nodes(graphs: Tensor, counts: Tensor) -> Tensor:
    """The graph of each node and its number in the graph, [N, 2].

    Args:
        graphs: Number of each graph, [G].
        counts: Number of nodes of each graph, [G].
    """
    first = (counts.cumsum(0) - counts).repeat_interleave(counts)
    return torch.stack([graphs.repeat_interleave(counts), torch.arange(len(first)) - first], 1)
