"""Exchange of information between the particles of a graph, in every layer of a refinement."""

from torch import Tensor, nn

from pfgnn.argument_checks import check_flag, check_positive
from pfgnn.data.batch import GraphBatch
from pfgnn.model.mlp import MLP
from pfgnn.model.particle_context import Context
from pfgnn.ops.exchange import listen
from pfgnn.setting_types import MOST_WIDTH


class Exchange(nn.Module):
    """y_u^k ← y_u^k + MLP_B(h_v^k) + MLP_A(Σ_j w_j h_u^j), with v the vertex that particle k individualised last.

    h is the input of a layer, and y its output before the norm. The first added term gives every vertex the embedding
    of the vertex that its particle individualised. The second one gives every particle the mean particle. Neither term
    depends on the order of the particles.

    With the mean, the result of a particle depends on which other particles were drawn. A network may learn to rely on
    this, and then it needs the same K at test time as in training. So the mean is off by default.

    Args:
        width: D.
        mark: Whether to add the first term.
        mean: Whether to add the second term.
    """

    def __init__(self, width: int, mark: bool = True, mean: bool = False) -> None:
        super().__init__()
        self.width = check_positive("width", width, most=MOST_WIDTH)
        self.of_mean = MLP(width, width, width) if check_flag("mean", mean) else None
        self.of_mark = MLP(width, width, width) if check_flag("mark", mark) else None

    def forward(self, h: Tensor, graph: GraphBatch, context: Context) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Compute both terms. :func:`pfgnn.ops.exchange.tell` adds them to the output of the layer, before the norm.

        Args:
            h: Input of the layer, shape [N, K, D].
            graph: The batch of graphs.
            context: Context of the K particles.

        Returns:
            h itself, shape [N, K, D]. Use it as the input of the layer; see :func:`pfgnn.ops.exchange.listen`.
            The second term, shape [N, D], or None.
            The first term, shape [G, K, D], or None.
        """
        assert context.log_weights is not None
        assert context.vertices is not None
        h, mean, mark = listen(
            h, context.log_weights, context.vertices, graph.nodes, self.of_mean is not None, self.of_mark is not None
        )
        to_nodes = None if self.of_mean is None else self.of_mean(mean)
        to_particles = None if self.of_mark is None else self.of_mark(mark)
        return h, to_nodes, to_particles
