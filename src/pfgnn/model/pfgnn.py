"""PF-GNN (Dupty, Dong, Lee, ICLR 2022): Algorithm 1. Line numbers are those of the paper's listing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.utils.checkpoint import checkpoint

from pfgnn.kernels.hashing import fold
from pfgnn.kernels.streams import beside, joined
from pfgnn.kernels.weigh import normalise
from pfgnn.model.batch import GraphBatch, make_batch
from pfgnn.model.belief import Belief, effective_sample_size, initial_belief
from pfgnn.model.features import Constant, encoder
from pfgnn.model.individualise import Individualise, Multiplicative
from pfgnn.model.norms import BatchNorm
from pfgnn.model.numeric import check_module, check_positive
from pfgnn.model.observe import SetObservation
from pfgnn.model.policy import Draw, MLPPolicy, allowed_vertices, draw_vertices, mark_used
from pfgnn.model.randomness import Noise, check_key, default_graph_key, default_node_key, make_noise
from pfgnn.model.readout import Readout
from pfgnn.model.refine import Refine, fresh_copy
from pfgnn.model.resample import SoftResampling


class StepTrace(NamedTuple):
    """What one step did, for all K particles, also those that its resampling dropped.

    Fields: ``vertices`` [G, K, m], node numbers in the batch; ``valid`` [G, K, m], False where a graph had fewer than
    m vertices to draw; ``log_prob`` [G, K] of the draws; ``log_weights`` [G, K] after the observation;
    ``ancestors`` [G, K] of the resampling.
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor
    log_weights: Tensor
    ancestors: Tensor

    @property
    def ess(self) -> Tensor:
        """The effective sample size of the weights, [G]."""
        return effective_sample_size(self.log_weights)


class Output(NamedTuple):
    """``prediction`` [G, C] or [N, C] from the ``embedding`` f̃(G) [G, (T + 1) D'] or [N, (T + 1) D'].

    And the final ``belief``, and the ``trace``, a :class:`StepTrace` per step.
    """

    prediction: Tensor
    embedding: Tensor
    belief: Belief
    trace: list[StepTrace]


