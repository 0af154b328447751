"""Names that can be imported from the top, and which packages are imported with them."""

import subprocess
import sys

import pytest

import pfgnn
from pfgnn import data, errors, estimators, graphs, model
from pfgnn.experiments import explain, predict, pretrained
from pfgnn.model import export, export_onnx

SLOW = {"torch", "numpy", "scipy", "matplotlib", "torch_geometric", "networkx"}


def loaded(code: str) -> set[str]:
    """The slow packages that a new process has imported after running the code."""
    report = f"{code}\nimport sys; print(*({SLOW!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_models_names_can_be_imported_from_the_top() -> None:
    others = {"Graph": graphs, "PFGNNError": errors, "export": export, "export_onnx": export_onnx, "load": data}
    others |= {"load_run": predict, "load_pretrained": pretrained, "explain_graph": explain}
    homes = {**dict.fromkeys(model.__all__, model), **dict.fromkeys(estimators.__all__, estimators), **others}
    assert set(pfgnn.__all__) == set(homes)
    for name, home in homes.items():
        assert getattr(pfgnn, name) is getattr(home, name)
    assert set(pfgnn.__all__) <= set(dir(pfgnn))


def test_without_scikit_learn_only_the_estimators_are_missing() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import pfgnn; pfgnn.Graph; pfgnn.PFGNNRegressor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPackageError: scikit-learn is not installed, but the estimators need it" in done.stderr


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'pfgnn' has no attribute 'PFGN'"):
        _ = pfgnn.PFGN  # type: ignore[attr-defined]
    assert not hasattr(pfgnn, "PFGN")


@pytest.mark.parametrize("module", ["pfgnn", "pfgnn.cli"])
def test_importing_it_imports_nothing_slow(module: str) -> None:
    assert loaded(f"import {module}") == set()


@pytest.mark.slow
def test_a_name_brings_what_it_needs() -> None:
    assert "torch" not in loaded("from pfgnn import Graph")
    assert "torch" in loaded("from pfgnn import PFGNN, GIN")
