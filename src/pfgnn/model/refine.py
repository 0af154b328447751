"""Refinement: a GNN run on K particles. Only this file knows how the particles share one graph."""

import copy
import inspect

import torch
from torch import Tensor, nn

from pfgnn.model.batch import GraphBatch


class Refine(nn.Module):
    """H_{t+1}^k = GNN(H_t^k) for all k (line 9).

    A backbone with ``particle_axis = True`` gets H [N, K, D] and one edge list. Any other module with
    ``forward(x, edge_index[, edge_attr])`` gets K copies of the graph, nodes [K N, D]: right, but slower.

    Args: backbone: the GNN, from width D to width D.
    Shapes: H [N, K, D] -> [N, K, D].
    """

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.particle_axis = bool(getattr(backbone, "particle_axis", False))
        parameters = inspect.signature(backbone.forward).parameters
        self.accepts = frozenset(parameters)
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """Refine every particle; see the class."""
        if graph.edge_attr is not None and not self.reads_edge_attr:
            raise ValueError(
                f"edge_attr was given, but the backbone {type(self.backbone).__name__} does not read it; "
                "leave it out, or take one that does, such as GINE, PNA(edges=True) or MPNN"
            )
        refined = self._call(H, graph) if self.particle_axis else self._on_copies(H, graph)
        if refined.shape != H.shape:
            raise ValueError(
                f"the backbone {type(self.backbone).__name__} must keep the width {H.shape[-1]}, "
                f"but it returned {refined.shape[-1]}"
            )
        return refined

    @property
    def reads_edge_attr(self) -> bool:
        """Whether the backbone takes edge features."""
        return bool(getattr(self.backbone, "reads_edge_attr", "edge_attr" in self.accepts or self.variadic))

    def _on_copies(self, H: Tensor, graph: GraphBatch) -> Tensor:
        K = H.shape[1]
        flat = H.transpose(0, 1).reshape(-1, H.shape[2])  # [N, K, D] -> [K N, D], particle by particle
        out: Tensor = self._call(flat, copies(graph, K))
        return out.view(K, -1, out.shape[-1]).transpose(0, 1)  # [N, K, D]

    def _call(self, x: Tensor, graph: GraphBatch) -> Tensor:
        optional = {"edge_attr": graph.edge_attr, "batch": graph.batch, "batch_size": graph.num_graphs}
        if graph.edge_attr is None:
            del optional["edge_attr"]
        if self.variadic and graph.edge_attr is not None:
            return self.backbone(x, graph.edge_index, graph.edge_attr)
        return self.backbone(x, graph.edge_index, **{k: v for k, v in optional.items() if k in self.accepts})


def copies(graph: GraphBatch, K: int) -> GraphBatch:
    """K disjoint copies of a batch, copy after copy: K N nodes, K E edges, K G graphs."""
    copy_number = torch.arange(K, device=graph.batch.device)[:, None]  # [K, 1]
    shifted = graph.edge_index[:, None] + len(graph.batch) * copy_number  # [2, K, E]
    return GraphBatch(
        edge_index=shifted.flatten(1),
        edge_attr=None if graph.edge_attr is None else graph.edge_attr.repeat(K, 1),
        batch=(graph.batch + graph.num_graphs * copy_number).flatten(),
        sizes=graph.sizes.repeat(K),
        num_graphs=K * graph.num_graphs,
    )


def fresh_copy(module: nn.Module) -> nn.Module:
    """A copy of the module with parameters of its own, drawn anew where its parts know how to."""
    clone = copy.deepcopy(module)
    for part in clone.modules():
        if callable(reset := getattr(part, "reset_parameters", None)):
            reset()
    return clone
