"""The examples of CONTRIBUTING.md run, and what they register can be used by its name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pfgnn.data import load
from pfgnn.data.catalogue import ENTRIES
from pfgnn.data.loader import Resident
from pfgnn.experiments.build import build_model, describe
from pfgnn.experiments.config_file import parse_config
from pfgnn.model.registries import SETTINGS

PAGE = Path(__file__).parent.parent / "CONTRIBUTING.md"
# Kind, section of the config, setting, name, code.
EXAMPLES = re.findall(
    r"\*\*An? (\w+)\*\*, then `(\w+)\.(\w+): (\w+)`.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL
)


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Registries are global: what an example adds must not stay."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for registry in SETTINGS.values():
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    before = dict(ENTRIES)
    yield
    ENTRIES.clear()
    ENTRIES.update(before)


def test_every_kind_has_an_example() -> None:
    assert [kind for kind, *_ in EXAMPLES] == ["backbone", "policy", "individualisation", "resampler", "dataset"]


@pytest.mark.parametrize(("kind", "section", "setting", "name", "code"), EXAMPLES, ids=[one[0] for one in EXAMPLES])
def test_an_example_can_be_used_by_its_name(kind: str, section: str, setting: str, name: str, code: str) -> None:
    before: dict[str, dict[str, Any]] = {"data": {"name": "csl"}, "model": {}, "training": {"epochs": 1}}
    chosen = {**before, section: {**before[section], setting: name}}
    if section == "model":
        with pytest.raises(ValueError, match=f"model.{setting} must be one of .*, but it is '{name}'"):
            parse_config(chosen)
    exec(code, {"__name__": f"example of a {kind}"})
    config = parse_config(chosen)
    options: dict[str, Any] = {"graphs": 5} if section == "data" else {"copies": 1}
    dataset = load(config.data.name, **options)
    model = build_model(config.model, describe(dataset, np.arange(len(dataset))), seed=0).eval()
    batch = Resident(dataset).collate(range(5))
    prediction = model(batch).prediction
    assert prediction.shape == (5, dataset.task.outputs)
    assert prediction.isfinite().all()
    assert torch.equal(model(batch).prediction, prediction)
