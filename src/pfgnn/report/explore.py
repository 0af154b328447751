"""The page of `pfgnn explore`: one HTML file in which one walks the search trees of graphs.

The page's own code (``explorer/*.js``) refines colourings and finds the orbits of stabilisers. Python gives it the
graphs, positions for their vertices, and generators of their automorphism groups.
"""

import html
import json
import warnings
from collections.abc import Sequence
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pfgnn.errors import counted
from pfgnn.files import write_text
from pfgnn.graphs.refinement import edge_labels, initial_colours
from pfgnn.report.exact_search import Found, why_missing
from pfgnn.report.explore_input import Sample
from pfgnn.report.layout import place_components

if TYPE_CHECKING:
    from pfgnn.experiments.particle_paths import Particle
    from pfgnn.experiments.predict import TrainedRun

WHOLE = 10**12  # a larger number of symmetries is rounded
DECIMALS = 4  # of positions and weights
SCRIPTS = ("refinement.js", "symmetries.js", "walk.js", "picture.js", "tree.js", "panels.js", "page.js")


class Walked(NamedTuple):
    """What a trained model does on a graph.

    Fields:
        steps: The particles after each step.
        prediction: What the model predicts, as a sentence.
    """

    steps: "list[list[Particle]]"
    prediction: str


class Shown(NamedTuple):
    """A graph of the page.

    Fields:
        sample: The graph, and how it is drawn.
        found: What the exact search found.
        walked: What a trained model does on it; None without a model.
    """

    sample: Sample
    found: Found
    walked: Walked | None = None


def reads_hydrogens(run: "TrainedRun") -> bool:
    """Whether hydrogens are vertices of the molecules that a trained model reads."""
    from pfgnn.data.molecules import FEATURES

    features = run.needs.molecules
    return features is not None and FEATURES[features].parse("C").GetNumAtoms() > 1


def walk_all(run: "TrainedRun", samples: Sequence[Sample]) -> list[Walked]:
    """What a trained model does on each graph: the particles and the prediction of its first draw."""
    from pfgnn.experiments.particle_paths import particle_paths

    given = [sample.graph if sample.smiles is None else sample.smiles for sample in samples]
    paths = particle_paths(run, given)
    if run.task.level == "node":
        return [Walked(steps, "It predicts each vertex.") for steps in paths]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the page says which graphs are unlike those of the training
        found = run.predict(given, draws=1)
    outside = found.outside or [""] * len(given)
    walked = []
    for steps, row, why in zip(paths, found.mean.tolist(), outside, strict=True):
        named = ", ".join(f"{name} = {value:.4g}" for name, value in zip(run.names, row, strict=True))
        unlike = f" But this graph is unlike the training graphs: {why}." if why else ""
        walked.append(Walked(steps, f"Prediction: {named}.{unlike}"))
    return walked


def write_page(path: Path, source: str, graphs: Sequence[Shown], run: str | None = None) -> None:
    """Write the page.

    Args:
        path: File to write.
        source: Where the graphs come from, a sentence for the top of the page.
        graphs: At least one graph.
        run: Name of the trained model; None without a model.
    """
    content = {"source": source, "run": run, "graphs": [_entry(number, graphs) for number in range(len(graphs))]}
    # In a script element only "<" can end the element or begin a comment. JSON allows its number in its place.
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    folder = files("pfgnn.report") / "explorer"
    page = Template((folder / "page.html").read_text("utf-8")).substitute(
        title=html.escape(f"Search trees: {source}"),
        style=(folder / "page.css").read_text("utf-8"),
        script="\n".join((folder / name).read_text("utf-8") for name in SCRIPTS),
        data=data,
    )
    write_text(path, page)


def _entry(number: int, graphs: Sequence[Shown]) -> dict[str, Any]:
    """What the page's code is told about a graph."""
    (name, graph, points, labels, smiles, place), found, walked = graphs[number]
    if points is None:
        points = place_components(graph, found.moves)
    entry = {
        "name": name,
        "number": number if place is None else place,
        "facts": _facts(number, graphs),
        "n": graph.num_nodes,
        "edges": graph.edges.tolist(),
        "edgeLabels": edge_labels(graph).tolist(),
        "bonds": None if smiles is None or graph.edge_attr is None else graph.edge_attr[:, 0].tolist(),
        "labels": labels,
        "start": initial_colours(graph).tolist(),
        "points": np.round(points * [1, -1], DECIMALS).tolist(),  # in a page y grows downwards
        "generators": found.moves,
        "order": None if found.automorphisms is None else str(found.automorphisms),
        "missing": None if found.automorphisms is not None else why_missing(found.missing or "time"),
    }
    if walked is not None:
        entry["prediction"] = walked.prediction
        entry["steps"] = [
            [{"path": path, "weight": round(weight, DECIMALS + 2)} for path, weight in step] for step in walked.steps
        ]
    return entry


def _facts(number: int, graphs: Sequence[Shown]) -> str:
    """Sentences about a graph, and about the graphs of the page that 1-WL cannot tell from it."""
    graph, found = graphs[number].sample.graph, graphs[number].found
    sizes = f"{counted(graph.num_nodes, 'vertex', 'vertices')}, {counted(graph.num_edges, 'edge')}"
    symmetries = _symmetries(found)
    others = [(i, other.found) for i, other in enumerate(graphs) if i != number and other.found.wl_certificate]
    alike = [(i, other) for i, other in others if other.wl_certificate == found.wl_certificate]
    same = [i for i, other in alike if other.certificate is not None and other.certificate == found.certificate]
    different = [i for i, other in alike if None not in (other.certificate, found.certificate) and i not in same]
    sentences = [f"{sizes}, {symmetries}."]
    if same:
        sentences.append(f"Isomorphic to {_names(same, graphs)}.")
    if different:
        sentences.append(f"1-WL cannot tell it from {_names(different, graphs)}, but they are not isomorphic.")
    return " ".join(sentences)


def _symmetries(found: Found) -> str:
    order = found.automorphisms
    if order is None:
        return f"its symmetries are not known: {why_missing(found.missing or 'time')}"
    if order == 1:
        return "no symmetry but the trivial one"
    return f"{order:,} symmetries" if order < WHOLE else f"about {Decimal(order):.1e} symmetries"


def _names(numbers: list[int], graphs: Sequence[Shown], most: int = 5) -> str:
    names = [graphs[i].sample.name for i in numbers[:most]]
    return ", ".join(names) + (f" and {len(numbers) - most} more" if len(numbers) > most else "")
