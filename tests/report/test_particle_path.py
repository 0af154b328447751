from pathlib import Path

import pytest
import torch

from pfgnn.graphs import csl
from pfgnn.model import GIN, PFGNN
from pfgnn.report.particle_path import count_colours, plot_walk, record_walk


def test_the_walk_follows_one_particle_through_the_resampling(tmp_path: Path) -> None:
    torch.manual_seed(1)
    model, graph = PFGNN.paper(GIN(8), 2, steps=3, particles=6).eval(), csl(13, 5)
    walk = record_walk(model, graph)
    output = model(None, torch.from_numpy(graph.directed()[0]), batch=torch.zeros(13, dtype=torch.int64), seed=0)
    assert len(walk.colourings) == 4
    k = walk.followed[-1]
    assert output.trace[-1].log_weights[0].argmax() == k
    for t in (1, 0):
        k = int(output.trace[t].ancestors[0, k])
        assert walk.followed[t] == k
        assert walk.vertices[t] == int(output.trace[t].vertices[0, k, 0])
    assert [count_colours(H) for H in walk.colourings][:1] == [1]
    assert count_colours(walk.colourings[-1]) > 1
    plot_walk(walk, graph, "title", tmp_path / "walk.png")
    assert (tmp_path / "walk.png").read_bytes().startswith(b"\x89PNG")


def test_colours_closer_than_the_tolerance_are_one() -> None:
    H = torch.tensor([[1.0, 0.0], [1.0, 1e-5], [0.0, 1.0], [0.0, 1.0]])
    assert count_colours(H) == 2


def test_models_that_share_their_steps_or_have_none() -> None:
    graph = csl(13, 5)
    assert len(record_walk(PFGNN.paper(GIN(8), 2, steps=3, share_steps=True), graph).colourings) == 4
    with pytest.raises(ValueError, match="the model's steps must be at least 1, but it is 0"):
        record_walk(PFGNN.paper(GIN(8), 2, steps=0), graph)
