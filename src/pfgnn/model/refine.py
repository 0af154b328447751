"""Refinement: runs a GNN on K particles. Only this file decides how the particles share one graph."""

import copy
import inspect
from collections.abc import Iterable, Sequence
from inspect import Parameter

import torch
from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError, cut, is_bug
from pfgnn.files import LONGEST_REASON
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.exchange import Exchange
from pfgnn.model.particle_context import Context

# Arguments of a backbone that it gets if its forward has them.
OPTIONAL = ("edge_attr", "batch", "batch_size", "graph")

# What a backbone raises if it is called in a way that it is not made for.
MISUSE = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class Refine(nn.Module):
    """H_{t+1}^k = GNN(H_t^k) for all k (line 9).

    A backbone with ``particle_axis = True`` gets H [N, K, D] and one edge list. Any other module with
    ``forward(x, edge_index[, edge_attr])`` gets K copies of the graph, with embeddings [K N, D]. This gives the same
    result, but is slower.

    Args:
        backbone: The GNN, from width D to width D.
        exchange: Information that particles exchange in every layer. Each layer gets a copy with newly initialised
            parameters. Only shipped backbones support it.
    """

    def __init__(self, backbone: nn.Module, exchange: Exchange | None = None) -> None:
        super().__init__()
        check_module("backbone", backbone)
        parameters = inspect.signature(backbone.forward).parameters
        self.accepts = frozenset(parameters)
        self.variadic = {p.kind for p in parameters.values()} & {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}
        check_forward("backbone", backbone, ("x", "edge_index"), {*OPTIONAL} & self.accepts)
        self.backbone = backbone
        self.exchange: nn.ModuleList | None = None
        if exchange is not None:
            if not isinstance(backbone, Stack):
                raise InputError(
                    f"exchange needs a backbone of pfgnn.model, but it is {type(backbone).__name__}; use exchange=False"
                )
            self.exchange = nn.ModuleList(fresh_copy(exchange) for _ in range(len(backbone.convs)))
        self.particle_axis = bool(getattr(backbone, "particle_axis", False))

    @property
    def reads_edge_attr(self) -> bool:
        """Whether the backbone takes edge features.

        Its attribute ``reads_edge_attr``, or PyG's ``supports_edge_attr``, says so. If it has neither, the arguments of
        its forward decide.
        """
        own = getattr(self.backbone, "reads_edge_attr", getattr(self.backbone, "supports_edge_attr", None))
        return bool(self.variadic or "edge_attr" in self.accepts) if own is None else bool(own)

    def forward(
        self, H: Tensor, graph: GraphBatch, context: Context | None = None, layers: list[Tensor] | None = None
    ) -> Tensor:
        """Refine every particle; see the class.

        Args:
            H: Embeddings, shape [N, K, D].
            graph: The batch of graphs.
            context: Further information about the particles. Only shipped backbones use it.
            layers: A list to which the output of each layer is appended. Only shipped backbones do this.

        Returns:
            The refined embeddings, shape [N, K, D].
        """
        if self.particle_axis and isinstance(self.backbone, Stack):
            return self.backbone.refine(H, graph, context, self.exchange, layers)
        if self.particle_axis:
            return self._call(H, graph)
        K = H.shape[1]
        flat = H.transpose(0, 1).reshape(-1, H.shape[2])  # [N, K, D] -> [K N, D], particle by particle
        return self._call(flat, copies(graph, K)).view(K, -1, H.shape[2]).transpose(0, 1)  # [N, K, D]

    def _call(self, x: Tensor, graph: GraphBatch) -> Tensor:
        """Call the backbone with the optional arguments that it accepts, and check its result."""
        extra: list[Tensor] = []
        named: dict[str, object] = {"batch": graph.batch, "batch_size": graph.num_graphs, "graph": graph}
        named = {name: value for name, value in named.items() if name in self.accepts}
        if graph.edge_attr is not None and self.reads_edge_attr:
            if Parameter.VAR_POSITIONAL in self.variadic:
                extra = [graph.edge_attr]
            else:
                named["edge_attr"] = graph.edge_attr
        try:
            refined = self.backbone(x, graph.edge_index, *extra, **named)
        except MISUSE as error:
            if isinstance(self.backbone, Stack) or not is_bug(error):
                raise
            given = ["x", "edge_index", *(["edge_attr"] if extra else []), *named]
            columns = None if graph.edge_attr is None else graph.edge_attr.shape[-1]
            raise InputError(self._misuse(given, error, columns)) from error
        if not isinstance(refined, Tensor) or refined.shape != x.shape:
            came = f"shape {list(refined.shape)}" if isinstance(refined, Tensor) else f"a {type(refined).__name__}"
            raise InputError(
                f"the backbone {type(self.backbone).__name__} must return a tensor of the shape of x, {list(x.shape)}, "
                f"but it returned {came}"
            )
        return refined

    def _misuse(self, given: list[str], error: Exception, columns: int | None) -> str:
        """The message for a backbone that fails with what it is given. Its own message may be missing or unclear.

        Args:
            given: Names of what it is given.
            error: What it raised.
            columns: Number of columns of edge_attr.
        """
        name, said = type(self.backbone).__name__, cut(str(error), LONGEST_REASON)
        failed = f"it raised {type(error).__name__}" + (f": {said}" if said else "")
        rest = list(inspect.signature(self.backbone.forward).parameters.values())[2:]
        lacks = [p.name for p in rest if p.name not in given and p.kind not in self.variadic]
        hint = f"; it does not get {', '.join(lacks)}, which a module around it may pass on" if lacks else ""
        if "edge_attr" in given:
            gets = f"; it gets edge_attr with {columns} columns"
            made_without = getattr(self.backbone, "edge_dim", 0) is None  # of PyG's attention layers
            hint = f"{gets}, but was made without edge_dim, their number" if made_without else hint + gets
        return f"the backbone {name} must work with forward({', '.join(given)}), but {failed}{hint}"


