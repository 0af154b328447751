"""Kernels of draws, weights and particles: their results and gradients are those of the plain code."""

import pytest
import torch
from tests.ops.kernel_samples import NODES, SIZES, assert_twins, nodes
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.draw import draw_vertex
from pfgnn.ops.embedding import add_look_up, look_up
from pfgnn.ops.exchange import listen, tell
from pfgnn.ops.hashing import fold
from pfgnn.ops.particles import add_to_vertices, average_particles, pick_vertices, select_particles
from pfgnn.ops.segments import (
    make_segments,
)
from pfgnn.ops.weights import NoiseKey, bound, normalise, resample

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")


@pytest.mark.parametrize("own", [True, False])
def test_draws(own: bool, device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    noise_key = NoiseKey(torch.randint(2**62, (len(SIZES),), device=device), 5, 1)
    particles, node_key = torch.tensor([2, 3, 7], device=device), torch.randint(2**62, (len(NODES),), device=device)
    scores = torch.randn(len(NODES), 3 if own else 1, device=device)
    drawn = []
    for mode in ("plain", "triton"):
        with use(mode):
            drawn.append(draw_vertex(scores, noise_key, particles, 4, node_key, graphs)[0])
    assert torch.equal(*drawn)
    assert (graphs.index[drawn[0]] == torch.arange(len(SIZES), device=device)[:, None]).all()
    assert_twins(lambda s: draw_vertex(s, noise_key, particles, 4, node_key, graphs)[1], scores)


def test_hashing(device: torch.device) -> None:
    key = torch.randint(-(2**62), 2**62, (5, 1), device=device)
    words: list[int | Tensor] = [
        7,
        -3,
        torch.arange(6, device=device),
        torch.randint(2**62, (5, 6), device=device),
        key,
    ]
    for word in words:
        for folded in (key, key.expand(5, 6)):
            with use("triton"):
                got = fold(folded, word)
            with use("plain"):
                assert torch.equal(got, fold(folded, word))
    with use("triton"):
        got = fold(key[0, 0], key[1, 0])
    with use("plain"):
        assert torch.equal(got, fold(key[0, 0], key[1, 0]))


def test_select_and_average(device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    ancestors = torch.randint(3, (len(SIZES), 3), device=device)
    H, log_weights = torch.randn(len(NODES), 3, 5, device=device), torch.randn(len(SIZES), 3, device=device)
    assert_twins(lambda H: select_particles(H, ancestors, graphs), H)
    assert_twins(lambda H, w: average_particles(H, w, graphs), H, log_weights)


def test_rows_of_a_table(device: torch.device) -> None:
    torch.manual_seed(0)
    x = torch.randint(7, (len(NODES), 3), device=device)
    H, table = torch.randn(len(NODES), 3, 5, device=device), torch.randn(7, 5, device=device)
    assert_twins(lambda table: look_up(table, x[:, 0]), table)
    assert_twins(lambda H, table: add_look_up(H, table, x), H, table)
    with use("triton"):
        assert torch.equal(add_look_up(H, table, x), H + table[x])
        assert add_look_up(H[:0], table, x[:0]).shape == (0, 3, 5)


@pytest.mark.parametrize("several", [1, 2])
@pytest.mark.parametrize(("mean", "mark"), [(True, True), (True, False), (False, True)])
def test_exchange(mean: bool, mark: bool, several: int, device: torch.device) -> None:
    """Both functions of the exchange. 70 features are not a power of two."""
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    first = torch.tensor(SIZES).cumsum(0) - torch.tensor(SIZES)
    vertices = (first[:, None, None] + torch.stack([torch.randint(n, (3, several)) for n in SIZES])).to(device)
    H, log_weights = torch.randn(len(NODES), 3, 70, device=device), torch.randn(len(SIZES), 3, device=device)

    def all_of_it(H: Tensor, w: Tensor = log_weights) -> Tensor:
        return torch.cat([part.flatten() for part in listen(H, w, vertices, graphs, mean, mark) if part is not None])

    assert_twins(all_of_it, H, *((log_weights,) if mean else ()))
    to_nodes = torch.randn(len(NODES), 70, device=device)
    to_particles = torch.randn(len(SIZES), 3, 70, device=device)
    terms = (*((to_nodes,) if mean else ()), *((to_particles,) if mark else ()))
    assert_twins(lambda y, *t: tell(y, t[0] if mean else None, t[-1] if mark else None, graphs), H, *terms)


@pytest.mark.parametrize("own", [3, 1])
def test_vertices(own: int, device: torch.device) -> None:
    """Read and change two vertices for each particle. Particles may share a vertex."""
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    first = torch.tensor(SIZES).cumsum(0) - torch.tensor(SIZES)
    vertices = (first[:, None, None] + torch.stack([torch.randint(n, (3, 2)) for n in SIZES])).to(device)
    H, change = torch.randn(len(NODES), own, 5, device=device), torch.randn(len(SIZES), 3, 2, 5, device=device)
    change[0] = 100.0  # beyond the limit
    assert_twins(lambda H: pick_vertices(H, vertices, graphs), H)
    for valid in (torch.ones_like(vertices) > 0, torch.randint(2, vertices.shape, device=device) > 0):
        assert_twins(lambda H, c, valid=valid: add_to_vertices(H, c, vertices, valid, graphs, 30.0), H, change)


def test_many_draws_of_one_vertex_give_the_same_gradient_twice() -> None:
    """On a CPU with several threads, some of torch's scattered sums depend on the order of the threads."""
    nodes = make_segments(torch.zeros(30, dtype=torch.int64), 1, ordered=True)
    H, vertices = torch.randn(30, 1, 64, requires_grad=True), torch.randint(30, (1, 2048, 1))
    weight = torch.randn(1, 2048, 1, 64)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = [torch.autograd.grad(pick_vertices(H, vertices, nodes), H, weight)[0] for _ in range(20)]
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(found[0], again) for again in found)


def test_normalise(device: torch.device) -> None:
    torch.manual_seed(0)
    log_weights = torch.randn(6, 5, device=device)
    log_weights[0, 0] = 300.0  # the others are at the floor
    assert_twins(normalise, log_weights)


def test_bound(device: torch.device) -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 5, device=device)
    x[0] = torch.tensor([300.0, -300.0, 0.0, 1e-4, -1e-4])
    assert_twins(lambda x: bound(x, 5.0), x)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("systematic", [True, False])
def test_resample(alpha: float, systematic: bool, device: torch.device) -> None:
    torch.manual_seed(0)
    noise_key = NoiseKey(torch.randint(2**62, (6,), device=device), 2, 2)
    log_weights = torch.randn(6, 5, device=device).log_softmax(1)
    drawn = []
    for mode in ("plain", "triton"):
        with use(mode):
            drawn.append(resample(log_weights, alpha, systematic, noise_key)[0])
    assert torch.equal(*drawn)
    assert_twins(lambda w: resample(w, alpha, systematic, noise_key)[1], log_weights)
