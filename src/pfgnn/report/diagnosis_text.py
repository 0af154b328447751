"""A diagnosis in words: sections of lines for the terminal, and a Markdown page."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pfgnn.errors import counted
from pfgnn.report.diagnosis import Diagnosis, Spread

MOST_NAMED = 4  # graphs that a line names; the JSON has all
METRICS = {"mae": "MAE", "roc_auc": "ROC-AUC", "mean_roc_auc": "mean ROC-AUC", "error_ratio": "error ratio"}


class Line(NamedTuple):
    """One fact: what it is about, and what was found."""

    what: str
    found: str


def verdict(found: Diagnosis) -> str:
    """The answer in a sentence or two."""
    if not found.pairs:
        return (
            "1-WL tells all graphs apart that are not isomorphic, so a plain GNN can in principle fit this data. "
            "A PF-GNN may still learn it better, because marks show rings and distances directly."
        )
    said = f"1-WL cannot tell apart {counted(found.pairs, 'pair')} of graphs that are not isomorphic."
    if found.differences and not any(difference.pairs for difference in found.differences):
        return f"{said} But their targets are equal, so this costs a plain GNN nothing here."
    whole = found.best[0] if found.best else None
    if whole is None or whole.one_wl is None:
        return said
    best = "" if whole.any_model is None else f"; a model that sees all structure can reach {_score(whole.any_model)}"
    return f"{said} The best {_metric(found)} of any 1-WL GNN on all of this data is {_score(whole.one_wl)}{best}."


def sections(found: Diagnosis) -> dict[str, list[Line]]:
    """All facts, by the title of their section."""
    return {
        "Graphs": list(_graphs(found)),
        "What 1-WL cannot see": list(_unseen(found)),
        f"Best {_metric(found)}": list(_best(found)),
        "Copies and labels": list(_copies(found)),
        "Settings": list(_settings(found)),
    }


def markdown(found: Diagnosis) -> str:
    """The diagnosis as a Markdown page."""
    parts = [f"# {_cell(found.name)}: does this data need more than 1-WL?\n\n{verdict(found)}\n"]
    for title, lines in sections(found).items():
        if lines:
            rows = "\n".join(f"| {_cell(line.what)} | {_cell(line.found)} |" for line in lines)
            parts.append(f"## {title}\n\n| | |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


def _graphs(found: Diagnosis) -> Iterator[Line]:
    yield Line("graphs", f"{found.graphs:,}")
    yield Line("vertices of a graph", _spread(found.nodes))
    yield Line("edges of a graph", _spread(found.edges))
    yield Line("graphs that are not connected", f"{found.several_components:,}")


def _unseen(found: Diagnosis) -> Iterator[Line]:
    yield Line("classes of isomorphic graphs", f"{found.classes:,}")
    yield Line("classes that 1-WL sees", f"{found.wl_classes:,}")
    mixed = f", in {counted(found.mixed_classes, 'class', 'classes')}" if found.pairs else ""
    yield Line("pairs that 1-WL cannot tell apart", f"{found.pairs:,}{mixed}")
    if found.named_pairs is not None:
        told, total = found.named_pairs
        yield Line("pairs of the dataset that 1-WL tells apart", f"{told:,} of {total:,}")
    for difference in found.differences:
        sizes = ""
        if difference.mean is not None and difference.most is not None:
            sizes = f"; differences: mean {_score(difference.mean)}, largest {_score(difference.most)}"
        name = "target" if len(found.differences) == 1 else f"target {difference.target}"
        yield Line(f"pairs that differ in their {name}", f"{difference.pairs:,} of {found.pairs:,}{sizes}")
    if found.examples:
        shown = "; ".join(" and ".join(map(str, example)) for example in found.examples)
        yield Line("examples of such graphs, counted from 0", shown)
    for steps, (told, of) in found.told_apart.items():
        tried = "" if of == found.pairs else " that were tried"
        yield Line(f"told apart with {counted(steps, 'mark')}, T = {steps}", f"{told:,} of {of:,}{tried}")
    vertices = f", with {counted(found.vertices_alike, 'such vertex', 'such vertices')}" if found.graphs_alike else ""
    yield Line("graphs with vertices that look alike, but are not", f"{found.graphs_alike:,}{vertices}")
    if found.unsearched:
        yield Line("graphs that are too large for an exact search", f"{found.unsearched:,}")


def _best(found: Diagnosis) -> Iterator[Line]:
    for best in found.best:
        scores = {"1-WL GNN": best.one_wl, "any model": best.any_model, "one prediction for all": best.constant}
        known = [f"{what} {_score(value)}" for what, value in scores.items() if value is not None]
        rows = "vertices" if found.level == "node" else "graphs"
        yield Line(f"{best.part} ({best.rows:,} {rows})", ", ".join(known) or "cannot be scored")


def _copies(found: Diagnosis) -> Iterator[Line]:
    pairs = [(graph, group[0]) for group in found.copies_of for graph in group[1:]]
    yield Line("graphs that are copies of an earlier one", f"{found.copies:,}{_named(pairs)}")
    if found.conflicts is not None:
        wrong = [(graph, group[0]) for group in found.conflicts_of for graph in group[1:]]
        yield Line("graphs with a copy that has another target", f"{found.conflicts:,}{_named(wrong)}")
    for leak in found.leaks:
        folds = ", of all folds together" if leak.folds else ""
        what = f"graphs of {leak.part} that are also in {leak.also_in}{folds}"
        yield Line(what, f"{leak.graphs:,} of {leak.of:,}{_named(leak.numbers)}")


def _named(pairs: Sequence[tuple[int, int]]) -> str:
    """The first few of some graphs, each with the graph that it is a copy of."""
    if not pairs:
        return ""
    first = ", ".join(f"graph {graph} of {original}" for graph, original in pairs[:MOST_NAMED])
    return f": {first}{', ...' if len(pairs) > MOST_NAMED else ''}"


def _metric(found: Diagnosis) -> str:
    return METRICS.get(found.metric or "", found.metric or "score")


def _settings(found: Diagnosis) -> Iterator[Line]:
    advice = found.advice
    if not advice.needed:
        yield Line("to tell all graphs apart", "T = 0, a plain GNN")
        yield Line("to try beside it", f"T = {advice.steps}")
    else:
        unsure = "" if advice.enough else "; it was not shown that this is enough"
        yield Line("T, number of marks", f"{advice.steps}{unsure}")
    times = "times the operations of a plain GNN with as many layers"
    yield Line("K in training", f"{advice.particles}: {advice.cost:.0f} {times}")
    exact = ", and no randomness is left" if advice.exact else ""
    yield Line("K in the test", f"{advice.test_particles}: {advice.test_cost:.0f} {times}{exact}")


def _spread(spread: Spread) -> str:
    return f"{spread.least:,} to {spread.most:,}, median {spread.median:g}"


def _score(value: float) -> str:
    return f"{value:.4g}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
