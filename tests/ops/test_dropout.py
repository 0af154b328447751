"""Dropout by keys: the mask, its kernel, its rate, and what it must not depend on."""

from typing import Any

import pytest
import torch
from tests.ops.kernel_samples import NODES, SIZES, assert_twins, fresh_memory_is_nan
from tests.suite import slow
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.dropout import dropout
from pfgnn.ops.hashing import fold, uniform
from pfgnn.ops.segments import Segments, make_segments
from pfgnn.ops.weights import NoiseKey

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

MODES = ("plain", "triton")
PARTICLES = torch.tensor([2, 3, 7])


def graphs(sizes: list[int], device: torch.device) -> Segments:
    index = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    return make_segments(index.to(device), len(sizes), ordered=True)


def keys(device: torch.device, particles: Tensor = PARTICLES) -> tuple[NoiseKey, Tensor, int, Tensor, Segments]:
    """The arguments of dropout after the rate."""
    g = torch.Generator().manual_seed(4)
    graph, node = (torch.randint(-(2**62), 2**62, (size,), generator=g).to(device) for size in (len(SIZES), len(NODES)))
    return NoiseKey(graph, 5, 1), particles.to(device), 4, node, graphs(SIZES, device)


def uniforms(D: int, noise_key: NoiseKey, particles: Tensor, number: int, node_key: Tensor, nodes: Segments) -> Tensor:
    """u of every entry, computed one at a time, shape [N, K, D]."""
    u = torch.empty(len(node_key), len(particles), D, dtype=torch.float64)
    for n, (graph, node) in enumerate(zip(nodes.index.tolist(), node_key, strict=True)):
        for k, particle in enumerate(particles.tolist()):
            key = noise_key.key[graph]
            for word in (noise_key.step, noise_key.purpose, particle, number, node):
                key = fold(key, word)
            u[n, k] = torch.stack([uniform(fold(key, d)) for d in range(D)])
    return u.to(node_key.device)


def run(mode: str, x: Tensor, rate: float, *rest: Any) -> Tensor:
    with use(mode), fresh_memory_is_nan(x.device):
        return dropout(x, rate, *rest)


def test_the_mask_is_that_of_the_keys(device: torch.device) -> None:
    """Also for a rate that equals one of the random numbers, and for the floats next to it."""
    rest = keys(device)
    x = torch.randn(len(NODES), 3, 5, device=device)
    with use("plain"):
        u = uniforms(5, *rest)
    one = u[3, 1, 2]
    rates = [0.3, 0.5, float(one), float(torch.nextafter(one, one + 1)), 1 - 2**-53, 1e-300]
    for rate in rates:
        for mode in MODES:
            got = run(mode, x, rate, *rest)
            assert torch.equal(got != 0, u >= rate)
            assert torch.equal(got, torch.where(u >= rate, x * (1 / (1 - rate)), 0.0))
    assert run("plain", x, rates[2], *rest)[3, 1, 2] != 0
    assert run("plain", x, rates[3], *rest)[3, 1, 2] == 0


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision(half: torch.dtype, device: torch.device) -> None:
    x = torch.randn(len(NODES), 3, 40, device=device).to(half)
    got, want = (run(mode, x, 0.3, *keys(device)) for mode in ("triton", "plain"))
    assert got.dtype == want.dtype == half
    if device.type == "cpu" and half == torch.bfloat16:  # the interpreter truncates instead of rounding
        torch.testing.assert_close(got, want, rtol=2**-7, atol=0)
    else:
        assert torch.equal(got, want)
    assert torch.equal(got == 0, run("plain", x.float(), 0.3, *keys(device)) == 0)


@pytest.mark.parametrize("shape", [(1, 7), (3, 40), slow((3, 300)), (5,)])
def test_twins(shape: tuple[int, ...], device: torch.device) -> None:
    rest = keys(device, PARTICLES[: shape[0] if len(shape) == 2 else 1])
    x = torch.randn(len(NODES), *shape, device=device)
    assert torch.equal(*(run(mode, x, 0.4, *rest) for mode in MODES))
    assert_twins(lambda x: dropout(x, 0.4, *rest), x)
    assert_twins(lambda x: dropout(x.mT.contiguous().mT, 0.4, *rest), x[:, None] if len(shape) == 1 else x)  # strides


def test_keys_that_are_apart(device: torch.device) -> None:
    noise_key, particles, number, node_key, nodes = keys(device)
    key, particles, node_key, index = (
        torch.stack([part, part + 1], 1)[:, 0] for part in (noise_key.key, particles, node_key, nodes.index)
    )
    x = torch.randn(len(NODES), 3, 6, device=device)
    rest = NoiseKey(key, noise_key.step, noise_key.purpose), particles, number, node_key, Segments(index, nodes.size)
    assert torch.equal(run("triton", x, 0.4, *rest), run("plain", x, 0.4, *keys(device)))


@pytest.mark.parametrize("mode", MODES)
def test_without_particles_it_is_one_particle(mode: str, device: torch.device) -> None:
    rest = keys(device, torch.tensor([0]))
    x = torch.randn(len(NODES), 6, device=device)
    assert torch.equal(run(mode, x, 0.4, *rest), run(mode, x[:, None], 0.4, *rest)[:, 0])


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_share_of_zeros_and_the_mean(rate: float, device: torch.device) -> None:
    """Over 100 000 entries within six standard deviations, also for each feature and particle."""
    n, K, D = 2000, 5, 10
    noise_key, node_key = NoiseKey(torch.tensor([9], device=device), 0, 3), torch.arange(n, device=device)
    x, particles = torch.ones(n, K, D, device=device), torch.arange(K, device=device)
    y = run("auto", x, rate, noise_key, particles, 0, node_key, graphs([n], device)).double()
    zero = (y == 0).double()
    sd = (rate * (1 - rate)) ** 0.5
    for axes, count in (((0, 1, 2), n * K * D), ((0, 1), n * K), ((0, 2), n * D)):
        assert ((zero.mean(axes) - rate).abs() < 6 * sd / count**0.5).all()
        assert ((y.mean(axes) - 1).abs() < 6 * sd / (1 - rate) / count**0.5).all()


