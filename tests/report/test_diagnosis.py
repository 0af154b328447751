"""Diagnosis of datasets whose answer is known."""

import json
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import Dataset, Task, load
from pfgnn.data.shard_writer import write_shards
from pfgnn.data.shards import Shards
from pfgnn.graphs import (
    Graph,
    cfi_pair,
    circulant,
    csl,
    disjoint_union,
    nauty,
    random_graph,
    random_tree,
    rook,
    shrikhande,
)
from pfgnn.report import survey
from pfgnn.report.diagnosis import diagnose
from pfgnn.report.diagnosis_text import markdown, sections, verdict
from pfgnn.report.target_checks import Difference, Leak

RING, RINGS = circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))
CLASSES = Task("graph", 2, "cross_entropy", "accuracy")


def planted(seed: int) -> Dataset:
    """30 random graphs, then three pairs that 1-WL cannot tell apart: the labels of two of them differ."""
    rng = np.random.default_rng(seed)
    noise = [random_graph(10, 17, rng) for _ in range(30)]
    pairs = [*cfi_pair(circulant(4, [1, 2])), csl(13, 2), csl(13, 3), RING, RINGS]
    shuffled = [graph.relabel(rng.permutation(graph.num_nodes)) for graph in pairs]
    return Dataset.from_graphs([*noise, *shuffled], [*[0] * 15, *[1] * 15, 0, 1, 0, 1, 1, 1], CLASSES, "planted")


def test_planted_pairs_are_found(seed: int) -> None:
    found = diagnose(planted(seed))
    mixed = [set(example) for example in found.examples]
    assert {30, 31} in mixed
    assert {32, 33} in mixed
    assert {34, 35} in mixed
    assert found.pairs >= 3  # two random graphs may look alike too
    assert found.differences[0].pairs >= 2
    (best,) = found.best
    assert best.any_model == 1 or found.conflicts
    assert best.one_wl is not None
    assert best.one_wl <= 34 / 36
    assert found.advice.needed


def test_trees_have_no_such_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(int(n), rng) for n in rng.integers(2, 20, 60)]
    copies = [tree.relabel(rng.permutation(tree.num_nodes)) for tree in trees]
    found = diagnose(Dataset.from_graphs([*trees, *copies], rng.random(120)))
    assert (found.pairs, found.mixed_classes, found.graphs_alike) == (0, 0, 0)
    assert found.wl_classes == found.classes <= 60
    assert found.copies == 120 - found.classes >= 60
    assert found.conflicts == 120
    assert not found.advice.needed
    assert verdict(found).startswith("1-WL tells all graphs apart")


def test_all_numbers_of_a_small_set() -> None:
    """Ring and rings with several targets, a copy with another target, and a copy in another part."""
    square = circulant(4, [1])
    graphs = [RING, RINGS, RING.relabel([3, 1, 0, 5, 4, 2]), square, square]
    parts = {"train": np.array([0, 1, 3]), "test": np.array([2, 4])}
    found = diagnose(Dataset.from_graphs(graphs, [0.0, 3.0, 1.0, 7.0, 7.0], name="small", splits=parts))
    assert (found.graphs, found.classes, found.wl_classes, found.mixed_classes, found.pairs) == (5, 3, 2, 1, 1)
    assert found.examples == ((0, 1),)
    assert found.differences == (Difference("0", 1, 3.0, 3.0),)
    assert [best[:2] for best in found.best] == [("all", 5), ("train", 3), ("test", 2)]
    scores = [best[2:] for best in found.best]
    assert scores == [pytest.approx(want) for want in ((13 / 5, 3 / 5, 1 / 5), (7 / 3, 1, 0), (3, 0, 0))]
    assert (found.copies, found.conflicts, found.several_components) == (2, 2, 1)
    assert found.leaks == (Leak("test", "train", 2, 2, ((2, 0), (4, 3))),)
    assert (found.copies_of, found.conflicts_of) == (((0, 2), (3, 4)), ((0, 2),))
    assert found.told_apart == {1: (1, 1)}
    assert (found.advice.steps, found.advice.particles, found.advice.test_particles) == (1, 6, 6)
    assert json.loads(json.dumps(found.to_json()))["best"][0]["one_wl"] == pytest.approx(3 / 5)


def test_features_tell_graphs_apart() -> None:
    """Control: the same pair, with features that differ, or that are equal."""
    for labels, pairs in (([0, 1], 0), ([1, 1], 1)):
        graphs = [
            Graph(6, graph.edges, np.full((6, 1), label)) for graph, label in zip((RING, RINGS), labels, strict=True)
        ]
        assert diagnose(Dataset.from_graphs(graphs, [0.0, 1.0])).pairs == pairs
    joined = [Graph(6, graph.edges, None, np.full((6, 1), place)) for place, graph in enumerate((RING, RINGS))]
    assert diagnose(Dataset.from_graphs(joined, [0.0, 1.0])).pairs == 0


