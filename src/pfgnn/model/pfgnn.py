"""PF-GNN (Dupty, Dong, Lee, ICLR 2022): Algorithm 1. Line numbers are those of the paper's listing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from pfgnn.model.backbones.stack import Stack
from pfgnn.model.batch import GraphBatch, make_batch
from pfgnn.model.belief import Belief, effective_sample_size, initial_belief
from pfgnn.model.chunks import Chunks
from pfgnn.model.context import Context
from pfgnn.model.exchange import Exchange
from pfgnn.model.features import Constant, encoder
from pfgnn.model.individualise import ByDistance, Individualise, Multiplicative
from pfgnn.model.norms import BatchNorm
from pfgnn.model.numeric import check_module, check_positive
from pfgnn.model.observe import NoObservation, SetObservation
from pfgnn.model.policy import MLPPolicy, UniformPolicy, check_scores
from pfgnn.model.randomness import Noise, check_key, default_graph_key, default_node_key, make_noise
from pfgnn.model.readout import MeanParticle, PerParticle, Reading, Readout, embedding
from pfgnn.model.refine import Refine, fresh_copy
from pfgnn.model.resample import NoResampling, SoftResampling
from pfgnn.model.sample import Distinct, Draw, Independent
from pfgnn.ops.hashing import fold
from pfgnn.ops.side_stream import beside, joined
from pfgnn.ops.weigh import normalise


class StepTrace(NamedTuple):
    """What one step did, for all K particles, also those that its resampling dropped.

    Fields:
        vertices: the vertices drawn, as node numbers in the batch, [G, K, m].
        valid: False where a graph had fewer than m vertices to draw, [G, K, m].
        log_prob: log P of the draws under the policy, [G, K].
        parents: the particle before the step that each one goes on from, [G, K].
        entropy: of the policy; with independent draws its estimate -log P, without a gradient, [G, K].
        log_weights: after the observation, [G, K].
        ancestors: of the resampling, [G, K].
    """

    vertices: Tensor
    valid: Tensor
    log_prob: Tensor
    parents: Tensor
    entropy: Tensor
    log_weights: Tensor
    ancestors: Tensor

    @property
    def ess(self) -> Tensor:
        """The effective sample size of the weights, [G]."""
        return effective_sample_size(self.log_weights)


class Output(NamedTuple):
    """What a pass returns.

    Fields:
        prediction: [G, C] or [N, C], made from the embedding.
        embedding: f̃(G), [G, (T + 1) D'] or [N, (T + 1) D'].
        belief: the particles and weights at the end.
        trace: what each step did, T of them.
        readings: what was read of each step, T + 1 of them.
    """

    prediction: Tensor
    embedding: Tensor
    belief: Belief
    trace: list[StepTrace]
    readings: list[Reading]


class PFGNN(nn.Module):
    """Any GNN plus a particle filter over the individualise-and-refine search tree.

    K particles, each a colouring (node embeddings) of the same graph, take T steps down the tree: draw a vertex,
    individualise it, refine with the GNN, weigh the particle. The beliefs of all steps are read out.

    The defaults are what did best so far, see docs/method.md: distinct paths drawn uniformly, marks by
    distance that every layer tells again, a readout per particle. :meth:`paper` makes the paper's model.

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
        share_steps: one set of parameters for the GNN of all steps.
        mask_used: never individualise a vertex twice, while there are others.
        width: D, where the backbone does not say its ``width``.
        policy: scores the vertices; :class:`UniformPolicy` by default.
        sample: draws from the scores; :class:`Distinct` by default.
        individualise: marks the drawn vertices; :class:`ByDistance` by default.
        exchange: what particles tell each other while they are refined. True for :class:`Exchange` where the step's
            backbone is a shipped one; False for nothing.
        observe: weighs the particles; :class:`NoObservation` by default.
        resample: replaces particles by their weights; :class:`NoResampling` by default.
        readout: from beliefs to the prediction; :class:`PerParticle` by default.
        level, pool: of the default readout, see :class:`Readout`.
    """

    def __init__(
        self,
        backbone: nn.Module,
        out_channels: int,
        *,
        in_channels: int | Sequence[int] = 0,
        edge_channels: int | Sequence[int] | None = None,
        steps: int = 1,
        particles: int = 16,
        step_backbone: nn.Module | None = None,
        share_steps: bool = False,
        mask_used: bool = False,
        width: int | None = None,
        policy: nn.Module | None = None,
        sample: nn.Module | None = None,
        individualise: Individualise | None = None,
        exchange: Exchange | bool = True,
        observe: nn.Module | None = None,
        resample: nn.Module | None = None,
        readout: Readout | None = None,
        level: str = "graph",
        pool: str = "sum",
    ) -> None:
        super().__init__()
        D = self.width = _width(backbone, width)
        T = self.steps = check_positive("steps", steps, least=0)
        self.particles = check_positive("particles", particles)
        self.mask_used = mask_used
        self.encode_nodes = encoder("x", in_channels, D)
        self.encode_edges = None if edge_channels is None else encoder("edge_attr", edge_channels, D)
        self.refine = nn.ModuleList([Refine(backbone)])  # [0] before the first step, [t] in step t
        model_of_step = backbone if step_backbone is None else step_backbone
        _width(model_of_step, D)
        if isinstance(exchange, bool):
            talk = Exchange(D) if exchange and isinstance(model_of_step, Stack) else None
        else:
            talk = exchange
        for t in range(T):
            again = share_steps and t > 0
            self.refine.append(self.refine[1] if again else Refine(fresh_copy(model_of_step), talk))
        self.policy = UniformPolicy() if policy is None else policy
        self.sample = Distinct() if sample is None else sample
        self.individualise = ByDistance(D, T) if individualise is None else individualise
        self.observe = NoObservation() if observe is None else observe
        self.resample = NoResampling() if resample is None else resample
        if readout is not None and (level, pool) != ("graph", "sum"):
            raise ValueError("level and pool must be those of the readout, where one is given; leave them out")
        self.readout = PerParticle(D, T, out_channels, level=level, pool=pool) if readout is None else readout
        for name in ("policy", "sample", "individualise", "observe", "resample", "readout"):
            check_module(name, getattr(self, name))
        for part in (self.individualise, self.readout, talk):
            if part is not None:
                _width(part, D)
        for part in (self.individualise, self.readout):
            own = getattr(part, "steps", T)
            if own != T:
                raise ValueError(f"{type(part).__name__} was made for {own} steps, but the model has {T}")
        # The seed of the next training pass. Saved with the parameters, so that a resumed run draws as if unbroken.
        self.register_buffer("passes", torch.zeros((), dtype=torch.int64))
        self.passes: Tensor

    @classmethod
    def paper(
        cls,
        backbone: nn.Module,
        out_channels: int,
        *,
        steps: int = 3,
        particles: int = 8,
        width: int | None = None,
        level: str = "graph",
        pool: str = "mean",
        second_moment: bool = False,
        vertices_per_step: int = 1,
        **options: Any,
    ) -> "PFGNN":
        """PF-GNN as the paper has it.

        A learned policy, independent draws, multiplicative individualisation, an observation function, soft resampling,
        and the mean particle of each step.

        Args:
            backbone, out_channels, steps, particles, width: as in the constructor.
            level, pool, second_moment: see :class:`MeanParticle`.
            vertices_per_step: m, vertices individualised at once.
            options: any other argument of the constructor, in place of the paper's.
        """
        D, T = _width(backbone, width), check_positive("steps", steps, least=0)
        paper: dict[str, Any] = {
            "policy": MLPPolicy(D),
            "sample": Independent(check_positive("vertices_per_step", vertices_per_step)),
            "individualise": Multiplicative(D),
            "exchange": False,
            "observe": SetObservation(D),
            "resample": SoftResampling(),
        }
        if options.get("readout") is None:
            paper["readout"] = MeanParticle(D, T, out_channels, level=level, pool=pool, second_moment=second_moment)
        elif (level, pool, second_moment) != ("graph", "mean", False):
            raise ValueError("level, pool and second_moment must be those of the readout, where one is given")
        chosen = {name: part for name, part in options.items() if part is not None}
        return cls(backbone, out_channels, steps=steps, particles=particles, width=width, **(paper | chosen))

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
        chunks, whole = Chunks(K, self._chunk(chunk, K)), Chunks(1, 1)  # before the first step all particles are one
        H, *layers = self.refined(0, H[:, None], graph, Context(noise, 0, torch.zeros_like(graph.batch[:1])))
        belief = initial_belief(H.squeeze(1), K, graph.num_graphs, self.mask_used)  # 4
        readings, trace = [self.readout.read(0, belief, graph, layers)], []
        for t in range(1, self.steps + 1):  # 5
            [scores] = (chunks if t > 1 else whole).run(self.score, belief, graph)  # 6
            if num_graphs is None:
                check_scores(self.policy, scores, t)
            draw: Draw = self.sample(scores, belief, graph, noise, t)  # 7
            belief = draw.follow(belief, graph)
            H, *layers = chunks.run(self.transition, t, belief, draw, graph, noise)  # 8-10
            log_w = normalise(belief.log_weights + self.observe(H, graph))  # 11
            belief = belief._replace(embeddings=H, log_weights=log_w)
            readings.append(self.readout.read(t, belief, graph, layers, draw.vertices))  # resampling only adds variance
            belief, ancestors = self.resample(belief, noise, t)  # 12
            trace.append(StepTrace(*draw.record(), log_w, ancestors))
        f = embedding(readings)  # 15
        return Output(self.readout.head(f), f, belief, trace, readings)  # 16, 17

    def score(self, part: slice, belief: Belief, graph: GraphBatch) -> tuple[Tensor]:
        """Line 6 for some particles: the policy's scores of all vertices, [N, k]."""
        return (self.policy(belief.take(part).embeddings, graph),)

    def transition(
        self, part: slice, t: int, belief: Belief, draw: Draw, graph: GraphBatch, noise: Noise
    ) -> list[Tensor]:
        """Lines 8 to 10 for some particles k: individualise what they drew, refine: H [N, k, D] and its layers."""
        own, drawn = belief.take(part), draw.take(part)
        k = torch.arange(part.start, part.stop, device=graph.batch.device)
        H = self.individualise(own.embeddings, drawn, graph, noise, t, k)  # 8
        return self.refined(t, H, graph, Context(noise, t, k, drawn.vertices, own.log_weights))  # 9

    def refined(self, t: int, H: Tensor, graph: GraphBatch, context: Context) -> list[Tensor]:
        """Refine, H [N, k, D], and the layers of the refinement if the readout reads them."""
        layers: list[Tensor] = []
        return [self.refine[t](H, graph, context, layers if self.readout.join else None), *layers]

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
        """Whether training may compute some particles at a time: no part looks at all of them at once."""
        return not any(isinstance(part, BatchNorm | _BatchNorm | _DropoutNd) for part in self.modules()) and self.apart

    @property
    def apart(self) -> bool:
        """Whether a particle's refinement does not depend on the others'."""
        return not any(isinstance(part, Exchange) and part.of_mean is not None for part in self.modules())

    def _chunk(self, chunk: int | None, K: int) -> int:
        if chunk is None:
            return K
        if not self.apart:
            raise ValueError("chunk must be None where particles exchange their mean, for each needs all the others")
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
