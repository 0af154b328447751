"""The MLP with one hidden layer that most parts of the model use."""

from torch import Tensor, nn

from pfgnn.ops.gin import Maps
from pfgnn.ops.mlp import two_layers


class MLP(nn.Sequential):
    """y = W₂ relu(W₁ x + b₁) + b₂, from x [..., F] to y [..., C].

    Args:
        inputs: F, the number of input features.
        hidden: Number of hidden features.
        outputs: C, the number of output features.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Apply the MLP; see the class."""
        return two_layers(x, *self.maps())

    def maps(self) -> Maps:
        """The parameters W₁, b₁, W₂, b₂."""
        first, _, last = self.children()
        assert isinstance(first, nn.Linear)
        assert isinstance(last, nn.Linear)
        return Maps(first.weight, first.bias, last.weight, last.bias)
