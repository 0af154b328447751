"""All results as one HTML page. It needs no other file, no network and no script."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pfgnn.experiments.tables import TABLES
from pfgnn.report.blocks import Section, Table
from pfgnn.report.brec import FOLDER, read_brec
from pfgnn.report.curves import SMOOTHED_FROM, WINDOW, Runs, draw_curve
from pfgnn.report.grids import gather_grids
from pfgnn.report.headline import headline, lead
from pfgnn.report.heat_maps import LETTERS, WIDTH, draw_brec, draw_heat_map
from pfgnn.report.html import Html, element, figure, inline_svg, page, table
from pfgnn.report.markup import escaped
from pfgnn.report.metrics_reader import Line, group_runs, read_metrics
from pfgnn.report.plots import draw_lines
from pfgnn.report.result_sections import HOW_TO_READ, brec_section, overview, sources, table_section
from pfgnn.report.tables import NOT_RUN

PAGE = "report.html"
TITLE = "PF-GNN: results beside the published numbers"
CURVES = "curves"  # folder of learning curves, NAME/seed0.jsonl
SHOWN = (("validation", "metric in validation"), ("loss", "loss in training"))


def results_html(results: Path, names: Sequence[str]) -> str:
    """The page.

    Args:
        results: Folder of the records.
        names: Names of the tables to show. If it is all, BREC and the learning curves are shown too.
    """
    whole = list(names) == list(TABLES)
    body = [element("h1", TITLE)]
    if whole:
        main = _table(headline(results), numbers=False)
        body.append(element("section", element("p", inline(lead(results)), class_="lead"), main))
        body.append(element("section", element("p", HOW_TO_READ), _table(overview(results))))
        body += _curves(results)
    for name in names:
        body.append(_section(table_section(results, name, results), _pictures(results, name)))
    if whole:
        body.append(_section(brec_section(results, results), _bars(results)))
    body.append(_section(sources(), []))
    return page(TITLE, body)


def inline(text: str) -> Html:
    """A text with Markdown's `code`, **bold** and [links](#NAME) as HTML. Links to files become plain text."""
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped(text))
    shown = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", shown)
    shown = re.sub(r"\[([^\]]+)\]\((#[\w.-]+)\)", r'<a href="\2">\1</a>', shown)
    return Html(re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", shown))


def _table(of: Table, numbers: bool = True) -> Html:
    cells = [[_cell(cell) for cell in row] for row in of.rows]
    return table(of.header, cells, of.caption.replace("`", ""), numbers=numbers)


def _cell(content: str) -> Html:
    """A cell. The work that a number is quoted from stands below it, because it would make the table too wide."""
    number, bracket, work = content.partition(" (")
    if bracket and re.fullmatch(r"[^()]*\d{4}\)", work):
        return Html(inline(number) + element("small", f"({work}"))
    return inline(content)


def _section(section: Section, pictures: Sequence[Html]) -> Html:
    title = section.title if section.name in ("sources", CURVES) else f"{section.name}: {section.title}"
    return element(
        "section",
        element("h2", title),
        *(element("p", inline(text)) for text in section.text),
        *([element("div", *pictures, class_="figures")] if pictures else []),
        *map(_table, section.tables),
        *([element("p", inline(section.commands), class_="note")] if section.commands else []),
        id=section.name,
    )


def _pictures(results: Path, name: str) -> list[Html]:
    """The heat maps of a table, and its lines by K."""
    pictures = []
    for grid in gather_grids(results, name):
        sides = [True, False] if np.isfinite(grid.paper).any() else [False]
        for published in sides:
            whose = "published" if published else "ours"
            known = np.isfinite(grid.paper if published else grid.ours).any()
            caption = f"{grid.title}: {whose}. " + ("Brighter is a larger number." if known else f"It is {NOT_RUN}.")
            alt = f"Heat map of {grid.title} by K and {grid.side}, {whose}" + ("" if known else f": {NOT_RUN}")
            drawn = inline_svg(draw_heat_map(grid, published), f"{grid.name}-{whose}")
            pictures.append(figure(drawn, caption, f"{alt}. The table below has the numbers."))
    if lines := draw_lines(results, name):
        alt = "A line for each policy by K. The table below has the numbers."
        pictures.append(
            figure(inline_svg(lines, f"{name}-lines"), "A dot is a run, a line goes through the means.", alt)
        )
    return pictures


def _bars(results: Path) -> list[Html]:
    """A picture for each record of BREC."""
    return [
        figure(
            inline_svg(draw_brec(of), f"{FOLDER}-{number}"),
            f"{of.name}: pairs told apart reliably, by category.",
            f"Bars of the pairs of BREC that are told apart, by category, in the record {of.name}. The table below has "
            "the numbers.",
        )
        for number, of in enumerate(read_brec(results))
    ]


def _curves(results: Path) -> list[Html]:
    """The learning curves, one section with two pictures for each dataset."""
    pictures = []
    for dataset, runs in curve_groups(results).items():
        for key, label in SHOWN:
            alt = f"{dataset}: {label} by epoch, of {'; '.join(runs)}"
            drawn = _legend_below(draw_curve(runs, key, label))
            pictures.append(figure(inline_svg(drawn, f"curves-{dataset}-{key}"), f"{dataset}: {label} by epoch.", alt))
    about = (
        f"A colour is a row of a table, a line is a seed. From {SMOOTHED_FROM} epochs on, pale lines are the single "
        f"values, and strong lines are the median of {WINDOW} values each.",
        f"The numbers are in `results/{CURVES}`; `pfgnn curves` draws those of your own runs."
        if pictures
        else f"There are no learning curves: {NOT_RUN}.",
    )
    return [_section(Section(CURVES, "Learning curves", about if pictures else about[1:]), pictures)]


def curve_groups(results: Path) -> Mapping[str, Runs]:
    """The metrics of the runs in results/curves, by dataset (the first word of the folder) and by the row's title.

    Args:
        results: Folder of the records.
    """
    titles = {row.name: row.title for spec in TABLES.values() for row in spec.rows}
    titles |= {f"{name}-{row.name}": row.title for name, spec in TABLES.items() for row in spec.rows}
    found: dict[str, dict[str, Sequence[Sequence[Line]]]] = {}
    for name, paths in group_runs(sorted((results / CURVES).glob("*/*.jsonl"))).items():
        dataset = name.partition("-")[0]
        found.setdefault(dataset, {})[titles.get(name, name)] = [read_metrics(path) for path in paths]
    return found


def _legend_below(drawn: Figure) -> Figure:
    """Move the legend below the axes, where long names have room."""
    (axes,) = drawn.axes
    if legend := axes.get_legend():
        legend.remove()
        handles, labels = axes.get_legend_handles_labels()
        drawn.set_size_inches(WIDTH, 3.2 + 0.2 * len(labels))
        drawn.legend(handles, labels, loc="outside lower left", frameon=False, fontsize=LETTERS)
    return drawn
