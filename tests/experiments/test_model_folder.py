"""The facts of a model folder: written, read, and refused if they are damaged."""

import json
from pathlib import Path

import pytest

from pfgnn.errors import InputError
from pfgnn.experiments.model_folder import FACTS, Facts, read_facts

FOUND = Facts("own.csv", "smiles", {"target": "y"}, {"train": 7}, 0, 9, "random")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read_facts(tmp_path) is None
    FOUND.write(tmp_path)
    assert read_facts(tmp_path) == FOUND


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("largest", "9", "largest must be of type int, but it is '9'"),
        ("rejected", True, "rejected must be of type int, but it is True"),
        ("split", None, "split must be of type str, but it is None"),
        ("parts", {"train": "7"}, r"parts must be of type dict\[str, int\], but it is {'train': '7'}"),
        ("about", [], r"about must be of type dict\[str, str\], but it is \[\]"),
        ("source", {}, "source must be of type str, but it is {}"),
    ],
)
def test_a_wrong_type_is_named(tmp_path: Path, name: str, value: object, sentence: str) -> None:
    FOUND.write(tmp_path)
    content = json.loads((tmp_path / FACTS).read_text())
    (tmp_path / FACTS).write_text(json.dumps(content | {name: value}))
    with pytest.raises(InputError, match=f"fit.json: {sentence}"):
        read_facts(tmp_path)