def test_masks_of_different_keys_are_independent(device: torch.device) -> None:
    """Two masks are independent if any word of their keys differs."""
    n, K, D = 1000, 2, 10
    nodes, node_key = graphs([n], device), torch.arange(n, device=device)
    x, particles = torch.ones(n, K, D, device=device), torch.arange(K, device=device)

    def kept(key: int = 9, step: int = 0, purpose: int = 3, number: int = 0, first: int = 0) -> Tensor:
        noise_key = NoiseKey(torch.tensor([key], device=device), step, purpose)
        return run("auto", x, 0.5, noise_key, particles, number, node_key + first, nodes) != 0

    one = kept()
    masks = [kept(key=10), kept(step=1), kept(purpose=4), kept(number=1), kept(first=n), one.roll(1, 0)]
    for other in [*masks, one.roll(1, 1), one.roll(1, 2)]:
        assert abs(float((one == other).double().mean()) - 0.5) < 6 * 0.5 / (n * K * D) ** 0.5


@pytest.mark.parametrize("mode", MODES)
def test_other_graphs_and_padding_change_nothing(mode: str, device: torch.device) -> None:
    noise_key, particles, number, node_key, nodes = keys(device)
    x = torch.randn(len(NODES), 3, 6, device=device)
    whole = run(mode, x, 0.4, noise_key, particles, number, node_key, nodes)
    first = 0
    for graph, size in enumerate(SIZES):
        rows = slice(first, first := first + size)
        alone = NoiseKey(noise_key.key[graph : graph + 1], noise_key.step, noise_key.purpose)
        got = run(mode, x[rows], 0.4, alone, particles, number, node_key[rows], graphs([size], device))
        assert torch.equal(got, whole[rows])
    padded = NoiseKey(torch.cat([noise_key.key, noise_key.key.new_zeros(2)]), noise_key.step, noise_key.purpose)
    longer, more = torch.cat([x, x[:4] * torch.nan]), torch.cat([node_key, node_key.new_zeros(4)])
    got = run(mode, longer, 0.4, padded, particles, number, more, graphs([*SIZES, 1, 3], device))
    assert torch.equal(got[: len(x)], whole)


@pytest.mark.parametrize("mode", MODES)
def test_particles_by_chunks(mode: str, device: torch.device) -> None:
    noise_key, particles, *rest = keys(device)
    x = torch.randn(len(NODES), 3, 6, device=device)
    chunks = [run(mode, x[:, k], 0.4, noise_key, particles[k], *rest) for k in (slice(0, 1), slice(1, 3))]
    assert torch.equal(torch.cat(chunks, 1), run(mode, x, 0.4, noise_key, particles, *rest))


@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_is_the_mask_and_nothing_is_kept_for_it(mode: str, device: torch.device) -> None:
    rest = keys(device)
    x = torch.randn(len(NODES), 3, 6, device=device, requires_grad=True)
    kept: list[Tensor] = []

    def keep(saved: Tensor) -> Tensor:
        kept.append(saved)
        return saved

    with use(mode), torch.autograd.graph.saved_tensors_hooks(keep, lambda saved: saved):
        y = dropout(x, 0.4, *rest)
        (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert kept == []
    assert torch.equal(gradient, (y != 0).float() * (1 / (1 - 0.4)))


@pytest.mark.parametrize("mode", MODES)
def test_a_second_derivative(mode: str, device: torch.device) -> None:
    x = torch.randn(len(NODES), 3, 6, device=device, requires_grad=True)
    with use(mode):
        y = dropout(x, 0.5, *keys(device))
        (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.equal(second, (y != 0).float() * 8)  # 2 / (1 - rate)²


@pytest.mark.parametrize("mode", MODES)
def test_without_nodes_it_is_empty(mode: str, device: torch.device) -> None:
    none = torch.zeros(0, dtype=torch.int64, device=device)
    nodes, noise_key = Segments(none, 2), NoiseKey(torch.tensor([1, 2], device=device), 0, 0)
    y = run(mode, torch.zeros(0, 3, 4, device=device), 0.4, noise_key, PARTICLES.to(device), 0, none, nodes)
    assert y.shape == (0, 3, 4)


def test_rate_zero_is_x_itself(device: torch.device) -> None:
    x = torch.randn(len(NODES), 3, 6, device=device)
    assert dropout(x, 0.0, *keys(device)) is x


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_bad_rate_is_refused(rate: float, device: torch.device) -> None:
    with pytest.raises(ValueError, match=f"must be at least 0 and less than 1, but it is {rate}"):
        dropout(torch.zeros(len(NODES), 3, 6, device=device), rate, *keys(device))


def test_a_wrong_number_of_particles_is_refused(device: torch.device) -> None:
    with pytest.raises(ValueError, match="dropout needs the numbers of 2 particles, but got 3"):
        dropout(torch.zeros(len(NODES), 2, 6, device=device), 0.5, *keys(device))
