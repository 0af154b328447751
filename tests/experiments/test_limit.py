"""The leaves of the search tree: every sequence of marks counts, symmetries only save work, and labels matter."""

import csv
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from pfgnn.experiments.limit import MARK, leaf_counts, steps_to_differ
from pfgnn.graphs import Graph, circulant, disjoint_union, read_graph6
from pfgnn.model.colours import hash_rows, refine_colours
from pfgnn.ops.hashing import mix

RING, TRIANGLES = circulant(6, [1]), disjoint_union(circulant(3, [1]), circulant(3, [1]))
WHEEL = Graph(5, np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 4], [1, 4], [2, 4], [3, 4]]))


def one_by_one(graph: Graph, steps: int) -> Counter[int]:
    """All sequences of marks, without a look at symmetries."""
    edges = torch.from_numpy(graph.directed()[0])
    found: Counter[int] = Counter()
    for marks in itertools.product(range(graph.num_nodes), repeat=steps):
        colours = refine_colours(hash_rows(torch.zeros(graph.num_nodes, 1).double()), edges, None, 16)
        for vertex in marks:
            colours[vertex] = mix(colours[vertex] ^ MARK)
            colours = refine_colours(colours, edges, None, 16)
        found[int(mix(colours).sum())] += 1
    return found


@pytest.mark.parametrize("steps", range(4))
@pytest.mark.parametrize("graph", [RING, TRIANGLES, WHEEL], ids=["ring", "triangles", "wheel"])
def test_symmetries_change_nothing(graph: Graph, steps: int) -> None:
    found = leaf_counts(graph, steps)
    assert found == one_by_one(graph, steps)
    assert sum(found.values()) == graph.num_nodes**steps


def test_the_number_of_marks_that_is_needed() -> None:
    assert steps_to_differ(RING, TRIANGLES) == 1
    assert steps_to_differ(RING, WHEEL) == 0
    assert steps_to_differ(RING, RING.relabel([2, 5, 0, 4, 1, 3]), 2) is None
    labels = np.array([[0], [0], [1], [1], [0], [0]])
    one, other = (Graph(6, RING.edges, x=of) for of in (labels, labels[[0, 2, 1, 4, 3, 5]]))
    assert steps_to_differ(one, other) == 0
    assert steps_to_differ(one, one.relabel([1, 2, 3, 4, 5, 0]), 1) is None


def test_brec_needs_as_many_marks_as_another_program_found(data_dir: Path) -> None:
    """Some pairs of every category, one mark or two."""
    graphs = read_graph6(data_dir / "brec" / "brec.g6")
    with (data_dir / "brec" / "exact_separability.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["pair"]) % 17 == 0 and row["min_steps"] in "12"]
    assert {row["category"] for row in rows} >= {"basic", "regular", "extension", "cfi", "4-vertex"}
    for row in rows:
        left, right = graphs[2 * int(row["pair"]) :][:2]
        assert steps_to_differ(left, right, 2) == int(row["min_steps"]), row
