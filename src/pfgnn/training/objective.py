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


def no_baseline(losses: Tensor) -> Tensor:
    """0, as in the paper: [G] -> [G]."""
    return torch.zeros_like(losses)


def leave_one_out(losses: Tensor) -> Tensor:
    """The mean loss of the batch's other graphs, whose draws are independent of a graph's own: [G] -> [G]."""
    others = max(len(losses) - 1, 1)
    return (losses.sum() - losses) / others


@dataclass(frozen=True)
class Objective:
    """mean_g [ L_g + γ (L_g - b_g)° · 1/K Σ_k Σ_t log P(v_t^k) ], ° marking what carries no gradient.

    The second term's gradient is the REINFORCE estimate of how the draws change the expected loss. Every draw
    counts, also those of particles that resampling dropped later: they were part of what led to the loss. With
    K = 1, γ = 1 and no resampling the expected gradient is that of the exact expected loss; for K > 1 the
    estimate of the paper averages over particles, where the exact one would sum (γ = K).

    Args: gamma: γ ≥ 0, the weight of the policy term.  baseline: b, from losses [G] to [G].
    """

    gamma: float = 0.1
    baseline: Callable[[Tensor], Tensor] = leave_one_out

    def __post_init__(self) -> None:
        if not self.gamma >= 0:
            raise ValueError(f"gamma must not be negative, but it is {self.gamma}")

    def __call__(self, losses: Tensor, trace: list[StepTrace]) -> Loss:
        """The loss of a batch from its graphs' task losses [G] and the trace of the forward pass.

        At node level a graph's loss is the mean over its nodes, see ``pfgnn.model.segments.segment_mean``.
        """
        graphs = (len(trace[0].log_prob),) if trace else tuple(losses.shape[:1])
        if losses.shape != graphs:
            want = list(graphs) if trace else "[G]"
            raise ValueError(f"losses must have one loss per graph, shape {want}, but it has {list(losses.shape)}")
        task = losses.mean()
        if not trace or self.gamma == 0:
            return Loss(task, task, torch.zeros_like(task))
        log_prob = torch.stack([step.log_prob for step in trace]).sum(0).mean(1)  # [G]
        advantage = losses.detach() - self.baseline(losses.detach())
        policy = (advantage * log_prob).mean()
        return Loss(task + self.gamma * policy, task, policy)
