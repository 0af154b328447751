"""Each kernel gives the values and gradients of the plain code. On a CPU it runs in Triton's interpreter."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.ops.kernel_samples import EDGES, NODES, assert_twins, edges, fresh_memory_is_nan, nodes
from tests.suite import slow
from torch import Tensor

from pfgnn.ops import graph_norm, use
from pfgnn.ops.batch_norm import BatchNorming, activate_batch
from pfgnn.ops.graph_norm import Norming, activate_graphs
from pfgnn.ops.mlp import hidden_mean, hidden_score, two_layers
from pfgnn.ops.pna import After, Weights, pna
from pfgnn.ops.segments import (
    Segments,
    make_segments,
    segment_max,
    segment_mean,
    segment_sum,
    spread,
    sum_neighbours,
)

pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

triton = pytest.importorskip("triton")


triton_segments = pytest.importorskip("pfgnn.ops.triton.segments")
triton_norm = pytest.importorskip("pfgnn.ops.triton.graph_norm")


@pytest.mark.parametrize("shape", [(), (3,), (2, 70), slow((300,))])
@pytest.mark.parametrize("reduce", [segment_sum, segment_mean, segment_max])
def test_reductions(reduce: Callable[[Tensor, Segments], Tensor], shape: tuple[int, ...], device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        sources, targets = edges(device)
    values = torch.randn(EDGES, *shape, device=device).mul(4).round() / 4
    for segments in (sources, targets):
        assert_twins(lambda v, s=segments: reduce(v, s), values)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("reduce", [segment_sum, segment_mean, segment_max])
def test_reductions_of_long_segments(
    reduce: Callable[[Tensor, Segments], Tensor],
    shape: tuple[int, ...],
    device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are done in parts; one segment is shorter than the number of parts, and one is empty."""
    torch.manual_seed(0)
    monkeypatch.setattr(triton_segments, "LONG", 8)
    monkeypatch.setattr(triton_segments, "PART", 4)
    index = torch.cat([torch.full((50,), 0), torch.full((3,), 1), torch.full((27,), 3)]).to(device)
    for order in (torch.arange(80), torch.randperm(80)):
        with use("triton"):
            segments = make_segments(index[order.to(device)], 4, ordered=bool((order.diff() > 0).all()))
        values = torch.randn(80, *shape, device=device).mul(4).round() / 4 - 5
        launches = 0
        launch = triton_segments._launch

        def counted(*arguments: Any, launch: Any = launch) -> Tensor:
            nonlocal launches
            launches += 1
            found: Tensor = launch(*arguments)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(triton_segments, "_launch", counted)
            assert_twins(lambda v, s=segments: reduce(v, s), values)
        assert launches >= 2  # two for each call


