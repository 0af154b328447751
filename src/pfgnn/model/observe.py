"""The observation function: a positive score of each refined colouring, as a logarithm (line 11)."""

from torch import Tensor, nn

from pfgnn.argument_checks import check_number, check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.mlp import MLP
from pfgnn.ops.mlp import hidden_mean
from pfgnn.ops.weights import bound
from pfgnn.registry import Registry
from pfgnn.setting_types import MOST_WIDTH

OBSERVATIONS: Registry[nn.Module] = Registry("observation")


@OBSERVATIONS.register("set")
class SetObservation(nn.Module):
    """log f_obs(H) = c tanh(ρ(mean_v relu(φ h_v)) / c), from H [N, K, D] to [G, K].

    Without a bound the scores grow in training until one particle has all the weight. The bound c keeps f_obs in
    [e^-c, e^c].

    Args:
        width: D.
        bound: c.
    """

    def __init__(self, width: int, bound: float = 5.0) -> None:
        super().__init__()
        width = check_positive("width", width, most=MOST_WIDTH)
        self.bound = check_number("bound", bound)
        if not self.bound > 0:
            raise InputError(f"bound must be positive, but it is {bound}")
        self.phi = nn.Linear(width, width)
        self.rho = MLP(width, width, 1)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The log score of each particle, shape [G, K]; see the class."""
        pooled = hidden_mean(H, self.phi.weight, self.phi.bias, graph.nodes)  # [G, K, D]
        scores = self.rho(pooled.flatten(0, 1)).view(pooled.shape[:2])
        return bound(scores, self.bound)


@OBSERVATIONS.register("none")
class NoObservation(nn.Module):
    """log f_obs = 0: every colouring gets the same score."""

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """Zeros, shape [G, K]."""
        return H.new_zeros(graph.num_graphs, H.shape[1])
