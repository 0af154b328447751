"""The generator makes molecules of the same kind as the other benchmarks, and the program runs at tiny sizes."""

import io
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import streaming
from benchmarks.many_molecules import many_molecules
from benchmarks.shapes import molecules
from benchmarks.steps import Effort, degree_histogram
from rich.console import Console


def test_molecules_are_of_the_kind_of_those_made_one_by_one() -> None:
    many, one_by_one = many_molecules(6000, 0, 0, 7), molecules(1500)
    for counts in ("node_counts", "edge_counts"):
        want = getattr(one_by_one, counts)
        assert getattr(many, counts).mean() == pytest.approx(want.mean(), rel=0.02)
        assert getattr(many, counts).std() == pytest.approx(want.std(), rel=0.06)
    shares = [degree_histogram(of)[1:] / int(of.node_counts.sum()) for of in (many, one_by_one)]
    assert shares[0].tolist() == pytest.approx(shares[1].tolist(), abs=0.01)
    bonds = [np.bincount(of.arrays()["edge_attr"][:, 0], minlength=4) / len(of.edges[0]) for of in (many, one_by_one)]
    assert bonds[0] == pytest.approx(bonds[1], abs=0.01)
    assert (many.in_channels, many.edge_channels) == (one_by_one.in_channels, one_by_one.edge_channels)
    assert many.arrays()["key"].tolist() == list(range(7, 6007))


def test_molecules_are_simple_undirected_graphs() -> None:
    for data in itertools.islice(many_molecules(200, 0, 1, 0), 200):
        edges = set(map(tuple, data.edge_index.T.tolist()))
        assert len(edges) == data.edge_index.shape[1]  # no bond occurs twice
        kinds = dict(zip(map(tuple, data.edge_index.T.tolist()), data.edge_attr[:, 0].tolist(), strict=True))
        assert all(i != j and kinds[j, i] == kind for (i, j), kind in kinds.items())
        reached, new = set(), {0}
        while new:
            reached |= new
            new = {j for i, j in edges if i in new} - reached
        assert len(reached) == data.num_nodes


def test_every_shard_has_its_own_molecules_which_can_be_made_again(tmp_path: Path) -> None:
    shards = streaming.make(250, tmp_path / "own", 1, per_shard=100)
    assert [shard.graphs for shard in shards.shards] == [100, 100, 50]
    assert {name: len(graphs) for name, graphs in shards.splits.items()} == {"train": 248, "validation": 2}
    whole = shards.whole()
    assert whole.arrays()["key"].tolist() == list(range(250))
    assert len({repr(shards.shard(number)) for number in range(3)}) == 3  # other molecules in each
    for number, shard in enumerate(whole[begin : begin + 100] for begin in range(0, 250, 100)):
        again = streaming._make_shard(250, 100, 100 * number)
        np.testing.assert_array_equal(shard.edges, again.edges)


def test_an_epoch_from_the_disk_is_timed(tmp_path: Path) -> None:
    streaming.make(60, tmp_path / "own", 1, per_shard=20)
    ticks = (tick / 1000 for tick in itertools.count())
    effort = Effort(least=2, seconds=0, warm_ups=1, batches=2, divide=64, clock=lambda: next(ticks))
    out = tmp_path / "streaming.json"
    console = Console(file=io.StringIO(), width=200)
    streaming.epoch(tmp_path / "own", "cpu", effort, 1, 5, out, console)
    record = json.loads(out.read_text())
    assert record["streamed"]["steps"] == record["resident"]["steps"] == 5
    assert record["streamed by steps alone"] == pytest.approx((2 / 5) / (1 / 2))  # ticks for 5 and for 2 steps
    assert (
        record["memory of the process"]["peak MiB"] > record["memory of the process"]["peak without mapped files MiB"]
    )
