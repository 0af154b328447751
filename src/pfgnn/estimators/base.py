"""What both estimators share: parameters, training, storing and loading."""

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from pfgnn.argument_checks import check_flag
from pfgnn.data.dataset import Dataset
from pfgnn.data.task import Task
from pfgnn.errors import InputError, warn
from pfgnn.estimators.inputs import Values, as_graphs
from pfgnn.estimators.parameters import as_changes, own_module, plain, read_parameters
from pfgnn.estimators.storage import how_to_load, read_estimator, write_estimator, write_model
from pfgnn.experiments.fit import FitOptions, Given, fit
from pfgnn.experiments.fit_memory import Used, graph_keys, known_parts, remember
from pfgnn.experiments.fit_parts import Shares, check_weights
from pfgnn.experiments.given_graphs import pack_labelled
from pfgnn.experiments.model_folder import DATA, KEPT
from pfgnn.experiments.predict import TrainedRun
from pfgnn.experiments.prediction_table import Predictions
from pfgnn.training.metrics_file import Report, Status

Made = TypeVar("Made")


class GraphEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The base of :class:`PFGNNRegressor` and :class:`PFGNNClassifier`.

    Args:
        backbone: Name of the GNN, see `pfgnn parts`, or a torch module of your own from ``width`` to ``width``. It is
            copied. None for "gine" if the graphs have edge features, else "gin".
        width: Size of a node embedding.
        steps: T, number of vertices that a particle marks one after another; None for 2 if some training graphs look
            alike with one mark, such as strongly regular graphs, else 1.
        particles: K, number of particles in training.
        epochs: Passes over the training graphs; None for a number that follows from their count.
        batch_size: Graphs in a batch; None for a number that follows from their count.
        learning_rate: Peak of the learning rate.
        settings: Further settings by their dotted names, such as {"data.ring_walks": 8}, see
            :mod:`pfgnn.experiments.config`.
        features: Features of molecules that are given as SMILES: "ogb", "zinc" or "qm9".
        early_stopping: Whether to hold out a validation part, on which the best weights are selected.
        validation_fraction: Share of the graphs for it; None for a tenth, but at least 10 graphs unless that is more
            than a fifth of all, and at most 10,000.
        patience: Epochs without improvement before the training stops; None for a third of the epochs, but at least 10.
        calibration_fraction: Share of the graphs that are held out to calibrate intervals and probabilities. None as
            for ``validation_fraction``; 0 for no calibration.
        draws: Independent draws that a prediction averages.
        device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
        random_state: Seed of the parts, the weights and the draws.
        warm_start: Whether a second call of ``fit`` begins with the weights of the first. Graphs that were given before
            stay in their parts, so that no graph that was trained on is used for calibration.
        verbose: Whether to show a progress bar.
        callback: A function that is called after each epoch with a :class:`pfgnn.training.metrics_file.Status`: its
            fields ``epoch``, ``loss``, ``validation`` and ``seconds`` say how far the training is. The training ends if
            it returns True. Of several epochs between two validations (``training.validate_every``), it sees the last.
    """

    used_: Used

    def __init__(
        self,
        *,
        backbone: str | nn.Module | None = None,
        width: int = 64,
        steps: int | None = None,
        particles: int = 16,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        settings: Mapping[str, Any] | None = None,
        features: str = "ogb",
        early_stopping: bool = True,
        validation_fraction: float | None = None,
        patience: int | None = None,
        calibration_fraction: float | None = None,
        draws: int = 16,
        device: str = "auto",
        random_state: Any = None,
        warm_start: bool = False,
        verbose: bool = False,
        callback: Report | None = None,
    ) -> None:
        self.backbone = backbone
        self.width = width
        self.steps = steps
        self.particles = particles
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.settings = settings
        self.features = features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.calibration_fraction = calibration_fraction
        self.draws = draws
        self.device = device
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback

    def _fit(self, X: Any, y: Values, task: Task, sample_weight: npt.ArrayLike | None, **fitted: Any) -> Self:
        """Train. An attribute changes only if all goes well.

        Args:
            X: The graphs.
            y: Targets of the task, [G, C].
            task: What they mean.
            sample_weight: Weights of the graphs, [G].
            fitted: Further attributes of the fitted estimator, without the underscore at their ends.
        """
        given = read_parameters(self)
        changes = as_changes(given)
        graphs = self._graphs(X, fitting=True)
        if len(graphs) != len(y):
            raise InputError(f"y must have one row for each of {len(graphs)} graphs, but it has {len(y)}")
        if len(y) == 1:
            raise InputError("X must hold several graphs to learn from, but it holds 1 sample")
        dataset = pack_labelled(graphs, y, task, given["features"])
        keys = graph_keys(dataset)
        warm = given["warm_start"] and hasattr(self, "model_files_")
        used: Used = self.used_ if warm else {}
        if warm:  # the old weights know features in the old scales
            data = self._run.config.data
            changes = {"data.node_scales": data.node_scales, "data.edge_scales": data.edge_scales} | changes
        weights = check_weights(sample_weight, len(y))
        held = given["validation_fraction"] if given["early_stopping"] else 0.0
        options = FitOptions(
            Shares(held, given["calibration_fraction"], 0.0),
            seed=int(check_random_state(self.random_state).randint(10**9)),
            changes=changes,
            device=given["device"],
            draws=given["draws"],
            backbone=own_module(self.backbone),
        )
        with tempfile.TemporaryDirectory() as temporary, self._bar() as bar:
            folder = Path(temporary) / "model"
            record = fit(
                Given(dataset, weights=weights, known=known_parts(keys, used) if warm else None),
                folder,
                options,
                start=self._run.model.state_dict() if warm else None,
                report=partial(_report, bar, self.callback),
            )
            fitted |= {
                "record": record,
                "model_files": {name: (folder / name).read_bytes() for name in KEPT if (folder / name).exists()},
                "used": remember(used, keys, Dataset.open(folder / DATA).splits),
                "n_iter": int(record["epochs"]),
                "backbone": options.backbone,
            }
            loaded = TrainedRun(folder, given["device"], options.backbone)
        if dataset.edge_attr is not None and loaded.config.data.edge_features and not loaded.needs.reads_edges:
            kind = "" if isinstance(self.backbone, nn.Module) else ", but gine does"
            warn(
                "the features of edges were not used, because the backbone does not read them"
                f"{kind}; settings={{'data.edge_features': False}} says that this is meant",
            )
        for name, value in fitted.items():
            setattr(self, f"{name}_", value)
        self._loaded = loaded
        return self

    def _graphs(self, X: Any, fitting: bool = False) -> Sequence[Any] | Dataset:
        """The graphs of X. A subclass may make graphs from something else here.

        Args:
            X: What the user gave.
            fitting: Whether they are for ``fit``.
        """
        return as_graphs(X)

    def _bar(self) -> Any:
        if not self.verbose:
            return nullcontext(lambda status: None)
        from pfgnn.cli.train import progress_bar

        return progress_bar()

    def _predictions(self, X: Any, coverage: float | None = None) -> Predictions:
        check_is_fitted(self, "model_files_")
        return self._run.predict(self._graphs(X), draws=plain(self.draws), coverage=plain(coverage))

    @property
    def _run(self) -> TrainedRun:
        """The model, loaded when it is first needed."""
        if "_loaded" not in self.__dict__:
            with tempfile.TemporaryDirectory() as temporary:
                write_model(Path(temporary), self.model_files_)
                self._loaded = TrainedRun(temporary, self.device, self.backbone_)
        return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy.deepcopy store: all but the loaded model, which is loaded again from its files."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_loaded"}

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's tools ask about an estimator: X is a list, and y may have several columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the fitted model to a new folder, without pickle. `pfgnn predict` reads the folder too.

        Code is not written. So a backbone of your own must be given to :meth:`load` again, and a callback is left out.

        Args:
            path: The folder. It must not exist.
            overwrite: Whether to replace a folder that ``save`` wrote before.
        """
        check_is_fitted(self, "model_files_")
        write_estimator(Path(path), self, check_flag("overwrite", overwrite))
        if self.backbone_ is not None:
            warn(f"the code of the backbone is not saved; {how_to_load(self.backbone_)}")

    @classmethod
    def load(cls, path: str | Path, device: str | None = None, backbone: nn.Module | None = None) -> Self:
        """Read what :meth:`save` wrote.

        Args:
            path: The folder.
            device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1"; None for the device of the fit.
            backbone: The module that was the backbone, with any parameters; None if it was a name.
        """
        folder = Path(path)
        parameters, fitted = read_estimator(folder, cls.__name__, backbone)
        made = cls(**parameters)
        if device is not None:
            made.device = device
        for name, value in fitted.items():
            setattr(made, name, value)
        made.model_files_ = {name: (folder / name).read_bytes() for name in KEPT if (folder / name).exists()}
        made._loaded = TrainedRun(folder, made.device, backbone)  # raises an error if a file is damaged
        return made


def _report(bar: Callable[[Status], None], callback: Report | None, status: Status) -> bool:
    """Show how far the training is. After a validation, ask the user's function whether it shall end.

    Args:
        bar: Updates the progress bar.
        callback: The user's function, or None.
        status: How far it is.
    """
    bar(status)
    return callback is not None and status.seconds is not None and plain(callback(status)) is True


def with_parameters(estimator: type[Made]) -> type[Made]:
    """Decorator: put the parameters into the docstring, so that ``help`` shows them."""
    _, _, parameters = inspect.cleandoc(GraphEstimator.__doc__ or "").partition("Args:")
    before, word, after = inspect.cleandoc(estimator.__doc__ or "").partition("Attributes:")
    estimator.__doc__ = f"{before}Args:{parameters}\n\n{word}{after}"
    return estimator