def copies(graph: GraphBatch, K: int) -> GraphBatch:
    """K disjoint copies of a batch, one after the other: K N nodes, K E edges, K G graphs."""
    copy_number = torch.arange(K, device=graph.batch.device)[:, None]  # [K, 1]
    shifted = graph.edge_index[:, None] + graph.num_nodes * copy_number  # [2, K, E]
    return GraphBatch(
        edge_index=shifted.flatten(1),
        edge_attr=None if graph.edge_attr is None else torch.cat([graph.edge_attr] * K),
        batch=(graph.batch + graph.num_graphs * copy_number).flatten(),
        num_graphs=K * graph.num_graphs,
    )


def fresh_copy(module: nn.Module) -> nn.Module:
    """Copy a module and initialise the parameters of the copy again, in all parts that have ``reset_parameters``."""
    clone = copy.deepcopy(module)
    for part in clone.modules():
        if callable(reset := getattr(part, "reset_parameters", None)):
            reset()
    return clone


def check_module(argument: str, value: object) -> None:
    """Raise an InputTypeError unless the value is a torch module (an object, not a class).

    Args:
        argument: Name of the argument, for the message.
        value: Value that the caller gave.
    """
    if not isinstance(value, nn.Module):
        name = getattr(value, "__name__", "")
        came = f"the class {name}; make an object of it, {name}(...)" if isinstance(value, type) else repr(value)
        raise InputTypeError(f"{argument} must be a torch module such as those of pfgnn.model, but it is {came}")


def check_forward(argument: str, module: nn.Module, positional: Sequence[str], named: Iterable[str] = ()) -> None:
    """Raise an InputTypeError unless a module's forward can be called with certain arguments.

    Args:
        argument: Name of the argument that the module was given as, for the message.
        module: The module.
        positional: Names of the arguments that are passed by position.
        named: Names of further arguments, which are passed by name.
    """
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*positional, **dict.fromkeys(named))
    except TypeError:
        own = ", ".join(signature.parameters)
        raise InputTypeError(
            f"{argument} must have forward({', '.join(positional)}), but {type(module).__name__} has forward({own})"
        ) from None
