"""The observation function: how good is a refined colouring? A positive set function, in log space (line 11)."""

from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import InputError
from pfgnn.model.mlp import MLP
from pfgnn.ops.mlp import hidden_mean
from pfgnn.ops.weigh import bound
from pfgnn.registry import Registry

OBSERVATIONS: Registry[nn.Module] = Registry("observation")


@OBSERVATIONS.register("set")
class SetObservation(nn.Module):
    """log f_obs(H) = c tanh(ρ(mean_v relu(φ h_v)) / c).

    Scores left free grow until one particle has all the weight; the bound c keeps f_obs in [e^-c, e^c].

    Args: width: D.  bound: c.
    Shapes: H [N, K, D] -> [G, K].
    """

    def __init__(self, width: int, bound: float = 5.0) -> None:
        super().__init__()
        if not bound > 0:
            raise InputError(f"bound must be positive, but it is {bound}")
        self.bound = bound
        self.phi = nn.Linear(width, width)
        self.rho = MLP(width, width, 1)

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """The particles' log scores; see the class."""
        pooled = hidden_mean(H, self.phi.weight, self.phi.bias, graph.nodes)  # [G, K, D]
        scores = self.rho(pooled.flatten(0, 1)).view(pooled.shape[:2])
        return bound(scores, self.bound)


@OBSERVATIONS.register("none")
class NoObservation(nn.Module):
    """log f_obs = 0: every colouring is as good as any other."""

    def forward(self, H: Tensor, graph: GraphBatch) -> Tensor:
        """Zeros [G, K]."""
        return H.new_zeros(graph.num_graphs, H.shape[1])
