"""An explanation as a table: CSV for people, values of JSON for programs."""

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from pfgnn.data.molecules import FEATURES
from pfgnn.experiments.explain import Explanation
from pfgnn.experiments.prediction_table import NOISE


def atom_symbols(found: Explanation) -> list[str]:
    """The element of each vertex, such as "C". Empty if the graph was not given as SMILES."""
    if found.smiles is None or found.features is None:
        return []
    return [atom.GetSymbol() for atom in FEATURES[found.features].parse(found.smiles).GetAtoms()]


def explanation_rows(found: Explanation) -> Iterator[list[object]]:
    """The rows of a table, the header first: vertices, then edges, each with its importance for every output.

    Of a vertex, only the column "vertex" is filled; of an edge also "other end".
    """
    symbols = atom_symbols(found)
    columns = [column for name in found.names for column in (f"importance for {name}", f"{name}, {NOISE}")]
    yield ["part", "vertex", "other end", *(["atoms"] if symbols else []), *columns]
    edges = [("edge", *ends) for ends in found.ends.tolist()]
    for parts, (mean, error) in (
        ([("vertex", v) for v in range(len(found.vertices.mean))], found.vertices),
        (edges, found.edges),
    ):
        for (part, *ends), means, errors in zip(parts, mean.tolist(), error.tolist(), strict=True):
            atoms = ["-".join(symbols[end] for end in ends)] if symbols else []
            values = [value for pair in zip(means, errors, strict=True) for value in pair]
            cells = ("" if math.isnan(value) else f"{value:.7g}" for value in values)
            yield [part, ends[0], ends[1] if len(ends) > 1 else "", *atoms, *cells]


def explanation_csv(found: Explanation) -> str:
    """The rows of :func:`explanation_rows` as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(explanation_rows(found))
    return text.getvalue()


def explanation_json(found: Explanation) -> dict[str, Any]:
    """The explanation as a dictionary of values that JSON can store. A part that cannot be removed has null."""
    symbols = atom_symbols(found)

    def numbers(values: list[float]) -> list[float | None]:
        return [None if math.isnan(value) else value for value in values]

    def parts(keys: list[dict[str, Any]], mean: list[list[float]], error: list[list[float]]) -> list[dict[str, Any]]:
        return [
            {**key, "importance": numbers(means), "error": numbers(errors)}
            for key, means, errors in zip(keys, mean, error, strict=True)
        ]

    vertices = [{"vertex": v} | ({"atom": symbols[v]} if symbols else {}) for v in range(len(found.vertices.mean))]
    return {
        "outputs": found.names,
        "prediction": found.prediction.tolist(),
        "error": found.error.tolist(),
        "exact": found.exact,
        "node": found.node,
        "smiles": found.smiles,
        "vertices": parts(vertices, found.vertices.mean.tolist(), found.vertices.error.tolist()),
        "edges": parts(
            [{"ends": ends} for ends in found.ends.tolist()], found.edges.mean.tolist(), found.edges.error.tolist()
        ),
    }
