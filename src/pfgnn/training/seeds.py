"""The seeds of the model's draws in training, evaluation and prediction. They all follow from the seed of the run."""

import torch

from pfgnn.ops.hashing import fold, mix

PREDICTION = 0x70726564  # hashed into the seed of predictions


def training_seed(seed: int, update: int) -> int:
    """The seed of the draws of an update. It is never negative, and an evaluation seed always is."""
    return (seed % 2**31) * 2**32 + update


def evaluation_seed(seed: int) -> int:
    """The seed of the first evaluation draw of a run. Validation uses this seed, tests use the seeds after it."""
    return -(seed % 2**31 + 1) * 2**32


def prediction_seed(seed: int) -> int:
    """The seed of the first draw for new graphs. It is a hash, so that runs with seeds s and s + 1 share no draw."""
    return int(fold(mix(torch.tensor(seed)), PREDICTION)) % 2**62
