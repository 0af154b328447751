"""The representation PF-GNN approximates, computed exactly: every path of the search tree, no sampling.

For small graphs and few steps: T steps on n vertices are n^T paths. The K → ∞ limit of a forward pass, the
paper's Equations 1 and 2, and Theorem 2's K.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.belief import Belief
from pfgnn.model.context import Context
from pfgnn.model.pfgnn import PFGNN
from pfgnn.model.policy import FORBIDDEN, allowed_vertices, log_probabilities, mark_used
from pfgnn.model.readout import embedding
from pfgnn.model.refine import copies
from pfgnn.model.sample import Draw
from pfgnn.ops.weigh import normalise


class Level(NamedTuple):
    """All P paths I of t vertices that have positive probability, and their colourings.

    Fields: ``embeddings`` [n, P, D]; ``log_prob`` [P], log P(I), policy probabilities multiplied along the path;
    ``log_observation`` [P], log Π f_obs along it; ``vertices`` [P, t]; ``parents`` [P], each path's position in
    the level before; ``used`` [n, P] or None; ``layers``, the outputs of the refinement's layers, if they are read.
    """

    embeddings: Tensor
    log_prob: Tensor
    log_observation: Tensor
    vertices: Tensor
    parents: Tensor
    used: Tensor | None
    layers: list[Tensor]

    def belief(self) -> Belief:
        """The exact belief of this level: weights ∝ P(I) Π f_obs."""
        return Belief(self.embeddings, normalise((self.log_prob + self.log_observation)[None]), self.used)


class Tree(NamedTuple):
    """The ``levels`` 0..T of one graph's tree, and the ``graph``."""

    levels: list[Level]
    graph: GraphBatch


def enumerate_tree(
    model: PFGNN, x: Tensor | None, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None
) -> Tree:
    """Every path of T vertices of one graph, under the model's policy; arguments as in the model's forward."""
    H, graph, noise, *_ = model.prepare(GraphBatch.from_tensors(x, edge_index, edge_attr, batch), seed=0)
    if graph.num_graphs != 1 or model.sample.vertices != 1 or model.individualise.stochastic:
        raise InputError(
            "enumeration needs one graph, one vertex a step and an individualisation that draws nothing, "
            f"but there are {graph.num_graphs} graphs, vertices={model.sample.vertices} "
            f"and {type(model.individualise).__name__}"
        )
    n = len(H)
    nothing = H.new_zeros(1)
    none_used = torch.zeros(n, 1, dtype=torch.bool, device=H.device) if model.mask_used else None
    start = torch.zeros(1, 0, dtype=torch.int64, device=H.device)
    root, *layers = model.refined(0, H[:, None], graph, Context(noise, 0, start.new_zeros(1)))
    levels = [Level(root, nothing, nothing, start, start.new_zeros(1), none_used, layers)]
    for t in range(1, model.steps + 1):
        last = levels[-1]
        log_p = log_probabilities(model.policy(last.embeddings, graph), allowed_vertices(last.used, graph), graph)
        possible = (log_p > FORBIDDEN / 2).T.nonzero()  # [P', 2]: every path with every vertex it may draw next
        parents, v = possible.unbind(1)
        log_prob = last.log_prob[parents] + log_p[v, parents]
        drawn = v[None, :, None]  # [1, P', 1]
        log_w = normalise((log_prob + last.log_observation[parents])[None])
        every = torch.ones_like(drawn, dtype=torch.bool)
        draw = Draw(drawn, every, log_p[v, parents][None], parents[None], log_w, None)
        parted = last.embeddings if len(last.log_prob) == 1 else last.embeddings[:, parents]
        used = None if last.used is None else mark_used(last.used[:, parents], draw.vertices, draw.valid)
        belief = Belief(parted, log_w, used)
        embeddings, *layers = model.transition(slice(0, len(v)), t, belief, draw, graph, noise)
        levels.append(
            Level(
                embeddings,
                log_prob,
                last.log_observation[parents] + model.observe(embeddings, graph)[0],
                torch.cat([last.vertices[parents], v[:, None]], 1),
                parents,
                used,
                layers,
            )
        )
    return Tree(levels, graph)


def exact_features(model: PFGNN, tree: Tree) -> Tensor:
    """f̃(G) of line 15 with the exact belief in place of K particles: [1, (T + 1) D'] or [n, (T + 1) D']."""
    return embedding(
        [
            model.readout.read(t, level.belief(), tree.graph, level.layers, level.vertices[None, :, -1:] if t else None)
            for t, level in enumerate(tree.levels)
        ]
    )


def exact_prediction(model: PFGNN, tree: Tree) -> Tensor:
    """What a forward pass tends to as K → ∞: [1, C] or [n, C]."""
    return model.readout.head(exact_features(model, tree))


def path_predictions(model: PFGNN, tree: Tree) -> Tensor:
    """The prediction of each path alone, as one particle (K = 1) would make it: [P, C] or [P n, C]."""
    if not model.apart:
        raise InputError("exchange must not tell the mean here, for a path alone has no others to take it of")
    path = torch.arange(len(tree.levels[-1].log_prob), device=tree.graph.batch.device)
    single = copies(tree.graph, len(path))
    readings = []
    for t, level in reversed(list(enumerate(tree.levels))):
        H, *layers = (_one_each(of, path) for of in (level.embeddings, *level.layers))
        belief = Belief(H, H.new_zeros(len(path), 1), None)
        drawn = (level.vertices[path, -1:] + single.first[:, None])[:, None] if t else None  # [P, 1, 1]
        readings.append(model.readout.read(t, belief, single, layers, drawn))
        path = level.parents[path]
    return model.readout(readings[::-1])


def _one_each(H: Tensor, path: Tensor) -> Tensor:
    """One graph a path, with the path's colouring as its only particle: [n, P', D], path [P] -> [P n, 1, D]."""
    return H[:, path].transpose(0, 1).flatten(0, 1)[:, None]


def node_sum(H: Tensor) -> Tensor:
    """ψ(G, π) = Σ_v h_v, the simplest multiset function: [n, P, D] -> [P, D]."""
    return H.sum(0)


def sum_representation(tree: Tree, psi: Callable[[Tensor], Tensor] = node_sum) -> Tensor:
    """Equation 1 before ρ: Σ_I ψ(G, π_T^I) over all paths I to level T: [D]. ψ maps [n, P, D] to [P, D]."""
    return psi(tree.levels[-1].embeddings).sum(0)


def expected_representation(tree: Tree, psi: Callable[[Tensor], Tensor] = node_sum) -> Tensor:
    """Equation 2: E ψ(G, π_T^I), paths weighed by their probability (under a uniform policy: 1/|Π|): [D]."""
    leaf = tree.levels[-1]
    return leaf.log_prob.exp() @ psi(leaf.embeddings)


def paths_needed(bound: float, dimensions: int, delta: float, epsilon: float) -> int:
    """Theorem 2: K = ⌈8 M² ln(4 D / δ) / ε²⌉.

    With K sampled paths the max-norm distance of two graphs' representations, of D values in [-M, M], is off
    by at most ε with probability 1 - δ.
    """
    for name, value, allowed in (
        ("bound", bound, bound > 0),
        ("dimensions", dimensions, dimensions >= 1),
        ("delta", delta, 0 < delta < 1),
        ("epsilon", epsilon, epsilon > 0),
    ):
        if not allowed:
            raise InputError(f"{name} must be positive{' and below 1' if name == 'delta' else ''}, but it is {value}")
    return math.ceil(8 * bound**2 * math.log(4 * dimensions / delta) / epsilon**2)
