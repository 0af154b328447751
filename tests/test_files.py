import gzip
import json
import os
import re
import zipfile
import zlib
from pathlib import Path

import pytest

from pfgnn import files
from pfgnn.errors import InputError, InputTypeError, OutOfMemoryError
from pfgnn.files import (
    check_folder,
    check_writable,
    ending,
    read_json,
    read_text,
    reading,
    text_lines,
    write_atomically,
    write_json,
    write_text,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"good": 1})

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*record.json'"):
        write_atomically(path, fail)
    assert json.loads(path.read_text()) == {"good": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_file_system_is_named_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(temporary: Path, missing_ok: bool = False) -> None:
        raise OSError(30, "Read-only file system", str(temporary))

    monkeypatch.setattr(Path, "unlink", fail)
    with pytest.raises(OSError, match=r"Read-only file system: '[^']*/record.json'"):
        write_json(tmp_path / "record.json", {})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.g6")
    with pytest.raises(InputError, match=r"pipe\.g6 must be a file, but it is a pipe"):
        next(text_lines(tmp_path / "pipe.g6"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for write in (check_writable, lambda path: write_text(path, "text")):
        with pytest.raises(InputError, match=r"pipe must be a file or a new name, but it is a device or a pipe"):
            write(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("there", [True, False])
def test_of_a_link_the_file_that_it_names_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "data").mkdir()
    if there:
        (tmp_path / "data" / "table.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "data" / "table.csv")
    write_text(tmp_path / "link.csv", "new")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "data" / "table.csv").read_text() == "new"
    assert len(list(tmp_path.rglob("*"))) == 3  # nothing is left over


@pytest.mark.parametrize("path", [".", "..", "/"])
def test_a_folder_is_no_file_to_write(path: str) -> None:
    with pytest.raises(IsADirectoryError, match=f"'{re.escape(path)}'"):
        write_text(Path(path), "text")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", r"record.json must hold JSON, but it cannot be read \(Expecting property name"),
        (b"\xff", "record.json must be text in UTF-8, but line 1 has the byte 0xff"),
        (b"[]", "record.json must hold a JSON object, but it holds a list"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_json(tmp_path / "record.json")


def fail(error: Exception) -> None:
    path = Path("some/file.txt")
    with reading(path, "be in this folder"), reading(path, "hold a graph"):  # the second time changes nothing
        raise error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("loss"), "it has no loss"),
        (RecursionError(), "it is nested too deeply"),
        (StopIteration(), "it ends too early"),
        (EOFError("too short"), r"it is truncated or damaged \(too short\)"),
        (zlib.error("bad block"), r"it is truncated or damaged \(bad block\)"),
        (zipfile.BadZipFile("no zip"), r"it is truncated or damaged \(no zip\)"),
        (gzip.BadGzipFile("no gzip"), r"it is truncated or damaged \(no gzip\)"),
        (AttributeError("two\nlines"), r"it cannot be read \(two lines\)"),
        (IndexError(), r"it cannot be read \(IndexError\)"),
        (ValueError("x" * 10_000), r"it cannot be read \(x{199}…\)"),
    ],
)
def test_every_fault_of_a_file_becomes_one_sentence_with_its_name(error: Exception, said: str) -> None:
    with pytest.raises(InputError, match=f"^some/file.txt must hold a graph, but {said}$") as caught:
        fail(error)
    assert caught.value.__cause__ is error


def test_our_own_errors_keep_their_kind_and_get_the_name_once() -> None:
    for kind in (InputError, InputTypeError, OutOfMemoryError):
        with pytest.raises(kind, match=r"^some/file.txt: x must be finite$"):
            fail(kind("x must be finite"))
    with pytest.raises(OutOfMemoryError, match=r"^some/file.txt cannot be read, because there is too little memory$"):
        fail(MemoryError("7 PiB"))


def test_errors_of_the_operating_system_keep_their_kind_and_name_the_file() -> None:
    for name in ("other.txt", None):
        with pytest.raises(PermissionError) as caught:
            fail(OSError(13, "Permission denied", name))
        assert caught.value.filename == (name or "some/file.txt")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_text_may_be_gzipped_and_have_a_byte_order_mark(tmp_path: Path, start: bytes) -> None:
    content = start + "Größe\n".encode()
    for name, written in {
        "a.txt": content,
        "a.txt.gz": gzip.compress(content),
        "b.txt": gzip.compress(content),
    }.items():
        (tmp_path / name).write_bytes(written)
        assert read_text(tmp_path / name) == "Größe\n"
        assert list(text_lines(tmp_path / name)) == ["Größe\n"]


def test_a_line_ends_in_one_of_three_ways(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\r\n\rthree\x0b\x1c")
    assert list(text_lines(tmp_path / "a.txt")) == ["one\n", "two\r\n", "\r", "three\x0b\x1c"]


def test_lines_are_read_one_after_another(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"first\n" + 10**6 * b"line\n")
    whole = (tmp_path / "a.gz").read_bytes()
    (tmp_path / "a.gz").write_bytes(whole[: len(whole) // 2])
    lines = text_lines(tmp_path / "a.gz")
    assert next(lines) == "first\n"
    with pytest.raises(InputError, match=r"a.gz must be text in UTF-8, or gzipped text, but it is truncated"):
        list(lines)


def test_half_of_a_gzipped_text_is_refused_at_every_length(tmp_path: Path) -> None:
    path, whole = tmp_path / "half.csv.gz", gzip.compress(b"smiles,y\nCCO,1\n")
    for length in range(2, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(
            InputError, match=r"half.csv.gz must be text in UTF-8, or gzipped text, but it is truncated"
        ):
            read_text(path)


def test_a_small_file_that_holds_too_much_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_TEXT", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(InputError, match=r"bomb.gz must hold at most 1000 bytes of text, but it holds more"):
        read_text(tmp_path / "bomb.gz")
    with pytest.raises(InputError, match=r"bomb.gz, line 1: a line must have at most 1000 characters"):
        list(text_lines(tmp_path / "bomb.gz"))


def test_a_byte_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Größe\ntwo ".encode() + b"\xe9\n")
    for read in (read_text, lambda path: list(text_lines(path))):
        with pytest.raises(InputError, match=r"a.txt must be text in UTF-8, but line 2 has the byte 0xe9"):
            read(tmp_path / "a.txt")


def test_the_ending_of_a_name() -> None:
    names = {"a.csv": ".csv", "a.CSV.gz": ".csv", "b.c.smi": ".smi", "a.gz": "", "a": ""}
    assert {name: ending(Path(name)) for name in names} == names


def test_what_cannot_be_written_is_known_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_writable(tmp_path / "new" / "x.csv")
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    with pytest.raises(PermissionError, match=re.escape("x.csv")):
        check_writable(tmp_path / "new" / "x.csv")


def test_a_folder_cannot_be_a_file_nor_lie_in_one(tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    check_folder(file)
    check_folder(tmp_path / "new" / "newer")
    file.write_text("")
    with pytest.raises(InputError, match=r"file\.csv must be a folder, but it is a file$"):
        check_folder(file)
    with pytest.raises(InputError, match=r"a.b must be a folder, but .*file\.csv is a file$"):
        check_folder(file / "a" / "b")
