"""Read and write the text formats graph6 and sparse6.

Both write numbers as printable bytes of 6 bits each: byte 63 ('?') stands for 0 and byte 126 ('~') for 63. The format
requires that the padding bits of graph6 are zero. Other padding bits raise an error, because the line is probably
damaged.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pfgnn.argument_checks import checked
from pfgnn.errors import InputError, counted, shown
from pfgnn.files import text_lines
from pfgnn.graphs.arrays import Array, IntArray, pairs_at
from pfgnn.graphs.checks import check_claimed_nodes
from pfgnn.graphs.graph import Graph

Bits = npt.NDArray[np.uint8]

GRAPH6_HEADER = ">>graph6<<"
SPARSE6_HEADER = ">>sparse6<<"


@checked
def from_graph6(text: str) -> Graph:
    """Read one graph6 string, with or without its header."""
    num_nodes, rest = _read_size(_six_bits(text.strip().removeprefix(GRAPH6_HEADER)))
    pairs = num_nodes * (num_nodes - 1) // 2
    expected = -(-pairs // 6)
    if rest.size != expected:
        raise InputError(
            f"graph6 text has {counted(rest.size, 'byte')} after its size, but a graph of "
            f"{counted(num_nodes, 'node')} takes {expected}"
        )
    bits = _unpack(rest)
    if bits[pairs:].any():
        raise InputError("graph6 text has padding bits that are not zero, but only zeros may follow the last pair")
    return Graph(num_nodes, np.stack(pairs_at(np.flatnonzero(bits[:pairs])), axis=1))


@checked
def to_graph6(graph: Graph) -> str:
    """Write the nodes and edges of a graph as one graph6 string without header. Labels are not written."""
    u, v = graph.edges.T
    bits = np.zeros(graph.num_nodes * (graph.num_nodes - 1) // 2, dtype=np.uint8)
    bits[v * (v - 1) // 2 + u] = 1
    return _text(np.concatenate([_size_bits(graph.num_nodes), bits, np.zeros(-bits.size % 6, dtype=np.uint8)]))


@checked
def from_sparse6(text: str) -> Graph:
    """Read one sparse6 string, with or without its header. Self-loops and multiple edges raise an error."""
    body = text.strip().removeprefix(SPARSE6_HEADER)
    if not body.startswith(":"):
        raise InputError(f"sparse6 text must start with ':', but it starts with {shown(body[:1])}")
    num_nodes, rest = _read_size(_six_bits(body[1:]))
    width = (num_nodes - 1).bit_length()
    bits = _unpack(rest)
    groups = bits[: bits.size // (width + 1) * (width + 1)].reshape(-1, width + 1)  # [g, 1 + width]
    step = np.cumsum(groups[:, 0], dtype=np.int64)
    x = _numbers(groups[:, 1:])
    # Each group adds its first bit to the current vertex v, and then sets v to x if x is larger. So v becomes
    # max(v + bit, x), and v - step is the running maximum of x - step and 0.
    v = step + np.maximum.accumulate(np.maximum(x - step, 0))
    before = np.concatenate([[0], v])[: v.size] + groups[:, 0]
    is_edge = (x <= before) & (np.maximum.accumulate(before) < num_nodes)  # groups past the last vertex are padding
    return Graph(num_nodes, np.stack([x[is_edge], v[is_edge]], axis=1))


@checked
def to_sparse6(graph: Graph) -> str:
    """Write the nodes and edges of a graph as one sparse6 string without header. Labels are not written."""
    n = graph.num_nodes
    width = (n - 1).bit_length()
    groups: list[tuple[int, int]] = []  # the first bit and x, as in `from_sparse6`
    current = 0
    for v, u in sorted(graph.edges[:, ::-1].tolist()):
        step = min(v - current, 1)
        if v > current + 1:
            groups += [(1, v), (0, u)]
        else:
            groups.append((step, u))
        current = v
    bits = np.array([[bit, *_digits(x, width)] for bit, x in groups], dtype=np.uint8).reshape(-1)
    padding = np.ones(-bits.size % 6, dtype=np.uint8)
    if n == 1 << width and padding.size > width and current == n - 2:
        padding[0] = 0  # padding with ones only would be read as a self-loop at the last vertex
    return ":" + _text(np.concatenate([_size_bits(n), bits, padding]))


@checked
def read_graph6(path: str | Path, most: int | None = None) -> list[Graph]:
    """Read a file with one graph6 or sparse6 string per line. Blank lines are skipped, and headers are optional.

    Args:
        path: The file. It may be gzipped.
        most: Number of graphs to read, from the first; None for all.
    """
    file = Path(path)
    graphs = []
    for number, body in islice(graph6_lines(file), most):
        try:
            graphs.append(from_line(body))
        except (ValueError, MemoryError) as error:
            raise InputError(f"{file.name}, line {number}: {error}") from None
    return graphs


def graph6_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The graph6 and sparse6 strings of a file, without headers: the number of each line, from 1, and its string."""
    for number, line in enumerate(text_lines(file), start=1):
        if body := line.strip().removeprefix(GRAPH6_HEADER).removeprefix(SPARSE6_HEADER):
            yield number, body


