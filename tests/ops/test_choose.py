"""The kernel that chooses candidates gives exactly what the plain code gives, which sorts them."""

import pytest
import torch
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.candidates import UNIT, choose
from pfgnn.ops.segments import make_segments
from pfgnn.ops.weights import NoiseKey

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

SIZES = [7, 1, 40, 3, 18]
OWNER = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES))


def both(q: Tensor, place: Tensor, K: int, device: torch.device) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What the plain code and the kernel choose."""
    keys = NoiseKey(torch.arange(len(SIZES), device=device), 1, 4)
    found = []
    for mode in ("plain", "triton"):
        with use(mode):
            nodes = make_segments(OWNER.to(device), len(SIZES), ordered=True)
            found.append(choose(q.to(device), place.to(device), keys, nodes, K))
    return found


def weights(kind: str, P: int) -> Tensor:
    """Weights of the candidates of each graph, which sum to about 1."""
    g = torch.Generator().manual_seed(3)
    owner = OWNER.repeat_interleave(P)
    q = torch.rand(len(owner), generator=g, dtype=torch.float64)
    if kind == "equal":
        q = torch.ones_like(q)
    if kind == "unequal":
        q = q**30
    if kind == "some are 0":
        q = torch.where(torch.rand(len(q), generator=g) < 0.4, 0.0, q)
    return (q / q.new_zeros(len(SIZES)).scatter_add(0, owner, q)[owner]).nan_to_num(0.0)


@pytest.mark.parametrize("kind", ["equal", "unequal", "some are 0"])
@pytest.mark.parametrize("P", [1, 3])
@pytest.mark.parametrize("K", [1, 5, 16, 100])
def test_the_same_candidates_and_weights(kind: str, P: int, K: int, device: torch.device) -> None:
    q = weights(kind, P)
    place = torch.randint(UNIT, q.shape, generator=torch.Generator().manual_seed(0))
    plain, fast = both(q, place, K, device)
    for one, other in zip(plain, fast, strict=True):
        assert torch.equal(one, other)
    assert plain[1].all() == (K == 1)  # some graphs have fewer candidates


def test_ties_go_to_the_first_candidate(device: torch.device) -> None:
    q = weights("equal", 1)
    place = torch.randint(2, q.shape, generator=torch.Generator().manual_seed(0))
    (plain, _, _), (fast, _, _) = both(q, place, 6, device)
    assert torch.equal(plain, fast)


@pytest.mark.parametrize("value", [0.0, 2.0**-45])
def test_a_graph_without_a_weight_keeps_its_first_candidate(value: float, device: torch.device) -> None:
    q = torch.full((sum(SIZES),), value, dtype=torch.float64)
    place = torch.arange(sum(SIZES)).flip(0)
    plain, fast = both(q, place, 4, device)
    for one, other in zip(plain, fast, strict=True):
        assert torch.equal(one, other)
    last = torch.tensor(SIZES).cumsum(0) - 1  # the first in the order
    assert torch.equal(fast[0].cpu(), last[:, None].expand(-1, 4))
    assert fast[1].cpu().tolist() == [[True, False, False, False]] * len(SIZES)


def test_many_candidates_are_sorted(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfgnn.ops.triton.choose.MEAN_SIZE", 1)
    monkeypatch.setattr("pfgnn.ops.triton.choose.choose", None)
    test_the_same_candidates_and_weights("unequal", 1, 5, device)
