"""Pieces of an HTML page that needs no other file. All text is escaped, unless it is :class:`Html` already."""

import io
import re
import warnings
from collections.abc import Iterable, Sequence

import matplotlib as mpl
from matplotlib.figure import Figure

from pfgnn.report.markup import escaped

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #1a1a1a; background: white;
  max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05rem; margin-bottom: .3rem; }
.lead { font-size: 1.1rem; } .note { color: #555; font-size: .9rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; color: #555; font-size: .9rem; padding-bottom: .3rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; } td.number, td.number span, .short { white-space: nowrap; }
td.number:has(span) { white-space: normal; } .long { min-width: 9rem; }
td:first-child, th:first-child { min-width: 5rem; } .long:first-child { min-width: 10rem; }
section .wide .number:first-child { min-width: 0; } tr.own td { font-weight: 600; background: #f3f6fa; }
tr:has(+ tr.again) td { border-bottom: 0; padding-bottom: 0; } section table { font-size: .9rem; }
section :is(th, td) { padding: .2rem .5rem; }
body:has(section) { max-width: 70rem; } section > :is(p, .figures) { max-width: 62rem; }
section th { vertical-align: bottom; }
td small { display: block; font-weight: 400; color: #555; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1.2rem;
  align-items: start; }
.figures > .wide { grid-column: 1 / -1; } .figures.sided > .wide { grid-column: auto; min-width: 0; }
.figures > figure:only-child { grid-column: 1 / -1; max-width: 36rem; }
.figures.small { grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); }
figure { margin: 0; min-width: 0; break-inside: avoid; }
figure svg { width: 100%; height: auto; } figcaption { font-size: .9rem; color: #333; }
pre { background: #f6f6f6; padding: .7rem; white-space: pre-wrap; font-size: .85rem; }
code { background: #f6f6f6; padding: 0 .2rem; }
@media (max-width: 40rem) { caption { max-width: calc(100vw - 2.5rem); }
  .wide td:first-child, .wide th:first-child { position: sticky; left: 0; background: white;
  min-width: 7rem; } .wide tr.own td:first-child { background: #f3f6fa; } th, td { padding: .25rem .4rem; }
  td.number small, td.short { white-space: normal; }
  .long { min-width: 6rem; } section .wide :is(th, td) { padding: .2rem .3rem; }
  section .wide :is(th, td):first-child { min-width: 6.5rem; } }
@media screen and (prefers-color-scheme: dark) { :root { color-scheme: dark; } a { color: #8ab4f8; }
  body { color: #ddd; background: #16181c; } .note, caption, td small, figcaption { color: #aaa; }
  h2, th, td { border-color: #444; } tr.own td, pre, code { background: #23272e; } figure svg { background: white; } }
@media screen and (prefers-color-scheme: dark) and (max-width: 40rem) {
  .wide td:first-child, .wide th:first-child { background: #16181c; }
  .wide tr.own td:first-child { background: #23272e; } }
@media print { body { font-size: 10pt; max-width: none; padding: 0; } h2, h3, caption, thead { break-after: avoid; }
  tr, .wide:has(tr:nth-child(-n + 12):last-child) { break-inside: avoid; } pre { columns: 2; }
  .wide { overflow: visible; } section table { font-size: 7pt; } section :is(th, td) { padding: .1rem .25rem; }
  .long, .long:first-child { min-width: 0; } .short, section td.number, td.number span { white-space: normal; } }
"""
SHORT, TITLE = 24, 10  # letters of a text, and of the title of a column of numbers, that are not broken
# Nothing may be loaded and no script may run, whatever a text holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Html(str):
    """Text that is HTML already and is not escaped again."""


def text(content: object) -> Html:
    """Any content as HTML. Only :class:`Html` is kept as it is."""
    return content if isinstance(content, Html) else Html(escaped(content))


def element(tag: str, *content: object, **attributes: str) -> Html:
    """An element, such as <p>. A trailing _ of an attribute's name is left out, and other _ become -."""
    given = "".join(f' {name.rstrip("_").replace("_", "-")}="{escaped(v)}"' for name, v in attributes.items())
    return Html(f"<{tag}{given}>{''.join(map(text, content))}</{tag}>")


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    caption: str = "",
    own: int | None = None,
    numbers: bool = True,
) -> Html:
    """A table. Cells that are numbers, or begin like one, stand on the right. A row without its first cell goes on.

    Numbers and short texts are not broken, but a number may be broken between its <span>s.

    Args:
        header: Titles of the columns.
        rows: The cells.
        caption: Text above the table.
        own: Number of the row that is set off; None for none.
        numbers: False if no column holds numbers alone, so that long cells may be broken.
    """
    cells = [list(map(text, row)) for row in rows]
    plain = [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in cells]
    classes = [_column_class([row[place] for row in plain]) if numbers else "" for place in range(len(header))]
    head = [
        element("th", title, scope="col", **_class("number short" if of == "number" and len(title) <= TITLE else of))
        for title, of in zip(header, classes, strict=True)
    ]
    kinds = ["own" if i == own else "" if row[0] else "again" for i, row in enumerate(cells)]
    body = [
        element(
            "tr", *(element("td", cell, **_class(of)) for cell, of in zip(row, classes, strict=True)), **_class(kind)
        )
        for row, kind in zip(cells, kinds, strict=True)
    ]
    above = [element("caption", caption)] if caption else []
    return element(
        "div", element("table", *above, element("thead", element("tr", *head)), element("tbody", *body)), class_="wide"
    )


def _class(name: str) -> dict[str, str]:
    return {"class_": name} if name else {}


def _column_class(cells: Sequence[str]) -> str:
    """The class of a column: "number", or "short" or "long" for texts."""
    if all(re.match(r"(&lt; |[-+−±] ?)?[\d.]|–|not run|$", cell) for cell in cells):
        return "number"
    return "short" if max(map(len, cells), default=0) <= SHORT else "long"


def figure(picture: Html, caption: object, alt: str) -> Html:
    """A picture with a text below it, and a text that describes it to those who cannot see it."""
    return element("figure", element("div", picture, role="img", aria_label=alt), element("figcaption", caption))


def inline_svg(drawn: Figure, name: str) -> Html:
    """A figure of matplotlib as SVG, with text as text.

    Args:
        drawn: The figure.
        name: Put before each id, which must be unique on a page.
    """
    buffer = io.StringIO()
    # A name in a script that no font here has is drawn by the reader's browser.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        drawn.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", svg)
    return Html(re.sub(r"font-family: [^;\"]*", "font-family: sans-serif", svg))


def page(title: str, body: Sequence[Html]) -> str:
    """A whole page."""
    head = [
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        element("title", title),
        Html(f"<style>{STYLE}</style>"),
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en">{element("head", *head)}{element("body", element("main", *body))}</html>\n'
    )