def from_line(body: str) -> Graph:
    """Read a line of a file: one graph6 or sparse6 string without header. A sparse6 string starts with a colon."""
    if not body.startswith(":"):
        return from_graph6(body)
    graph = from_sparse6(body)
    check_claimed_nodes(graph.num_nodes, len(body))
    return graph


def _six_bits(text: str) -> IntArray:
    """The number 0..63 that each character stands for."""
    codes = np.array([ord(character) for character in text], dtype=np.int64)
    bad = (codes < 63) | (codes > 126)
    if bad.any():
        place = int(bad.argmax())
        raise InputError(
            f"text has the character {shown(text[place])} at place {place + 1}, but only '?' to '~' are allowed"
        )
    return codes - 63


def _read_size(numbers: IntArray) -> tuple[int, IntArray]:
    """The number of nodes, from 1 byte, or '~' and 3 bytes, or '~~' and 6 bytes, and the numbers that follow it."""
    marks = 0 if numbers[:1].tolist() != [63] else 1 if numbers[1:2].tolist() != [63] else 2
    length = [1, 3, 6][marks]
    digits = numbers[marks : marks + length]
    if digits.size < length:
        raise InputError(
            f"text has {counted(numbers.size, 'byte')}, but its number of nodes alone takes {marks + length}"
        )
    size = 0
    for digit in digits.tolist():
        size = 64 * size + digit
    return size, numbers[marks + length :]


def _size_bits(num_nodes: int) -> Bits:
    """The bits of the number of nodes, in the shortest of the three encodings."""
    if num_nodes <= 62:
        return np.array(_digits(num_nodes, 6), dtype=np.uint8)
    if num_nodes <= 258047:
        return np.array([1] * 6 + _digits(num_nodes, 18), dtype=np.uint8)
    return np.array([1] * 12 + _digits(num_nodes, 36), dtype=np.uint8)


def _digits(number: int, width: int) -> list[int]:
    """The binary digits of a number, highest first."""
    return [number >> place & 1 for place in reversed(range(width))]


def _numbers(bits: Array) -> IntArray:
    """The numbers whose binary digits are the rows of `bits` [r, width], highest first."""
    return bits.astype(np.int64) @ (1 << np.arange(bits.shape[1])[::-1])


def _unpack(numbers: IntArray) -> Bits:
    """Six bits for each number, highest first, shape [6 r]."""
    return np.unpackbits(numbers.astype(np.uint8)[:, None], axis=1)[:, 2:].reshape(-1)


def _text(bits: Bits) -> str:
    """The characters that stand for bits [6 r]."""
    return bytes((_numbers(bits.reshape(-1, 6)) + 63).tolist()).decode("ascii")
