"""The packed file: what goes in comes out, and whatever is damaged is refused with a sentence."""

import ast
import inspect
import json
import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfgnn.data import packed
from pfgnn.data.packed import ALIGNMENT, DTYPES, MAGIC, PREAMBLE, VERSION, Array, read_packed, write_packed

SHAPES = [(), (0,), (1,), (7,), (0, 3), (3, 0), (2, 5), (2, 3, 4)]
META: dict[str, object] = {"name": "Größe", "numbers": [1, 2.5, None, True], "nested": {"empty": {}}}


def filled(dtype: str, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A small packed file of three arrays, one of them empty."""
    file = tmp_path / "small.pfgnn"
    write_packed(file, {"a": np.arange(5), "b": np.array([[0.5, 2.0]]), "none": np.zeros((0, 2))}, META)
    return file


def header_end(content: bytes) -> int:
    return PREAMBLE.size + int(PREAMBLE.unpack(content[: PREAMBLE.size])[2])


def refusal(path: Path, content: bytes) -> str:
    """What is said about a file of this content: one sentence that names the file and what to do."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is|has") as caught:
        read_packed(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert said.endswith(("; delete it or pack it again", "; make one with Dataset.save"))
    assert "\n" not in said
    return said


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", sorted(DTYPES))
def test_every_dtype_and_shape_comes_back(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = filled(dtype, shape)
    write_packed(tmp_path / "set", {"first": array, "again": array[..., ::-1] if shape else array}, {})
    arrays, meta = read_packed(tmp_path / "set")
    assert meta == {}
    for got, want in ((arrays["first"], array), (arrays["again"], array[..., ::-1] if shape else array)):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)


def test_many_arrays_are_aligned_and_the_meta_comes_back(tmp_path: Path) -> None:
    given = {f"{dtype}{shape}": filled(dtype, shape) for dtype in DTYPES for shape in SHAPES}
    write_packed(tmp_path / "set", given, META)
    arrays, meta = read_packed(tmp_path / "set")
    assert meta == META
    assert list(arrays) == list(given)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, given[name])
        assert array.ctypes.data % ALIGNMENT == 0


def test_a_file_without_arrays(tmp_path: Path) -> None:
    write_packed(tmp_path / "set", {}, META)
    assert read_packed(tmp_path / "set") == ({}, META)


@pytest.mark.parametrize("dtype", ["U3", "O", "<c8", ">i4", "<f2", "<u4"])
def test_other_dtypes_are_refused_before_anything_is_written(tmp_path: Path, dtype: str) -> None:
    with pytest.raises(TypeError, match=r"array odd has dtype .*, but a packed file holds <f4, <f8, "):
        write_packed(tmp_path / "set", {"odd": np.zeros(2, dtype=dtype)}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = path.read_bytes()

    class FullDisk:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> "FullDisk":
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def seek(self, place: int) -> None:
            self.file.seek(place)

        def write(self, content: bytes) -> None:
            if self.file.tell() > 0:
                raise OSError(28, "No space left on device")
            self.file.write(content)

    real_open = Path.open
    monkeypatch.setattr(Path, "open", lambda *args: FullDisk(real_open(*args)))
    with pytest.raises(OSError, match="No space left on device"):
        write_packed(path, {"new": np.arange(1000)}, {})
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


def test_a_file_cut_anywhere_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for length in range(len(content)):
        said = refusal(path, content[:length])
        whole_preamble = length >= PREAMBLE.size
        assert ("truncated" if whole_preamble else "is not a packed dataset") in said


def test_a_longer_file_is_refused(path: Path) -> None:
    assert "truncated or damaged: it has" in refusal(path, path.read_bytes() + b"\0")


def test_each_flipped_bit_of_preamble_and_header_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for place in range(header_end(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        refusal(path, bytes(damaged))


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_flipped_bit_of_an_array_is_refused_by_its_name(path: Path, name: str) -> None:
    content = path.read_bytes()
    block = read_packed(path)[0][name].tobytes()
    for place in range(len(block)):
        damaged = bytearray(content)
        damaged[content.index(block) + place] ^= 4
        assert f"the checksum of its array {name} is wrong" in refusal(path, bytes(damaged))


@pytest.mark.parametrize("content", [b"", b"pfgnn", b"PK\3\4" + bytes(100), b"\x80\4N.", b"{}" * 40, MAGIC[::-1] * 9])
def test_an_empty_or_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "is not a packed dataset" in refusal(tmp_path / "other", content)


def test_another_format_version_is_refused(path: Path) -> None:
    content = path.read_bytes()
    header = b"of a future format"
    other = PREAMBLE.pack(MAGIC, VERSION + 1, len(header), zlib.crc32(header)) + header
    assert f"must have format version {VERSION}, but it has {VERSION + 1};" in refusal(path, other)
    assert "must have format version" in refusal(path, content[:8] + b"\0\0\0\0" + content[12:])


def test_an_absurd_header_length_takes_no_memory(path: Path) -> None:
    _, version, _, crc = PREAMBLE.unpack(path.read_bytes()[: PREAMBLE.size])
    path.write_bytes(PREAMBLE.pack(MAGIC, version, 2**31, crc))
    os.truncate(path, 2**30)  # with a hole: the header would be all of the file
    tracemalloc.start()
    with pytest.raises(ValueError, match="truncated or damaged in its header"):
        read_packed(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=place.name):
            read_packed(place)


def test_arrays_are_mapped_and_changes_stay_in_memory(path: Path) -> None:
    content = path.read_bytes()
    array = read_packed(path)[0]["a"]
    below: Any = array
    while isinstance(below, np.ndarray) and not isinstance(below, np.memmap):
        below = below.base
    assert isinstance(below, np.memmap)
    array[:] = 77
    assert path.read_bytes() == content
    assert read_packed(path)[0]["a"].tolist() == [0, 1, 2, 3, 4]


def test_opening_a_large_file_takes_no_memory(tmp_path: Path) -> None:
    write_packed(tmp_path / "set", {"large": np.zeros(2**22)}, {})  # 32 MiB
    tracemalloc.start()
    arrays, _ = read_packed(tmp_path / "set")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert arrays["large"].nbytes == 2**25
    assert peak < 2**20


def test_a_file_replaced_while_it_is_open_keeps_its_arrays(path: Path) -> None:
    before = read_packed(path)[0]["a"]
    write_packed(path, {"a": np.zeros(100)}, {})
    assert before.tolist() == [0, 1, 2, 3, 4]


def test_the_header_is_json(path: Path) -> None:
    content = path.read_bytes()
    assert json.loads(content[PREAMBLE.size : header_end(content)])["meta"] == META


def test_nothing_is_unpickled() -> None:
    tree = ast.parse(inspect.getsource(packed))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not imported & {"pickle", "shelve", "marshal", "joblib", "torch"}
    assert "load" not in used
    assert not inspect.getsource(packed).count("allow_pickle")
