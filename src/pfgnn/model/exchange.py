"""Exchange: what the particles of a graph tell each other in every layer of a refinement."""

from torch import Tensor, nn

from pfgnn.kernels.particles import average_particles, pick_vertices
from pfgnn.kernels.segments import spread
from pfgnn.model.batch import GraphBatch
from pfgnn.model.context import Context
from pfgnn.model.mlp import MLP


class Exchange(nn.Module):
    """y_u^k ← y_u^k + MLP_B(h_v^k) + MLP_A(Σ_j w_j h_u^j), with v the vertex that particle k individualised last.

    The first term tells every vertex the embedding of its particle's marked vertex. The second one tells every particle
    the mean particle. Neither depends on the order of the particles.

    The mean makes what a particle sees depend on which others were drawn. A network may learn to use that, and then it
    needs the same K at test as in training. So the mean is off by default.

    Args:
        width: D.
        mark: whether the first term is there.
        mean: whether the second term is there.

    Shapes: y and x [N, K, D], the context of K particles -> [N, K, D].
    """

    def __init__(self, width: int, mark: bool = True, mean: bool = False) -> None:
        super().__init__()
        self.width = width
        self.of_mean = MLP(width, width, width) if mean else None
        self.of_mark = MLP(width, width, width) if mark else None

    def forward(self, y: Tensor, x: Tensor, graph: GraphBatch, context: Context) -> Tensor:
        """Add both terms, of a layer's input x, to its output y before the norm; see the class."""
        assert context.log_weights is not None
        assert context.vertices is not None
        if self.of_mean is not None:
            y = y + self.of_mean(average_particles(x, context.log_weights, graph.nodes))[:, None]
        if self.of_mark is not None:
            marked = pick_vertices(x, context.vertices, graph.nodes).mean(2)  # [G, K, D]
            y = y + spread(self.of_mark(marked), graph.nodes)
        return y
