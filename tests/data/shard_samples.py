"""Folders of shards for tests."""

from pathlib import Path

import numpy as np

from pfgnn.data.dataset import Dataset
from pfgnn.data.shard_writer import write_shards
from pfgnn.data.shards import Shards


def divided(dataset: Dataset, folder: Path, shards: int) -> Shards:
    """The dataset as a folder of shards of different sizes, with its splits."""
    cuts = np.sort(np.random.default_rng(0).choice(np.arange(1, len(dataset)), shards - 1, replace=False))
    pieces = np.split(np.arange(len(dataset)), cuts)
    return write_shards(folder, (dataset.subset(piece) for piece in pieces), dataset.splits)
