"""YAML that was written to do harm gets a sentence at once."""

import pytest

from pfgnn.errors import InputError
from pfgnn.experiments.yaml_text import MOST_CHARACTERS, MOST_LEVELS, MOST_VALUES, load_yaml

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 40))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: &a [*a]", "line 1: an alias must not lead back to itself"),
        ("b: 1\na: &a\n  b: {c: *a}", "line 2: an alias must not lead back to itself"),
        (LAUGHS, f"must have at most {MOST_VALUES} values, counted with its aliases, but it has more"),
        (MERGES, f"must have at most {MOST_VALUES} values, counted with its aliases, but it has more"),
        (f"{LAUGHS}? *a39\n: 1", "must have at most"),
        ("[" * 60 + "]" * 60, f"must have at most {MOST_LEVELS} levels, but it has more"),
        ("[" * 20_000, f"must have at most {MOST_LEVELS} levels, but it has more"),
        ("{a: " * 20_000, f"must have at most {MOST_LEVELS} levels, but it has more"),
        ("x" * (MOST_CHARACTERS + 1), f"must be YAML of at most {MOST_CHARACTERS} characters, but it has 100001"),
        ("a: 2001-99-99", "must be YAML, but month must be in 1..12"),
        ("a: 0b_", "must be YAML, but invalid literal"),
        ("a: " + "9" * 5000, "must be YAML, but Exceeds the limit"),
        ("a: !!python/object/apply:os.system [echo]", "line 1 must be YAML, but could not determine a constructor"),
        ("a: 1\na: 2", "line 2 must be YAML, but the key a occurs twice"),
        ("a: \x00", "must be YAML, but unacceptable character"),
        ("a: 1\n--- \nb: 2", "must be YAML, but found another document"),
    ],
)
def test_wrong_yaml_gets_a_sentence_that_names_its_source(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_yaml(text, "run.yaml")
    said = str(caught.value)
    assert said.startswith("run.yaml")
    assert sentence in said
    assert "\n" not in said
    assert len(said) < 400


def test_aliases_that_stay_small_are_read() -> None:
    text = "a: &a [1, 2]\nb: *a\nc: &c {x: 1}\nd: {<<: *c, y: 2}\n"
    assert load_yaml(text, "run.yaml") == {"a": [1, 2], "b": [1, 2], "c": {"x": 1}, "d": {"x": 1, "y": 2}}
    assert load_yaml("", "run.yaml") is None
