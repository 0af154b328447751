"""The paper's numbers are those that it prints, and a wrong file of numbers gets one sentence."""

import re
from collections import Counter
from pathlib import Path

import pytest

from pfgnn.errors import InputError
from pfgnn.experiments.tables import TABLES
from pfgnn.report.published import FILE, PAPER, PUBLISHED, WORKS, read_published

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
    "table3": {"LCC, our method", "TRIANGLES, our method"},
    "table4": {
        *("ZINC, PF-GNN, uniform policy, additive", "ZINC, PF-GNN, weight decay"),
        *("ZINC without edge features, our method", "ALCHEMY, our method"),
    },
    "table5": {"our method"},
    "table6": {"MPNN", "our method"},
    "table7": {"our method"},
    "table14": {f"{name}, our method" for name in ("connectivity", "planarity", "bipartiteness")},
    "backbones": {
        f"{dataset}, {backbone}{filter}"
        for dataset, backbones in (("SR25", "GCN GAT GNNML1"), ("EXP", "GCN GAT GIN GNNML1"))
        for backbone in backbones.split()
        for filter in ("", " + PF")
    },
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
    ours = Counter(cell for row in PUBLISHED[name] if row.work == PAPER for cell in row.cells.values())
    extra = Counter({"3": 2, "6": 1, "9": 1}) if name == "table11" else Counter()  # its line of vertices
    assert ours + extra == printed(source.read_text(), label)


def test_every_row_of_ours_has_its_like_in_the_paper() -> None:
    for name, table in TABLES.items():
        if name.startswith("zinc") or name.endswith(("-setting", "-settings")):  # tables of ours alone
            continue
        published = {row.title: row.cells for row in PUBLISHED.get(name, ())}
        assert len(published) == len(PUBLISHED.get(name, ()))
        assert {row.title for row in table.rows} - published.keys() == OURS.get(name, set())
        for row in table.rows:
            columns = {measure.column for measure in row.measures}
            assert published.get(row.title, {}).keys() <= columns | {"time"}


def test_every_row_that_we_do_not_run_is_quoted() -> None:
    quoted = {(name, row.title): row.source for name, rows in PUBLISHED.items() if name != "zinc" for row in rows}
    ours = {(name, row.title) for name, table in TABLES.items() for row in table.rows}
    assert all(quoted[missing] for missing in quoted.keys() - ours)
    assert not any(source for (_, title), source in quoted.items() if "PF" in title)


def test_every_row_names_its_work_and_its_place() -> None:
    rows = [row for of in PUBLISHED.values() for row in of]
    assert {row.work for row in rows} == WORKS.keys()
    assert all(row.place for row in rows)
    places = {name: {row.place for row in PUBLISHED[name] if row.work == PAPER} for name in LABELS}
    assert places == {name: {f"table {name.removeprefix('table')}"} for name in LABELS}


def test_rows_of_other_works() -> None:
    rows = {(name, row.title): row for name, found in PUBLISHED.items() for row in found}
    brec = {row.title: row.cells["pairs of 400"] for row in PUBLISHED["brec"]}
    assert brec == {"N²-GNN": "287", "I²-GNN": "281", "KP-GNN": "275", "3-WL": "270"}
    forest = rows["table7", "random forest on Morgan fingerprints"]
    assert (forest.cells, forest.work) == ({"ROC-AUC": "80.6"}, "OGB leaderboard")
    assert rows["one-setting", "CSL, GIN"].cells == {"accuracy": "10"}
    assert rows["one-setting", "CSL, GIN"].source == "Dwivedi et al., 2020"
    assert rows["zinc", "PF-GNN, the paper's"].cells == rows["table4", "ZINC, PF-GNN"].cells


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("\nworks:", "\nwork:", r"must have the keys works and tables, and no other"),
        ("ZINC, DGN: 0.168 ± 0.01", "ZINC, DGN: 0.168", r"table4, group 2, row ZINC, DGN must be text, .* it is 0.168"),
        ("ZINC, DGN: 0.168 ± 0.01", "ZINC, DGN: low", r"table4, group 2, row ZINC, DGN must have numbers, .* 'low'"),
        ("LCC, GIN: 50 | 50", "LCC, GIN: 50 | 50 | 50", r"row LCC, GIN must have 2 numbers, .* but it has 3"),
        ("LCC, GIN: 50 | 50", "LCC, GAT: 50 | 50", r"line \d+ must be YAML, but the key LCC, GAT occurs twice"),
        ("ZINC, DGN: 0.1", "ZINC, PNA: 0.1", r"table4 must have each row once, but it has 'ZINC, PNA' twice"),
        ("      quoted: Brockschmidt, 2020", "      by: me", r"table6, group 1 must have the keys columns, place, .*"),
        ("    - work: BREC paper", "    - work: mine", r"brec, group 1: work must be one of .*, but it is 'mine'"),
        ("copied: table4", "copied: table5", r"zinc, group 1 must copy rows .*, but 'table5' has no row 'ZINC, PNA'"),
        ("particles: [1, 2, 4, 8, 16]", "particles: 16", r"table8, group 1: particles must be a list"),
        ("  table9:\n", "  table9: 1\n  table9a:\n", r"tables must give each table a list of groups"),
    ],
)
def test_a_wrong_file_gets_one_sentence(old: str, new: str, sentence: str) -> None:
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(InputError, match=sentence):
        read_published(text.replace(old, new, 1), "published.yaml")


def test_whole_rows() -> None:
    rows = {(name, row.title): row for name, found in PUBLISHED.items() for row in found}
    assert rows["table2", "3-WL GNN"].cells == {"mean": "97.8", "max": "100.0", "min": "30", "std": "10.9"}
    assert rows["table8", "CSL, T=4, K=8"].cells == {"accuracy": "100"}
    assert rows["table8", "TRIANGLES-large, T=3, K=16"].cells == {"accuracy": "69"}
    assert rows["table3", "TRIANGLES, RNI"].cells == {"orig": "59", "large": "31"}
    assert rows["table10", "CSL, random 12.5 %"].cells == {"accuracy": "48.0"}
    assert rows["table6", "PF-GNN"].cells["U0"] == "0.9748"
    assert rows["table7", "DGN"].source == "OGB leaderboard"
