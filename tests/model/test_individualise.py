import pytest
import torch
from torch import Tensor

from pfgnn.kernels.segments import make_segments
from pfgnn.model import Additive, Multiplicative, RandomNormal
from pfgnn.model.individualise import Individualise
from pfgnn.model.policy import Draw
from pfgnn.model.randomness import make_noise

D, K = 8, 3
NODES = make_segments(torch.tensor([0, 0, 0, 1, 1]), 2, ordered=True)
NOISE = make_noise(0, torch.arange(2), torch.tensor([0, 1, 2, 0, 1]), NODES)
VERTICES = torch.tensor([[[0], [2], [2]], [[4], [3], [4]]])  # [G=2, K=3, m=1]
DRAW = Draw(VERTICES, torch.ones_like(VERTICES, dtype=torch.bool), torch.zeros(2, K))


def apply(part: Individualise, H: Tensor, draw: Draw = DRAW, step: int = 1) -> Tensor:
    return part(H, draw, NOISE, step, torch.arange(K))


def chosen() -> Tensor:
    mask = torch.zeros(5, K, dtype=torch.bool)
    for k in range(K):
        mask[VERTICES[:, k, 0], k] = True
    return mask


@pytest.mark.parametrize("kind", [Multiplicative, Additive, RandomNormal])
def test_only_the_drawn_vertices_change(kind: type[Individualise]) -> None:
    H = torch.randn(5, K, D)
    changed = (apply(kind(D), H) != H).any(-1)
    assert torch.equal(changed, chosen())


def test_equations() -> None:
    H, mask = torch.randn(5, K, D), chosen()
    multiplicative, additive = Multiplicative(D), Additive(D)
    M = torch.where(mask[..., None], multiplicative.mlp(H), 1.0)  # the paper's mask matrix, ones but for row v
    torch.testing.assert_close(apply(multiplicative, H), H * M)
    torch.testing.assert_close(apply(additive, H), H + torch.where(mask[..., None], additive.mlp(H), 0.0))


@pytest.mark.parametrize(("share", "dimensions"), [(1.0, 8), (0.875, 7), (0.5, 4), (0.125, 1)])
def test_partial_individualisation_changes_that_share_of_the_dimensions(share: float, dimensions: int) -> None:
    H = torch.randn(5, K, D)
    changed = (apply(Multiplicative(D, share), H) != H)[chosen()]
    assert changed.sum(-1).tolist() == [dimensions] * int(chosen().sum())


def test_random_individualisation_differs_by_particle_and_is_reproducible() -> None:
    H = torch.ones(5, K, D)
    part = RandomNormal(D)
    first = apply(part, H)
    assert torch.equal(first, apply(part, H))
    assert not torch.equal(first, apply(part, H, step=2))
    assert not torch.equal(first[2, 1], first[2, 2])  # two particles drew vertex 2


def test_one_shared_colouring_becomes_k() -> None:
    H = torch.randn(5, 1, D)
    part = Multiplicative(D)
    assert torch.equal(apply(part, H), apply(part, H.expand(-1, K, -1)))


def test_a_draw_that_is_not_valid_changes_nothing() -> None:
    H = torch.randn(5, K, D)
    invalid = DRAW._replace(valid=torch.zeros_like(DRAW.valid))
    assert torch.equal(apply(Multiplicative(D), H, invalid), H)


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5])
def test_share_outside_its_range(share: float) -> None:
    with pytest.raises(ValueError, match=rf"share must lie in \(0, 1\], but it is {share}"):
        Multiplicative(D, share)
