import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from pfgnn.model.mlp import MLP


def test_it_is_torchs_two_layers() -> None:
    mlp, x = MLP(5, 7, 3), torch.randn(2, 4, 5)
    torch.testing.assert_close(mlp(x), nn.Sequential(*mlp)(x))


def test_its_layers_may_be_changed() -> None:
    mlp, x = MLP(5, 7, 3), torch.randn(4, 5)
    before = mlp(x)
    spectral_norm(mlp[0])
    torch.testing.assert_close(mlp(x), nn.Sequential(*mlp)(x))
    assert not torch.allclose(mlp(x), before)
