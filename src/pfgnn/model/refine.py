"""Refinement: a GNN run on K particles. Only this file knows how the particles share one graph."""

import copy
import inspect
from inspect import Parameter

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.context import Context
from pfgnn.model.exchange import Exchange
from pfgnn.model.numeric import check_module


class Refine(nn.Module):
    """H_{t+1}^k = GNN(H_t^k) for all k (line 9).

    A backbone with ``particle_axis = True`` gets H [N, K, D] and one edge list. Any other module with
    ``forward(x, edge_index[, edge_attr])`` gets K copies of the graph, nodes [K N, D]: right, but slower.

    Args:
        backbone: the GNN, from width D to width D.
        exchange: what particles tell each other in every layer, copied for each; only shipped backbones take it.

    Shapes: H [N, K, D] -> [N, K, D].
    """

    def __init__(self, backbone: nn.Module, exchange: Exchange | None = None) -> None:
        super().__init__()
        check_module("backbone", backbone)
        self.backbone = backbone
        self.exchange: nn.ModuleList | None = None
        if exchange is not None:
            if not isinstance(backbone, Stack):
                raise InputError(
                    f"exchange needs a backbone of pfgnn.model, but it is {type(backbone).__name__}; use exchange=False"
                )
            self.exchange = nn.ModuleList(fresh_copy(exchange) for _ in range(len(backbone.convs)))
        self.particle_axis = bool(getattr(backbone, "particle_axis", False))
        parameters = inspect.signature(backbone.forward).parameters
        self.accepts = frozenset(parameters)
        self.variadic = {p.kind for p in parameters.values()} & {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}

    @property
    def reads_edge_attr(self) -> bool:
        """Whether the backbone takes edge features: it says so itself, or its forward has a place for them."""
        own = getattr(self.backbone, "reads_edge_attr", getattr(self.backbone, "supports_edge_attr", None))
        return bool(self.variadic or "edge_attr" in self.accepts) if own is None else bool(own)

    def forward(
        self, H: Tensor, graph: GraphBatch, context: Context | None = None, layers: list[Tensor] | None = None
    ) -> Tensor:
        """Refine every particle; see the class.

        Args:
            H: embeddings, [N, K, D].
            graph: the graphs.
            context: what else the layers may know of the particles.
            layers: a list to which the output of each layer is appended, if the backbone tells them.
        """
        if self.particle_axis and isinstance(self.backbone, Stack):
            return self.backbone.refine(H, graph, context, self.exchange, layers)
        if self.particle_axis:
            return self._call(H, graph)
        K = H.shape[1]
        flat = H.transpose(0, 1).reshape(-1, H.shape[2])  # [N, K, D] -> [K N, D], particle by particle
        return self._call(flat, copies(graph, K)).view(K, -1, H.shape[2]).transpose(0, 1)  # [N, K, D]

    def _call(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """The backbone with those of PyG's optional arguments that it takes; its result is checked."""
        extra: list[Tensor] = []
        named: dict[str, object] = {"batch": graph.batch, "batch_size": graph.num_graphs, "graph": graph}
        named = {name: value for name, value in named.items() if name in self.accepts}
        if graph.edge_attr is not None and self.reads_edge_attr:
            if Parameter.VAR_POSITIONAL in self.variadic:
                extra = [graph.edge_attr]
            else:
                named["edge_attr"] = graph.edge_attr
        refined = self.backbone(x, graph.edge_index, *extra, **named)
        if not isinstance(refined, Tensor) or refined.shape != x.shape:
            came = f"shape {list(refined.shape)}" if isinstance(refined, Tensor) else f"a {type(refined).__name__}"
            raise InputError(
                f"the backbone {type(self.backbone).__name__} must return a tensor of the shape of x, {list(x.shape)}, "
                f"but it returned {came}"
            )
        return refined


def copies(graph: GraphBatch, K: int) -> GraphBatch:
    """K disjoint copies of a batch, copy after copy: K N nodes, K E edges, K G graphs."""
    copy_number = torch.arange(K, device=graph.batch.device)[:, None]  # [K, 1]
    shifted = graph.edge_index[:, None] + len(graph.batch) * copy_number  # [2, K, E]
    return GraphBatch(
        edge_index=shifted.flatten(1),
        edge_attr=None if graph.edge_attr is None else torch.cat([graph.edge_attr] * K),
        batch=(graph.batch + graph.num_graphs * copy_number).flatten(),
        num_graphs=K * graph.num_graphs,
    )


def fresh_copy(module: nn.Module) -> nn.Module:
    """A copy of the module with parameters of its own, drawn anew where its parts know how to."""
    clone = copy.deepcopy(module)
    for part in clone.modules():
        if callable(reset := getattr(part, "reset_parameters", None)):
            reset()
    return clone
