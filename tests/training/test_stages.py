"""Each tensor is summed over all devices once in every call, whether a call computes, captures or replays."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from pfgnn.data.batch import GraphBatch
from pfgnn.errors import OutOfMemoryError
from pfgnn.training import cuda_graphs, stages
from pfgnn.training.cuda_graphs import WARM_UPS, Replayed
from pfgnn.training.stages import Stages, run_stages


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens, in its order, with sums and CUDA graphs that only say that they were called."""
    seen: list[str] = []

    class Graph:
        def replay(self) -> None:
            seen.append("replay")

    @contextmanager
    def capture(graph: Graph, **options: Any) -> Iterator[None]:
        seen.append("capture")
        yield

    for module in (stages, cuda_graphs):
        monkeypatch.setattr(module, "sum_over_devices", lambda tensor: seen.append(f"sum {int(tensor)}"))
    fakes = {"CUDAGraph": Graph, "graph": capture, **dict.fromkeys(["synchronize", "current_stream"], lambda: None)}
    for name, fake in (fakes | {"graph_pool_handle": lambda: (0, 0)}).items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return seen


def three(events: list[str]) -> Stages:
    """Three stages."""
    events.append("first")
    yield torch.tensor(1)
    events.append("second")
    yield torch.tensor(2)
    events.append("third")
    return torch.tensor(3)


def batch(nodes: int) -> GraphBatch:
    return GraphBatch(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(nodes, dtype=torch.int64), 1)


def test_every_stage_comes_after_the_sum_before_it(events: list[str]) -> None:
    assert torch.equal(run_stages(three(events)) or torch.tensor(0), torch.tensor(3))
    assert events == ["first", "sum 1", "second", "sum 2", "third"]


def test_a_capture_sums_nothing(events: list[str]) -> None:
    replayed = Replayed(lambda batch, seed, *rest: three(events))
    plain = ["first", "sum 1", "second", "sum 2", "third"]
    replay = ["replay", "sum 1", "replay", "sum 2", "replay"]
    captured = ["capture", "first", "capture", "second", "capture", "third"]
    seed = torch.tensor(0)
    for call in range(WARM_UPS + 3):
        events.clear()
        assert int(replayed(batch(3), seed, "share") or 0) == 3
        assert events == (plain if call < WARM_UPS else captured + replay if call == WARM_UPS else replay)
    for other in (batch(4), batch(3)):  # another shape, and another argument, have their own graphs
        events.clear()
        replayed(other, seed, "other share")
        assert events == plain


def out_of_memory(at: int) -> Stages:
    """Stages of which one does not fit."""
    for stage in range(3):
        if stage == at:
            raise torch.OutOfMemoryError
        yield torch.tensor(stage)
    return None


def test_only_what_was_not_summed_yet_may_run_again(events: list[str]) -> None:
    with pytest.raises(torch.OutOfMemoryError):
        run_stages(out_of_memory(0))
    for at in (1, 2):
        with pytest.raises(OutOfMemoryError, match=r"a smaller training\.batch_size or model\.particles"):
            run_stages(out_of_memory(at))


def test_a_function_without_sums_has_one_stage(events: list[str]) -> None:
    def one(batch: GraphBatch, seed: Tensor) -> Stages:
        yield from ()
        return torch.tensor(7)

    replayed = Replayed(one)
    for _ in range(WARM_UPS + 1):
        assert int(replayed(batch(3), torch.tensor(0)) or 0) == 7
    assert events == ["capture", "replay"]
