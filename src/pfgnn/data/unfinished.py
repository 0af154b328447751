"""A conversion of a large file that is not finished: what is done is kept on the disk, block by block."""

import shutil
import zlib
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pfgnn.data.arrays import Array
from pfgnn.data.code_checksum import code_checksum
from pfgnn.data.conversion import Conversion
from pfgnn.data.convert_pieces import Columns, Piece, Reject, merge
from pfgnn.data.dataset import Dataset
from pfgnn.data.packed import read_header, read_packed
from pfgnn.errors import InputError
from pfgnn.files import read_json, write_json

IDENTITY = "identity.json"


class Block(NamedTuple):
    """Some lines of the file that are done. Their graphs are in a packed file, if there are any.

    Fields:
        lines: Number of the lines.
        graphs: Number of the graphs.
        checksum: Checksum of the packed file; None without graphs.
        rejects: Number of the rejected lines.
        columns: See :class:`pfgnn.data.convert_pieces.Piece`.
    """

    lines: int
    graphs: int
    checksum: int | None
    rejects: int
    columns: Columns


class Unfinished:
    """The folder of a conversion that is not finished. Its targets are still labels.

    Args:
        folder: The folder. If it belongs to another conversion, or to other versions of the file or of the code, it is
            begun anew.
        conversion: What is converted.
    """

    def __init__(self, folder: Path, conversion: Conversion) -> None:
        self.folder = folder
        self.blocks: list[Block] = []
        identity = _identity(conversion)
        if _read(folder / IDENTITY) != identity:
            self.remove()
            write_json(folder / IDENTITY, identity)
        while (block := self._stored(len(self.blocks))) is not None:
            self.blocks.append(block)

    @property
    def lines(self) -> int:
        """Number of lines that are done."""
        return sum(block.lines for block in self.blocks)

    @property
    def graphs(self) -> int:
        """Number of graphs that are done."""
        return sum(block.graphs for block in self.blocks)

    @property
    def columns(self) -> Columns:
        """Number of columns of the graphs that are done."""
        return self.blocks[-1].columns if self.blocks else {}

    def add(self, pieces: Sequence[Piece]) -> None:
        """Store the next block."""
        number, columns, checksum = len(self.blocks), pieces[-1].columns, None
        datasets = [piece.dataset for piece in pieces if piece.dataset is not None]
        if datasets:
            merge(datasets, columns).save(self._data(number))
            _, checksum = read_header(self._data(number))
        rejects = [reject for piece in pieces for reject in piece.rejects]
        lines, graphs = sum(piece.lines for piece in pieces), sum(map(len, datasets))
        block = Block(lines, graphs, checksum, len(rejects), columns)
        write_json(self._notes(number), {"block": block._asdict(), "rejects": rejects})
        self.blocks.append(block)

    def datasets(self) -> Iterator[Dataset]:
        """The graphs of each block that has any."""
        first = 0
        for number, block in enumerate(self.blocks):
            if block.graphs:
                yield merge([Dataset.open(self._data(number))], self.columns, first)
                first += block.graphs

    def labels(self) -> Iterator[Array]:
        """The labels of the graphs of each block that has any."""
        for number, block in enumerate(self.blocks):
            if block.graphs:
                yield read_packed(self._data(number), only=("y",))[0]["y"]

    def rejects(self) -> Iterator[Reject]:
        """All rejected lines."""
        for number, block in enumerate(self.blocks):
            if block.rejects:
                yield from (Reject(*reject) for reject in read_json(self._notes(number))["rejects"])

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _data(self, number: int) -> Path:
        return self.folder / f"{number:05}.pfgnn"

    def _notes(self, number: int) -> Path:
        return self.folder / f"{number:05}.json"

    def _stored(self, number: int) -> Block | None:
        """A block that an earlier call has stored; None if it is not there or damaged."""
        notes = _read(self._notes(number))
        if notes is None:
            return None
        block = Block(**notes["block"])
        try:
            if block.graphs and (read_header(self._data(number))[1], len(Dataset.open(self._data(number)))) != (
                block.checksum,
                block.graphs,
            ):
                return None
        except (OSError, InputError):
            return None
        return block


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return read_json(path)
    except (OSError, InputError):
        return None


def _identity(conversion: Conversion) -> dict[str, Any]:
    """What the stored blocks depend on."""
    settings = ("kind", "smiles_column", "targets", "features", "task", "split_column")
    files = [conversion.file, *([Path(conversion.labels)] if conversion.labels is not None else [])]
    try:
        rdkit = version("rdkit")
    except PackageNotFoundError:
        rdkit = None
    return {
        "settings": {name: getattr(conversion, name) for name in settings},
        "files": {file.name: f"{_checksum(file):08x}" for file in files},
        "code": code_checksum(),
        "rdkit": rdkit,
    }


def _checksum(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while content := file.read(2**20):
            crc = zlib.crc32(content, crc)
    return crc
