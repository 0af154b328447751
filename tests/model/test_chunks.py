"""Particles in chunks: the same results and gradients, each chunk computed once more for the gradient."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from pfgnn.model.chunks import Chunks

SEEN: list[tuple[int, int, int]] = []


def work(part: slice, H: Tensor, shared: Tensor, factor: Tensor) -> Sequence[Tensor]:
    """Two results of a chunk, [N, k, 2] and [N, k]."""
    SEEN.append((part.start, part.stop, shared.shape[1]))
    y = (factor * H + shared).sin()
    return y, y.sum(-1)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_results_and_gradients_are_those_of_all_at_once(size: int) -> None:
    H = torch.randn(4, 5, 2, dtype=torch.float64, requires_grad=True)
    shared = torch.randn(4, 1, 2, dtype=torch.float64, requires_grad=True)
    factor = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    want = work(slice(0, 5), H, shared, factor)
    SEEN.clear()
    found = Chunks(5, size).run(work, [H, shared], factor)
    [added, _] = Chunks(5, size).add(lambda part, *own: [y.sum(1) for y in work(part, *own)], [H, shared], factor)
    assert SEEN[: len(SEEN) // 2] == [(k, min(k + size, 5), 1) for k in range(0, 5, size)]
    for one, other in zip(want, found, strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(added, want[0].sum(1))
    grads = [
        torch.autograd.grad(y.cos().sum(), (H, shared, factor))
        for y in (want[0] * want[1][..., None], found[0] * found[1][..., None])
    ]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)
