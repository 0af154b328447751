"""Kernels with several rounds in one launch: they give exactly what the rounds one by one give."""

import pytest
import torch

from pfgnn.data.batch import GraphBatch
from pfgnn.ops import use
from pfgnn.ops.candidates import UNIT, smooth_noise
from pfgnn.ops.distance import distances
from pfgnn.ops.weights import NoiseKey

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("on_the_gpu_where_there_is_one")

SIZES = [7, 1, 40, 3, 2]


def graph(device: torch.device) -> GraphBatch:
    """Random sparse directed graphs, with vertices that no edge reaches."""
    g = torch.Generator().manual_seed(2)
    found, first = [], 0
    for size in SIZES:
        found.append(first + torch.randint(size, (2, 2 * size), generator=g))
        first += size
    edges = torch.cat(found, 1)
    edges = edges[:, edges[1].argsort(stable=True)].to(device)
    batch = torch.arange(len(SIZES)).repeat_interleave(torch.tensor(SIZES)).to(device)
    return GraphBatch(edge_index=edges, edge_attr=None, batch=batch, num_graphs=len(SIZES))


@pytest.mark.parametrize("rounds", [0, 1, 16])
def test_smoothing(rounds: int, device: torch.device) -> None:
    noise_key = NoiseKey(torch.arange(len(SIZES), device=device), 2, 0)
    node_key = torch.arange(sum(SIZES), device=device)
    found = []
    for mode in ("plain", "triton"):
        with use(mode):
            of = graph(device)
            found.append(smooth_noise(noise_key, node_key, rounds, of.sources, of.targets, of.nodes))
    assert torch.equal(*found)
    assert found[0].min() >= 0
    assert found[0].max() < UNIT
    spread = found[0].split(SIZES)[2].double().std() / UNIT
    assert (spread < 0.25) == (rounds > 0)  # without averaging it is about 0.29


@pytest.mark.parametrize("particles", [1, 5, 20])
@pytest.mark.parametrize("marks", [1, 2])
@pytest.mark.parametrize("largest", [1, 4])
def test_distances(particles: int, marks: int, largest: int, device: torch.device) -> None:
    g, sizes = torch.Generator().manual_seed(1), torch.tensor(SIZES)
    first = sizes.cumsum(0) - sizes
    within = torch.rand(len(SIZES), particles, marks, generator=g) * sizes[:, None, None]
    vertices = (first[:, None, None] + within.long()).to(device)
    valid = (torch.rand(vertices.shape, generator=g) < 0.8).to(device)
    found = []
    for mode in ("plain", "triton"):
        with use(mode):
            of = graph(device)
            found.append(distances(vertices, valid, largest, of.sources, of.targets, of.nodes))
    assert torch.equal(*found)
    assert len(found[0].unique()) == largest + 2


def test_large_graphs_go_round_by_round(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfgnn.ops.triton.rounds.MEAN_SIZE", 1)
    monkeypatch.setattr("pfgnn.ops.triton.rounds.smooth_noise", None)
    test_smoothing(3, device)
