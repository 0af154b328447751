"""The representation that PF-GNN approximates, computed exactly from every path of the search tree.

Only for small graphs and few steps: T steps on n vertices give n^T paths. This module computes the K → ∞ limit of a
forward pass, the paper's Equations 1 and 2, and the K of Theorem 2.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.belief import Belief
from pfgnn.model.particle_context import Context
from pfgnn.model.pfgnn import PFGNN
from pfgnn.model.policy import FORBIDDEN, allowed_vertices, log_probabilities, mark_used
from pfgnn.model.readout import embedding
from pfgnn.model.refine import copies
from pfgnn.model.sample import Draw
from pfgnn.ops.weights import normalise


class Level(NamedTuple):
    """All P paths I of t vertices that have positive probability, and their colourings.

    Fields:
        embeddings: The colouring of each path, shape [n, P, D].
        log_prob: log P(I), the sum of the policy's log probabilities along the path, shape [P].
        log_observation: log Π f_obs along the path, shape [P].
        vertices: The vertices of each path, shape [P, t].
        parents: Position of each path's parent in the level before, shape [P].
        used: Which vertices each path has individualised, shape [n, P]. None unless ``mask_used`` is set.
        layers: Outputs of the refinement's layers. Empty unless the readout reads them.
    """

    embeddings: Tensor
    log_prob: Tensor
    log_observation: Tensor
    vertices: Tensor
    parents: Tensor
    used: Tensor | None
    layers: list[Tensor]

    def belief(self) -> Belief:
        """The exact belief of this level, with weights ∝ P(I) Π f_obs."""
        return Belief(self.embeddings, normalise((self.log_prob + self.log_observation)[None]), self.used)


class Tree(NamedTuple):
    """The search tree of one graph.

    Fields:
        levels: The levels 0 to T.
        graph: The graph, with encoded edge features.
        given: The graph as it was given.
    """

    levels: list[Level]
    graph: GraphBatch
    given: GraphBatch


def enumerate_tree(
    model: PFGNN,
    x: Tensor | None,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    batch: Tensor | None = None,
    *,
    pos: Tensor | None = None,
) -> Tree:
    """Enumerate every path of T vertices of one graph, under the model's policy.

    Args:
        model: The model.
        x: Node features, shape [n, F], or None.
        edge_index: Source and target of each edge, shape [2, E].
        edge_attr: Edge features, shape [E, Fe], or None.
        batch: Graph number of each node, all 0, shape [n]. Needed if x is None.
        pos: Node positions, shape [n, 3], or None.
    """
    given = GraphBatch.from_tensors(x, edge_index, edge_attr, batch, pos=pos)
    H, graph, noise, *_ = model.prepare(given, seed=0)
    if graph.num_graphs != 1 or model.sample.vertices != 1 or model.individualise.stochastic:
        raise InputError(
            "enumeration needs one graph, one vertex per step and an individualisation without randomness, "
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
        possible = (log_p > FORBIDDEN / 2).T.nonzero()  # [P', 2]: pairs of a path and a vertex that it may draw next
        parents, v = possible.unbind(1)
        log_prob = last.log_prob[parents] + log_p[v, parents]
        drawn = v[None, :, None]  # [1, P', 1]
        log_w = normalise((log_prob + last.log_observation[parents])[None])
        every = torch.ones_like(drawn, dtype=torch.bool)
        draw = Draw(drawn, every, log_p[v, parents][None], parents[None], log_w, None)
        parted = last.embeddings if len(last.log_prob) == 1 else last.embeddings[:, parents]
        used = None if last.used is None else mark_used(last.used[:, parents], draw.vertices, draw.valid)
        embeddings, *layers = model.transition(slice(0, len(v)), parted, t, draw, graph, noise)
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
    return Tree(levels, graph, given)


def exact_features(model: PFGNN, tree: Tree) -> Tensor:
    """f̃(G) of line 15, with the exact belief in place of K particles.

    Returns:
        The features, shape [1, (T + 1) D'], or [n, (T + 1) D'] at node level.
    """
    return embedding(
        [
            model.readout.read(t, level.belief(), tree.graph, level.layers, level.vertices[None, :, -1:] if t else None)
            for t, level in enumerate(tree.levels)
        ]
    )


def exact_prediction(model: PFGNN, tree: Tree) -> Tensor:
    """The limit of a forward pass as K → ∞, shape [1, C], or [n, C] at node level."""
    return model.with_linear(model.readout.head(exact_features(model, tree)), tree.given)


def path_predictions(model: PFGNN, tree: Tree) -> Tensor:
    """The prediction from each path alone, as from one particle (K = 1), shape [P, C], or [P n, C] at node level."""
    if not model.independent_particles:
        raise InputError("exchange must have mean=False here, because a single path has no other particles")
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
    """Make one graph per path, with the path's colouring as its only particle.

    Args:
        H: Colourings of the paths of a level, shape [n, P', D].
        path: Numbers of the paths to take, shape [P].

    Returns:
        The colourings, graph after graph, shape [P n, 1, D].
    """
    return H[:, path].transpose(0, 1).flatten(0, 1)[:, None]


def sum_representation(tree: Tree) -> Tensor:
    """Equation 1 without ρ: Σ_I ψ(G, π_T^I) over all paths I to level T, with ψ(G, π) = Σ_v h_v, shape [D]."""
    return tree.levels[-1].embeddings.sum((0, 1))


def expected_representation(tree: Tree) -> Tensor:
    """Equation 2: E ψ(G, π_T^I), with each path weighted by its probability (1/|Π| under a uniform policy), shape [D].

    As in equation 1, ψ(G, π) = Σ_v h_v.
    """
    leaf = tree.levels[-1]
    return leaf.log_prob.exp() @ leaf.embeddings.sum(0)


def paths_needed(bound: float, dimensions: int, delta: float, epsilon: float) -> int:
    """Theorem 2: K = ⌈8 M² ln(4 D / δ) / ε²⌉.

    The representation of a graph has D values in [-M, M]. With K sampled paths, the max-norm distance between the
    representations of two graphs has an error of at most ε, with probability 1 - δ.

    Args:
        bound: M.
        dimensions: D.
        delta: δ, between 0 and 1.
        epsilon: ε.
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
