"""PF-GNN (Dupty, Dong, Lee, ICLR 2022): Algorithm 1. Line numbers are those of the paper's listing."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_flag, check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.backbones.stack import Stack
from pfgnn.model.base import GraphModel, Pass
from pfgnn.model.belief import initial_belief
from pfgnn.model.chunks import Chunks
from pfgnn.model.exchange import Exchange
from pfgnn.model.individualise import ByDistance, Individualise, Multiplicative
from pfgnn.model.observe import NoObservation, SetObservation
from pfgnn.model.output import Output, StepTrace
from pfgnn.model.particle_context import Context
from pfgnn.model.per_particle import PerParticle
from pfgnn.model.policy import MLPPolicy, UniformPolicy, check_scores
from pfgnn.model.randomness import Noise
from pfgnn.model.readout import MeanParticle, Readout, embedding
from pfgnn.model.refine import Refine, check_forward, check_module, fresh_copy
from pfgnn.model.resample import NoResampling, SoftResampling
from pfgnn.model.sample import Distinct, Draw, Independent
from pfgnn.ops.weights import normalise
from pfgnn.setting_types import MOST_LAYERS, MOST_PARTICLES, MOST_WIDTH

# What the model passes to the parts of a step.
CALLS = {
    "policy": ("H", "graph"),
    "sample": ("scores", "belief", "graph", "noise", "step"),
    "individualise": ("H", "draw", "graph", "noise", "step", "particles"),
    "observe": ("H", "graph"),
    "resample": ("belief", "noise", "step"),
    "readout": ("readings",),
}


class PFGNN(GraphModel):
    """Any GNN plus a particle filter over the individualise-and-refine search tree.

    Each of the K particles is a colouring (node embeddings) of the same graph. They take T steps down the tree. In each
    step a particle draws a vertex, individualises it, is refined with the GNN, and is weighted. The readout uses the
    beliefs of all steps.

    The defaults worked best so far, see docs/method.md: distinct paths drawn uniformly, individualisation by distances,
    the individualised vertex added in every layer, a readout per particle. :meth:`paper` makes the model of the paper.

    Args:
        backbone: The GNN, from width D to width D: a shipped one, or any module with
            ``forward(x, edge_index[, edge_attr])``. The module itself refines the input features. Each step uses a copy
            of it with newly initialised parameters.
        out_channels: C, the number of outputs.
        in_channels: Number of continuous node features, or for categorical features the number of categories of each
            column, or 0 if there are no node features.
        edge_channels: The same for edge features. With None, ``edge_attr`` goes to the backbone unencoded.
        steps: T, the number of individualisation steps. With T = 0 the model is only its backbone and a readout.
        particles: K, the default number of particles. Each call can use another number.
        step_backbone: Another GNN for the steps, e.g. one with fewer layers. It is copied in the same way.
        share_steps: Whether the GNNs of all steps share their parameters.
        mask_used: Never individualise a vertex twice, unless all have been used.
        width: D. Needed only if the backbone has no attribute ``width``.
        policy: Scores the vertices. Default: :class:`UniformPolicy`.
        sample: Draws vertices by their scores. Default: :class:`Distinct`.
        individualise: Marks the drawn vertices. Default: :class:`ByDistance`.
        exchange: Information that particles exchange during refinement. True means :class:`Exchange` if the backbone of
            the steps is a shipped one, and nothing otherwise. False means nothing.
        observe: Scores the refined particles. Default: :class:`NoObservation`.
        resample: Replaces the particles by copies drawn by weight. Default: :class:`NoResampling`.
        readout: Predicts from the beliefs. Default: :class:`PerParticle`.
        level: Level of the default readout; see :class:`Readout`.
        pool: Pooling of the default readout; see :class:`Readout`.
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
        check_module("backbone", backbone)
        D = _width(backbone, width)
        super().__init__(D, in_channels, edge_channels, particles)
        T = self.steps = check_positive("steps", steps, least=0, most=MOST_LAYERS)
        self.mask_used = check_flag("mask_used", mask_used)
        share_steps = check_flag("share_steps", share_steps)
        self.refine = nn.ModuleList([Refine(backbone)])  # [0] before the first step, [t] in step t
        model_of_step = backbone if step_backbone is None else step_backbone
        check_module("step_backbone", model_of_step)
        _width(model_of_step, D)
        if not isinstance(exchange, bool | Exchange):
            raise InputTypeError(f"exchange must be an Exchange, True or False, but it is {exchange!r}")
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
            raise InputError("level and pool must be set in the readout if one is given; leave them out here")
        self.readout = PerParticle(D, T, out_channels, level=level, pool=pool) if readout is None else readout
        for name, arguments in CALLS.items():
            check_module(name, part := getattr(self, name))
            if isinstance(part, Stack):
                raise InputTypeError(f"{name} must not be a backbone, but it is a {type(part).__name__}")
            check_forward(name, getattr(self, name), arguments)
        if not isinstance(self.readout, Readout):
            raise InputTypeError(f"readout must be a Readout, but it is a {type(self.readout).__name__}")
        for part in (self.individualise, self.readout, talk):
            if part is not None:
                _width(part, D)
        for part in (self.individualise, self.readout):
            own = getattr(part, "steps", T)
            if own != T:
                raise InputError(f"{type(part).__name__} was made for {own} steps, but the model has {T}")

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
        """Make the model of the paper.

        It has a learned policy, independent draws, multiplicative individualisation, an observation function, soft
        resampling, and reads out the mean particle of each step.

        Args:
            backbone: As in the constructor.
            out_channels: As in the constructor.
            steps: As in the constructor.
            particles: As in the constructor.
            width: As in the constructor.
            level: See :class:`MeanParticle`.
            pool: See :class:`MeanParticle`.
            second_moment: See :class:`MeanParticle`.
            vertices_per_step: m, the number of vertices that a particle individualises in each step.
            options: Other arguments of the constructor. They replace those of the paper.
        """
        check_module("backbone", backbone)
        D, T = _width(backbone, width), check_positive("steps", steps, least=0, most=MOST_LAYERS)
        paper: dict[str, Any] = {
            "policy": MLPPolicy(D),
            "sample": Independent(check_positive("vertices_per_step", vertices_per_step, most=MOST_PARTICLES)),
            "individualise": Multiplicative(D),
            "exchange": False,
            "observe": SetObservation(D),
            "resample": SoftResampling(),
        }
        if options.get("readout") is None:
            paper["readout"] = MeanParticle(D, T, out_channels, level=level, pool=pool, second_moment=second_moment)
        elif (level, pool, second_moment) != ("graph", "mean", False):
            raise InputError("level, pool and second_moment must be set in the readout if one is given")
        chosen = {name: part for name, part in options.items() if part is not None}
        return cls(backbone, out_channels, steps=steps, particles=particles, width=width, **(paper | chosen))

    def predict(self, given: Pass) -> Output:
        """Run Algorithm 1 on a batch of graphs."""
        H, graph, noise, K, chunk, strict = given  # 3
        chunks, whole = Chunks(K, chunk), Chunks(1, 1)  # before the first step all particles are equal
        H, *layers = self.refined(0, H[:, None], graph, Context(noise, 0, torch.zeros_like(graph.batch[:1])))
        belief = initial_belief(H.squeeze(1), K, graph.num_graphs, self.mask_used)  # 4
        readings, trace = [self.readout.read(0, belief, graph, layers)], []
        for t in range(1, self.steps + 1):  # 5
            [scores] = (chunks if t > 1 else whole).run(self.score, [belief.embeddings], graph)  # 6
            if strict:
                check_scores(self.policy, scores, t)
            draw: Draw = self.sample(scores, belief, graph, noise, t)  # 7
            belief = draw.follow(belief, graph)
            H, *layers = chunks.run(self.transition, [belief.embeddings], t, draw, graph, noise)  # 8-10
            [observed] = chunks.run(self.observation, [H], graph)
            log_w = normalise(belief.log_weights + observed)  # 11
            belief = belief._replace(embeddings=H, log_weights=log_w)
            # Read before the resampling, which only adds variance.
            readings.append(self.readout.read(t, belief, graph, layers, draw.vertices, chunks))
            belief, ancestors = self.resample(belief, noise, t)  # 12
            trace.append(StepTrace(*draw.record(), log_w, ancestors))
        f = embedding(readings)  # 15
        return Output(self.readout.head(f), f, belief, trace, readings)  # 16, 17

    def score(self, part: slice, H: Tensor, graph: GraphBatch) -> tuple[Tensor]:
        """Line 6 for the particles in a slice: the policy's scores of all vertices, shape [N, k]."""
        return (self.policy(H, graph),)

    def transition(self, part: slice, H: Tensor, t: int, draw: Draw, graph: GraphBatch, noise: Noise) -> list[Tensor]:
        """Lines 8 to 10 for the particles in a slice: individualise the drawn vertices, then refine.

        Args:
            part: Slice of k particles.
            H: Their embeddings after the draw, not yet individualised, shape [N, k, D], or [N, 1, D].
            t: The step.
            draw: Draws of all particles.
            graph: The batch of graphs.
            noise: The random numbers of the pass.

        Returns:
            H, shape [N, k, D], and the outputs of the layers if the readout reads them.
        """
        drawn = draw.take(part)
        k = torch.arange(part.start, part.stop, device=graph.batch.device)
        H = self.individualise(H, drawn, graph, noise, t, k)  # 8
        return self.refined(t, H, graph, Context(noise, t, k, drawn.vertices, drawn.log_weights))  # 9

    def observation(self, part: slice, H: Tensor, graph: GraphBatch) -> tuple[Tensor]:
        """Line 11 for the particles in a slice: their scores, shape [G, k]."""
        return (self.observe(H, graph),)

    def refined(self, t: int, H: Tensor, graph: GraphBatch, context: Context) -> list[Tensor]:
        """Refine H [N, k, D] with the GNN of step t. Returns H, then the layers' outputs if the readout reads them."""
        layers: list[Tensor] = []
        return [self.refine[t](H, graph, context, layers if self.readout.join else None), *layers]


def _width(part: nn.Module, width: int | None) -> int:
    own: int | None = getattr(part, "width", None)
    name = type(part).__name__
    if width is not None:
        check_positive("width", width, most=MOST_WIDTH)
    if width is None and own is None:
        raise InputError(f"width must be given, because the backbone {name} has no attribute width")
    if width is not None and own is not None and width != own:
        raise InputError(f"{name} has width {own}, but the model has width {width}")
    return check_positive("width", width or own or 0)
