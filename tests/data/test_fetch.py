"""Fetching, with stand-ins for the foreign classes: what they hand over becomes the dataset of the published files."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch_geometric.datasets
from torch_geometric.data import Data

from pfgnn.data import fetch
from pfgnn.data.fetch import HARTREE_IN_EV


def molecule(columns: int, bonds: torch.Tensor, targets: int, **more: Any) -> Data:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    x = torch.eye(columns)[:2] if columns > 1 else torch.tensor([[3], [27]])
    return Data(x=x, edge_index=edge_index, edge_attr=bonds, y=torch.arange(targets) + 1.0, **more)


def test_zinc_parts_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"train": 3, "val": 2, "test": 1}

    def zinc(root: str, subset: bool, split: str) -> list[Data]:
        assert subset
        return [molecule(1, torch.tensor([1, 1]), 1)] * sizes[split]

    monkeypatch.setattr(torch_geometric.datasets, "ZINC", zinc)
    dataset = fetch.zinc(tmp_path, [])
    assert {part: len(graphs) for part, graphs in dataset.splits.items()} == {"train": 3, "validation": 2, "test": 1}
    assert dataset.in_channels == (28,)
    assert dataset.edge_channels == (4,)


def test_qm9_is_in_hartree_with_types_as_categories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bonds = torch.tensor([[0.0, 1.0, 0.0, 0.0]] * 2)  # double
    graphs = [molecule(11, bonds, 19, pos=torch.zeros(2, 3))] * 20_003
    monkeypatch.setattr(torch_geometric.datasets, "QM9", lambda _: graphs)
    dataset = fetch.qm9(tmp_path, [])
    assert dataset.x is not None
    assert dataset.edge_attr is not None
    assert dataset.x[:2, 0].tolist() == [0, 1]
    assert set(dataset.edge_attr[:, 0].tolist()) == {2}
    energies = [2, 3, 4, 6, 7, 8, 9, 10]
    want = np.arange(1.0, 13.0)
    want[energies] /= HARTREE_IN_EV
    assert np.allclose(dataset.y[0], want)
    assert len(dataset.splits["train"]) == 3


def test_alchemy_needs_its_index_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=r"its index files train_al_10.index, .* were not found"):
        fetch.alchemy(tmp_path, [tmp_path])
    raw, index = tmp_path / "raw", tmp_path / "alchemy12k"
    raw.mkdir()
    index.mkdir()
    tables = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "node_labels": "0\n1\n0\n", "edge_labels": "0\n0\n"}
    tables["graph_attributes"] = "".join(", ".join(str(n + g) for n in range(12)) + "\n" for g in (0, 1))
    for table, text in tables.items():
        (raw / f"alchemy_full_{table}.txt").write_text(text)
    for part in ("train", "val", "test"):
        (index / f"{part}_al_10.index").write_text("0,1\n")
    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", lambda *_: SimpleNamespace(raw_dir=str(raw)))
    dataset = fetch.alchemy(tmp_path, [tmp_path])
    assert dataset.y.shape == (2, 12)
    assert dataset.splits["validation"].tolist() == [0, 1]
