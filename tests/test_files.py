import json
from pathlib import Path

import pytest

from pfgnn.files import read_json, write_atomically, write_json


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


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "record.json must hold JSON, but it does not: Expecting property name"),
        (b"\xff", "record.json must hold JSON, but it does not: 'utf-8' codec can't decode"),
        (b"[]", "record.json must hold a JSON object, but it holds a list"),
    ],
)
def test_a_file_that_is_no_json_object_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        read_json(tmp_path / "record.json")
