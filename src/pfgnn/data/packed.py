"""One file for one dataset: a JSON header, then flat arrays, ready to be mapped into memory.

Layout: 8 bytes of magic; the format version, the header's length and its checksum (4 bytes each, little endian); the
header; the arrays, each at a multiple of 64 bytes. The header holds every array's dtype, shape, checksum and offset
from where they begin, and their size in all, so that a foreign, truncated or damaged file is found when it is opened.
Nothing is ever unpickled.
"""

import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pfgnn.errors import InputError, InputTypeError
from pfgnn.files import write_atomically

MAGIC = b"pfgnnset"
REMEDY = "delete it or pack it again"
VERSION = 1
PREAMBLE = struct.Struct("<8sIII")  # magic, version, length and checksum of the header
ALIGNMENT = 64
# The dtypes that both numpy and torch compute with.
DTYPES = frozenset({"|u1", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8", "|b1"})

Array = npt.NDArray[Any]


def write_packed(path: Path, arrays: Mapping[str, Array], meta: Mapping[str, object]) -> None:
    """Write arrays and JSON-like ``meta`` to one file, whole or not at all."""
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
            file.truncate(first + end)  # also where only empty arrays, or none, come last

    write_atomically(path, write)


def read_packed(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Map a packed file into memory and check it: its arrays, copied on write, and its ``meta``."""
    with path.open("rb") as file:
        start = file.read(PREAMBLE.size)
    if len(start) < PREAMBLE.size or not start.startswith(MAGIC):
        raise InputError(
            f"{path} is not a packed dataset, which begins with {MAGIC.decode()!r}; make one with Dataset.save"
        )
    _, version, length, crc = PREAMBLE.unpack(start)
    if version != VERSION:
        raise InputError(f"{path} has format version {version}, but this is version {VERSION}; {REMEDY}")
    whole = np.memmap(path, dtype=np.uint8, mode="c")
    header_bytes = whole[PREAMBLE.size : PREAMBLE.size + length]  # a slice of the map: a wrong length costs nothing
    if len(header_bytes) < length or zlib.crc32(header_bytes.data) != crc:
        raise InputError(f"{path} is truncated or damaged in its header; {REMEDY}")
    header = json.loads(header_bytes.tobytes())
    first = _aligned(PREAMBLE.size + length)
    if len(whole) != first + header["size"]:
        raise InputError(
            f"{path} is truncated or damaged: it has {len(whole)} bytes, not {first + header['size']}; {REMEDY}"
        )
    arrays = {}
    for name, entry in header["arrays"].items():
        dtype, shape, begin = np.dtype(entry["dtype"]), entry["shape"], first + entry["offset"]
        block = whole[begin : begin + int(np.prod(shape)) * dtype.itemsize]
        if zlib.crc32(block.data) != entry["crc"]:
            raise InputError(f"{path} is damaged: the checksum of its array {name} is wrong; {REMEDY}")
        arrays[name] = block.view(dtype).reshape(shape).view(np.ndarray)
    return arrays, header["meta"]


def _aligned(position: int) -> int:
    """The next multiple of the alignment."""
    return position + -position % ALIGNMENT
