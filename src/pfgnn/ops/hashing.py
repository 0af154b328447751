"""Random numbers from a hash function: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) on 64-bit integers."""

import torch
from torch import Tensor

from pfgnn.ops.dispatch import fast

# The constants of SplitMix64 as signed 64-bit integers. The multiplications wrap on overflow.
GOLDEN = 0x9E3779B97F4A7C15 - 2**64
MULTIPLIERS = ((30, 0xBF58476D1CE4E5B9 - 2**64), (27, 0x94D049BB133111EB - 2**64))


def fold(key: Tensor, word: int | Tensor) -> Tensor:
    """Hash one more integer into a key. The two are broadcast together.

    Args:
        key: Keys, int64.
        word: The integer, or an int64 tensor of integers.
    """
    if fast(key):
        from pfgnn.ops.triton.hashing import fold as fold_fast

        return fold_fast(key, word)
    step = GOLDEN * (word + 1)
    if isinstance(step, int):  # wrap to 64 bits, as torch does; Python's integers do not wrap
        step = (step + 2**63) % 2**64 - 2**63
    return mix(key + step)


def mix(z: Tensor) -> Tensor:
    """The output function of SplitMix64, a bijection of the 64-bit integers."""
    for shift, multiplier in MULTIPLIERS:
        z = (z ^ _shift_right(z, shift)) * multiplier
    return z ^ _shift_right(z, 31)


def uniform(key: Tensor) -> Tensor:
    """A uniform random number in the open interval (0, 1): the upper 52 bits of the key as a float64.

    The conversion is exact, and ties are so rare that they do not occur in practice.
    """
    return (_shift_right(key, 12).double() + 0.5) * 2.0**-52


def gumbel(u: Tensor) -> Tensor:
    """Standard Gumbel random numbers from uniform ones."""
    return -torch.log(-torch.log(u))


def _shift_right(z: Tensor, bits: int) -> Tensor:
    return (z >> bits) & ((1 << (64 - bits)) - 1)  # torch fills with the sign bit; the mask clears it
