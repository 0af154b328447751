"""Wrong arguments for the public functions."""

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import networkx
import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

import pfgnn
from pfgnn import graphs
from pfgnn.data import Dataset, GraphBatch
from pfgnn.data.encodings import random_walks, ring_walks
from pfgnn.errors import PFGNNError
from reliability.commands import check_message
from reliability.mutate import VALUES

MODEL = pfgnn.PFGNN(pfgnn.GIN(8, 1), 2, in_channels=3, particles=3)


def _refused(call: Callable[[], Any]) -> Any:
    """The result of a call, or None if it raises an error on purpose. Any other error is raised again."""
    try:
        return call()
    except PFGNNError as error:
        check_message(error)
        return None


def tensors(rng: Random, samples: Path, folder: Path) -> bool:
    """The model is called with changed tensors."""
    arguments = _graph_tensors(rng)
    for name in rng.sample(list(arguments), rng.choice((1, 1, 2))):
        arguments[name] = _odd_tensor(rng, arguments[name])
    extra: dict[str, Any] = {}
    if rng.random() < 0.3:
        extra[rng.choice(("particles", "seed", "chunk"))] = rng.choice(VALUES[:8])
    match rng.randrange(3):
        case 0:
            output = _refused(lambda: MODEL(**arguments, **extra))
        case 1:
            output = _refused(lambda: MODEL(GraphBatch.from_tensors(**arguments), **extra))
        case _:
            data = Data(**{name: value for name, value in arguments.items() if value is not None})
            output = _refused(lambda: MODEL(data, **extra))
    if output is not None:
        prediction = output.prediction if hasattr(output, "prediction") else output[0]
        assert prediction.dim() == 2, prediction.shape
    return output is not None


def datasets(rng: Random, samples: Path, folder: Path) -> bool:
    """A dataset is made from changed graphs."""
    made = []
    for _ in range(3):
        arguments = _graph_tensors(rng)
        arguments.pop("batch")
        if rng.random() < 0.4:
            name = rng.choice(list(arguments))
            arguments[name] = _odd_tensor(rng, arguments[name])
        y: Any = torch.tensor([float(rng.randrange(2))])
        made.append(Data(y=_odd_tensor(rng, y) if rng.random() < 0.2 else y, **arguments))
    dataset = _refused(lambda: Dataset.from_pyg(made))
    if dataset is not None:
        _refused(lambda: rng.choice((random_walks, ring_walks))(dataset, _any(rng, 0, -1, 3, 5, 1.5, None)))
        dataset.save(folder / "made.pfgnn")
        assert len(Dataset.open(folder / "made.pfgnn")) == len(dataset)
    return dataset is not None


def exact(rng: Random, samples: Path, folder: Path) -> bool:
    """The exact functions are called with changed graphs and arguments."""
    n = rng.choice((0, 1, 3, 6, *VALUES[:10]))
    edges: Any = [[rng.randrange(-1, 7), rng.randrange(7)] for _ in range(rng.randrange(6))]
    edges = rng.choice((edges, np.array(edges), np.array(edges, dtype=float), torch.tensor(edges), None, "ab", [[1]]))
    labels = _any(rng, None, None, [0] * 6, ["a"], np.full(6, np.nan), np.zeros((6, 2)), "x")
    graph = _refused(lambda: graphs.Graph(n, edges) if labels is None else graphs.Graph(n, edges, labels))
    if graph is not None:
        for function in (graphs.refine, graphs.orbits, graphs.certificate, graphs.to_graph6, graphs.to_networkx):
            _refused(partial(function, graph))
    name = rng.choice(
        ("csl", "circulant", "paley", "rook", "random_regular", "random_tree", "random_graph", "cfi_pair")
    )
    function = getattr(graphs, name)
    count = len(inspect.signature(function).parameters)
    given = [rng.choice((*VALUES[:12], 5, 4, graph, np.random.default_rng(0))) for _ in range(count)]
    _refused(lambda: function(*given))
    text = "".join(chr(rng.randrange(33, 256)) for _ in range(rng.randrange(12)))
    for read in (graphs.from_graph6, graphs.from_sparse6):
        _refused(partial(read, _any(rng, text, ":" + text, None, 3, text.encode())))
    _refused(lambda: graphs.from_networkx(rng.choice((networkx.path_graph(3), networkx.DiGraph([(0, 1)]), None))))
    return graph is not None


def parts(rng: Random, samples: Path, folder: Path) -> bool:
    """The parts of a model are made with odd arguments."""
    value = rng.choice(VALUES)
    backbone = _any(rng, pfgnn.GIN, pfgnn.GIN(8, 1), torch.nn.Linear(8, 8), None, value)
    keywords = ("particles", "steps", "policy", "sample", "individualise", "exchange", "readout", "in_channels")
    given: dict[str, Any] = {
        "in_channels": 3,
        rng.choice(keywords): rng.choice((value, pfgnn.UniformPolicy(), pfgnn.GIN(8, 1))),
    }
    model = _refused(lambda: pfgnn.PFGNN(backbone, rng.choice((2, 2, value)), **given))
    if model is not None:
        _refused(lambda: model(**_graph_tensors(rng)))
    return model is not None


def _any(rng: Random, *values: Any) -> Any:
    """One of the values, whose types mypy shall not compare with those that are allowed."""
    return rng.choice(values)


def _graph_tensors(rng: Random) -> dict[str, Any]:
    edges = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    return {
        "x": torch.eye(3)[torch.tensor([0, 1, 2, 0, 1])],
        "edge_index": edges,
        "batch": torch.tensor([0, 0, 0, 1, 1]),
    }


def _odd_tensor(rng: Random, tensor: Tensor | None) -> Any:
    if tensor is None or not isinstance(tensor, Tensor) or rng.random() < 0.1:
        return rng.choice((None, "text", [[0, 1]], 3, np.zeros(3)))
    changes: tuple[Callable[[Tensor], Any], ...] = (
        lambda t: t.double(),
        lambda t: t.long(),
        lambda t: t.bool(),
        lambda t: t.half(),
        lambda t: t.to(torch.complex64),
        lambda t: t[:0],
        lambda t: t[..., :1],
        lambda t: t.flatten(),
        lambda t: t[None],
        lambda t: t.flip(0),
        lambda t: -t,
        lambda t: t * 10**6,
        lambda t: t.float() * float("nan"),
        lambda t: t.float() / 0,
        lambda t: torch.cat([t, t]),
        lambda t: t.tolist(),
        lambda t: t.numpy(),
        lambda t: t.to_sparse() if t.dim() > 1 else t,
        lambda t: t.to("meta"),
    )
    return rng.choice(changes)(tensor)


TARGETS = (tensors, datasets, exact, parts)
