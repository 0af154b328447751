"""The MLP that most parts of the model have."""

from torch import Tensor, nn

from pfgnn.ops.mlp import two_layers


class MLP(nn.Sequential):
    """W₂ relu(W₁ x + b₁) + b₂. Args: inputs, hidden, outputs: numbers of features. Shapes: [..., F] -> [..., C]."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Compute it; see the class."""
        first, last = self[0], self[2]
        assert isinstance(first, nn.Linear)
        assert isinstance(last, nn.Linear)
        return two_layers(x, first.weight, first.bias, last.weight, last.bias)
