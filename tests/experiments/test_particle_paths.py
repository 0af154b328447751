from pathlib import Path

import pytest
import torch
from tests.experiments.run_samples import packed, small
from tests.training.training_samples import graphs

from pfgnn.data.loader import Resident
from pfgnn.experiments.config import ModelConfig
from pfgnn.experiments.particle_paths import Particle, _follow, particle_paths
from pfgnn.experiments.predict import TrainedRun, load_run
from pfgnn.experiments.run import run
from pfgnn.model.output import StepTrace
from pfgnn.training.seeds import prediction_seed


def trained(folder: Path, **model: object) -> TrainedRun:
    settings = ModelConfig(width=8, layers=1, **model)  # type: ignore[arg-type]
    run(small(packed(folder), {"epochs": 1}, model=settings), folder / "run", device="cpu")
    return load_run(folder / "run", "cpu")


def test_paths_are_followed_through_parents_and_resampling() -> None:
    """Two graphs of one batch, two steps, three particles. The second graph's first node has number 10."""

    def step(vertices: list[int], parents: list[int], weights: list[float], ancestors: list[int]) -> StepTrace:
        rows = torch.tensor([[0, 0, 0], vertices])[..., None]
        other = torch.tensor([[0, 1, 2]] * 2)
        log_weights = torch.tensor([weights, weights]).log()
        valid = torch.ones_like(rows, dtype=torch.bool)
        follows = other.clone(), other.clone()
        follows[0][1], follows[1][1] = torch.tensor(parents), torch.tensor(ancestors)
        return StepTrace(rows, valid, other, follows[0], other, log_weights, follows[1])

    trace = [
        step([10, 11, 12], [0, 0, 0], [0.5, 0.25, 0.25], [0, 2, 2]),  # particle 1 dies
        step([15, 16, 17], [0, 1, 0], [0.2, 0.3, 0.5], [0, 1, 2]),  # the last one follows place 0 too
    ]
    first, second = _follow(trace, 1, 10)
    assert [particle.path for particle in first] == [[0], [1], [2]]
    assert [particle.path for particle in second] == [[0, 5], [2, 6], [0, 7]]
    assert [particle.weight for particle in second] == pytest.approx([0.2, 0.3, 0.5])


def test_a_draw_without_a_free_vertex_marks_nothing() -> None:
    ones = torch.zeros(1, 1, dtype=torch.int64)
    vertices, valid = torch.tensor([[[4, 4]]]), torch.tensor([[[True, False]]])
    [[particle]] = _follow([StepTrace(vertices, valid, ones, ones, ones, ones.double(), ones)], 0, 0)
    assert particle == Particle([4], 1.0)


@pytest.mark.parametrize("model", [{"steps": 2, "particles": 3}, {"steps": 1, "particles": 5}])
def test_paths_are_those_of_the_draw_that_is_predicted(tmp_path: Path, model: dict[str, int]) -> None:
    trained_run = trained(tmp_path, **model)
    given = [graphs(5).graph(number) for number in range(5)]
    found = particle_paths(trained_run, given)
    assert len(found) == 5
    drawn = [graph.num_nodes for graph in given]
    for steps, n in zip(found, drawn, strict=True):
        assert len(steps) == model["steps"]
        for t, particles in enumerate(steps, start=1):
            assert len(particles) == model["particles"]
            assert sum(particle.weight for particle in particles) == pytest.approx(1)
            assert all(len(particle.path) == t and max(particle.path) < n for particle in particles)
    # The same draw as the prediction: the model's own output, with the seed of the first draw.
    dataset = trained_run.prepare(given)
    batch = Resident(dataset).collate(range(5))
    output = trained_run.model(batch, seed=prediction_seed(trained_run.config.seed))
    assert torch.allclose(output.prediction.softmax(-1).double(), trained_run.predict(given, draws=1).mean)
    first = [[int(v) - int(batch.first[g]) for v in output.trace[0].vertices[g, :, 0]] for g in range(5)]
    assert first == [[particle.path[0] for particle in steps[0]] for steps in found]


def test_a_model_without_particles_is_refused(tmp_path: Path) -> None:
    trained_run = trained(tmp_path, steps=0)
    with pytest.raises(ValueError, match="the run's model must be a PF-GNN with particles, but it has none"):
        particle_paths(trained_run, [graphs(1).graph(0)])
