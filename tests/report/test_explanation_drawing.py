"""Drawings of importances: what is coloured, and that they are sound SVG whatever the texts are."""

from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from pfgnn.experiments.explain import Explanation, Importance
from pfgnn.report.explanation_drawing import draw_explanation
from pfgnn.report.markup import escaped
from pfgnn.report.shades import choose_shades, rgb

NAN = float("nan")
SVG = "{http://www.w3.org/2000/svg}"


def explanation(vertices: list[float], errors: list[float], **changed: object) -> Explanation:
    """A path with these importances, whose edges have none."""
    n = len(vertices)
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    return Explanation(
        ["predicted logp"],
        torch.tensor([1.5]),
        torch.tensor([0.1]),
        Importance(torch.tensor(vertices)[:, None], torch.tensor(errors)[:, None]),
        Importance(torch.zeros(n - 1, 1), torch.zeros(n - 1, 1)),
        ends,
    )._replace(**changed)  # type: ignore[arg-type]


def test_what_raises_is_orange_what_lowers_is_blue_and_noise_has_no_colour() -> None:
    shades = choose_shades(explanation([1.0, -0.5, 0.3, NAN, 0.0], [0.1, 0.1, 0.2, NAN, 0.0]), 0)
    assert shades.largest == 1
    strong, blue, *rest = shades.vertices
    assert rest == [None, None, None]  # 0.3 lies within two standard errors of 0
    assert strong is not None
    assert rgb(strong) == "#d95f02"
    assert blue is not None
    assert blue[2] > blue[0]
    assert shades.edges == [None] * 4


@pytest.mark.parametrize("n", [1, 2, 40, 150])
def test_a_graph_is_drawn_with_a_disc_for_each_vertex(n: int) -> None:
    root = ElementTree.fromstring(draw_explanation(explanation([1.0] * n, [0.1] * n)))
    discs = list(root.iter(f"{SVG}circle"))
    assert len(discs) == n
    assert {disc.get("fill") for disc in discs} == {"#d95f02"}
    assert len(list(root.iter(f"{SVG}line"))) == n - 1
    title, about = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert about is not None
    assert title.text == "Importance of each part of a graph for predicted logp"
    assert about.text is not None
    assert "Most important: vertex 0 (+1)" in about.text


def test_the_legend_is_a_scale_that_can_be_read() -> None:
    """Three pictures stand side by side on a page of 1200 pixels, each 318 pixels wide: 11 pixels are 16.6 here."""
    root = ElementTree.fromstring(draw_explanation(explanation([0.5, -0.2], [0.0, 0.0]), numbers=False))
    texts = list(root.iter(f"{SVG}text"))
    assert [text.text for text in texts] == ["lowers it by 0.500", "0", "raises it by 0.500"]
    assert all(float(text.get("font-size", "0")) >= 11 * 480 / 318 for text in texts)
    stripes = [rect.get("fill") for rect in root.iter(f"{SVG}rect")][1:-1]
    blue, orange = (tuple(int(str(of)[at : at + 2], 16) for at in (1, 3, 5)) for of in (stripes[0], stripes[-1]))
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]


def test_all_importances_unknown() -> None:
    root = ElementTree.fromstring(draw_explanation(explanation([NAN], [NAN])))
    assert [disc.get("fill") for disc in root.iter(f"{SVG}circle")] == ["white"]


def test_a_self_loop_is_drawn() -> None:
    loop = explanation([1.0, 1.0], [0.1, 0.1], ends=np.array([[1, 1]]))
    root = ElementTree.fromstring(draw_explanation(loop))
    assert len(list(root.iter(f"{SVG}circle"))) == 3


@pytest.mark.parametrize(("features", "atoms"), [("ogb", 3), ("zinc", 3), ("qm9", 9)])
def test_molecules_are_drawn_in_the_order_of_their_features(features: str, atoms: int) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    from pfgnn.data.molecules import FEATURES

    made = FEATURES[features].featurise("OCC")
    pairs = np.unique(np.sort(made.edge_index.T, axis=1), axis=0)
    importance = Importance(torch.ones(atoms, 1), torch.zeros(atoms, 1))
    edges = Importance(torch.zeros(len(pairs), 1), torch.zeros(len(pairs), 1))
    found = Explanation(
        ["<b>&"], torch.ones(1), torch.zeros(1), importance, edges, pairs, smiles="OCC", features=features
    )
    text = draw_explanation(found)
    root = ElementTree.fromstring(text)
    assert "<b>" not in text
    assert len(list(root.iter(f"{SVG}ellipse"))) == atoms  # the highlights
    assert "Importance of each part of a molecule for <b>&" in "".join(root.itertext())
    assert "Most important: atom 0 (+1)" in text


def test_texts_cannot_leave_their_place() -> None:
    wild = "</title><script>alert('\"')</script>\x00\ud800"
    assert escaped(wild) == "&lt;/title&gt;&lt;script&gt;alert(&#x27;&quot;&#x27;)&lt;/script&gt;\ufffd\ufffd"
    text = draw_explanation(explanation([1.0], [0.0])._replace(names=[wild]))
    assert "<script" not in text
    assert "alert('" in "".join(ElementTree.fromstring(text).itertext())


def test_strong_edges_are_wider_and_on_top_and_circles_stay_round() -> None:
    n = 25
    ends = np.array([(u, v) for u in range(n) for v in range(u + 1, n)])
    means = torch.linspace(0.06, 1, len(ends))[:, None].flip(0)  # the first edge is the strongest
    found = explanation([0.0] * n, [0.0] * n, ends=ends, edges=Importance(means, torch.zeros(len(ends), 1)))
    root = ElementTree.fromstring(draw_explanation(found))
    lines = list(root.iter(f"{SVG}line"))
    for name in ("stroke-width", "stroke-opacity"):
        values = [float(line.get(name) or 0) for line in lines]
        assert values == sorted(values)  # the strongest is drawn last
        assert values[-1] > 2 * values[0]
    assert float(lines[-1].get("stroke-width") or 0) < 2.5  # of 300 edges
    discs = np.array([[float(disc.get(axis) or 0) for axis in ("cx", "cy")] for disc in root.iter(f"{SVG}circle")])
    far = np.linalg.norm(discs - [240, 200], axis=1)
    assert far == pytest.approx([far[0]] * n, rel=1e-2)  # a circle, and no ellipse
