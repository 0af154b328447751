"""The paper's numbers are those that it prints."""

import re
from collections import Counter
from pathlib import Path

import pytest

from pfgnn.experiments.tables import TABLES
from pfgnn.report.published import PUBLISHED

LABELS = {
    "table1": "iso",
    "table2": "CSL",
    "table3": "LCC_Triangles",
    "table4": "zinc_alchemy",
    "table5": "qm9_main",
    "table6": "qm912",
    "table7": "ogbmolhiv",
    "table8": "ablation",
    "table9": "ablation_resample",
    "table10": "ablation_mlp_random",
    "table11": "ablation_sequential",
    "table13": "ablation_runtime_mae",
    "table14": "ablation_graphproperties2",
    "table16": "sup_exp",
    "table17": "sup_ablation",
}
# Rows that we run and the paper does not print.
OURS = {
    "table2": {"PF-GNN, T=4", "our method"},
    "table3": {"LCC, our method"},
    "table4": {"ZINC, PF-GNN, uniform policy, additive", "ZINC, PF-GNN, weight decay"},
    "table6": {"MPNN"},
    "table14": {f"{name}, our method" for name in ("connectivity", "planarity", "bipartiteness")},
    "table16": {"GIN", "our method"},
    "precision": {
        *("CSL, tf32", "CSL, bf16"),
        *(f"ZINC, 30 epochs, {kind}" for kind in ("float32", "tf32", "bf16")),
    },
    "sr25-reliable": {"GIN", *(f"{backbone} + PF" for backbone in ("GIN", "GCN", "GAT", "GNNML1"))},
}


def printed(tex: str, label: str) -> Counter[str]:
    """Every number in the body of a LaTeX table, as in "0.122 ± 0.01"."""
    body = tex[tex.index(f"\\label{{tab:{label}}}") :]
    body = body[body.index("\\begin{tabular}") : body.index("\\end{tabular}")]
    for command in ("textbf", "scriptsize", "bfseries", "noalign{\\vskip 1mm}"):
        body = body.replace(f"\\{command}", "")
    numbers: Counter[str] = Counter()
    for line in body.replace("\\pm", "±").split("\\\\"):
        cells = [re.sub(r"[{}$\s]|\\[a-z]+", "", cell).replace("±", " ± ") for cell in line.split("&")[1:]]
        numbers.update(
            part for cell in cells for part in cell.split("|") if re.fullmatch(r"-?\d[\d.]*s?( ± [\d.]+)?", part)
        )
    return numbers


@pytest.mark.parametrize(("name", "label"), LABELS.items())
def test_the_numbers_are_those_of_the_latex(data_dir: Path, name: str, label: str) -> None:
    source = data_dir.parent / "paper" / "pf-gnn.tex"
    if not source.exists():
        pytest.skip("the paper's LaTeX is not beside the benchmark files")
    ours = Counter(cell for row in PUBLISHED[name] for cell in row.cells.values())
    extra = Counter({"3": 2, "6": 1, "9": 1}) if name == "table11" else Counter()  # its line of vertices
    assert ours + extra == printed(source.read_text(), label)


def test_every_row_of_ours_has_its_like_in_the_paper() -> None:
    for name, table in TABLES.items():
        if name.startswith("zinc") or name == "one-setting":  # tables of ours alone
            continue
        published = {row.title: row.cells for row in PUBLISHED.get(name, ())}
        assert len(published) == len(PUBLISHED.get(name, ()))
        assert {row.title for row in table.rows} - published.keys() == OURS.get(name, set())
        for row in table.rows:
            columns = {measure.column for measure in row.measures}
            assert published.get(row.title, {}).keys() <= columns | {"time"}


def test_every_row_that_we_do_not_run_is_quoted() -> None:
    quoted = {(name, row.title): row.source for name, rows in PUBLISHED.items() for row in rows}
    ours = {(name, row.title) for name, table in TABLES.items() for row in table.rows}
    assert all(quoted[missing] for missing in quoted.keys() - ours)
    assert not any(source for (_, title), source in quoted.items() if "PF" in title)


def test_whole_rows() -> None:
    rows = {(name, row.title): row for name, found in PUBLISHED.items() for row in found}
    assert rows["table2", "3-WL GNN"].cells == {"mean": "97.8", "max": "100.0", "min": "30", "std": "10.9"}
    assert rows["table8", "CSL, T=4, K=8"].cells == {"accuracy": "100"}
    assert rows["table8", "TRIANGLES-large, T=3, K=16"].cells == {"accuracy": "69"}
    assert rows["table3", "TRIANGLES, RNI"].cells == {"orig": "59", "large": "31"}
    assert rows["table10", "CSL, random 12.5 %"].cells == {"accuracy": "48.0"}
    assert rows["table6", "PF-GNN"].cells["U0"] == "0.9748"
    assert rows["table7", "DGN"].source == "OGB leaderboard"
