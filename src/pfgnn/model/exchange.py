"""Exchange: what the particles of a graph tell each other in every layer of a refinement."""

from torch import Tensor, nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model.context import Context
from pfgnn.model.mlp import MLP
from pfgnn.ops.exchange import listen


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

    Shapes: h [N, K, D] and the context of K particles -> h, the second term [N, D] and the first [G, K, D].
    """

    def __init__(self, width: int, mark: bool = True, mean: bool = False) -> None:
        super().__init__()
        self.width = width
        self.of_mean = MLP(width, width, width) if mean else None
        self.of_mark = MLP(width, width, width) if mark else None

    def forward(self, h: Tensor, graph: GraphBatch, context: Context) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """A layer's input h itself, and both terms, which :func:`tell` adds to the layer's output before the norm."""
        assert context.log_weights is not None
        assert context.vertices is not None
        h, mean, mark = listen(
            h, context.log_weights, context.vertices, graph.nodes, self.of_mean is not None, self.of_mark is not None
        )
        to_nodes = None if self.of_mean is None else self.of_mean(mean)
        to_particles = None if self.of_mark is None else self.of_mark(mark)
        return h, to_nodes, to_particles
