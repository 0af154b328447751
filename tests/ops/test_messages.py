"""The sum of relu messages: compared with its equation, and the kernel compared with the plain code."""

import pytest
import torch
from tests.ops.kernel_samples import EDGES, NODES, assert_twins, edges, fresh_memory_is_nan
from tests.suite import slow
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.messages import sum_messages
from pfgnn.ops.segments import Segments, make_segments

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

HALF = [torch.bfloat16, torch.float16]


def fast_edges(device: torch.device) -> tuple[Segments, Segments]:
    with use("triton"):
        return edges(device)


def coarse(*shape: int, device: torch.device) -> Tensor:
    """Multiples of 1/8: exact in half precision, and some messages are exactly 0."""
    return torch.randn(*shape, device=device).mul(8).round() / 8


def gradients(mode: str, inputs: list[Tensor], sources: Segments, targets: Segments) -> list[Tensor]:
    """The result, and the gradients of its weighted sum for each input."""
    leaves = [value.detach().clone().requires_grad_() for value in inputs]
    with use(mode), fresh_memory_is_nan(inputs[0].device):
        out = sum_messages(leaves[0], leaves[1], leaves[2], sources, targets)
        weight = torch.arange(out.numel(), device=out.device).remainder(7).sub(3).view(out.shape).to(out.dtype)
        return [out.detach(), *torch.autograd.grad(out, leaves, weight)]


def test_the_sum_is_the_equation(device: torch.device, dtype: torch.dtype) -> None:
    sources, targets = fast_edges(device)
    x, e = torch.randn(len(NODES), 2, 3, device=device, dtype=dtype), torch.randn(EDGES, 3, device=device, dtype=dtype)
    own = torch.tensor(0.7, device=device, dtype=dtype)
    want = own * x
    for p, (j, i) in enumerate(zip(sources.index.tolist(), targets.index.tolist(), strict=True)):
        want[i] += (x[j] + e[p]).relu()
    for mode in ("plain", "triton"):
        with use(mode):
            torch.testing.assert_close(sum_messages(x, e, own, sources, targets), want)


@pytest.mark.parametrize("shape", [(5,), (64,), (1, 7), (3, 40), slow((5, 300))])
def test_twins(shape: tuple[int, ...], device: torch.device) -> None:
    sources, targets = fast_edges(device)
    inputs = torch.randn(len(NODES), *shape), torch.randn(EDGES, shape[-1]), torch.tensor(1.3)
    assert_twins(lambda x, e, own: sum_messages(x, e, own, sources, targets), *(value.to(device) for value in inputs))


def test_twins_where_messages_are_exactly_zero(device: torch.device) -> None:
    sources, targets = fast_edges(device)
    inputs = coarse(len(NODES), 3, 40, device=device), coarse(EDGES, 40, device=device)
    message = inputs[0][sources.index] + inputs[1][:, None]
    assert (message == 0).any()
    own = torch.tensor(0.5, device=device)
    assert_twins(lambda x, e, own: sum_messages(x, e, own, sources, targets), *inputs, own)


def test_twins_of_rows_that_are_apart(device: torch.device) -> None:
    sources, targets = fast_edges(device)
    x, e = torch.randn(3, len(NODES), 9, device=device), torch.randn(5, EDGES, device=device)
    own = torch.tensor(1.0, device=device)
    assert_twins(lambda x, e, own: sum_messages(x.transpose(0, 1)[..., :5], e.T, own, sources, targets), x, e, own)


def test_twins_of_sources_in_order(device: torch.device) -> None:
    """One loop per node. The edges are sorted by both ends, so that ``sources.order`` is None."""
    n = len(NODES)
    node = torch.arange(n, device=device)
    with use("triton"):
        sources = make_segments(node, n, ordered=True, other=node)
        targets = make_segments(node, n, ordered=True)
    assert sources.order is None
    inputs = torch.randn(n, 2, 3), torch.randn(n, 3), torch.tensor(1.3)
    assert_twins(lambda x, e, own: sum_messages(x, e, own, sources, targets), *(value.to(device) for value in inputs))


@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_no_edges(shape: tuple[int, ...], device: torch.device) -> None:
    none = torch.zeros(0, dtype=torch.int64, device=device)
    with use("triton"):
        sources = make_segments(none, len(NODES), False, other=none)
        targets = make_segments(none, len(NODES), ordered=True)
    x, e = torch.randn(len(NODES), *shape, device=device), torch.zeros(0, shape[-1], device=device)
    assert_twins(lambda x, e, own: sum_messages(x, e, own, sources, targets), x, e, torch.tensor(1.3, device=device))
    with use("triton"):
        assert torch.equal(sum_messages(x, e, torch.tensor(2.0, device=device), sources, targets), 2 * x)


