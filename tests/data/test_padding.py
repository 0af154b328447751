"""Padded batches: more graphs, the same numbers."""

import pytest
import torch
from tests.data.loader_samples import CLASSES, NODES, REGRESSION, assert_near, build, own_keys, predict, random_dataset

from pfgnn.data.loader import Loader, Resident
from pfgnn.data.padding import MOST_LOOPS, PADDING_SIZE, pad_batch
from pfgnn.data.task import Task


@pytest.mark.parametrize("multiple", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("task", [CLASSES, REGRESSION, NODES], ids=["classes", "regression", "nodes"])
def test_padding_adds_graphs_and_nothing_else(task: Task, multiple: int, device: torch.device) -> None:
    dataset = random_dataset(7, 23, task)
    model = build(dataset).to(device)
    resident = Resident(dataset, device)
    for plain, batch in zip(
        Loader(resident, batch_size=9), Loader(resident, batch_size=9, pad=(multiple, multiple)), strict=True
    ):
        n, e = len(plain.batch), plain.edge_index.shape[1]
        N, E = len(batch.batch), batch.edge_index.shape[1]
        graphs = -(-multiple // PADDING_SIZE)
        assert N % multiple == E % multiple == 0
        assert n + graphs <= N < n + graphs + 2 * multiple  # more, if the loops need the nodes
        assert torch.bincount(batch.edge_index[1, e:] - n, minlength=1).max() <= MOST_LOOPS
        assert torch.equal(*batch.edge_index[:, e:])
        assert e <= E < e + multiple
        rows = n if task.level == "node" else plain.num_graphs
        real = {"x": n, "batch": n, "pos": n, "edge_attr": e, "y": rows}
        for name, length in {**real, "graph_key": plain.num_graphs, "sizes": plain.num_graphs}.items():
            assert torch.equal(getattr(batch, name)[:length], getattr(plain, name)), name
        assert torch.equal(batch.edge_index[:, :e], plain.edge_index)
        assert len(batch.tensors()["y"]) == (N if task.level == "node" else plain.num_graphs + graphs)
        assert batch.real_graphs == plain.num_graphs
        sizes = torch.bincount(batch.batch)
        assert torch.equal(batch.sizes, sizes)
        assert len(sizes) == len(own_keys(batch)) == batch.num_graphs == plain.num_graphs + graphs
        assert 1 <= sizes[plain.num_graphs :].min() <= sizes[plain.num_graphs :].max() <= -(-(N - n) // graphs)
        assert (batch.batch.diff() >= 0).all()
        assert (batch.edge_index[1].diff() >= 0).all()
        assert_near(predict(model, batch)[:rows], predict(model, plain))


@pytest.mark.parametrize("task", [CLASSES, NODES], ids=["classes", "nodes"])
def test_padding_knows_the_level_when_there_are_as_many_graphs_as_nodes(task: Task) -> None:
    dataset = random_dataset(8, 5, task, nodes=1)
    plain = Resident(dataset).collate(range(5))
    batch = pad_batch(plain, 8, 8)
    assert len(plain.tensors()["y"]) == len(plain.batch) == plain.num_graphs == 5
    assert len(batch.tensors()["y"]) == (8 if task is NODES else 6)
    assert len(predict(build(dataset), batch)) == len(batch.tensors()["y"])


def test_padding_makes_few_shapes() -> None:
    dataset = random_dataset(9, 400)
    shapes = {
        pad: {(len(b.batch), b.edge_index.shape[1]) for b in Loader(dataset, batch_size=16, shuffle=True, pad=pad)}
        for pad in (None, (64, 64))
    }
    assert len(shapes[64, 64]) <= 6 < len(shapes[None])