@pytest.mark.parametrize("weighted", [False, True])
def test_norm_of_a_large_graph(weighted: bool, device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(graph_norm, "LARGE", 2)
    with use("triton"):
        graphs = nodes(device)
    h, x = torch.randn(2, len(NODES), 2, 3, device=device) * 2
    near = torch.rand(len(NODES), 2, device=device) if weighted else None

    def compute(h: Tensor, x: Tensor, scale: Tensor, shift: Tensor, mean_scale: Tensor) -> Tensor:
        return activate_graphs(h, x, Norming(scale, shift, mean_scale, 1e-2, 30.0), graphs, near=near)

    monkeypatch.setattr(graph_norm._Activate, "forward", None)  # it is not called
    assert_twins(compute, h, x, *torch.randn(3, 3, device=device))


def test_spread_and_neighbours(device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        sources, targets = edges(device)
    x = torch.randn(len(NODES), 2, 3, device=device)
    assert_twins(lambda v: spread(v, sources), x)
    assert_twins(lambda v, own: sum_neighbours(v, own, sources, targets), x, torch.tensor(1.3, device=device))


@pytest.mark.parametrize(("residual", "relu"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("shape", [(4,), slow((3, 40))])
def test_norm(shape: tuple[int, ...], residual: bool, relu: bool, device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    h, x = torch.randn(2, len(NODES), *shape, device=device) * 2
    h[0] = 100.0  # beyond the limit
    parameters = torch.randn(3, shape[-1], device=device)

    def compute(h: Tensor, scale: Tensor, shift: Tensor, mean_scale: Tensor, x: Tensor | None = None) -> Tensor:
        return activate_graphs(h, x, Norming(scale, shift, mean_scale, 1e-2, 30.0), graphs, relu)

    assert_twins(compute, h, *parameters, *([x] if residual else []))
    wide = torch.nn.functional.pad(h, (0, 3))  # rows with a gap between them
    assert_twins(lambda wide, *rest: compute(wide[..., :-3], *rest), wide, *parameters, *([x] if residual else []))


@pytest.mark.slow
@pytest.mark.parametrize("relu", [True, False])
def test_norm_with_weights_of_the_nodes(relu: bool, device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    h, x = torch.randn(2, len(NODES), 3, 40, device=device) * 2
    near = torch.rand(len(NODES), 3, device=device)
    near[5] = 0  # a graph of one node that does not count
    parameters = torch.randn(3, 40, device=device)

    def compute(h: Tensor, x: Tensor, scale: Tensor, shift: Tensor, mean_scale: Tensor) -> Tensor:
        return activate_graphs(h, x, Norming(scale, shift, mean_scale, 1e-2, 30.0), graphs, relu, near)

    assert_twins(compute, h, x, *parameters)


def test_norm_of_very_many_places(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_norm, "PLACES", 1)
    with use("triton"):
        graphs = nodes(device)
    h, x = torch.randn(2, len(NODES), 4, device=device)
    parameters = torch.randn(3, 4, device=device).unbind()
    assert_twins(lambda h, x, a, b, c: activate_graphs(h, x, Norming(a, b, c, 1e-2, 30.0), graphs), h, x, *parameters)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("residual", "relu"), [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize(("shape", "padding"), [((4,), 0), ((3, 40), 0), ((3, 40), 2)])
def test_batch_norm(
    shape: tuple[int, ...], padding: int, residual: bool, relu: bool, training: bool, device: torch.device
) -> None:
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    D = shape[-1]
    h, x = torch.randn(2, len(NODES), *shape, device=device) * 2 + 3
    h[0] = 100.0  # beyond the limit
    seen: list[Tensor] = []

    def compute(h: Tensor, scale: Tensor, shift: Tensor, x: Tensor | None = None) -> Tensor:
        running = torch.full((2, D), 0.5, dtype=scale.dtype, device=device)
        norming = BatchNorming(scale, shift, running[0], running[1], 0.1, 1e-5, 30.0, training)
        out = activate_batch(h, x, norming, graphs, padding, relu)
        seen.append(running)
        return out

    assert_twins(compute, h, *torch.randn(2, D, device=device), *([x] if residual else []))
    for running in seen[1:]:
        torch.testing.assert_close(running.double(), seen[0], rtol=1e-5, atol=1e-5)
    assert training != torch.equal(seen[0], torch.full_like(seen[0], 0.5))
    wide = torch.nn.functional.pad(h, (0, padded_by := 8 - D % 8 or 8))  # rows with a gap between them
    parameters = [*torch.randn(2, D, device=device), *([x] if residual else [])]
    assert_twins(lambda wide, *rest: compute(wide[..., :-padded_by], *rest), wide, *parameters)


@pytest.mark.parametrize(
    ("towers", "each", "particles", "edge_features", "after"),
    [
        *((2, 7, 3, edges, after) for edges in (True, False) for after in ("nothing", "norm", "residual")),
        *(slow(*shape, True, "residual") for shape in ((2, 7, 1), (3, 4, 3), (1, 8, 1), (1, 3, 3))),
        *(slow(*shape, False, "norm") for shape in ((2, 7, 1), (3, 4, 3), (1, 8, 1), (1, 3, 3))),
    ],
)
def test_pna(towers: int, each: int, particles: int, edge_features: bool, after: str, device: torch.device) -> None:
    """Values with few bits, so that messages are exact and some are equal. Equal ones share the gradient."""
    torch.manual_seed(0)
    with use("triton"):
        sources, targets = edges(device)
        graphs = nodes(device)
    D = towers * each

    def coarse(*shape: int) -> Tensor:
        return torch.randn(*shape, device=device).mul(2).round() / 4

    shapes = (towers, 3 * each, each), (towers, 2 * each), (towers, 4 * each, 3 * each), (D, D), (D,)
    pre, pre_bias, post, mix, mix_bias = (coarse(*shape) for shape in shapes)
    inputs = [coarse(len(NODES), particles, D), pre, pre_bias, post, mix, mix_bias]
    inputs += [coarse(D, D), coarse(EDGES, D)] if edge_features else []
    inputs += [] if after == "nothing" else torch.randn(3, D, device=device).unbind()

    def compute(
        x: Tensor, pre: Tensor, pre_bias: Tensor, post: Tensor, mix: Tensor, mix_bias: Tensor, *rest: Tensor
    ) -> Tensor:
        edge, edge_attr = rest[:2] if edge_features else (None, None)
        then = None
        if after != "nothing":
            then = After(Norming(rest[-3], rest[-2], rest[-1], 1e-2, 1e6), graphs, after == "residual")
        return pna(x, edge_attr, Weights(pre, pre_bias, edge, post, mix, mix_bias), 0.7, sources, targets, then) / 8

    assert_twins(compute, *inputs)


@pytest.mark.parametrize(("D", "P"), [(5, 7), (16, 8), (20, 40)])
def test_hidden_layers(D: int, P: int, device: torch.device) -> None:
    torch.manual_seed(0)
    with use("triton"):
        graphs = nodes(device)
    x, weight, bias = torch.randn(len(NODES), 3, D), torch.randn(P, D), torch.randn(P)
    shared = [value.to(device) for value in (x, weight, bias)]
    assert_twins(hidden_score, *shared, torch.randn(P, device=device), torch.randn(1, device=device))
    assert_twins(lambda x, w, b: hidden_mean(x, w, b, graphs), *shared)
    assert_twins(lambda x, w, b: hidden_mean(x, w.T, b, graphs), shared[0], weight.T.contiguous().to(device), shared[2])
    assert_twins(two_layers, *shared, torch.randn(3, P, device=device), torch.randn(3, device=device))


@pytest.mark.parametrize("columns", [5, 8])
def test_wide_rows(columns: int, device: torch.device) -> None:
    """Zeros, or first a one, after every row, whatever the memory held before."""
    rows = pytest.importorskip("pfgnn.ops.triton.rows")
    x = torch.randn(7, columns, device=device)
    cut_out = torch.full((7, 8), torch.nan, device=device)[:, :columns].copy_(x)
    for source in (
        x,
        torch.randn(columns, 7, device=device).T,
        torch.randn(7, 20, device=device)[:, :columns],
        cut_out,
    ):
        for one in (False, True):
            wide = rows.widen(source, torch.float32, one=one)
            assert wide.shape == (7, 8 if columns + one <= 8 else 16)
            assert torch.equal(wide[:, :columns], source)
            assert torch.equal(wide[:, columns:].sum(1), torch.full((7,), float(one), device=device))
    cut = rows.narrow(wide, torch.Size([7, 1, columns]))
    assert torch.equal(cut[:, 0], source)
    assert rows.widen(x, torch.bfloat16).dtype == torch.bfloat16


def test_norms_of_rounded_rows_are_not_rounded(device: torch.device) -> None:
    h, ones = torch.randn(len(NODES), 2, 4, device=device).bfloat16(), torch.ones(4, device=device)
    with use("triton"):
        graphs = nodes(device)
        assert activate_graphs(h, None, Norming(ones, ones, ones, 1e-2, 30.0), graphs).dtype == torch.float32
        norming = BatchNorming(ones, ones, torch.zeros(4, device=device), ones.clone(), 0.1, 1e-2, 30.0, training=True)
        assert activate_batch(h, None, norming, graphs, 0).dtype == torch.float32


def test_a_second_derivative_is_refused_by_kernels(device: torch.device) -> None:
    x = torch.randn(len(NODES), 3, 4, device=device, requires_grad=True)
    scale, shift, mean_scale = torch.randn(3, 4, device=device)
    with use("triton"):
        y = activate_graphs(x, None, Norming(scale, shift, mean_scale, 1e-2, 30.0), nodes(device))
        (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            first.square().sum().backward()


@pytest.mark.slow
@pytest.mark.parametrize("M", [1, 64, 257, 20_000])
def test_columns_are_summed_whatever_the_number_of_rows(M: int, device: torch.device) -> None:
    from pfgnn.ops.triton.rows import sum_columns

    x = torch.randn(M, 45, device=device)[:, 2:39]
    with fresh_memory_is_nan(device):
        got = sum_columns(x)
    torch.testing.assert_close(got.double(), x.double().sum(0), rtol=1e-5, atol=1e-4)