def test_no_nodes(device: torch.device) -> None:
    none = torch.zeros(0, dtype=torch.int64, device=device)
    with use("triton"):
        sources, targets = make_segments(none, 0, False, other=none), make_segments(none, 0, ordered=True)
    x, e = torch.zeros(0, 3, 5, device=device), torch.zeros(0, 5, device=device)
    assert_twins(lambda x, e, own: sum_messages(x, e, own, sources, targets), x, e, torch.tensor(1.3, device=device))


@pytest.mark.slow
@pytest.mark.parametrize("half", HALF)
def test_half_precision(half: torch.dtype, device: torch.device) -> None:
    """Inputs that are exact in half precision, so that only the results are rounded (truncated in the interpreter)."""
    sources, targets = fast_edges(device)
    inputs = [coarse(len(NODES), 3, 40, device=device), coarse(EDGES, 40, device=device), torch.tensor(1.25).to(device)]
    want = gradients("plain", [value.double() for value in inputs], sources, targets)
    rounded = [inputs[0].to(half), inputs[1].to(half), inputs[2]]
    got = gradients("triton", rounded, sources, targets)
    assert [value.dtype for value in got] == [half, half, half, torch.float32]
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=2**-7, atol=1e-6)
    torch.testing.assert_close(got[3].double(), want[3], rtol=1e-6, atol=1e-6)  # the gradient of own is not rounded
    for one, other in zip(got, gradients("triton", rounded, sources, targets), strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("of_x", [torch.float32, *HALF])
@pytest.mark.parametrize("of_edges", [torch.float32, *HALF])
def test_types_are_those_of_the_plain_code(of_x: torch.dtype, of_edges: torch.dtype, device: torch.device) -> None:
    sources, targets = fast_edges(device)
    x, e = coarse(len(NODES), 2, 5, device=device).to(of_x), coarse(EDGES, 5, device=device).to(of_edges)
    inputs = [x, e, torch.tensor(1.25, device=device)]
    got, want = (gradients(mode, inputs, sources, targets) for mode in ("triton", "plain"))
    for one, other in zip(got[:3], want[:3], strict=True):
        torch.testing.assert_close(one, other, rtol=2**-6, atol=2**-6)  # the plain code rounds every sum


@pytest.mark.parametrize("needed", range(3))
def test_only_the_gradient_that_is_needed(needed: int, device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = pytest.importorskip("pfgnn.ops.triton.messages")
    sources, targets = fast_edges(device)
    inputs = [torch.randn(len(NODES), 2, 5), torch.randn(EDGES, 5), torch.tensor(1.3)]
    inputs = [value.to(device) for value in inputs]
    want = gradients("triton", inputs, sources, targets)[1 + needed]

    def unwanted(*_: object) -> None:
        raise AssertionError("this gradient is not needed")

    monkeypatch.setattr(kernels, "messages_backward" if needed == 1 else "messages_edge_backward", unwanted)
    leaves = [value.requires_grad_(place == needed) for place, value in enumerate(inputs)]
    with use("triton"):
        out = sum_messages(leaves[0], leaves[1], leaves[2], sources, targets)
        weight = torch.arange(out.numel(), device=device).remainder(7).sub(3).view(out.shape).to(out)
        out.backward(weight)
    assert [leaf.grad is not None for leaf in leaves] == [place == needed for place in range(3)]
    torch.testing.assert_close(leaves[needed].grad, want)


def test_nan_stays(device: torch.device) -> None:
    sources, targets = fast_edges(device)
    x, e = torch.randn(len(NODES), 2, 3, device=device), torch.randn(EDGES, 3, device=device)
    x[sources.index[0], 0, 1] = torch.nan
    own = torch.tensor(1.0, device=device)
    got, want = (gradients(mode, [x, e, own], sources, targets) for mode in ("triton", "plain"))
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)


def test_a_second_derivative_is_refused(device: torch.device) -> None:
    sources, targets = fast_edges(device)
    x, e = torch.randn(len(NODES), 3, device=device, requires_grad=True), torch.randn(EDGES, 3, device=device)
    with use("triton"):
        y = sum_messages(x, e, torch.tensor(1.0, device=device), sources, targets)
        (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            first.square().sum().backward()
