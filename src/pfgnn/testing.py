"""Assertions that hold for PF-GNN, to test your own backbones with.

Outputs are random. So symmetry is tested with the same random numbers: when nodes are relabelled, each node keeps its
own random numbers.
"""

import copy
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.pfgnn import PFGNN
from pfgnn.model.refine import Refine

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 1e-1, torch.float16: 1e-2}

# x [n, F], with F = 0 if there are no features; edge_index [2, e]; edge_attr [e, Fe] or None
Graph = tuple[Tensor, Tensor, Tensor | None]


def assert_relabelling_invariant(
    model: PFGNN, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, permutations: int = 3
) -> None:
    """Assert that relabelling the nodes of a graph does not change its output.

    Each node keeps its own random numbers. At node level the output must be relabelled in the same way.

    Args:
        model: The model to test.
        x: Node features of one graph, shape [n, F].
        edge_index: Source and target of each edge, shape [2, e].
        edge_attr: Edge features, shape [e, Fe].
        permutations: Number of random relabellings to try.
    """
    n, key = len(x), torch.tensor([17], device=x.device)
    want = model(x, edge_index, edge_attr, seed=1, graph_key=key).prediction
    generator = torch.Generator().manual_seed(0)
    for _ in range(permutations):
        new = torch.randperm(n, generator=generator).to(x.device)  # node v becomes new[v]
        old = new.argsort()
        got = model(x[old], new[edge_index], edge_attr, seed=1, graph_key=key, node_key=old).prediction
        _assert_equal(got, want[old] if len(want) == n > 1 else want, "a relabelled graph has another output")


def assert_batch_independent(model: PFGNN, graphs: Sequence[Graph]) -> None:
    """Assert that each graph has the same output alone, in a batch, and in the batch in reverse order."""
    alone = [model(*graph, seed=1).prediction for graph in graphs]
    for order in (list(range(len(graphs))), list(range(len(graphs)))[::-1]):
        got = model(*collate([graphs[i] for i in order]), seed=1).prediction
        _assert_equal(got, torch.cat([alone[i] for i in order]), "a graph's output depends on its batch")


def assert_chunk_independent(
    model: PFGNN,
    x: Tensor,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    batch: Tensor | None = None,
    chunks: Iterable[int] = (1, 3),
) -> None:
    """Assert that the output does not depend on how many particles are computed at a time, ``chunk``."""
    want = model(x, edge_index, edge_attr, batch, seed=1).prediction
    for chunk in chunks:
        got = model(x, edge_index, edge_attr, batch, seed=1, chunk=chunk).prediction
        _assert_equal(got, want, f"the output depends on chunk={chunk}")


def assert_particle_axis_agrees(
    backbone: nn.Module, H: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None
) -> None:
    """Assert that a backbone with ``particle_axis`` gives the same on H [N, K, D] as on K copies of the graph."""
    graph = GraphBatch.from_tensors(H.flatten(1), edge_index, edge_attr, batch)
    refine = Refine(backbone)
    refine.particle_axis = True
    shared = refine(H, graph)
    refine.particle_axis = False
    _assert_equal(shared, refine(H, graph), "particles on one edge list and K copies of the graph disagree")


def assert_train_eval_agree(
    model: PFGNN, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None
) -> None:
    """Assert that training and evaluation mode give the same output.

    Running statistics, as in batch normalisation, can break this on regular graphs.
    """
    tried = copy.deepcopy(model)  # a pass in training mode may change running statistics
    training = tried.train()(x, edge_index, edge_attr, batch, seed=1).prediction
    evaluation = tried.eval()(x, edge_index, edge_attr, batch, seed=1).prediction
    _assert_equal(evaluation, training, "training and evaluation mode disagree")


def collate(graphs: Sequence[Graph]) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Join several graphs into one batch: x, edge_index, edge_attr and batch, as the model's forward takes them."""
    sizes = torch.tensor([len(x) for x, _, _ in graphs])
    first = (sizes.cumsum(0) - sizes).tolist()
    attrs = [edge_attr for _, _, edge_attr in graphs if edge_attr is not None]
    if attrs and len(attrs) < len(graphs):
        raise InputError(f"all graphs or none must have edge_attr, but {len(attrs)} of {len(graphs)} have it")
    return (
        torch.cat([x for x, _, _ in graphs]),
        torch.cat([edge_index + shift for (_, edge_index, _), shift in zip(graphs, first, strict=True)], 1),
        torch.cat(attrs) if attrs else None,
        torch.arange(len(sizes)).repeat_interleave(sizes).to(graphs[0][0].device),
    )


def _assert_equal(got: Tensor, want: Tensor, complaint: str) -> None:
    """Assert that two tensors are equal up to the tolerance of their dtype.

    The error is relative to the largest absolute value if that is above 1, and absolute otherwise.
    """
    error = float(((got - want).abs().max() / want.abs().max().clamp(min=1)).detach())
    if not error <= TOLERANCE[want.dtype]:
        raise AssertionError(f"{complaint}: off by {error:.1e}, allowed is {TOLERANCE[want.dtype]:.0e}")
