"""The code for many rows on a CPU gives what the plain code gives."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor

from pfgnn.ops import use
from pfgnn.ops.batch_norm import BatchNorming, activate_batch
from pfgnn.ops.cpu import blocks, mlp
from pfgnn.ops.exchange import tell
from pfgnn.ops.messages import sum_messages
from pfgnn.ops.mlp import two_layers
from pfgnn.ops.segments import Segments, make_segments

NODES, EDGES, K, D = 50, 120, 4, 6
Work = Callable[..., Tensor]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks, of which the last one is not full."""
    monkeypatch.setattr(blocks, "NUMBERS", 7 * K * D)
    monkeypatch.setattr(mlp, "ROWS", 64)


def results(mode: str, work: Work, inputs: list[Tensor], dtype: torch.dtype) -> tuple[list[Tensor], str]:
    """The output, the gradients of all inputs, and the name of the operation."""
    leaves = [value.to(dtype).requires_grad_() for value in inputs]
    with use(mode):
        out = work(*leaves)
        weight = torch.arange(out.numel()).remainder(7).sub(3).view(out.shape).to(out)
        gradients = torch.autograd.grad(out, leaves, weight)
    assert out.grad_fn is not None
    return [out.detach(), *gradients], out.grad_fn.name()


def assert_as_plain(work: Work, *inputs: Tensor, dtype: torch.dtype = torch.float64) -> None:
    """Compare with the plain code in float64, and check that blocks were used."""
    want, _ = results("plain", work, list(inputs), torch.float64)
    got, name = results("auto", work, list(inputs), dtype)
    assert name in {"_TwoLayersBackward", "_MessagesBackward", "_ActivateBackward", "_TellBackward"}
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance * float(other.abs().max()))
    with torch.no_grad(), use("auto"):
        assert torch.equal(work(*(value.to(dtype) for value in inputs)), got[0])


def maps(hidden: int) -> list[Tensor]:
    return [torch.randn(hidden, D), torch.randn(hidden), torch.randn(D, hidden), torch.randn(D)]


def edges() -> tuple[Segments, Segments]:
    source, target = torch.randint(NODES, (EDGES,)), torch.randint(NODES, (EDGES,)).sort().values
    return make_segments(source, NODES, False, target), make_segments(target, NODES, True, source)


def graphs() -> Segments:
    return make_segments(torch.arange(NODES) // 17, 3, True)


@pytest.mark.parametrize("hidden", [5, 12])
def test_two_layers(hidden: int) -> None:
    assert_as_plain(two_layers, torch.randn(NODES, K, D), *maps(hidden), dtype=torch.float32)


def test_two_layers_without_a_gradient_of_the_input() -> None:
    x, *parameters = torch.randn(NODES, K, D), *maps(5)
    leaves = [value.requires_grad_() for value in parameters]
    for mode in ("plain", "auto"):
        with use(mode):
            two_layers(x, *leaves).square().sum().backward()
    with use("plain"):
        want = torch.autograd.grad(2 * two_layers(x, *leaves).square().sum(), leaves)
    for leaf, other in zip(leaves, want, strict=True):
        assert leaf.grad is not None
        torch.testing.assert_close(leaf.grad, other, rtol=1e-4, atol=1e-3)


def test_two_layers_in_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)  # its bf16 stops the process on some CPUs
    inputs = [torch.randn(NODES, K, D), *maps(5)]
    with torch.autocast("cpu", torch.bfloat16):
        (got, name), (want, _) = (results(mode, two_layers, inputs, torch.float32) for mode in ("auto", "plain"))
    assert name == "_TwoLayersBackward"
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=0.03, atol=0.03 * float(other.abs().max()))


@pytest.mark.parametrize("shape", [(K, D), (K * D,)])
def test_messages(shape: tuple[int, ...]) -> None:
    sources, targets = edges()
    inputs = torch.randn(NODES, *shape), torch.randn(EDGES, shape[-1]), torch.tensor(1.3)
    assert_as_plain(lambda x, e, own: sum_messages(x, e, own, sources, targets), *inputs)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("residual", [True, False])
def test_batch_norm(training: bool, relu: bool, residual: bool) -> None:
    running: dict[int, list[Tensor]] = {}

    def work(h: Tensor, scale: Tensor, shift: Tensor, *x: Tensor) -> Tensor:
        mean, variance = running[len(running)] = [torch.full((D,), 0.5).to(h), torch.full((D,), 2.0).to(h)]
        norming = BatchNorming(scale, shift, mean, variance, 0.1, 1e-2, 1e16, training)
        return activate_batch(h, x[0] if x else None, norming, graphs(), 0, relu)

    h = 3 + torch.randn(NODES, K, D)
    assert_as_plain(work, h, torch.randn(D), torch.randn(D), *([torch.randn(NODES, K, D)] if residual else []))
    torch.testing.assert_close(running[0], running[1])
    assert (running[0][0] != 0.5).all() == training


def test_batch_norm_clamps_as_the_plain_code_does() -> None:
    h, ones = torch.randn(NODES, K, D), torch.ones(D)
    h[3, 1, 2] = 1e5
    for value in (1e5, torch.nan):
        h[3, 1, 2] = value
        norming = [BatchNorming(ones, ones, 0 * ones, 1 * ones, 0.1, 1e-2, 30.0, True) for _ in range(2)]
        got = activate_batch(h, None, norming[0], graphs(), 0)
        with use("plain"):
            torch.testing.assert_close(got, activate_batch(h, None, norming[1], graphs(), 0), equal_nan=True)


@pytest.mark.parametrize("terms", [(True, True), (True, False), (False, True)])
def test_tell(terms: tuple[bool, bool]) -> None:
    shapes = [shape for shape, has in zip([(NODES, D), (3, K, D)], terms, strict=True) if has]

    def work(y: Tensor, *told: Tensor) -> Tensor:
        of_nodes, of_particles = (told[0] if terms[0] else None), (told[-1] if terms[1] else None)
        return tell(y, of_nodes, of_particles, graphs())

    assert_as_plain(work, torch.randn(NODES, K, D), *(torch.randn(shape) for shape in shapes))


@pytest.mark.parametrize("context", [lambda: use("plain"), lambda: use("triton"), nullcontext])
def test_when_blocks_are_used(context: Callable[[], AbstractContextManager[None]]) -> None:
    x = torch.zeros(NODES, K, D)
    with context():
        assert blocks.large(x) == (context is nullcontext)
        assert not blocks.large(x[:7])
