"""Records that are damaged or come from elsewhere get a sentence with the name of the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from pfgnn.experiments.run_directory import RECORD_KEYS, ended_early, read_record

RECORD: dict[str, Any] = {
    "config": {},
    "data": "00000000",
    "selected": "best",
    "device": "CPU",
    "seconds": {"training": 1.5},
    "updates": 3,
    "parameters": 10,
    "results": {},
    "pairs": None,
}


def test_a_whole_record_is_read(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(json.dumps({**RECORD, "more": 1}))
    assert read_record(tmp_path)["selected"] == "best"


@pytest.mark.parametrize(
    ("epochs", "selected", "said"),
    [
        (100, 60, ""),  # it did all epochs
        (71, 60, ""),  # the user ended it
        (
            71,
            37,
            "The training ended after 71 of 100 epochs, because the validation score had not become better for 34 "
            "epochs.",
        ),
    ],
)
def test_a_training_that_ended_early_says_why(epochs: int, selected: int, said: str) -> None:
    training = {"epochs": 100, "patience": 33}
    done = {"epochs": epochs, "updates": 11 * epochs, "selected_update": 11 * selected}
    assert ended_early({**RECORD, "config": {"training": training}, **done}) == said
    assert ended_early({**RECORD, "config": {"training": {"updates": 10}}, **done}) == ""
    by_updates = {"epochs": None, "updates": 1100, "patience": 33}
    of_updates = said.replace("71 of 100 epochs", "781 of 1100 updates")
    assert ended_early({**RECORD, "config": {"training": by_updates}, **done}) == of_updates


@pytest.mark.parametrize("key", RECORD_KEYS)
def test_a_missing_or_wrong_key_is_named(tmp_path: Path, key: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(json.dumps({name: value for name, value in RECORD.items() if name != key}))
    with pytest.raises(ValueError, match=rf"record.json must be the record of a run, .* but it has no {key}$"):
        read_record(tmp_path)
    path.write_text(json.dumps({**RECORD, key: ["x" * 1000]}))
    with pytest.raises(ValueError, match=rf"record.json must be the record of a run, .* but {key} is \['xxx") as caught:
        read_record(tmp_path)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("content", ["{}", "[]", "{", "", "[" * 100_000, '{"updates": ' + "9" * 5000 + "}"])
def test_a_file_that_is_no_record(tmp_path: Path, content: str) -> None:
    (tmp_path / "record.json").write_text(content)
    with pytest.raises(ValueError, match=r"record.json must (be|hold) ") as caught:
        read_record(tmp_path)
    assert len(str(caught.value)) < 500
