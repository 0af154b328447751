"""Packed files: a JSON header and flat arrays in one file, which can be mapped into memory.

The file consists of these parts:

1. 8 magic bytes, which mark the format.
2. The format version, the length of the header and its checksum, 4 bytes each, little endian.
3. The header. It holds the dtype, shape, checksum and offset of every array, and the total size of the arrays. Offsets
   count from the start of part 4.
4. The arrays. Each one starts at a multiple of 64 bytes.

So a truncated or damaged file, or a file of another format, is detected when it is opened. Nothing is unpickled.
"""

import json
import struct
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pfgnn.errors import InputError, InputTypeError, shown
from pfgnn.files import reading, write_atomically

MAGIC = b"pfgnnset"
REMEDY = "delete it or pack it again"
VERSION = 1
PREAMBLE = struct.Struct("<8sIII")  # magic, version, length and checksum of the header
ALIGNMENT = 64
# The dtypes that both numpy and torch compute with.
DTYPES = frozenset({"|u1", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8", "|b1"})

Array = npt.NDArray[Any]


def write_packed(path: Path, arrays: Mapping[str, Array], meta: Mapping[str, object]) -> None:
    """Write arrays and ``meta``, values that JSON can store, to one file, completely or not at all."""
    blocks, entries, end = {}, {}, 0
    for name, array in arrays.items():
        if array.dtype.str not in DTYPES:
            allowed = ", ".join(sorted(DTYPES))
            raise InputTypeError(f"array {name} has dtype {array.dtype}, but a packed file holds {allowed}")
        block = np.asarray(array, order="C").reshape(-1).view(np.uint8)
        place = {"offset": _aligned(end), "crc": zlib.crc32(block.data)}
        blocks[place["offset"]] = block
        entries[name] = {"dtype": array.dtype.str, "shape": array.shape, **place}
        end = place["offset"] + block.nbytes
    header = json.dumps({"size": end, "meta": dict(meta), "arrays": entries}).encode()
    first = _aligned(PREAMBLE.size + len(header))

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            file.write(PREAMBLE.pack(MAGIC, VERSION, len(header), zlib.crc32(header)) + header)
            for offset, block in blocks.items():
                file.seek(first + offset)
                file.write(block.data)
            file.truncate(first + end)  # sets the size if there are no arrays or the last ones are empty

    write_atomically(path, write)


def read_packed(path: Path, only: Collection[str] | None = None) -> tuple[dict[str, Array], dict[str, Any]]:
    """Map a packed file into memory and check it.

    Args:
        path: The file.
        only: Names of the arrays to map and check; None for all. The others are not read.

    Returns:
        The arrays, by name, and ``meta``. Changes of an array are not written to the file.
    """
    with reading(path, "be a packed dataset, as Dataset.save writes it"):
        header, _, first, whole = _read_header(path)
        chosen = {name: entry for name, entry in header["arrays"].items() if only is None or name in only}
        return {name: _array(path, whole, name, entry, first) for name, entry in chosen.items()}, header["meta"]


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a packed file, and its checksum. It holds the checksums of all arrays, so it stands for them."""
    with reading(path, "be a packed dataset, as Dataset.save writes it"):
        header, crc, *_ = _read_header(path)
        return header, crc


def _read_header(path: Path) -> tuple[dict[str, Any], int, int, Array]:
    """The header, its checksum, where the arrays begin, and all bytes of the file, mapped into memory."""
    with path.open("rb") as file:
        start = file.read(PREAMBLE.size)
    if len(start) < PREAMBLE.size or not start.startswith(MAGIC):
        raise InputError(
            f"{path} is not a packed dataset, which begins with '{MAGIC.decode()}'; make one with Dataset.save"
        )
    _, version, length, crc = PREAMBLE.unpack(start)
    if version != VERSION:
        raise InputError(f"{path} must have format version {VERSION}, but it has {version}; {REMEDY}")
    whole = np.memmap(path, dtype=np.uint8, mode="c")
    header_bytes = whole[PREAMBLE.size : PREAMBLE.size + length]  # a slice copies nothing, even if the length is wrong
    if len(header_bytes) < length or zlib.crc32(header_bytes.data) != crc:
        raise InputError(f"{path} is truncated or damaged in its header; {REMEDY}")
    header = json.loads(header_bytes.tobytes())
    first = _aligned(PREAMBLE.size + length)
    if len(whole) != first + header["size"]:
        raise InputError(
            f"{path} is truncated or damaged: it has {len(whole)} bytes, not {first + header['size']}; {REMEDY}"
        )
    return header, crc, first, whole


def _array(path: Path, whole: Array, name: str, entry: Mapping[str, Any], first: int) -> Array:
    """One array of a file.

    Args:
        path: The file, for messages.
        whole: All bytes of the file.
        name: Name of the array, for messages.
        entry: Dtype, shape, checksum and offset, from the header.
        first: Where the arrays begin.
    """
    if entry["dtype"] not in DTYPES:
        raise InputError(f"{path} has an array of dtype {shown(entry['dtype'])}; {REMEDY}")
    dtype, shape, begin = np.dtype(entry["dtype"]), entry["shape"], first + entry["offset"]
    block = whole[begin : begin + int(np.prod(shape)) * dtype.itemsize]
    if zlib.crc32(block.data) != entry["crc"]:
        raise InputError(f"{path} is damaged: the checksum of its array {name} is wrong; {REMEDY}")
    return block.view(dtype).reshape(shape).view(np.ndarray)


def _aligned(position: int) -> int:
    """The position, rounded up to a multiple of the alignment."""
    return position + -position % ALIGNMENT