class PFGNN(nn.Module):
    """Any GNN plus a particle filter over the individualise-and-refine search tree.

    K particles, each a colouring (node embeddings) of the same graph, take T steps down the tree: draw a vertex
    from a learned policy, individualise it, refine with the GNN, weigh the particle, resample. The belief's mean
    particles of all steps are read out.

    Args:
        backbone: the GNN, from width D to width D: a shipped one, or any module with
            ``forward(x, edge_index[, edge_attr])``. It refines the features as it is; each step gets a copy with
            parameters drawn anew.
        out_channels: number of outputs C.
        in_channels: number of continuous node features, or category counts per column, or 0 for none.
        edge_channels: the same for edges; None hands ``edge_attr`` to the backbone as it is.
        steps: T, the individualisations of a particle. With T = 0 the model is its backbone.
        particles: K; may be changed at each call.
        step_backbone: another GNN for the steps, e.g. one with fewer layers; copied in the same way.
        share_steps: one set of parameters for the GNN of all steps (the paper has one each).
        vertices_per_step: m, vertices individualised at once.
        mask_used: never individualise a vertex twice, while there are others.
        width: D, where the backbone does not say its ``width``.
        policy, individualise, observe, resample: the steps' parts; the paper's by default.
        level, pool, second_moment: see :class:`Readout`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        out_channels: int,
        *,
        in_channels: int | Sequence[int] = 0,
        edge_channels: int | Sequence[int] | None = None,
        steps: int = 3,
        particles: int = 8,
        step_backbone: nn.Module | None = None,
        share_steps: bool = False,
        vertices_per_step: int = 1,
        mask_used: bool = False,
        width: int | None = None,
        policy: nn.Module | None = None,
        individualise: Individualise | None = None,
        observe: nn.Module | None = None,
        resample: nn.Module | None = None,
        level: str = "graph",
        pool: str = "mean",
        second_moment: bool = False,
    ) -> None:
        super().__init__()
        D = self.width = _width(backbone, width)
        self.steps = check_positive("steps", steps, least=0)
        self.particles = check_positive("particles", particles)
        self.vertices_per_step = check_positive("vertices_per_step", vertices_per_step)
        self.mask_used = mask_used
        self.encode_nodes = encoder("x", in_channels, D)
        self.encode_edges = None if edge_channels is None else encoder("edge_attr", edge_channels, D)
        self.refine = nn.ModuleList([Refine(backbone)])  # [0] before the first step, [t] in step t
        model_of_step = backbone if step_backbone is None else step_backbone
        _width(model_of_step, D)
        for t in range(self.steps):
            self.refine.append(self.refine[1] if share_steps and t else Refine(fresh_copy(model_of_step)))
        self.policy = MLPPolicy(D) if policy is None else policy
        self.individualise = Multiplicative(D) if individualise is None else individualise
        self.observe = SetObservation(D) if observe is None else observe
        self.resample = SoftResampling() if resample is None else resample
        for name in ("policy", "individualise", "observe", "resample"):
            check_module(name, getattr(self, name))
        _width(self.individualise, D)
        C = check_positive("out_channels", out_channels)
        self.readout = Readout(D, steps, C, level, pool, second_moment)
        # The seed of the next training pass. Saved with the parameters, so that a resumed run draws as if unbroken.
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))
        self.passes: Tensor

    def forward(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        *,
        particles: int | None = None,
        seed: int | Tensor | None = None,
        graph_key: Tensor | None = None,
        node_key: Tensor | None = None,
        chunk: int | None = None,
        num_graphs: int | None = None,
        padding: int = 0,
    ) -> Output:
        """Run Algorithm 1 on a batch of graphs.

        Args:
            x: node features [N, F]; None where there are none and ``batch`` tells the number of nodes.
            edge_index: directed edges [2, E], source and target; an undirected edge stands in both directions.
            edge_attr: edge features [E, Fe].
            batch: graph number of each node [N], sorted; None for one graph.
            particles: K for this call.
            seed: of all draws. By default 0 in evaluation, and a new one each pass in training.
            graph_key: a number per graph [G] that its draws depend on; by default made from its edges, and in a
                training pass without a seed from its place too.
            node_key: a number per node [N], likewise; by default the node's position in its graph.
            chunk: particles computed at a time, to bound memory, and computed again for the gradient; the numbers stay
                the same.
            num_graphs: G; whoever gives it vouches for the input, which is then not checked: on a GPU nothing waits.
            padding: how many graphs, the last ones, only fill up the batch; norms over it leave them out.
        """
        K = self.particles if particles is None else check_positive("particles", particles)
        H, graph, noise = self.prepare(
            x, edge_index, edge_attr, batch, seed, graph_key, node_key, num_graphs, padding
        )  # 3
        size = self._chunk(chunk, K)
        chunks = [slice(k, min(k + size, K)) for k in range(0, K, size)]

        belief = initial_belief(self.refine[0](H[:, None], graph).squeeze(1), K, graph.num_graphs, self.mask_used)  # 4
        moments, trace = [self.readout.moments(belief, graph)], []
        for t in range(1, self.steps + 1):  # 5
            H, draw = _join([self._recomputed(t, belief, graph, noise, part, size < K) for part in chunks])  # 6-10
            log_w = normalise(belief.log_weights + self.observe(H, graph))  # 11
            belief = Belief(H, log_w, mark_used(belief.used, draw))
            moments.append(self.readout.moments(belief, graph))  # before resampling, which only adds variance
            belief, ancestors = self.resample(belief, noise, t)  # 12
            trace.append(StepTrace(*draw, log_w, ancestors))
        f = self.readout.features(moments, graph)  # 15
        return Output(self.readout.head(f), f, belief, trace)  # 16, 17

    def transition(self, t: int, belief: Belief, graph: GraphBatch, noise: Noise, part: slice) -> tuple[Tensor, Draw]:
        """Lines 6 to 10 for some particles k: draw a vertex, individualise it, refine: H [N, len(k), D], draw."""
        own, k = belief.take(part), torch.arange(part.start, part.stop, device=graph.batch.device)
        scores = self.policy(own.embeddings, graph)
        free = allowed_vertices(own.used, graph)
        draw = draw_vertices(scores, free, graph, noise, t, k, self.vertices_per_step)  # 7
        H = self.individualise(own.embeddings, draw, noise, t, k)  # 8
        return self.refine[t](H, graph), draw  # 9

    def _recomputed(
        self, t: int, belief: Belief, graph: GraphBatch, noise: Noise, part: slice, again: bool
    ) -> tuple[Tensor, Draw]:
        """The transition; ``again`` keeps nothing of it for the gradient, which computes it once more: draws repeat."""
        if not (again and torch.is_grad_enabled()):
            return self.transition(t, belief, graph, noise, part)
        # Our draws need no random state of torch; a foreign backbone's dropout does. A capture knows none.
        keep = not (graph.batch.is_cuda and torch.cuda.is_current_stream_capturing())
        return checkpoint(self.transition, t, belief, graph, noise, part, use_reentrant=False, preserve_rng_state=keep)

    def prepare(
        self,
        x: Tensor | None,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        seed: int | Tensor | None = None,
        graph_key: Tensor | None = None,
        node_key: Tensor | None = None,
        num_graphs: int | None = None,
        padding: int = 0,
    ) -> tuple[Tensor, GraphBatch, Noise]:
        """Check the input, encode its features: H0 [N, D] (line 3), the graphs, and the noise of this pass."""
        graph = make_batch(x, edge_index, edge_attr, batch, num_graphs)
        if x is None and not isinstance(self.encode_nodes, Constant):
            raise ValueError("x is None, but the model was built with in_channels")
        if x is not None and num_graphs is None:
            self.encode_nodes.check(x)
        H = self.encode_nodes(graph.batch if x is None else x)
        graph = replace(graph, edge_attr=self._encode_edges(graph, H.dtype, num_graphs is None), padding=padding)
        with joined(edge_index):
            with beside(edge_index):
                _ = graph.sources  # which sorts the edges
            if graph_key is None:
                graph_key = default_graph_key(graph)
                if self.training and seed is None:  # equal graphs of a batch draw apart, as a baseline over it needs
                    graph_key = fold(graph_key, torch.arange(graph.num_graphs, device=H.device))
            if node_key is None:
                node_key = default_node_key(graph)
            check_key("graph_key", graph_key, graph.sizes)
            check_key("node_key", node_key, graph.batch)
            noise = make_noise(self._seed(seed), graph_key, node_key, graph.nodes)
        return H, graph, noise

    def _encode_edges(self, graph: GraphBatch, dtype: torch.dtype, check: bool) -> Tensor | None:
        edge_attr = graph.edge_attr
        if edge_attr is not None and not any(isinstance(p, Refine) and p.reads_edge_attr for p in self.modules()):
            raise ValueError(
                f"edge_attr was given, but the backbone {type(self.refine[0].backbone).__name__} does not read it; "
                "leave it out, or take one that does, such as GINE, PNA(edges=True) or MPNN"
            )
        if self.encode_edges is None:
            return edge_attr.to(dtype) if edge_attr is not None and edge_attr.is_floating_point() else edge_attr
        if edge_attr is None and not isinstance(self.encode_edges, Constant):
            raise ValueError("edge_attr is None, but the model was built with edge_channels")
        if check and edge_attr is not None:
            self.encode_edges.check(edge_attr)
        return self.encode_edges(graph.edge_index[0] if edge_attr is None else edge_attr)

    @property
    def in_chunks(self) -> bool:
        """Whether training may compute some particles at a time: no part draws, or looks at all of them at once."""
        return not any(isinstance(part, BatchNorm | _BatchNorm | _DropoutNd) for part in self.modules())

    def _chunk(self, chunk: int | None, K: int) -> int:
        if chunk is None:
            return K
        if self.training and not self.in_chunks:
            raise ValueError("chunk must be None in training with batch normalisation or dropout, whose numbers change")
        return check_positive("chunk", chunk)

    def _seed(self, seed: int | Tensor | None) -> int | Tensor:
        if seed is not None:
            return seed
        if not self.training:
            return 0
        self.passes += 1
        return self.passes.clone()


def _width(part: nn.Module, width: int | None) -> int:
    own: int | None = getattr(part, "width", None)
    name = type(part).__name__
    if width is None and own is None:
        raise ValueError(f"width must be given, for the backbone {name} does not say its own")
    if width is not None and own is not None and width != own:
        raise ValueError(f"{name} has width {own}, but the model has width {width}")
    return check_positive("width", width or own or 0)


def _join(parts: list[tuple[Tensor, Draw]]) -> tuple[Tensor, Draw]:
    """The transitions of several chunks of particles as one."""
    if len(parts) == 1:
        return parts[0]
    H, draws = zip(*parts, strict=True)
    return torch.cat(H, 1), Draw(*(torch.cat(field, 1) for field in zip(*draws, strict=True)))
