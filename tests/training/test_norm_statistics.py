"""Means and variances of batch norms, estimated with the current weights."""

from dataclasses import replace
from pathlib import Path

import torch
from tests.training.training_samples import CONFIG, trainer
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, PFGNN
from pfgnn.model.norms import BatchNorm
from pfgnn.training.norm_statistics import estimate

BATCHES = [
    GraphBatch.from_tensors(torch.full((4, 1), value), torch.zeros(2, 0, dtype=torch.int64)) for value in (1.0, 4.0, 9)
]


class Both(nn.Module):
    """A batch norm of pfgnn, one of torch, and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.torch, self.dropout = BatchNorm(1), nn.BatchNorm1d(1), nn.Dropout(0.5)

    def forward(self, batch: GraphBatch) -> Tensor:
        assert batch.x is not None
        return self.dropout(self.own(batch.x, None, batch) + self.torch(batch.x))


def test_each_batch_counts_the_same_and_nothing_else_changes() -> None:
    model = Both()
    state = torch.get_rng_state()
    estimate(model, BATCHES, 2, model)
    assert model.torch.running_mean is not None
    assert (model.own.mean.item(), model.torch.running_mean.item()) == (2.5, 2.5)  # the third one is not used
    assert model.own.variance.item() == 0
    assert (model.own.momentum, model.torch.momentum) == (0.1, 0.1)
    assert torch.equal(torch.get_rng_state(), state)
    estimate(model, BATCHES, 0, model)
    assert model.own.mean.item() == 2.5


def test_the_training_does_not_change_but_the_running_means_do(tmp_path: Path) -> None:
    found = []
    for count in (0, 2):
        torch.manual_seed(0)
        model = PFGNN(GIN(8, layers=1, norm="batch"), 2, particles=3)
        of = trainer(tmp_path / str(count), replace(CONFIG, norm_batches=count), model=model)
        of.train()
        found.append((of.model.state_dict(), {name for name, _ in of.model.named_parameters()}))
    (running, parameters), (estimated, _) = found
    assert all(torch.equal(running[name], estimated[name]) for name in parameters)
    assert any(not torch.equal(running[name], estimated[name]) for name in running.keys() - parameters)
