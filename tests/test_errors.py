"""Errors raised on purpose have their own classes, and all others are bugs."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import pfgnn
from pfgnn.errors import (
    DivergedError,
    InputError,
    InputTypeError,
    MissingPackageError,
    OutOfMemoryError,
    PFGNNError,
    counted,
    explain,
    is_bug,
    nearest,
    shown,
)

SOURCE = Path(pfgnn.__file__).parent
BUILT_IN = {
    InputError: ValueError,
    InputTypeError: TypeError,
    MissingPackageError: ImportError,
    OutOfMemoryError: MemoryError,
    DivergedError: FloatingPointError,
}


def test_every_error_is_also_the_built_in_one() -> None:
    for ours, built_in in BUILT_IN.items():
        error = pickle.loads(pickle.dumps(ours("a sentence")))
        assert isinstance(error, PFGNNError)
        assert isinstance(error, built_in)
        assert (explain(error), is_bug(error)) == ("a sentence", False)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(2, "No such file or directory", "a.g6"), "a.g6: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (FileNotFoundError("a.yaml must be a config"), "a.yaml must be a config"),
        (MemoryError(), "there is too little memory"),
        (MemoryError("Unable to allocate 7 PiB"), "there is too little memory: Unable to allocate 7 PiB"),
        (torch.OutOfMemoryError("CUDA out of\nmemory"), "there is too little memory: CUDA out of memory"),
    ],
)
def test_what_the_machine_refuses_is_no_bug(error: Exception, sentence: str) -> None:
    assert (explain(error), is_bug(error)) == (sentence, False)


def test_too_little_memory_for_a_tensor_is_no_bug() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(10**15)
    assert not is_bug(caught.value)
    assert explain(caught.value).startswith("there is too little memory: ")


def test_what_others_raise_is_a_bug() -> None:
    with pytest.raises(ValueError, match="reshape") as of_numpy:
        np.zeros(2).reshape(3)
    with pytest.raises(RuntimeError) as of_torch:
        torch.zeros(2) @ torch.zeros(3)
    for error in (of_numpy.value, of_torch.value, KeyError("a"), AssertionError("a"), ModuleNotFoundError("a")):
        assert is_bug(error)
        assert explain(error).startswith(f"this is a bug in pfgnn ({type(error).__name__}: ")


def test_every_error_that_is_raised_on_purpose_is_one_of_ours() -> None:
    names = {built_in.__name__ for built_in in BUILT_IN.values()}
    found = [
        f"{path.relative_to(SOURCE)}, line {node.lineno}: raise {node.exc.func.id}"
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)
        if node.exc.func.id in names
    ]
    assert found == []


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("a", "'a'"),
        (None, "None"),
        ([1, 2.5], "[1, 2.5]"),
        ("two\nlines", r"'two\nlines'"),
        (torch.nn.Linear(1, 1), "Linear(in_features=1, out_features=1, bias=True)"),
        (torch.nn.Sequential(torch.nn.ReLU()), "Sequential( (0): ReLU() )"),
    ],
)
def test_values_are_quoted_on_one_line(value: object, quoted: str) -> None:
    assert shown(value) == quoted


def test_long_values_are_cut_at_once() -> None:
    assert shown(10**5000) == "an int that is too long to be printed"
    twice: list[object] = []
    for _ in range(200):
        twice = [twice, twice]  # as text it would fill the universe
    for value in ("x" * 10**6, list(range(10**6)), {"a": "y" * 10**6}, 10**4000, b"z" * 10**6, twice):
        assert len(shown(value)) <= 80


def test_a_message_is_one_line_of_bounded_length() -> None:
    said = explain(InputError("a\nb " + "c" * 10**6))
    assert said.startswith("a b ccc")
    assert len(said) == 1000
    assert "\n" not in explain(FileNotFoundError(2, "No such file or directory", "a\nb"))


def test_no_message_quotes_a_value_of_any_length() -> None:
    """Values from files and commands are quoted by ``shown``. The others are names that we chose, or Python objects."""
    packages = (
        "argument_checks.py",
        "setting_types.py",
        "data",
        "experiments",
        "report",
        "cli",
        "graphs/graph6.py",
        "graphs/smiles.py",
    )
    files = [
        file for name in packages for file in ([SOURCE / name] if ".py" in name else (SOURCE / name).rglob("*.py"))
    ]
    found = [
        f"{path.relative_to(SOURCE)}, line {node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FormattedValue) and node.conversion == ord("r")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("name", "near"), [("Smiles", "smiles"), ("SMILES", "smiles"), ("smile", "smiles"), ("logp", "LogP"), ("mol", None)]
)
def test_a_similar_name_is_found_whatever_its_case(name: str, near: str | None) -> None:
    assert nearest(name, ["smiles", "LogP", "id"]) == near


def test_numbers_have_the_right_noun() -> None:
    assert [counted(number, "line") for number in (0, 1, 2, 1500)] == ["0 lines", "1 line", "2 lines", "1,500 lines"]
    assert counted(2, "vertex", "vertices") == "2 vertices"
