"""Wrong arguments of the exact functions are named, and a graph that is too large is refused before it is made."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from pfgnn import graphs
from pfgnn.argument_checks import checked
from pfgnn.errors import InputError, InputTypeError
from pfgnn.graphs import Graph

RNG = np.random.default_rng(0)
FUNCTIONS = {name: found for name in graphs.__all__ if inspect.isfunction(found := getattr(graphs, name))}
del FUNCTIONS["shrikhande"]  # it has no arguments


class Odd:
    """Fits no argument."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_argument_of_the_wrong_type_is_named(name: str) -> None:
    """Each public function refuses a first argument of a foreign type, whatever the others are."""
    function = FUNCTIONS[name]
    first, *others = inspect.signature(function).parameters.values()
    more = [Odd() for of in others if of.default is inspect.Parameter.empty]
    with pytest.raises(InputTypeError, match=f"^{first.name} must "):
        function(Odd(), *more)


def test_types_by_annotation() -> None:
    @checked
    def function(
        n: int, name: str | None = None, rows: Sequence[int] = (), solve: Callable[[], int] = int, *graphs: Graph
    ) -> int:
        return n

    assert function(np.int64(3), None, [1], len, graphs.rook()) == 3  # type: ignore[arg-type]
    cases: list[tuple[list[Any], str]] = [
        ([True], "n must be of type int, but it is True"),
        ([1.5], "n must be of type int, but it is 1.5"),
        ([1, 2], "name must be of type str or None, but it is 2"),
        ([1, "a", 3], "rows must be of type Sequence, but it is 3"),
        ([1, "a", [], 3], "solve must be of type Callable, but it is 3"),
        ([1, "a", [], len, graphs.rook(), Odd()], "graphs must be of type Graph, but it is a Odd"),
    ]
    for given, sentence in cases:
        with pytest.raises(InputTypeError, match=f"^{sentence}$"):
            function(*given)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        function()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: graphs.csl(10**30, 2), "n must be at most 1000000, but it is 10+"),
        (lambda: graphs.circulant(0, []), "n must be at least 1, but it is 0"),
        (lambda: graphs.circulant(10**6, range(1, 100)), "at most 10000000 edges, but it would have 99000000"),
        (lambda: graphs.paley(999_961), "at most 10000000 edges"),
        (lambda: graphs.rook(10**5), "at most 10000000 edges"),
        (lambda: graphs.random_graph(10**6, 10**8, RNG), "at most 10000000 edges"),
        (lambda: graphs.random_tree(10**9, RNG), "n must be at most 1000000"),
        (lambda: graphs.random_regular(10**6, 10**5, RNG), "at most 10000000 edges"),
        (
            lambda: graphs.cfi(graphs.circulant(60, range(1, 31))),
            r"base must be smaller, .* 1.73e\+19 nodes",
        ),
        (lambda: graphs.cfi(graphs.circulant(16, range(1, 6))), "at most 10000000 edges"),
        (lambda: graphs.cfi(graphs.rook(2), [4]), "twisted must be at most 3, but it is 4"),
        (lambda: graphs.cfi(graphs.rook(2), [-1]), "twisted must be at least 0, but it is -1"),
    ],
)
def test_a_graph_that_is_too_large_is_refused(make: Callable[[], Graph], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()


def test_the_rooks_graph() -> None:
    for k in (1, 2, 5):
        graph = graphs.rook(k)
        found = {tuple(edge) for edge in graph.edges.tolist()}
        squares: Iterable[tuple[int, int]] = ((a, b) for a in range(k * k) for b in range(a + 1, k * k))
        assert found == {(a, b) for a, b in squares if a // k == b // k or a % k == b % k}


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "x",
            torch.zeros(2, 1, device="meta"),
            r"x must be a dense torch tensor, but it has no values",
        ),
        ("x", torch.eye(2).to_sparse(), "x must be a dense torch tensor, but it has the layout torch.sparse_coo"),
        ("edge_index", "ab", "edge_index must be a torch tensor, but it is a str"),
        ("edge_index", torch.zeros(2, dtype=torch.int64), r"edge_index must have shape \[2, 2 m\], but it has \[2\]"),
        ("edge_attr", [[1], "a"], "edge_attr must be a torch tensor, but it is a list"),
    ],
)
def test_tensors_that_hold_no_graph(name: str, value: Any, sentence: str) -> None:
    data = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]), x=None, edge_attr=None)
    data[name] = value
    with (
        pytest.raises(InputError, match=sentence)
        if "shape" in sentence
        else pytest.raises(InputTypeError, match=sentence)
    ):
        graphs.from_pyg(data)
