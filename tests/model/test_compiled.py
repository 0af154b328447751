"""torch.compile gives the same numbers as without it, from one graph of operations for all sizes."""

import copy
from collections.abc import Callable

import pytest
import torch
from tests.graph_samples import random_graph
from tests.suite import needs_torch_2_13
from torch import fx, nn
from torch_geometric.data import Batch, Data

from pfgnn.errors import InputError
from pfgnn.model import GIN, PFGNN, MLPPolicy, Output, SetObservation

D = 8


class Counted:
    """A backend of torch.compile that counts how often it is called, and runs the traced graph as it is."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, traced: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        self.graphs += 1
        return traced


def ours() -> PFGNN:
    return PFGNN(GIN(D, layers=1, norm="batch", feed_forward=True), 2, in_channels=3, particles=3)


def paper() -> PFGNN:
    return PFGNN.paper(GIN(D, layers=1), 2, in_channels=3, steps=1, particles=3)


def learned() -> PFGNN:
    backbone, policy, observe = GIN(D, layers=1), MLPPolicy(D), SetObservation(D)
    options = {"in_channels": 3, "particles": 3, "mask_used": True, "level": "node"}
    return PFGNN(backbone, 2, policy=policy, observe=observe, **options)  # type: ignore[arg-type]


def graphs(*sizes: int) -> Batch:
    """A batch of random graphs with these numbers of nodes."""
    made = [random_graph(n, n + 2, 3, seed=n) for n in sizes]
    return Batch.from_data_list([Data(x=x, edge_index=edges) for x, edges, _ in made])


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [torch.zeros(()) if p.grad is None else p.grad for p in model.parameters()]


def step_alike(*steps: tuple[nn.Module, Callable[..., Output]], batch: Batch) -> None:
    """A training step of each model leaves the same gradients, running means and counter of passes."""
    for model, call in steps:
        model.zero_grad()
        call(batch).prediction.square().sum().backward()
    (one, _), (other, _) = steps
    torch.testing.assert_close(gradients(one), gradients(other))
    torch.testing.assert_close(one.state_dict(), other.state_dict())


@pytest.fixture(autouse=True)
def _forget_compiled() -> None:
    torch.compiler.reset()


@pytest.mark.slow
@needs_torch_2_13
@pytest.mark.parametrize("make", [ours, paper, learned])
def test_a_training_step_is_one_graph_for_all_sizes(make: Callable[[], PFGNN]) -> None:
    model, backend = make(), Counted()
    twin = copy.deepcopy(model)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    made = []
    for sizes in ((5, 4, 6), (7, 3), (4, 9, 5, 6)):
        step_alike((model, compiled), (twin, twin), batch=graphs(*sizes))
        made.append(backend.graphs)
    assert made == [made[0]] * 3


@pytest.mark.slow
def test_targets_and_seeds_do_not_compile_again() -> None:
    """A model reads neither y nor pos. The size of a target, or none at all, must not count."""
    model, backend = paper().eval(), Counted()
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend=backend)
    for seed, sizes, fields in ((0, (5, 4), {"y": 1, "pos": 3}), (7, (7, 3, 6), {"y": 3}), (1, (4, 9), {})):
        batch = graphs(*sizes)
        for name, columns in fields.items():
            batch[name] = torch.ones(len(sizes), columns)
        torch.testing.assert_close(compiled(batch, seed=seed).prediction, model(batch, seed=seed).prediction)
    assert backend.graphs == 1


@pytest.mark.slow
@needs_torch_2_13
def test_the_backward_pass_is_compiled_too() -> None:
    model = ours()
    twin = copy.deepcopy(model)
    step_alike((model, torch.compile(model, fullgraph=True, backend="aot_eager")), (twin, twin), batch=graphs(5, 4))


@pytest.mark.slow
@pytest.mark.parametrize("number", [{}, {"batch_size": 2}])
def test_tensors_with_and_without_the_number_of_graphs(number: dict[str, int]) -> None:
    model, batch = paper().eval(), graphs(5, 4)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    got = compiled(batch.x, batch.edge_index, batch=batch.batch, **number).prediction
    torch.testing.assert_close(got, model(batch).prediction)


def test_a_wrong_number_of_graphs_is_refused() -> None:
    model, batch = paper().eval(), graphs(5, 4)
    tensors = {"x": batch.x, "edge_index": batch.edge_index}
    given = model(**tensors, batch=batch.batch, batch_size=2).prediction
    torch.testing.assert_close(given, model(batch).prediction, rtol=0, atol=0)
    with pytest.raises(InputError, match=r"^batch_size must be the number of graphs in batch, 2, but it is 3$"):
        model(**tensors, batch=batch.batch, batch_size=3)
    with pytest.raises(InputError, match=r"^batch_size must be the number of graphs in batch, 1, but it is 3$"):
        model(**tensors, batch_size=3)
    with pytest.raises(InputError, match="batch_size must not be given together with a DataBatch"):
        model(batch, batch_size=2)
