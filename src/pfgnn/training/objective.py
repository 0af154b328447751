"""The training objective: the task loss plus a policy gradient term."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pfgnn.argument_checks import choose
from pfgnn.errors import InputError
from pfgnn.model.output import StepTrace


class Loss(NamedTuple):
    """The loss of a batch and its parts, all scalars, see :class:`Objective`.

    Fields:
        total: The loss to call backward on.
        task: Mean of L_g.
        policy: Mean of R_g, without γ.
    """

    total: Tensor
    task: Tensor
    policy: Tensor


class Share(NamedTuple):
    """The share of a batch that is on one of several devices.

    Fields:
        own: Number of graphs here that count: the first ones. The others only fill up the share.
        graphs: Number of graphs of the whole batch.
        devices: Number of devices. Their gradients are averaged afterwards.
    """

    own: int
    graphs: int
    devices: int = 1


def no_baseline(losses: Tensor, total: Tensor, count: int) -> Tensor:
    """The baseline 0, as in the paper: [G] -> [G]. The arguments are those of :func:`leave_one_out`."""
    return torch.zeros_like(losses)


def leave_one_out(losses: Tensor, total: Tensor, count: int) -> Tensor:
    """The mean loss of the other graphs of the batch: [G] -> [G]. Their draws are independent of the graph's own.

    Args:
        losses: Loss of each graph on this device, [G].
        total: Sum of the losses of the whole batch.
        count: Number of graphs in the whole batch.
    """
    return (total - losses) / max(count - 1, 1)


@dataclass(frozen=True)
class Objective:
    """mean_g [ L_g + γ R_g - β S_g ]: task loss L_g, policy loss R_g and entropy S_g of the policy.

    R_g trains the policy: it rewards draws that lower the loss. ° means that no gradient flows through a term.

    - credit "graph", as in the paper: R_g = (L_g - b_g)° · 1/K Σ_k Σ_t log P(v_t^k). All draws of a graph share its
      loss. This is the REINFORCE estimate of the gradient of the expected loss. It includes the draws of particles that
      resampling dropped later, because they influenced the loss. With K = 1, γ = 1 and no resampling, the expected
      gradient is that of the exact expected loss. For K > 1 the paper averages over the particles, but the exact
      gradient would sum over them (γ = K). The estimate assumes independent draws: distinct paths are not drawn with
      the probability Π P(v).
    - credit "particle": R_g = -1/K Σ_k Σ_t (L_g^{-k,t} - L_g)° log P(v_t^k). L_g^{-k,t} is the loss if the readout of
      step t leaves out particle k. So the particles of one graph are compared with each other, and the draws of an easy
      graph are not all rewarded.

    With distinct paths, the weights of the particles give the policy a gradient too, for any γ; see
    :class:`pfgnn.model.Distinct`.

    Args:
        gamma: γ ≥ 0, weight of the policy loss.
        baseline: Computes b_g of credit "graph", see :func:`leave_one_out`.
        credit: "graph" or "particle".
        entropy: β ≥ 0, weight of the entropy. It keeps the policy from giving all probability to a few vertices. With
            independent draws the entropy has no gradient.
    """

    gamma: float = 0.1
    baseline: Callable[[Tensor, Tensor, int], Tensor] = leave_one_out
    credit: str = "graph"
    entropy: float = 0.0

    def __post_init__(self) -> None:
        for name in ("gamma", "entropy"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must not be negative, but it is {getattr(self, name)}")
        choose("credit", self.credit, {"graph": None, "particle": None})

    @property
    def needs_gains(self) -> bool:
        """Whether the call needs ``gains``."""
        return self.credit == "particle" and self.gamma > 0

    def total(self, losses: Tensor, trace: list[StepTrace], share: Share) -> Tensor | None:
        """The sum of the task losses of this device's graphs, without their gradient; None if it is not needed.

        The call needs the sum of these over all devices, for the baseline.

        Args:
            losses: Task loss of each graph, [G].
            trace: Trace of the forward pass.
            share: The share of the batch on this device.
        """
        if not trace or self.gamma == 0 or self.credit != "graph":
            return None
        return (_counting(losses, share) * losses.detach()).sum()

    def __call__(
        self,
        losses: Tensor,
        trace: list[StepTrace],
        share: Share | None = None,
        gains: Tensor | None = None,
        total: Tensor | None = None,
    ) -> Loss:
        """The loss of a batch.

        With a ``share``, the mean of the losses over all devices is the loss of the whole batch, and the mean of the
        gradients is its gradient.

        Args:
            losses: Task loss of each graph, [G]; at node level the mean over the nodes of the graph.
            trace: Trace of the forward pass.
            share: The share of the batch on this device; None if the whole batch is here, without padding.
            gains: L_g^{-k,t} - L_g for credit "particle", [T, G, K].
            total: Sum of :meth:`total` over all devices; None if the whole batch is here.
        """
        graphs = (len(trace[0].log_prob),) if trace else tuple(losses.shape[:1])
        if losses.shape != graphs:
            want = list(graphs) if trace else "[G]"
            raise InputError(f"losses must have one loss per graph, shape {want}, but it has {list(losses.shape)}")
        share = share or Share(len(losses), len(losses))
        fixed, weights = losses.detach(), _counting(losses, share) * (share.devices / share.graphs)
        task = (weights * losses).sum()
        if not trace or self.gamma == self.entropy == 0:
            return Loss(task, task, torch.zeros_like(task))
        log_prob = torch.stack([step.log_prob for step in trace])  # [T, G, K]
        if self.gamma == 0:
            of_graph = torch.zeros_like(fixed)
        elif self.credit == "graph":
            total = self.total(losses, trace, share) if total is None else total
            assert total is not None
            of_graph = (fixed - self.baseline(fixed, total, share.graphs)) * log_prob.sum(0).mean(1)
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


def _counting(losses: Tensor, share: Share) -> Tensor:
    """1 for each graph that counts, and 0 for the others, shape [G]."""
    return (torch.arange(len(losses), device=losses.device) < share.own).to(losses.dtype)
