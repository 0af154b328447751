"""Every argument of every part of a model: a value of the wrong type gets one sentence that names the argument."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast, get_origin, get_type_hints

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.data import Data, HeteroData

import pfgnn.model as public
from pfgnn.data import Dataset, GraphBatch
from pfgnn.errors import InputError, InputTypeError, PFGNNError
from pfgnn.graphs import Graph
from pfgnn.model import GIN, PFGNN, ByDistance, MeanParticle, NoResampling, PerParticle, SoftResampling, UniformPolicy
from pfgnn.model.backbones.stack import Options as StackOptions
from pfgnn.model.readout import Options as ReadoutOptions
from pfgnn.model.rivals import GNNML3, PPGN, RNI, Alone, ChebNet

X = torch.randn(5, 7)
EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
NEEDED: dict[str, Callable[[], Any]] = {
    "width": lambda: 8,
    "steps": lambda: 1,
    "out_channels": lambda: 2,
    "in_channels": lambda: 3,
    "edge_channels": lambda: 3,
    "backbone": lambda: GIN(8),
    "inner": lambda: SoftResampling(),
}
# Values that are never right, by the type of the argument.
WRONG: dict[object, list[Any]] = {
    int: ["8", 2.5, True, [8], GIN, 10**30],
    float: ["0.5", True, [0.5], float("nan"), float("inf"), 1j],
    bool: ["yes", 1, 0.0, [True]],
    str: [3, "wrong", True, GIN],
    Sequence: ["12", 2.5, True, ["a", "b"], GIN],
    "module": ["gin", 3, GIN, [GIN(8)], torch.relu, True],
}
PARTS = [
    part
    for part in (*(getattr(public, name) for name in public.__all__), Alone, ChebNet, GNNML3, PPGN, RNI)
    if isinstance(part, type)
    and issubclass(part, nn.Module)
    and part.__init__.__module__.startswith("pfgnn.")  # otherwise it has no arguments, and torch.compile may change it
]


def kind(hint: Any) -> object:
    """A key of ``WRONG`` for a type, or None if any value might be right."""
    if get_origin(hint) is Sequence:
        return Sequence
    named = [part for part in getattr(hint, "__args__", (hint,)) if part is not type(None)]
    if all(isinstance(part, type) and issubclass(part, nn.Module) for part in named):
        return "module"
    return named[0] if named[0] in WRONG and len(named) == 1 else None


def cases() -> list[tuple[type[nn.Module], str, Any]]:
    found = []
    for part in PARTS:
        named = get_type_hints(part.__init__)
        for options in (StackOptions, ReadoutOptions):
            if named.get("options") is not None and options.__module__ in {base.__module__ for base in part.__mro__}:
                named |= get_type_hints(options)
        for name, hint in named.items():
            found += [(part, name, value) for value in WRONG.get(kind(hint), ()) if name not in ("options", "return")]
    return found


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_argument_of_a_part(part: type[nn.Module]) -> None:
    needed = [name for name in inspect.signature(part).parameters if name in NEEDED]
    for _, name, value in (case for case in cases() if case[0] is part):
        arguments = {needs: NEEDED[needs]() for needs in needed} | {name: value}
        if part is public.StraightThrough and name != "inner":
            arguments["inner"] = ByDistance(8, 1)
        with pytest.raises(PFGNNError) as caught:
            part(**arguments)
        assert name in str(caught.value), (name, value)


def test_the_arguments_were_found() -> None:
    found = {(part.__name__, name) for part, name, _ in cases()}
    assert len(found) > 100
    for wanted in (("GIN", "norm"), ("GIN", "dropout"), ("PFGNN", "mask_used"), ("PFGNN", "step_backbone")):
        assert wanted in found
    for wanted in (("PerParticle", "scale"), ("SetObservation", "bound"), ("PFGNN", "policy"), ("MPNN", "edge_hidden")):
        assert wanted in found


def test_a_class_instead_of_an_object() -> None:
    sentence = r"backbone must be a torch module .*, but it is the class GIN; make an object of it, GIN\(\.\.\.\)"
    for make in (PFGNN, PFGNN.paper, Alone):
        with pytest.raises(InputTypeError, match=sentence):
            make(GIN, 1)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match=r"step_backbone must be a torch module .*, but it is the class GIN;"):
        PFGNN(GIN(8), 1, step_backbone=GIN)  # type: ignore[arg-type]


@pytest.mark.parametrize("exchange", ["yes", 1, None, nn.Linear(8, 8)])
def test_an_exchange_is_one_or_a_flag(exchange: Any) -> None:
    with pytest.raises(InputTypeError, match="exchange must be an Exchange, True or False, but it is"):
        PFGNN(GIN(8), 1, exchange=exchange)


@pytest.mark.parametrize("name", ["policy", "sample", "individualise", "resample", "observe", "readout"])
def test_a_module_of_another_kind_is_told_by_its_forward(name: str) -> None:
    wrong: dict[str, Any] = {name: nn.Linear(8, 8)}
    with pytest.raises(InputTypeError, match=rf"{name} must "):
        PFGNN(GIN(8), 1, **wrong)
    PFGNN(GIN(8), 1, policy=UniformPolicy(), resample=NoResampling(), readout=PerParticle(8, 1, 1))


@pytest.mark.parametrize(
    ("backbone", "sentence"),
    [
        (nn.Linear(8, 8), r"backbone must have forward\(x, edge_index\), but Linear has forward\(input\)"),
        (pyg.GCN2Conv(8, 0.1), r"backbone must have forward\(x, edge_index\), but GCN2Conv has forward\(x, x_0, edge_"),
    ],
)
def test_a_backbone_with_another_forward_is_refused_at_once(backbone: nn.Module, sentence: str) -> None:
    with pytest.raises(InputTypeError, match=sentence):
        PFGNN(backbone, 1, in_channels=7, width=8)


@pytest.mark.parametrize(
    ("backbone", "lacks"),
    [
        (pyg.RGCNConv(8, 8, num_relations=3), "edge_type"),
        (pyg.RGATConv(8, 8, num_relations=3), "edge_type, edge_attr, size, return_attention_weights"),
        (pyg.NNConv(8, 8, nn.Linear(3, 64)), "edge_attr, size"),
        (pyg.GINEConv(nn.Linear(8, 8)), "edge_attr, size"),
        (pyg.GCNConv(5, 8), "edge_weight"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_backbone_that_needs_more_than_it_gets_is_named(backbone: nn.Module, lacks: str) -> None:
    model = PFGNN(backbone, 1, in_channels=7, width=8)
    name = type(backbone).__name__
    said = rf"^the backbone {name} must work with forward\(x, edge_index\), but it raised \w+(: \S.*)?; it does not get"
    with pytest.raises(InputError, match=rf"{said} {lacks}, which a module around it may pass on$"):
        model(X, EDGES)


def test_a_layer_of_pyg_without_edge_dim_is_told_so() -> None:
    model = PFGNN(pyg.GATv2Conv(8, 8), 1, in_channels=7, width=8)
    with pytest.raises(
        InputError, match=r"; it gets edge_attr with 2 columns, but was made without edge_dim, their number$"
    ):
        model(X, EDGES, torch.ones(EDGES.shape[1], 2))


def test_edge_features_of_another_width_are_told() -> None:
    """They are encoded to the width of the model."""
    model = PFGNN(pyg.GINEConv(nn.Linear(8, 8), edge_dim=2), 1, in_channels=7, edge_channels=2, width=8)
    with pytest.raises(InputError, match=r"mat1 and mat2 .*; it gets edge_attr with 8 columns$"):
        model(X, EDGES, torch.ones(EDGES.shape[1], 2))


@pytest.mark.parametrize(
    "backbone", [pyg.GCNConv(8, 8), pyg.GIN(8, 8, 2), pyg.SAGEConv(8, 8), pyg.GPSConv(8, pyg.GCNConv(8, 8), heads=2)]
)
def test_fit_layers_of_pyg_work(backbone: nn.Module) -> None:
    batch = torch.tensor([0, 0, 0, 1, 1])
    assert PFGNN(backbone, 1, in_channels=7, width=8)(X, EDGES, batch=batch).prediction.shape == (2, 1)


class Full(nn.Module):
    """A backbone that runs out of memory."""

    width = 8

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        raise torch.OutOfMemoryError("there is too little")


def test_a_lack_of_memory_is_told_as_such() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        PFGNN(Full(), 1, in_channels=7)(X, EDGES)


@pytest.mark.parametrize(
    "x",
    [
        [Data(x=X, edge_index=EDGES)],
        HeteroData(),
        "graph",
        X.numpy(),
        Graph.from_edges(3, [(0, 1)]),
        Dataset.from_graphs([Graph.from_edges(3, [(0, 1)])], [1.0]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_graph_for_a_model_is_named(x: Any) -> None:
    sentence = f"x must be a torch tensor, or a GraphBatch or a PyG Data or Batch, but it is a {type(x).__name__}"
    with pytest.raises(InputTypeError, match=sentence):
        PFGNN(GIN(8), 1)(x)


def test_complex_features_are_refused() -> None:
    with pytest.raises(InputTypeError, match="x must hold real numbers, but it has dtype complex64"):
        PFGNN(GIN(8), 1, in_channels=7)(X.to(torch.complex64), EDGES)


@pytest.mark.parametrize("channels", [7, [2, 3]])
def test_a_batch_with_other_columns_is_refused_too(channels: Any) -> None:
    """A GraphBatch is checked without looking at its values."""
    graph = GraphBatch.from_tensors(X[:, :1].long(), EDGES)
    with pytest.raises(InputError, match=r"x must have \d columns, but it has 1"):
        PFGNN(GIN(8), 1, in_channels=channels)(graph)


@pytest.mark.parametrize("tensor", [X.to("meta"), X.to_sparse()], ids=["meta", "sparse"])
def test_tensors_that_are_not_dense_are_refused(tensor: Tensor) -> None:
    with pytest.raises(InputTypeError, match="x must be a dense torch tensor, but it has "):
        PFGNN(GIN(8), 1, in_channels=7)(tensor, EDGES)


@pytest.mark.parametrize("name", ["policy", "sample", "individualise", "observe", "resample"])
def test_a_backbone_in_the_place_of_another_part(name: str) -> None:
    with pytest.raises(InputTypeError, match=f"^{name} must .*GIN"):
        PFGNN(GIN(8), 1, **{name: cast(Any, GIN(8))})


def test_a_readout_for_the_model_of_the_paper_has_its_own_settings() -> None:
    readout = MeanParticle(8, 3, 1, pool="sum", second_moment=True)
    assert PFGNN.paper(GIN(8), 1, readout=readout).readout is readout
    wrong: list[dict[str, Any]] = [{"second_moment": True}, {"pool": "sum"}, {"level": "node"}]
    for settings in wrong:
        with pytest.raises(InputError, match="level, pool and second_moment must be set in the readout if one is give"):
            PFGNN.paper(GIN(8), 1, readout=readout, **settings)
