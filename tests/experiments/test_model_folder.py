"""The facts of a model folder: written, read, and refused if they are damaged."""

import json
from pathlib import Path

import pytest

from pfgnn.errors import InputError
from pfgnn.experiments.fit_command import check_same, fit_command
from pfgnn.experiments.model_folder import FACTS, Facts, read_facts
from pfgnn.experiments.seen import Seen

FOUND = Facts(
    "own.csv", "smiles", {"target": "y"}, {"train": 7}, 0, 9, "random", {"--target": ["y"]}, [[0, 3], [1]], [[2]]
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert read_facts(tmp_path) is None
    FOUND.write(tmp_path)
    assert read_facts(tmp_path) == FOUND


def test_a_folder_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It says neither which options it had nor which categories occur."""
    FOUND.write(tmp_path)
    content = json.loads((tmp_path / FACTS).read_text())
    for name in ("command", "node_values", "edge_values"):
        del content[name]
    (tmp_path / FACTS).write_text(json.dumps(content))
    facts = read_facts(tmp_path)
    assert facts is not None
    assert (facts.largest, facts.seen) == (9, Seen(0, 9, [], []))
    check_same(tmp_path, Path("elsewhere/own.csv"), {"--target": ["z"]})
    assert fit_command(tmp_path, Path("m")) == "pfgnn fit own.csv --out m"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("largest", "9", "largest must be of type int, but it is '9'"),
        ("rejected", True, "rejected must be of type int, but it is True"),
        ("split", None, "split must be of type str, but it is None"),
        ("parts", {"train": "7"}, r"parts must be of type dict\[str, int\], but it is {'train': '7'}"),
        ("about", [], r"about must be of type dict\[str, str\], but it is \[\]"),
        ("node_values", [[0], ["1"]], r"node_values must be of type list\[list\[int\]\], but it is \[\[0\], \['1'\]\]"),
        ("command", {"--target": "y"}, r"command must be of type dict\[str, list\[str\]\], but it is "),
        ("source", {}, "source must be of type str, but it is {}"),
    ],
)
def test_a_wrong_type_is_named(tmp_path: Path, name: str, value: object, sentence: str) -> None:
    FOUND.write(tmp_path)
    content = json.loads((tmp_path / FACTS).read_text())
    (tmp_path / FACTS).write_text(json.dumps(content | {name: value}))
    with pytest.raises(InputError, match=f"fit.json: {sentence}"):
        read_facts(tmp_path)
