"""The training objective: task loss plus the policy gradient's term."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.model.pfgnn import StepTrace


class Loss(NamedTuple):
    """``total`` = ``task`` + γ ``policy``, the one to call backward on; all scalars."""

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
    """mean_g [ L_g + γ (L_g - b_g)° · 1/K Σ_k Σ_t log P(v_t^k) ], ° marking what carries no gradient.

    The second term's gradient is the REINFORCE estimate of how the draws change the expected loss. Every draw
    counts, also those of particles that resampling dropped later: they were part of what led to the loss. With
    K = 1, γ = 1 and no resampling the expected gradient is that of the exact expected loss; for K > 1 the
    estimate of the paper averages over particles, where the exact one would sum (γ = K).

    Args: gamma: γ ≥ 0, the weight of the policy term.  baseline: b, from losses [G], their sum over the batch and
        the number of its graphs to [G].
    """

    gamma: float = 0.1
    baseline: Callable[[Tensor, Tensor, Tensor], Tensor] = leave_one_out

    def __post_init__(self) -> None:
        if not self.gamma >= 0:
            raise ValueError(f"gamma must not be negative, but it is {self.gamma}")

    def __call__(self, losses: Tensor, trace: list[StepTrace], share: Share | None = None) -> Loss:
        """The loss of a batch from its graphs' task losses [G] and the trace of the forward pass.

        At node level a graph's loss is the mean over its nodes, see ``pfgnn.kernels.segments.segment_mean``. With a
        ``share``, the mean over devices of the losses (and so of their gradients) is that of the whole batch.
        """
        graphs = (len(trace[0].log_prob),) if trace else tuple(losses.shape[:1])
        if losses.shape != graphs:
            want = list(graphs) if trace else "[G]"
            raise ValueError(f"losses must have one loss per graph, shape {want}, but it has {list(losses.shape)}")
        weights, devices, add = share or Share(torch.ones_like(losses), 1, lambda tensor: tensor)
        fixed = losses.detach()
        total, count = add(torch.stack([(weights * fixed).sum(), weights.sum()]))
        weights = weights * (devices / count)
        task = (weights * losses).sum()
        if not trace or self.gamma == 0:
            return Loss(task, task, torch.zeros_like(task))
        log_prob = torch.stack([step.log_prob for step in trace]).sum(0).mean(1)  # [G]
        policy = (weights * (fixed - self.baseline(fixed, total, count)) * log_prob).sum()
        return Loss(task + self.gamma * policy, task, policy)
