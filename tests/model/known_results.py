"""Models with fixed weights, whose results are known. `python -m tests.model.known_results` writes them anew."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pfgnn.model import (
    GAT,
    GCN,
    GIN,
    GINE,
    GNNML1,
    MPNN,
    PFGNN,
    PNA,
    Additive,
    ByDistance,
    CentralityPolicy,
    Distinct,
    ESSResampling,
    Exchange,
    GNNPolicy,
    MaxParticle,
    MeanParticle,
    MLPPolicy,
    PerParticle,
    RandomNormal,
    SetObservation,
    SoftResampling,
    SystematicResampling,
    Top,
)
from pfgnn.model.base import GraphModel
from pfgnn.model.exact import enumerate_tree, exact_prediction
from pfgnn.model.features import Categorical, Constant
from pfgnn.model.individualise import MultiplicativeRelu, StraightThrough
from pfgnn.model.rivals import GNNML3, PPGN, RNI, Alone, ChebNet
from pfgnn.training.distinguish import hotelling, threshold
from pfgnn.training.objective import Objective, no_baseline

FILE = Path(__file__).with_suffix(".json")
D = 4  # width
# A path of four vertices, a triangle with a tail, and a pair with a single vertex.
EDGES = torch.tensor([[0, 1, 2, 4, 5, 6, 4, 7, 9], [1, 2, 3, 5, 6, 4, 7, 8, 10]])
EDGES = torch.cat([EDGES, EDGES.flip(0)], 1)
BATCH = torch.tensor([0] * 4 + [1] * 5 + [2] * 3)
X = torch.stack([torch.arange(12.0) % 3, torch.arange(12.0) % 5 - 2], 1).double()
LENGTHS = (torch.arange(EDGES.shape[1]) % 9).double()[:, None] / 4


def _with_norm(norm: str) -> GraphModel:
    return PFGNN(GIN(D, 2, norm=norm, feed_forward=True), 2, in_channels=2)


CASES: dict[str, Callable[[], GraphModel]] = {
    "default": lambda: PFGNN(GIN(D), 2, in_channels=2),
    "paper": lambda: PFGNN.paper(GIN(D), 2, in_channels=2),
    "paper, three steps, second moment, two vertices": lambda: PFGNN.paper(
        GIN(D, 1), 2, in_channels=2, steps=3, second_moment=True, vertices_per_step=2, mask_used=True
    ),
    "GCN": lambda: PFGNN(GCN(D), 2, in_channels=2),
    "GAT": lambda: PFGNN(GAT(D), 2, in_channels=2),
    "GINE": lambda: PFGNN(GINE(D), 2, in_channels=2, edge_channels=1),
    "GNNML1": lambda: PFGNN(GNNML1(D), 2, in_channels=2),
    "MPNN": lambda: PFGNN(MPNN(D), 2, in_channels=2, edge_channels=1),
    "PNA": lambda: PFGNN(PNA(D, towers=2, edges=True), 2, in_channels=2, edge_channels=1),
    "PNA without towers and edges": lambda: PFGNN(PNA(D, 2), 2, in_channels=2, exchange=False),
    **{f"norm {norm}": partial(_with_norm, norm) for norm in ("batch", "graph", "mark", "layer", "size", "none")},
    "dropout, no residual": lambda: PFGNN(GIN(D, 3, dropout=0.3, residual=False, feed_forward=True), 2, in_channels=2),
    "no features, shared steps": lambda: PFGNN(GIN(D, 2), 2, steps=3, share_steps=True, step_backbone=GIN(D, 1)),
    "categories": lambda: PFGNN(GINE(D, 1), 2, in_channels=[3, 4], edge_channels=[3]),
    "learned, observed, resampled": lambda: PFGNN(
        GIN(D), 2, in_channels=2, steps=2, policy=MLPPolicy(D), observe=SetObservation(D), resample=SoftResampling()
    ),
    "systematic below a threshold": lambda: PFGNN.paper(
        GIN(D), 2, in_channels=2, steps=2, resample=ESSResampling(SystematicResampling(), 0.9)
    ),
    "GNN as the policy": lambda: PFGNN(GIN(D), 2, in_channels=2, steps=2, policy=GNNPolicy(GIN(D, 1), D)),
    "most central": lambda: PFGNN(GIN(D), 2, in_channels=2, policy=CentralityPolicy(), sample=Top()),
    "additive, distinct, unsmoothed": lambda: PFGNN(
        GIN(D), 2, in_channels=2, steps=2, individualise=Additive(D), sample=Distinct(smoothing=0)
    ),
    "straight through, relu": lambda: PFGNN(
        GIN(D), 2, in_channels=2, individualise=StraightThrough(MultiplicativeRelu(D)), policy=MLPPolicy(D)
    ),
    "random": lambda: PFGNN(GIN(D), 2, in_channels=2, individualise=RandomNormal(D)),
    "short distances": lambda: PFGNN(GIN(D), 2, in_channels=2, steps=2, individualise=ByDistance(D, 2, max_distance=1)),
    "mean and mark told": lambda: PFGNN(GIN(D), 2, in_channels=2, exchange=Exchange(D, mean=True)),
    "nodes": lambda: PFGNN(GIN(D), 2, in_channels=2, level="node"),
    "nodes of the paper": lambda: PFGNN.paper(GIN(D), 2, in_channels=2, level="node"),
    "largest particle, layers joined": lambda: PFGNN(
        GIN(D, 2), 2, in_channels=2, readout=MaxParticle(D, 1, 2, pool="max", join=(2, 2))
    ),
    "mean of each particle, scaled": lambda: PFGNN(
        GIN(D, 2), 2, in_channels=2, readout=PerParticle(D, 1, 2, scale=2.0, join=(2, 2))
    ),
    "mean particle, sum": lambda: PFGNN(GIN(D), 2, in_channels=2, readout=MeanParticle(D, 1, 2, pool="sum")),
    "alone": lambda: Alone(GIN(D), 2, in_channels=2),
    "ChebNet": lambda: PFGNN(ChebNet(D), 2, in_channels=2),
    "GNNML3": lambda: Alone(GNNML3(D), 2, in_channels=2),
    "PPGN": lambda: PPGN(D, 2, in_channels=2),
    "RNI": lambda: RNI(GIN(D), 2, in_channels=2),
}
OBJECTIVES = {
    "default": Objective(),
    "no baseline": Objective(0.5, no_baseline),
    "particle": Objective(1.0, credit="particle"),
    "entropy": Objective(0.0, entropy=0.1),
    "both": Objective(0.3, entropy=0.2),
    "one of each": Objective(1.0, entropy=1.0),
    "none": Objective(0.0),
}


def computations() -> dict[str, Callable[[], Any]]:
    """Computes each result, by name."""
    return {
        **{f"model: {name}": partial(_of_model, make) for name, make in CASES.items()},
        **{f"objective: {name}": partial(_of_objective, objective) for name, objective in OBJECTIVES.items()},
        "distances": _of_pairs,
        "tree": _of_tree,
        "without each": _without_each,
    }


def _of_model(make: Callable[[], GraphModel]) -> dict[str, Any]:
    model = make().double()
    _fix(model)
    inputs = (_read_by(model.encode_nodes, X), EDGES, _read_by(model.encode_edges, LENGTHS), BATCH)
    found: dict[str, Any] = {"parameters": sum(p.numel() for p in model.parameters())}
    for name, training, K in (("evaluation", False, None), ("evaluation, K = 3", False, 3), ("training", True, 3)):
        output = model.train(training)(*inputs, particles=K, seed=3)
        found[name] = output.prediction.flatten().tolist()
    places = torch.arange(output.prediction.numel()).view_as(output.prediction)
    found["gradient"] = _gradient(model, (output.prediction * places).sum())
    return found


def _read_by(encode: nn.Module | None, features: Tensor) -> Tensor | None:
    """The features as this encoder reads them."""
    if encode is None or isinstance(encode, Constant):
        return None
    return features.abs().long() if isinstance(encode, Categorical) else features


def _gradient(model: nn.Module, loss: Tensor) -> float:
    loss.backward()
    return sum(float(parameter.grad.abs().sum()) for parameter in model.parameters() if parameter.grad is not None)


def _of_objective(objective: Objective) -> list[float]:
    model = PFGNN(GIN(D), 1, in_channels=2, steps=2, particles=3, policy=MLPPolicy(D))
    _fix(model.double())
    output = model(X, EDGES, None, BATCH, seed=3)
    losses = output.prediction[:, 0].square()
    gains = torch.linspace(-1, 1, 18).view(2, 3, 3).double()
    found = objective(losses, output.trace, gains=gains)
    return [*(part.item() for part in found), _gradient(model, found.total)]


def _of_tree() -> list[float]:
    """The exact prediction of a model over all paths of length two."""
    model = PFGNN(GIN(D), 2, in_channels=2, steps=2, policy=MLPPolicy(D), observe=SetObservation(D))
    _fix(model.double())
    tree = enumerate_tree(model, X[:5], EDGES[:, (EDGES < 5).all(0)])
    return exact_prediction(model, tree).flatten().tolist()


def _without_each() -> list[float]:
    """The predictions with one particle of one step left out."""
    model = PFGNN(GIN(D), 1, in_channels=2, steps=2, particles=3, observe=SetObservation(D))
    _fix(model.double())
    output = model(X, EDGES, None, BATCH, seed=3)
    weights = [step.log_weights.exp() for step in output.trace]
    found: list[float] = model.readout.without_each(output.readings, weights).flatten().tolist()
    return found


def _of_pairs() -> list[float]:
    first = torch.sin(torch.arange(24.0).double()).view(1, 8, 3)
    second = torch.cos(torch.arange(18.0).double()).view(1, 6, 3)
    return [float(hotelling(first, second)), float(threshold(3, 8, 6, 0.05)), float(threshold(3, 8, 6, 0.01))]


@torch.no_grad()
def _fix(model: nn.Module) -> None:
    """Set all parameters to numbers that do not depend on torch's random numbers."""
    for number, parameter in enumerate(model.parameters()):
        wave = torch.sin(0.7 * torch.arange(parameter.numel()) + number).view_as(parameter)
        parameter.copy_(0.5 * wave + 0.1)


def main() -> None:
    """Write the file."""
    FILE.write_text(json.dumps({name: compute() for name, compute in computations().items()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
