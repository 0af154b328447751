"""A drawing of a graph whose vertices and edges are coloured by importance, as one SVG that needs no other file."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pfgnn.data.molecules import FEATURES
from pfgnn.experiments.explain import Explanation
from pfgnn.graphs.graph import Graph
from pfgnn.graphs.smiles import rdkit_modules
from pfgnn.report.fit_numbers import decimals, fixed
from pfgnn.report.layout import place_components
from pfgnn.report.markup import escaped
from pfgnn.report.shades import Colour, Shades, choose_shades, mix, rgb

SIZE = 480  # width of a picture
HEIGHT = 400  # of the graph in it
LEGEND = 54  # height of the legend below the graph
STRIPES = 30  # of the scale in the legend
LEGEND_FONT = 18  # at least 11 pixels where three pictures stand side by side on a page
NUMBERED = 100  # most vertices that are numbered
WIDEST, THINNEST = 5.0, 1.5  # pixels of the most important edge, in a graph with few edges and with many
MOST_WIDE = 40  # most edges of a graph whose edges have the full width
FONT = "font-family='Helvetica, Arial, sans-serif'"


def draw_explanation(found: Explanation, output: int = 0, numbers: bool = True) -> str:
    """Draw a graph as SVG. Molecules are drawn by RDKit, with elements; other graphs as circles and lines.

    Orange raises the prediction, blue lowers it. What is weak has no colour, see :mod:`pfgnn.report.shades`.

    Args:
        found: The explanation.
        output: Number of the output.
        numbers: Whether to write the number of each vertex, as the table has it.
    """
    shades = choose_shades(found, output)
    inner = _graph(found, output, shades, numbers) if found.smiles is None else _molecule(found, shades, numbers)
    what = "a molecule" if found.smiles is not None else "a graph"
    title = f"Importance of each part of {what} for {found.names[output]}"
    value, error = float(found.prediction[output]), float(found.error[output])
    about = (
        found.smiles if found.smiles is not None else f"{len(found.vertices.mean)} vertices, {len(found.ends)} edges"
    )
    text = f"{about}. {found.names[output]}: {value:.4g}, standard error {error:.2g}. {_strongest(found, output)}"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' width='{SIZE}' height='{HEIGHT + LEGEND}' "
        f"viewBox='0 0 {SIZE} {HEIGHT + LEGEND}'><title>{escaped(title)}</title><desc>{escaped(text)}</desc>"
        f"<rect width='100%' height='100%' fill='white'/>{inner}{_legend(shades)}</svg>\n"
    )


def _strongest(found: Explanation, output: int, count: int = 3) -> str:
    """The most important vertices in words, for those who cannot see the colours."""
    mean = found.vertices.mean[:, output]
    order = [v for v in mean.abs().argsort(descending=True, stable=True).tolist() if math.isfinite(float(mean[v]))]
    what = "vertex" if found.smiles is None else "atom"
    if not order:
        return f"No {what} can be removed."
    return "Most important: " + ", ".join(f"{what} {v} ({float(mean[v]):+.3g})" for v in order[:count]) + "."


def _legend(shades: Shades) -> str:
    """A scale from what lowers the prediction most to what raises it most."""
    y, step = HEIGHT + 8, (SIZE - 16) / STRIPES
    largest = fixed(shades.largest, decimals(shades.largest))
    cells = []
    for stripe in range(STRIPES):
        share = (2 * stripe + 1) / STRIPES - 1  # from -1 to 1
        fill = rgb(mix(share))
        x, width = 8 + stripe * step, step + 0.5  # a little too wide, so that no gap shows
        cells.append(f"<rect x='{x:.1f}' y='{y}' width='{width:.1f}' height='14' fill='{fill}'/>")
    cells.append(f"<rect x='8' y='{y}' width='{SIZE - 16}' height='14' fill='none' stroke='#666'/>")
    for place, anchor, text in (
        (8, "start", f"lowers it by {largest}"),
        (SIZE / 2, "middle", "0"),
        (SIZE - 8, "end", f"raises it by {largest}"),
    ):
        cells.append(
            f"<text x='{place:g}' y='{y + 34}' {FONT} font-size='{LEGEND_FONT}' text-anchor='{anchor}' fill='#222'>"
            f"{escaped(text)}</text>"
        )
    return "".join(cells)


def _graph(found: Explanation, output: int, shades: Shades, numbers: bool) -> str:
    n = len(found.vertices.mean)
    simple = found.ends[found.ends[:, 0] != found.ends[:, 1]]
    # From [-1, 1] to pixels, with the same scale for both axes and a margin for the discs.
    middle = np.array([SIZE, HEIGHT]) / 2
    points = middle + place_components(Graph(n, simple)) * (HEIGHT / 2 - 24) * np.array([1, -1])
    radius = float(np.clip(HEIGHT / np.sqrt(n) / 6, 3, 16))
    parts = []
    strengths = _strengths(found, output, shades)
    for number in np.argsort(strengths, kind="stable").tolist():  # the strongest last, so that nothing covers them
        u, v = found.ends[number].tolist()
        style = _edge_style(shades.edges[number], float(strengths[number]), len(found.ends))
        (x1, y1), (x2, y2) = points[u], points[v]
        tip = _tip(f"edge {u}-{v}", found.edges.mean[number, output], found.edges.error[number, output])
        if u == v:
            loop = f"cx='{x1:.1f}' cy='{y1 - radius:.1f}' r='{radius:.1f}' fill='none'"
            parts.append(f"<circle {loop} {style}>{tip}</circle>")
        else:
            parts.append(f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' {style}>{tip}</line>")
    for v, (x, y) in enumerate(points.tolist()):
        colour = shades.vertices[v]
        rim = "stroke='black' stroke-width='3'" if v == found.node else "stroke='#555' stroke-width='1'"
        tip = _tip(f"vertex {v}", found.vertices.mean[v, output], found.vertices.error[v, output])
        fill = "white" if colour is None else rgb(colour)
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius:.1f}' fill='{fill}' {rim}>{tip}</circle>")
        if numbers and n <= NUMBERED:
            parts.append(
                f"<text x='{x:.1f}' y='{y + 0.35 * radius:.1f}' {FONT} font-size='{radius:.1f}' "
                f"text-anchor='middle' fill='#111' pointer-events='none'>{v}</text>"
            )
    return "".join(parts)


def _strengths(found: Explanation, output: int, shades: Shades) -> npt.NDArray[np.float64]:
    """Importance of each edge without its sign, in shares of the largest one of all parts, [m]. 0 has no colour."""
    coloured = np.array([colour is not None for colour in shades.edges], dtype=np.bool_)
    means = found.edges.mean[:, output].abs().double().numpy()
    return np.where(coloured, means / max(shades.largest, 1e-300), 0.0)


def _edge_style(colour: Colour | None, strength: float, edges: int) -> str:
    """Colour, width and opacity of an edge. Of many edges each is thinner, so that one can see between them.

    Args:
        colour: Its colour; None if it is weak.
        strength: Its importance, from 0 to 1.
        edges: Number of edges.
    """
    widest = float(np.clip(WIDEST * np.sqrt(MOST_WIDE / max(1, edges)), THINNEST, WIDEST))
    if colour is None:
        return f"stroke='#aaa' stroke-width='{0.3 * widest:.2f}' stroke-opacity='0.7'"
    width, opacity = widest * (0.3 + 0.7 * strength), 0.4 + 0.6 * strength
    return f"stroke='{rgb(colour)}' stroke-width='{width:.2f}' stroke-opacity='{opacity:.2f}'"


def _tip(what: str, mean: Any, error: Any) -> str:
    """What a browser shows while the mouse is over a part."""
    said = f"{float(mean):+.4g} ± {float(error):.2g}" if math.isfinite(float(mean)) else "cannot be removed"
    return f"<title>{escaped(f'{what}: {said}')}</title>"


def _molecule(found: Explanation, shades: Shades, numbers: bool) -> str:
    chem, base = rdkit_modules()
    from rdkit.Chem.Draw import rdMolDraw2D

    assert found.smiles is not None
    assert found.features is not None
    with base.BlockLogs():
        molecule = chem.Mol(FEATURES[found.features].parse(found.smiles))  # its atoms are the vertices of the graph
        chem.SanitizeMol(molecule)  # the features of ZINC leave this out
        pen: Any = rdMolDraw2D.MolDraw2DSVG(SIZE, HEIGHT)  # the types of its options are wrong
        pen.drawOptions().addAtomIndices = numbers
        pen.drawOptions().padding = 0.08
        pen.drawOptions().useBWAtomPalette()  # the colours of elements would be taken for importances
        atoms = {v: colour for v, colour in enumerate(shades.vertices) if colour is not None}
        bonds = {
            molecule.GetBondBetweenAtoms(u, v).GetIdx(): colour
            for (u, v), colour in zip(found.ends.tolist(), shades.edges, strict=True)
            if colour is not None
        }
        rdMolDraw2D.PrepareAndDrawMolecule(
            pen,
            molecule,
            highlightAtoms=list(atoms),
            highlightAtomColors=atoms,
            highlightBonds=list(bonds),
            highlightBondColors=bonds,
        )
        pen.FinishDrawing()
    text: str = pen.GetDrawingText()
    return text[text.index("<svg") :]
