"""Shared by the tests of this folder."""

from collections.abc import Callable

import torch_geometric.nn as pyg
from tests.graph_samples import Graph, random_graph
from torch import nn

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
    Distinct,
    ESSResampling,
    Exchange,
    GNNPolicy,
    Independent,
    MaxParticle,
    MLPPolicy,
    Multiplicative,
    NoObservation,
    NoResampling,
    PerParticle,
    RandomNormal,
    SetObservation,
    SoftResampling,
    SystematicResampling,
    Top,
)
from pfgnn.model.backbones.stack import Stack

D = 16


BACKBONES: dict[str, Callable[[], Stack]] = {
    "GCN": lambda: GCN(D),
    "GAT": lambda: GAT(D),
    "GIN": lambda: GIN(D),
    "GINE": lambda: GINE(D),
    "PNA": lambda: PNA(D, towers=4, edges=True),
    "GNNML1": lambda: GNNML1(D),
    "MPNN": lambda: MPNN(D),
}


# Every option is here at least once, and the tests must pass for all of them. Those of `ours` need no chunks.
OPTIONS: dict[str, Callable[[], PFGNN]] = {
    "ours": lambda: ours(GIN(D)),
    "ours, three steps, learned": lambda: ours(GIN(D), steps=3, policy=MLPPolicy(D), observe=SetObservation(D)),
    "ours, more particles than vertices": lambda: ours(GIN(D), particles=30, mask_used=True, steps=2),
    "ours, feed forward, edges of PNA": lambda: ours(PNA(D, towers=4, feed_forward=True)),
    "ours, node level": lambda: ours(GIN(D), level="node"),
    "ours, all layers, mean told": lambda: ours(
        GIN(D, layers=2), exchange=Exchange(D, mean=True), readout=PerParticle(D, 1, 2, join=(2, 2))
    ),
    "ours, largest particle": lambda: ours(GIN(D), readout=MaxParticle(D, 1, 2)),
    "ours, independent draws": lambda: ours(GIN(D), sample=Independent()),
    "distinct paths": lambda: build(GIN(D), sample=Distinct()),
    "top paths": lambda: build(GIN(D), sample=Top()),
    "by distance": lambda: build(GIN(D), individualise=ByDistance(D, 3, max_distance=2)),
    "two at once by distance": lambda: build(
        GIN(D), individualise=ByDistance(D, 3, max_distance=2), vertices_per_step=2
    ),
    "default": lambda: build(GIN(D)),
    "additive": lambda: build(GIN(D), individualise=Additive(D)),
    "random normal": lambda: build(GIN(D), individualise=RandomNormal(D)),
    "half the dimensions": lambda: build(GIN(D), individualise=Multiplicative(D, share=0.5)),
    "three at once": lambda: build(GIN(D), vertices_per_step=3),
    "masked": lambda: build(GIN(D), mask_used=True),
    "GNN policy": lambda: build(GIN(D), policy=GNNPolicy(GCN(D, 1), D)),
    "no observation": lambda: build(GIN(D), observe=NoObservation()),
    "no resampling": lambda: build(GIN(D), resample=NoResampling()),
    "systematic": lambda: build(GIN(D), resample=SystematicResampling()),
    "ESS": lambda: build(GIN(D), resample=ESSResampling(SoftResampling(), 0.9)),
    "alpha 1": lambda: build(GIN(D), resample=SoftResampling(1.0)),
    "second moment": lambda: build(GIN(D), second_moment=True),
    "sum pooling": lambda: build(GIN(D), pool="sum"),
    "max pooling": lambda: build(GIN(D), pool="max"),
    "node level": lambda: build(GIN(D), level="node"),
    "norm around the mark": lambda: build(GIN(D, norm="mark", feed_forward=True)),
    "layer norm": lambda: build(GIN(D, norm="layer")),
    "no norm": lambda: build(GIN(D, norm="none")),
    "batch norm": lambda: build(GIN(D, norm="batch")),
    "shared steps": lambda: build(GIN(D), share_steps=True),
    "other step GNN": lambda: build(GIN(D, 5), step_backbone=GCN(D, 1)),
    "PyG's own GATv2Conv": lambda: build(pyg.GATv2Conv(D, D), width=D),
}


def build(backbone: nn.Module, **options: object) -> PFGNN:
    edges = 3 if getattr(backbone, "reads_edge_attr", False) else None
    settings: dict[str, object] = {"in_channels": 3, "edge_channels": edges, "steps": 3, "particles": 5, **options}
    return PFGNN.paper(backbone, 2, **settings).eval()  # type: ignore[arg-type]


def ours(backbone: nn.Module, **options: object) -> PFGNN:
    settings: dict[str, object] = {"in_channels": 3, "particles": 5, **options}
    return PFGNN(backbone, 2, **settings).eval()  # type: ignore[arg-type]


def sample(model: PFGNN, n: int = 12, m: int = 18, seed: int = 0) -> Graph:
    dtype = next(model.parameters()).dtype
    x, edge_index, edge_attr = random_graph(n, m, 3, seed=seed, dtype=dtype)
    return x, edge_index, edge_attr if model.encode_edges is not None else None
