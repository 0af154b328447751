"""The training objective: task loss plus the policy gradient's term."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.arguments import choose
from pfgnn.errors import InputError
from pfgnn.model.output import StepTrace


class Loss(NamedTuple):
    """``total``, to call backward on, and its parts ``task`` and ``policy``; see :class:`Objective`. All scalars."""

    total: Tensor
    task: Tensor
    policy: Tensor


class Share(NamedTuple):
    """The part of a batch that one of several devices holds.

    Fields: ``weights`` [G], 0 for a graph that only fills the part up, else 1; ``devices``, whose gradients will be
    averaged; ``add``, which sums a tensor over all of them.
    """

    weights: Tensor
    devices: int
    add: Callable[[Tensor], Tensor]


def no_baseline(losses: Tensor, total: Tensor, count: Tensor) -> Tensor:
    """0, as in the paper: [G] -> [G]."""
    return torch.zeros_like(losses)


def leave_one_out(losses: Tensor, total: Tensor, count: Tensor) -> Tensor:
    """The mean loss of the batch's other graphs, whose draws are independent of a graph's own: [G] -> [G]."""
    return (total - losses) / (count - 1).clamp(min=1)


@dataclass(frozen=True)
class Objective:
    """mean_g [ L_g + γ R_g - β S_g ]: the task's loss, the policy's term, and the policy's entropy S_g.

    The policy's term R_g teaches the policy by what the drawn vertices were good for. ° marks what has no gradient.

    - credit "graph", the paper's: R_g = (L_g - b_g)° · 1/K Σ_k Σ_t log P(v_t^k). All draws of a graph share its loss.
      This is the REINFORCE estimate of how the draws change the expected loss. Every draw counts, also those of
      particles that resampling dropped later: they were part of what led to the loss. With K = 1, γ = 1 and no
      resampling the expected gradient is that of the exact expected loss. For K > 1 the estimate of the paper averages
      over particles, where the exact one would sum (γ = K).
      It is made for independent draws: distinct paths are not drawn with the probability Π P(v).
    - credit "particle": R_g = -1/K Σ_k Σ_t (L_g^{-k,t} - L_g)° log P(v_t^k), where L_g^{-k,t} is the loss without
      particle k in the readout of step t. It compares the particles of one graph with each other, so an easy graph
      does not reward all that it drew.

    With distinct paths the weights carry a gradient to the policy as well, whatever γ is; see
    :class:`pfgnn.model.Distinct`.

    Args:
        gamma: γ ≥ 0, the weight of the policy's term.
        baseline: b of credit "graph", from losses [G], their sum over the batch and the number of its graphs to [G].
        credit: "graph" or "particle".
        entropy: β ≥ 0, the weight of the entropy. It keeps a policy from putting all probability on a few vertices. It
            needs distinct paths.
    """

    gamma: float = 0.1
    baseline: Callable[[Tensor, Tensor, Tensor], Tensor] = leave_one_out
    credit: str = "graph"
    entropy: float = 0.0

    def __post_init__(self) -> None:
        for name in ("gamma", "entropy"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative, but it is {getattr(self, name)}")
        choose("credit", self.credit, {"graph": None, "particle": None})

    @property
    def needs_gains(self) -> bool:
        """Whether it reads what each particle was good for."""
        return self.credit == "particle" and self.gamma > 0

    def __call__(
        self,
        losses: Tensor,
        trace: list[StepTrace],
        share: Share | None = None,
        gains: Tensor | None = None,
        real: Tensor | None = None,
    ) -> Loss:
        """The loss of a batch.

        With a ``share``, the mean over devices of the losses (and so of their gradients) is that of the whole batch.

        Args:
            losses: the task's loss of each graph, [G]. At node level it is the mean over the nodes of the graph, see
                ``pfgnn.ops.segments.segment_mean``.
            trace: of the forward pass.
            share: the part of the batch that is here; None for all of it.
            gains: for credit "particle", L_g^{-k,t} - L_g, [T, G, K].
            real: which graphs count, bool [G]; None for all.
        """
        graphs = (len(trace[0].log_prob),) if trace else tuple(losses.shape[:1])
        if losses.shape != graphs:
            want = list(graphs) if trace else "[G]"
            raise InputError(f"losses must have one loss per graph, shape {want}, but it has {list(losses.shape)}")
        weights, devices, add = share or Share(torch.ones_like(losses), 1, lambda tensor: tensor)
        weights = weights if real is None else weights * real
        fixed = losses.detach()
        total, count = add(torch.stack([(weights * fixed).sum(), weights.sum()]))
        weights = weights * (devices / count)
        task = (weights * losses).sum()
        if not trace or self.gamma == self.entropy == 0:
            return Loss(task, task, torch.zeros_like(task))
        log_prob = torch.stack([step.log_prob for step in trace])  # [T, G, K]
        if self.gamma == 0:
            of_graph = torch.zeros_like(fixed)
        elif self.credit == "graph":
            of_graph = (fixed - self.baseline(fixed, total, count)) * log_prob.sum(0).mean(1)
        else:
            if gains is None or gains.shape != log_prob.shape:
                came = "None" if gains is None else f"of shape {list(gains.shape)}"
                raise InputError(f"gains must have shape {list(log_prob.shape)} for credit particle, but is {came}")
            of_graph = -(gains.detach() * log_prob).sum(0).mean(1)
        policy = (weights * of_graph).sum()
        if self.entropy == 0:
            return Loss(task + self.gamma * policy, task, policy)
        spread = torch.stack([step.entropy for step in trace]).mean((0, 2))  # [G]
        return Loss(task + self.gamma * policy - self.entropy * (weights * spread).sum(), task, policy)
