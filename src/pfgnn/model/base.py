"""The base class of all models. It handles the arguments of a call, the feature encoders and the random numbers."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from pfgnn.argument_checks import check_positive
from pfgnn.data.batch import GraphBatch, as_batch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.exchange import Exchange
from pfgnn.model.features import Constant, encoder
from pfgnn.model.individualise import Individualise
from pfgnn.model.linear_part import LinearPart
from pfgnn.model.norms import BatchNorm
from pfgnn.model.output import Output
from pfgnn.model.randomness import Noise, default_graph_key, default_node_key, make_noise
from pfgnn.model.refine import Refine
from pfgnn.ops.hashing import fold
from pfgnn.setting_types import MOST_PATHS

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Pass(NamedTuple):
    """The prepared input of one forward pass.

    Fields:
        H: Encoded node features, shape [N, D].
        graph: The batch of graphs, with encoded edge features.
        noise: The random numbers of the pass.
        particles: K, the number of particles.
        chunk: Number of particles computed at a time.
        strict: Whether to check intermediate results, such as the policy's scores. On a GPU a check waits for the
            device.
    """

    H: Tensor
    graph: GraphBatch
    noise: Noise
    particles: int
    chunk: int
    strict: bool


class GraphModel(nn.Module, ABC):
    """Base class: encodes the features of a batch of graphs. Subclasses predict from them.

    Args:
        width: D, the width of the embeddings.
        in_channels: Number of continuous node features, or for categorical features the number of categories of each
            column, or 0 if there are no node features.
        edge_channels: The same for edge features. With None, ``edge_attr`` goes to the backbone unencoded.
        particles: K, the default number of particles. Each call can use another number.

    The attribute ``linear`` is None, or a :class:`LinearPart` that is added to the prediction of each graph.
    """

    linear: LinearPart | None

    def __init__(
        self, width: int, in_channels: int | Sequence[int], edge_channels: int | Sequence[int] | None, particles: int
    ) -> None:
        super().__init__()
        self.width = width
        self.particles = check_positive("particles", particles, most=MOST_PATHS)
        self.encode_nodes = encoder("x", in_channels, width)
        self.encode_edges = None if edge_channels is None else encoder("edge_attr", edge_channels, width)
        # Counts the training passes without a given seed; each takes the new count as its seed. It is saved with the
        # parameters, so that a resumed run makes the same draws as an uninterrupted one.
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))
        self.passes: Tensor
        self.linear = None

    @abstractmethod
    def predict(self, given: Pass) -> Output:
        """Compute the output of a pass from its prepared input."""

    def forward(
        self,
        x: "Tensor | GraphBatch | Data | None",
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        pos: Tensor | None = None,
        batch_size: int | None = None,
        particles: int | None = None,
        seed: int | Tensor | None = None,
        graph_key: Tensor | None = None,
        node_key: Tensor | None = None,
        chunk: int | None = None,
    ) -> Output:
        """Predict for a batch of graphs, given as tensors, as a PyG ``Data`` or ``Batch``, or as a GraphBatch.

        Tensors and PyG objects are checked. A GraphBatch is not, because it was checked when it was made. While
        ``torch.compile`` or ``torch.export`` traces the call, values are not checked, only types and shapes.

        Args:
            x: Node features, shape [N, F]. None if there are none; then ``batch`` gives the number of nodes. Or a
                ``Data``, ``Batch`` or GraphBatch, which holds everything up to ``batch``.
            edge_index: Source and target of each edge, shape [2, E]. An undirected edge is given in both directions.
            edge_attr: Edge features, shape [E, Fe].
            batch: Graph number of each node, sorted, shape [N]. None if there is only one graph.
            pos: Node positions, shape [N, 3], for a model that reads them, see
                :class:`pfgnn.model.individualise.ByPosition`.
            batch_size: Number of graphs G. None: it is counted. Give it to ``torch.compile``, which cannot count
                without a break in its graph unless ``fullgraph=True`` is set.
            particles: K for this call.
            seed: Seed of all draws. By default 0 in evaluation, and a new one in each training pass. It must be given
                in training if ``torch.utils.checkpoint`` is around the call.
            graph_key: One integer per graph, shape [G]. The draws of a graph depend on it. By default it is made from
                the edges of the graph, and in a training pass without a seed also from its position in the batch.
            node_key: One integer per node, shape [N], used in the same way. By default the position in its graph.
            chunk: Number of particles computed at a time, to limit memory. They are computed again in the backward
                pass. The results do not change.
        """
        K = self.particles if particles is None else check_positive("particles", particles, most=MOST_PATHS)
        reads = self.reads_positions
        graph = as_batch(x, edge_index, edge_attr, batch, batch_size, graph_key, node_key, pos, reads)
        if pos is not None and not reads:
            raise InputError(
                "pos was given, but no part of the model reads it; leave it out, or take individualise=ByPosition(...)"
            )
        strict = not isinstance(x, GraphBatch) and not torch.compiler.is_compiling()
        given = self.prepare(graph, seed, strict)._replace(particles=K, chunk=self._chunk(chunk, K))
        output = self.predict(given)
        return output._replace(prediction=self.with_linear(output.prediction, graph))

    def with_linear(self, prediction: Tensor, graph: GraphBatch) -> Tensor:
        """The prediction [G, C] with that of the linear part added, in float32 if it is in fewer bits.

        Args:
            prediction: The prediction of the network.
            graph: The batch of graphs, before its features are encoded.
        """
        if self.linear is None:
            return prediction
        if not isinstance(self.linear, LinearPart):
            raise InputTypeError(f"linear must be a LinearPart or None, but it is a {type(self.linear).__name__}")
        if len(self.linear.bias) != prediction.shape[1]:
            raise InputError(
                f"linear must have {prediction.shape[1]} outputs, as the model has, but it has {len(self.linear.bias)}"
            )
        total = prediction.double() + self.linear(graph)
        return total.to(torch.promote_types(prediction.dtype, torch.float32))

    def prepare(self, graph: GraphBatch, seed: int | Tensor | None = None, strict: bool = True) -> Pass:
        """Encode the features (line 3) and set up the noise, for a pass with the default K in one chunk."""
        if graph.pos is None and self.reads_positions:
            raise InputError("pos must hold the positions of the nodes, because the model reads them, but it is None")
        H = self._encode_nodes(graph, strict)
        graph = graph.with_fields(edge_attr=self._encode_edges(graph, H.dtype, strict))
        with graph.edges_being_sorted():
            graph_key, node_key = graph.graph_key, graph.node_key
            if graph_key is None:
                graph_key = default_graph_key(graph)
                # Equal graphs in one batch then get different draws. A baseline over the batch needs this.
                if self.training and seed is None:
                    graph_key = fold(graph_key, torch.arange(graph.num_graphs, device=H.device))
            if node_key is None:
                node_key = default_node_key(graph)
            noise = make_noise(self._seed(seed), graph_key, node_key, graph.nodes)
        return Pass(H, graph, noise, self.particles, self.particles, strict)

    def _encode_nodes(self, graph: GraphBatch, strict: bool) -> Tensor:
        x = graph.x
        if x is None and not isinstance(self.encode_nodes, Constant):
            raise InputError("x is None, but the model was built with in_channels")
        if x is not None:
            self.encode_nodes.check(x, strict)
        return self.encode_nodes(graph.batch if x is None else x)

    def _encode_edges(self, graph: GraphBatch, dtype: torch.dtype, strict: bool) -> Tensor | None:
        edge_attr = graph.edge_attr
        refinements = (part for part in self.modules() if isinstance(part, Refine))
        if edge_attr is not None and not any(part.reads_edge_attr for part in refinements):
            first = next(part for part in self.modules() if isinstance(part, Refine))
            raise InputError(
                f"edge_attr was given, but the backbone {type(first.backbone).__name__} does not read it; "
                "leave it out, or take one that does, such as GINE, PNA(edges=True) or MPNN"
            )
        if self.encode_edges is None:
            return edge_attr.to(dtype) if edge_attr is not None and edge_attr.is_floating_point() else edge_attr
        if edge_attr is None and not isinstance(self.encode_edges, Constant):
            raise InputError("edge_attr is None, but the model was built with edge_channels")
        if edge_attr is not None:
            self.encode_edges.check(edge_attr, strict)
        return self.encode_edges(graph.edge_index[0] if edge_attr is None else edge_attr)

    @property
    def reads_positions(self) -> bool:
        """Whether a part of the model reads the positions of the nodes."""
        return any(isinstance(part, Individualise) and part.reads_positions for part in self.modules())

    @property
    def in_chunks(self) -> bool:
        """Whether training may compute the particles in chunks: no part of the model needs all of them at once."""
        return (
            not any(isinstance(part, BatchNorm | _BatchNorm | _DropoutNd) for part in self.modules())
            and self.independent_particles
        )

    @property
    def independent_particles(self) -> bool:
        """Whether each particle is refined independently of the others."""
        return not any(isinstance(part, Exchange) and part.of_mean is not None for part in self.modules())

    def _chunk(self, chunk: int | None, K: int) -> int:
        if chunk is None:
            return K
        if not self.independent_particles:
            raise InputError("chunk must be None if particles exchange their mean, because each needs all the others")
        if self.training and not self.in_chunks:
            raise InputError(
                "chunk must be None in training with batch normalisation or dropout, because it would change the result"
            )
        return check_positive("chunk", chunk)

    def _seed(self, seed: int | Tensor | None) -> int | Tensor:
        if seed is not None:
            return seed
        if not self.training:
            return 0
        self.passes.copy_(count_pass(self.passes))
        return self.passes.clone()


# torch.compile calls this as a whole. So a compiled pass asks each time it runs, not once while it is traced.
@torch.library.custom_op("pfgnn::count_pass", mutates_args=())
def count_pass(passes: Tensor) -> Tensor:
    """The number of training passes and 1. Raise an InputError in a backward pass, where a pass would draw anew."""
    if torch._C._current_graph_task_id() != -1:
        raise InputError(
            "seed must be given if a training pass is computed again in the backward pass, as "
            "torch.utils.checkpoint does, because it would draw anew without one; pass another seed in each step"
        )
    return passes + 1


@count_pass.register_fake
def _(passes: Tensor) -> Tensor:
    return torch.empty_like(passes)
