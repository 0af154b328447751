"""A config with its data, ready for training and evaluation."""

import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from pfgnn.data import Dataset
from pfgnn.data.loader import Indices
from pfgnn.data.shards import Shards
from pfgnn.data.streamed import place
from pfgnn.experiments.build import Inputs, adapt, describe, open_data, parts
from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import config_mapping
from pfgnn.experiments.fit_parts import check_weights
from pfgnn.experiments.pair_test import tell_pairs_apart
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.run_directory import FORMAT, RECORD
from pfgnn.experiments.seen import Seen
from pfgnn.files import write_json
from pfgnn.training.batches import Examples
from pfgnn.training.devices import Devices, open_devices
from pfgnn.training.distinguish import threshold
from pfgnn.training.evaluate import Draws, Forward, evaluate, predict
from pfgnn.training.seeds import evaluation_seed
from pfgnn.training.targets import Standardise


@dataclass
class Run:
    """A config and its data, ready for training and evaluation.

    Args:
        config: All settings.
        devices: The devices.
        dataset: The dataset.
        parts: Graph numbers of each part.
        inputs: What the model needs to know about the data.
        examples: The graphs, on the device or on the disk.
        checksum: Checksum of the dataset.
    """

    config: Config
    devices: Devices
    dataset: Dataset | Shards
    parts: dict[str, Indices]
    inputs: Inputs
    examples: Examples
    checksum: str

    @staticmethod
    def open(
        config: Config,
        device: str,
        check: Callable[[str], None] = lambda found: None,
        dataset: Dataset | None = None,
        backbone: nn.Module | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> "Run":
        """Load the data for a device.

        Args:
            config: All settings.
            device: "cpu", "cuda", "auto", or one of several GPUs, such as "cuda:1".
            check: Called with the checksum of the dataset, to raise an error if it is the wrong one.
            dataset: The dataset; None to load that of the config.
            backbone: The backbone, if it was given as an object.
            weights: See :func:`run`.
        """
        devices = open_devices(device, config.training.precision)
        given = open_data(config.data) if dataset is None else dataset
        loaded = adapt(given, config.data, config.model, backbone)
        crc = checksum(loaded)
        check(crc)
        if (pairs := config.evaluation.pairs) is not None:  # raise an error now, not after training
            threshold(loaded.task.outputs, pairs.draws, pairs.draws, pairs.level)
        found = parts(config.data, loaded)
        store = place(loaded, devices.device)
        targets = torch.from_numpy(loaded.y).to(store.y_dtype if loaded.y.dtype.kind in "iub" else torch.float64)
        weights = check_weights(weights, len(loaded), found["train"], "weights")
        examples = Examples(store, targets, found["train"], found.get("validation"), weights)
        return Run(config, devices, loaded, found, describe(loaded, found["train"], given), examples, crc)

    @property
    def draws(self) -> Draws:
        """How predictions are drawn in the test."""
        of = self.config.evaluation
        return Draws(
            evaluation_seed(self.config.seed) + 1,  # validation uses the seed before it
            of.draws,
            of.average,
            of.relabel,
            of.batch_size or self.config.training.batch_size,
        )

    def evaluate(self, model: nn.Module, scaler: Standardise | None) -> dict[str, Any]:
        """Test a model.

        Args:
            model: The model, on the device.
            scaler: Maps predictions back to the units of the targets; None if the targets were not standardised.

        Returns:
            {"results": ..., "pairs": ...}: results of the validation part and of each test part by name, and results
            of the pairs, or None.
        """
        forward = Forward(model, self.devices, self.config.evaluation.particles)

        def predictions(graphs: Indices) -> list[Tensor]:
            draws = [
                predict(forward, self.examples.data, graphs, self.draws, number) for number in range(self.draws.count)
            ]
            return draws if scaler is None else [scaler.unscale(prediction) for prediction in draws]

        return {"results": self.score(predictions), "pairs": self._pairs(model)}

    def score(self, predictions: Callable[[Indices], list[Tensor]]) -> dict[str, Any]:
        """The results of the validation part and of each test part by name.

        Args:
            predictions: Gives the predictions of some graphs, [G, C] or [N, C], in each draw.
        """
        names = dict.fromkeys([*(["validation"] if "validation" in self.parts else []), *self.config.data.tests])
        task, average = self.dataset.task, self.config.evaluation.average
        return {
            name: asdict(evaluate(predictions(graphs), self.examples.y(graphs), task, average))
            for name, graphs in ((name, self.parts[name]) for name in names)
        }

    def write_record(self, directory: Path, **found: Any) -> dict[str, Any]:
        """Write the record of the finished run, and return it.

        Args:
            directory: Run directory.
            found: What was found. Where the run comes from is added.
        """
        about = {"format": FORMAT, **provenance(self.devices.device), "devices": self.devices.world}
        settings = {"config": config_mapping(self.config), "data": self.checksum, "seed": self.config.seed}
        seen = Seen.of(self.dataset, self.parts["train"])._asdict()
        record = {**about, **settings, "seen": seen, **found}
        if self.devices.first:
            write_json(directory / RECORD, record)
        self.devices.barrier()
        return record

    def _pairs(self, model: nn.Module) -> dict[str, Any] | None:
        config = self.config.evaluation.pairs
        if config is None:
            return None
        found = tell_pairs_apart(
            Forward(model, self.devices, self.config.evaluation.particles, embed=True),
            self.dataset,
            config,
            batch_size=self.draws.batch_size,
            seed=self.config.seed,
        )
        return asdict(found)


def checksum(dataset: Dataset | Shards) -> str:
    """A checksum of the arrays and parts of a dataset."""
    if isinstance(dataset, Shards):
        return dataset.checksum
    crc = 0
    for name, array in sorted({**dataset.arrays(), **dataset.splits}.items()):
        crc = zlib.crc32(array.tobytes(), zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), crc))
    return f"{crc:08x}"
