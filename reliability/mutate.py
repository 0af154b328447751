"""Changes that make a valid input a wrong one, or another valid one."""

from collections.abc import Sequence
from random import Random
from typing import Any

NUMBERS = (0, -1, 1, 2, 7, 255, 2**31, -(2**31), 2**63, 10**20, 10**400, 0.5, -0.0, 1e-320, 1e308)
FLOATS = (float("nan"), float("inf"), float("-inf"))
TEXTS = (
    "",
    " ",
    "nan",
    "1e999",
    "0x10",
    "-",
    "é",
    "\N{PILE OF POO}",
    "\x00",
    "a" * 5000,
    "[bold]",
    "../..",
    "{}",
    "\n",
)
VALUES: tuple[Any, ...] = (*NUMBERS, *FLOATS, *TEXTS, True, False, None, [], {}, [[]], [1, "a"], {"a": [1]})
# Pieces of bytes that readers of text and of binary files stumble over.
PIECES = (
    *(text.encode() for text in TEXTS),
    *(b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"PK\x03\x04", b'"', b",", b";", b"\t", b"\r\n", b":", b"~~~~~~~~", b"-"),
    *(b"*a *a", b"&a [*a]", b"!!python/object:os.system", b"[" * 2000, b"{" * 500, b"99999999999999999999", b"null"),
)


def mutate_bytes(rng: Random, data: bytes) -> bytes:
    """Change some bytes: flip, cut, delete, repeat, swap or insert."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        begin = rng.randrange(len(data) + 1)
        end = min(len(data), begin + rng.choice((1, 2, 8, 64, 1000)))
        part = data[begin:end]
        match rng.randrange(7):
            case 0:
                data = data[:begin]
            case 1:
                data = data[:begin] + data[end:]
            case 2:
                data = data[:end] + part * rng.choice((1, 2, 50)) + data[end:]
            case 3:
                data = data[:begin] + bytes(byte ^ 1 << rng.randrange(8) for byte in part) + data[end:]
            case 4:
                data = data[:begin] + rng.choice(PIECES) + data[end:]
            case 5:
                data = data[:begin] + rng.choice(PIECES) + data[begin:]
            case 6:
                data = data[:begin] + rng.randbytes(len(part)) + data[end:]
    return data


def mutate_table(rng: Random, text: str, separator: str = ",") -> str:
    """Change some cells, columns or lines of a table."""
    lines = [line.split(separator) for line in text.splitlines()]
    for _ in range(rng.choice((1, 1, 2))):
        line = rng.choice(lines)
        match rng.randrange(5):
            case 0:
                line[rng.randrange(len(line))] = str(rng.choice(VALUES))
            case 1:
                line.insert(rng.randrange(len(line) + 1), str(rng.choice(VALUES)))
            case 2 if len(line) > 1:
                line.pop(rng.randrange(len(line)))
            case 3:
                lines.insert(rng.randrange(len(lines) + 1), list(rng.choice(lines)))
            case _:
                column, value = rng.randrange(len(lines[0])), str(rng.choice(VALUES))
                for other in lines[rng.randrange(2) :]:
                    other[column : column + 1] = [value]
    return "\n".join(separator.join(line) for line in lines) + "\n"


def mutate_tree(rng: Random, tree: Any) -> Any:
    """A copy of nested lists and dictionaries in which a value, a key or an element is changed, added or left out."""
    inside = isinstance(tree, dict | list) and len(tree) > 0
    if not inside or rng.random() < 0.05:
        return rng.choice(VALUES)
    if isinstance(tree, dict):
        key = rng.choice(list(tree))
        match rng.randrange(8):
            case 0:
                return {name: value for name, value in tree.items() if name != key}
            case 1:
                return {**tree, str(rng.choice(VALUES)): rng.choice(VALUES)}
            case 2:
                return {(name if name != key else str(name) + "s"): value for name, value in tree.items()}
            case _:
                return {**tree, key: mutate_tree(rng, tree[key])}
    place = rng.randrange(len(tree))
    match rng.randrange(6):
        case 0:
            return tree[:place] + tree[place + 1 :]
        case 1:
            return [*tree, rng.choice(VALUES)]
        case 2:
            return tree * 2
        case _:
            return [*tree[:place], mutate_tree(rng, tree[place]), *tree[place + 1 :]]


def some(rng: Random, values: Sequence[Any], most: int) -> list[Any]:
    """Up to ``most`` of the values, at least one."""
    return rng.sample(list(values), rng.randint(1, min(most, len(values))))
