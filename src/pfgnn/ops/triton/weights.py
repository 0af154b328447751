"""Triton kernels for :mod:`pfgnn.ops.weights`. Each program handles the K weights of one graph."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from pfgnn.ops.triton.hashing import fold_word, unit
from pfgnn.ops.triton.numeric import largest, maximum, minimum
from pfgnn.ops.weights import FLOOR


@triton.jit
def _load(rows, K, other, B: tl.constexpr):
    k = tl.arange(0, B)
    return tl.load(rows + tl.program_id(0) * K + k, k < K, other).to(tl.float32)


@triton.jit
def _log_softmax(s, floor):
    """The log softmax of s, but at least floor. Entries after the K-th must be -inf."""
    shifted = s - largest(s)
    return maximum(shifted - tl.log(tl.sum(tl.exp(shifted), 0)), floor)


@triton.jit
def _log_softmax_backward(g, out, inside, floor):
    """The gradient of :func:`_log_softmax`, from the gradient g of its result ``out``.

    e^floor has no effect in float32, so a weight at the floor does not change the sum.
    """
    g = tl.where(inside & (out > floor), g, 0.0)
    return g - tl.where(inside, tl.exp(out), 0.0) * tl.sum(g, 0)


@triton.jit
def normalise_forward(log_weights, out, K, floor, B: tl.constexpr):
    k = tl.arange(0, B)
    s = _load(log_weights, K, -float("inf"), B)
    tl.store(out + tl.program_id(0) * K + k, _log_softmax(s, floor), k < K)


@triton.jit
def normalise_back(g, out, result, K, floor, B: tl.constexpr):
    k = tl.arange(0, B)
    d = _log_softmax_backward(_load(g, K, 0.0, B), _load(out, K, 0.0, B), k < K, floor)
    tl.store(result + tl.program_id(0) * K + k, d, k < K)


@triton.jit
def bound_forward(x, out, K, limit, B: tl.constexpr):
    k = tl.arange(0, B)
    v = _load(x, K, 0.0, B)
    t = tl.exp(-2 * tl.abs(v) / limit)
    tl.store(out + tl.program_id(0) * K + k, tl.where(v < 0, -limit, limit) * (1 - t) / (1 + t), k < K)


@triton.jit
def bound_back(g, out, result, K, limit, B: tl.constexpr):
    k = tl.arange(0, B)
    share = _load(out, K, 0.0, B) / limit
    tl.store(result + tl.program_id(0) * K + k, _load(g, K, 0.0, B) * (1 - share * share), k < K)


@triton.jit
def _log_proposal(log_w, log_alpha, log_uniform, MIXED: tl.constexpr, UNIFORM: tl.constexpr):
    if MIXED:
        one = log_alpha + log_w
        high, low = maximum(one, log_uniform), minimum(one, log_uniform)
        return high + tl.log(1 + tl.exp(low - high))
    if UNIFORM:
        return tl.zeros_like(log_w) + log_uniform
    return log_w


@triton.jit
def resample_forward(
    log_weights, keys, ancestors, out, K, step, purpose, log_alpha, log_uniform,
    MIXED: tl.constexpr, UNIFORM: tl.constexpr, SYSTEMATIC: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    k = tl.arange(0, B)
    log_w = _load(log_weights, K, 0.0, B)
    log_q = _log_proposal(log_w, log_alpha, log_uniform, MIXED, UNIFORM)
    cumulative = tl.cumsum(tl.where(k < K, tl.exp(log_q.to(tl.float64)), 0.0), 0)
    total = largest(cumulative)
    key = fold_word(fold_word(tl.load(keys + tl.program_id(0)), step), purpose)
    if SYSTEMATIC:
        u = (k + unit(key)) / K
    else:
        u = unit(fold_word(key, k.to(tl.int64)))
    position = u * total
    a = tl.sum(((cumulative[None, :] <= position[:, None]) & (k < K)[None, :]).to(tl.int32), 1)  # [k, j] -> [k]
    a = tl.minimum(a, K - 1)
    kept = tl.sum(tl.where(a[:, None] == k[None, :], (log_w - log_q)[None, :], 0.0), 1)
    own = tl.program_id(0) * K + k
    tl.store(ancestors + own, a.to(tl.int64), k < K)
    tl.store(out + own, kept - tl.log(tl.zeros_like(kept) + K), k < K)


@triton.jit
def resample_back(
    g, log_weights, ancestors, result, K, log_alpha, log_uniform,
    MIXED: tl.constexpr, UNIFORM: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    k = tl.arange(0, B)
    inside = k < K
    d = _load(g, K, 0.0, B)
    a = tl.load(ancestors + tl.program_id(0) * K + k, inside, -1)
    d = tl.sum(tl.where(a[:, None] == k[None, :], d[:, None], 0.0), 0)  # for each j, the sum over the copies of j
    log_w = _load(log_weights, K, 0.0, B)
    if MIXED:  # d log q / d log w = α w / q
        d *= 1 - tl.exp(log_alpha + log_w - _log_proposal(log_w, log_alpha, log_uniform, MIXED, UNIFORM))
    elif not UNIFORM:
        d = tl.zeros_like(d)
    tl.store(result + tl.program_id(0) * K + k, d, inside)


def bound(x: Tensor, limit: float) -> Tensor:
    """c tanh(x / c), where c is the limit, from x [G, K] to [G, K]."""
    out = torch.empty_like(x)
    G, K = out.shape
    with torch.cuda.device_of(out):
        bound_forward[(G,)](x, out, K, limit, B=triton.next_power_of_2(K), num_warps=1)
    return out


def bound_backward(g: Tensor, out: Tensor, limit: float) -> Tensor:
    """The gradient of x, from the gradient g of the result and the result ``out``, all [G, K]."""
    result = torch.empty_like(out)
    G, K = out.shape
    with torch.cuda.device_of(out):
        bound_back[(G,)](g, out, result, K, limit, B=triton.next_power_of_2(K), num_warps=1)
    return result


def normalise(log_weights: Tensor) -> Tensor:
    """log w_k - log Σ_j w_j, but at least FLOOR, from log_weights [G, K] to [G, K]."""
    out = torch.empty_like(log_weights)
    G, K = out.shape
    with torch.cuda.device_of(out):
        normalise_forward[(G,)](log_weights, out, K, FLOOR, B=triton.next_power_of_2(K), num_warps=1)
    return out


def normalise_backward(g: Tensor, out: Tensor) -> Tensor:
    """The gradient of the log weights, from the gradient g of the normalised ones and these, ``out``."""
    result = torch.empty_like(out)
    G, K = out.shape
    with torch.cuda.device_of(out):
        normalise_back[(G,)](g, out, result, K, FLOOR, B=triton.next_power_of_2(K), num_warps=1)
    return result


def resample(
    log_weights: Tensor, alpha: float, systematic: bool, key: Tensor, step: int, purpose: int
) -> tuple[Tensor, Tensor]:
    """The ancestors and their new log weights; see :func:`pfgnn.ops.weights.resample`."""
    G, K = log_weights.shape
    ancestors = torch.empty(G, K, dtype=torch.int64, device=key.device)
    out = torch.empty_like(log_weights)
    with torch.cuda.device_of(out):
        resample_forward[(G,)](
            log_weights, key, ancestors, out, K, step, purpose, *_logs(alpha, K),
            MIXED=0 < alpha < 1, UNIFORM=alpha == 0, SYSTEMATIC=systematic, B=triton.next_power_of_2(K), num_warps=1,
        )  # fmt: skip
    return ancestors, out


def resample_backward(g: Tensor, log_weights: Tensor, ancestors: Tensor, alpha: float) -> Tensor:
    """The gradient of the old log weights, from the gradient g of the new ones."""
    G, K = log_weights.shape
    result = torch.empty_like(log_weights)
    with torch.cuda.device_of(g):
        resample_back[(G,)](
            g, log_weights, ancestors, result, K, *_logs(alpha, K),
            MIXED=0 < alpha < 1, UNIFORM=alpha == 0, B=triton.next_power_of_2(K), num_warps=1,
        )  # fmt: skip
    return result


def _logs(alpha: float, K: int) -> tuple[float, float]:
    """log α and log((1 - α)/K). Either is 0 if its argument is 0."""
    return (math.log(alpha) if alpha > 0 else 0.0, math.log((1 - alpha) / K) if alpha < 1 else 0.0)