def test_vertices_that_look_alike_are_counted() -> None:
    ring_and_rings = disjoint_union(RING, RINGS)
    found = diagnose(Dataset.from_graphs([ring_and_rings, RING], [0.0, 1.0]))
    assert (found.graphs_alike, found.vertices_alike) == (1, 12)


def test_graphs_that_are_too_large_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "MOST_SEARCHED", 5)
    found = diagnose(Dataset.from_graphs([RING, RINGS, circulant(5, [1]), circulant(7, [1])], [0.0, 1.0, 2.0, 3.0]))
    assert (found.unsearched, found.pairs) == (3, 0)
    said = {line.what: line.found for lines in sections(found).values() for line in lines}
    assert said["graphs that are too large for an exact search"] == "3"


def test_two_marks_are_advised_where_one_is_too_few() -> None:
    found = diagnose(Dataset.from_graphs([shrikhande(), rook(4)], [0.0, 1.0]))
    assert found.told_apart == {1: (0, 1), 2: (1, 1)}
    assert (found.advice.steps, found.advice.enough, found.advice.test_particles) == (2, True, 256)


def test_targets_of_vertices() -> None:
    """The vertices of RINGS + RING look alike, so their best accuracy is that of a constant."""
    both = disjoint_union(RING, RINGS)
    task = Task("node", 2, "cross_entropy", "accuracy")
    dataset = Dataset.from_graphs([both, circulant(5, [1])], [*[0] * 6, *[1] * 6, *[1] * 5], task)
    (best,) = diagnose(dataset).best
    assert best[:2] == ("all", 17)
    assert best[2:4] == pytest.approx((11 / 17, 11 / 17))
    assert best.any_model is None


def test_processes_and_shards_change_nothing(tmp_path: Path, seed: int) -> None:
    dataset = planted(seed)
    one = diagnose(dataset)
    assert diagnose(dataset, processes=2) == one
    write_shards(tmp_path / "shards", [dataset[:20], dataset[20:]], {})
    assert diagnose(Shards.open(tmp_path / "shards")) == one


def test_without_pynauty_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    dataset = planted(seed)
    found = diagnose(dataset)
    monkeypatch.setattr(nauty, "pynauty", None)
    assert diagnose(dataset) == found


def test_folds_are_added_up() -> None:
    parts = {
        f"fold {k} {part}": np.array([k if part == "test" else 1 - k]) for k in (0, 1) for part in ("train", "test")
    }
    found = diagnose(Dataset.from_graphs([RING, RING], [0.0, 1.0], splits=parts))
    assert found.leaks == (Leak("test", "train", 2, 2, ((0, 1), (1, 0)), folds=True),)
    said = {line.what: line.found for line in sections(found)["Copies and labels"]}
    assert said["graphs of test that are also in train, of all folds together"] == "2 of 2: graph 0 of 1, graph 1 of 0"
    assert said["graphs that are copies of an earlier one"] == "1: graph 1 of 0"
    assert said["graphs with a copy that has another target"] == "2: graph 1 of 0"
    assert [best.part for best in found.best] == ["all"]


def test_the_page_says_it_in_words() -> None:
    found = diagnose(Dataset.from_graphs([RING, RINGS], [0.0, 3.0], name="a|b"))
    page = markdown(found)
    assert (
        "The best MAE of any 1-WL GNN on all of this data is 1.5; a model that sees all structure can reach 0" in page
    )
    assert "# a\\|b:" in page
    said = {line.what: line.found for lines in sections(found).values() for line in lines}
    assert said["pairs that 1-WL cannot tell apart"] == "1, in 1 class"
    assert said["all (2 graphs)"] == "1-WL GNN 1.5, any model 0, one prediction for all 1.5"
    equal = diagnose(Dataset.from_graphs([RING, RINGS], [3.0, 3.0]))
    assert "their targets are equal" in verdict(equal)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "graphs", "pairs", "best"), [("zinc", 12_000, 0, 0.0), ("exp", 400, 200, 0.5)])
def test_published_datasets(data_dir: Path, name: str, graphs: int, pairs: int, best: float) -> None:
    """Of EXP a third, which has a third of its 600 pairs."""
    found = diagnose(load(name, data_dir)[:graphs], processes=2)
    assert found.pairs == pairs
    assert found.best[0].one_wl == best
