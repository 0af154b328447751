"""Published files, packed files and tables that are cut, damaged or something else: a sentence with the file's name."""

import gzip
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data import Dataset, load, readers
from pfgnn.data.packed import PREAMBLE, write_packed
from pfgnn.data.tu import read_tu
from pfgnn.errors import PFGNNError
from pfgnn.graphs import circulant

ARRAYS: dict[str, Any] = {
    "num_nodes": np.array([2, 1, 1]),
    "num_edges": np.array([2, 0, 0]),
    "edge_index": np.array([[0, 1], [1, 0]]),
    "atom_type": np.array([0, 1, 2, 3]),
    "bond_type": np.array([1, 1]),
    "y": np.array([0.5, 1.5, 2.5]),
    "split_sizes": np.array([1, 1, 1]),
}


@pytest.fixture(autouse=True)
def _empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PFGNN_DATA", raising=False)


def refusal(read: Callable[[], object], name: str) -> str:
    """What is said when a file cannot be read: one sentence that names it and does not advise to unpickle it."""
    with pytest.raises(PFGNNError) as caught:
        read()
    said = str(caught.value)
    assert name in said
    assert "\n" not in said
    assert "pickle" not in said.replace("allow_pickle=False", "")
    return said


def test_arrays_of_zinc_that_are_cut_damaged_or_something_else(tmp_path: Path) -> None:
    path = tmp_path / "zinc12k" / "zinc12k.npz"
    path.parent.mkdir()
    np.savez_compressed(path, **ARRAYS)
    whole = path.read_bytes()
    assert len(readers.zinc(path.parent)) == 3
    for content in (b"", whole[: len(whole) // 2], b"\x80\x04" + b"garbage" * 99, whole[:-30]):
        path.write_bytes(content)
        assert "truncated or something else" in refusal(lambda: load("zinc", tmp_path), "zinc12k.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_byte_of_an_array_is_found(tmp_path: Path, save: Callable[..., None]) -> None:
    path = tmp_path / "zinc12k.npz"
    save(path, **ARRAYS)
    whole = path.read_bytes()
    for place in range(whole.index(b"y.npy") + 30, whole.index(b"y.npy") + 60, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert "damaged" in refusal(lambda: readers.zinc(tmp_path), "zinc12k.npz")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": None}, "it has no y"),
        ({"edge_index": np.array([[0, 9], [9, 0]])}, "edges must join nodes 0..1 in graph 0"),
        ({"edge_index": np.array([0, 1])}, "edges must have shape"),
        ({"split_sizes": np.array([1, 1])}, "it cannot be read"),
        ({"y": np.array([{}, 1, 2], dtype=object)}, "Object arrays cannot be loaded"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    arrays = {name: array for name, array in {**ARRAYS, **change}.items() if array is not None}
    np.savez(tmp_path / "zinc12k.npz", **arrays)
    assert said in refusal(lambda: readers.zinc(tmp_path), "zinc12k.npz")


def test_an_archive_that_claims_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MOST_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "zinc12k.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("y.npy", bytes(10**6))
    said = refusal(lambda: readers.zinc(tmp_path), "zinc12k.npz")
    assert "must hold at most 1000 bytes of arrays, but it claims 1000000" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2\n1 0\n0 0\n", "it ends too early"),
        ("1\n2 0\n0 1 1\n", "it ends too early"),
        ("", "it ends too early"),
        ("1\n1\n", "it cannot be read"),
        ("one\n", "it cannot be read"),
        ("1\n2 0\n0 1 7\n0 1 0\n", "out of range for 2 nodes"),
    ],
)
def test_adjacency_lists(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "EXP.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert said in refusal(lambda: readers.exp(tmp_path), "EXP.txt.gz")
    (tmp_path / "EXP.txt.gz").write_bytes(gzip.compress(b"1\n" * 1000)[:-9])
    assert "truncated or damaged" in refusal(lambda: readers.exp(tmp_path), "EXP.txt.gz")


def test_small_files_of_other_datasets(tmp_path: Path) -> None:
    (tmp_path / "brec.g6").write_text("A_\nA_\n")
    for content in ("{}", "[]", "{", '{"fine_ranges": {"a": 3}}', "[" * 100_000):
        (tmp_path / "brec_meta.json").write_text(content)
        refusal(lambda: readers.brec(tmp_path), "brec_meta.json")
    for content in ("a,b", "1,,2", "9" * 30):
        (tmp_path / "CSL_train.index").write_text(content)
        refusal(lambda: readers.csl_folds(tmp_path), "CSL_train.index")
    for text in ("index,mu\n0,x\n", "", "index,mu\n0\n"):
        (tmp_path / "qm9.csv.gz").write_bytes(gzip.compress(text.encode()))
        refusal(lambda: readers.read_table(tmp_path / "qm9.csv.gz"), "qm9.csv.gz")


def packed_with(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A packed dataset whose header is changed, with checksums that fit."""
    Dataset.from_graphs([circulant(5, [1])], [1.5]).save(path)
    content = path.read_bytes()
    magic, version, length, _ = PREAMBLE.unpack(content[: PREAMBLE.size])
    end = PREAMBLE.size + length
    header = json.loads(content[PREAMBLE.size : end])
    change(header)
    new = json.dumps(header).encode()
    new += b" " * (length - len(new))
    path.write_bytes(PREAMBLE.pack(magic, version, length, zlib.crc32(new)) + new + content[end:])


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("size"),
        lambda header: header.pop("meta"),
        lambda header: header["meta"].pop("task"),
        lambda header: header["meta"]["task"].pop("level"),
        lambda header: header["meta"]["task"].update(level=3),
        lambda header: header["meta"].update(name=None, node_categories=7),
        lambda header: header["arrays"].pop("y"),
        lambda header: header["arrays"].pop("edges"),
        lambda header: header["arrays"]["y"].update(dtype="|O"),
        lambda header: header["arrays"]["y"].update(shape=[-1]),
        lambda header: header["arrays"]["y"].update(shape=[10**9]),
        lambda header: header["arrays"]["y"].update(offset=-64),
        lambda header: header["arrays"]["y"].update(crc="a"),
        lambda header: header.update(arrays=[]),
    ],
)
def test_a_header_that_lies_with_the_right_checksum(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = tmp_path / "own.pfgnn"
    packed_with(path, change)
    refusal(lambda: Dataset.open(path), "own.pfgnn")


def test_a_packed_file_of_other_arrays_is_no_dataset(tmp_path: Path) -> None:
    write_packed(tmp_path / "own.pfgnn", {"columns": np.zeros(3)}, {})
    assert "it has no node_categories" in refusal(lambda: Dataset.open(tmp_path / "own.pfgnn"), "own.pfgnn")


@pytest.mark.parametrize("kind", ["A", "graph_indicator", "graph_labels", "node_labels", "node_attributes"])
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"1," * 50_000, b"9" * 20, b"nan", b"-1\n1e400"])
def test_tables_of_a_tu_folder(tmp_path: Path, kind: str, content: bytes) -> None:
    tables = {"A": b"1, 2\n2, 1\n", "graph_indicator": b"1\n1\n2\n", "graph_labels": b"5\n9\n"}
    tables |= {"node_labels": b"1\n2\n1\n", "node_attributes": b"0.5\n1\n2\n"}
    for name, text in {**tables, kind: content}.items():
        (tmp_path / f"TINY_{name}.txt").write_bytes(text)
    refusal(lambda: read_tu(tmp_path), "TINY")
