"""docs/results.md and the README's table say what the records say, and what was not run yet."""

import json
from pathlib import Path

import pytest
from tests.report.records import pair_counts, run, write

from pfgnn.errors import InputError
from pfgnn.experiments.tables import TABLES
from pfgnn.files import write_json
from pfgnn.report.headline import headline, lead
from pfgnn.report.result_files import BEGIN, COMMAND, END, generated_files, results_page
from pfgnn.report.result_sections import NOTES, table_section

ROOT = Path(__file__).parents[2]


def checkout(folder: Path) -> Path:
    """A folder with what the command writes to."""
    (folder / "docs").mkdir()
    (folder / "README.md").write_text(f"# Mine\n\n{BEGIN}\n{END}\n")
    return folder


def rows(results: Path, name: str) -> dict[str, tuple[str, ...]]:
    """The last table of a section, by the first cell. Lines that go on with a row are left out."""
    return {row[0]: row for row in table_section(results, name, results).tables[-1].rows if row[0]}


@pytest.mark.parametrize("path", ["docs/results.md", "README.md"])
def test_the_files_of_this_repository_are_those_of_its_records(path: str) -> None:
    text = generated_files(ROOT / "results", ROOT)[ROOT / path]
    same = (ROOT / path).read_text(encoding="utf-8") == text
    assert same, f"{path} differs from what its records say: run `{COMMAND}`"


def test_a_number_of_ours_stands_beside_the_published_one_with_how_it_was_made(tmp_path: Path) -> None:
    runs = [run(seed, test={"mae": 0.2 + 0.1 * seed}) for seed in range(4)]
    path = write(tmp_path, "table4", "zinc-pf-gnn", runs)
    facts = ("4", "2", "4, test 9", "3", "1,234", "12 s, CPU, 1 thread")
    shown = rows(tmp_path, "table4")["ZINC, PF-GNN"]
    assert shown == ("ZINC, PF-GNN", "MAE", "0.122 ± 0.01", "0.350 ± 0.129", *facts)
    before = results_page(tmp_path, tmp_path)
    assert f"| {' | '.join(shown)} |" in before
    assert f"[`{tmp_path.name}/table4`](table4)" in before
    write(tmp_path, "table4", "zinc-pf-gnn", runs[:3])
    assert rows(tmp_path, "table4")["ZINC, PF-GNN"][3:5] == ("0.300 ± 0.100", "3 of 4")
    path.unlink()
    assert rows(tmp_path, "table4")["ZINC, PF-GNN"][2:] == ("0.122 ± 0.01", "not run yet", *"––––––")


def test_every_table_and_every_row_is_there_before_anything_was_run(tmp_path: Path) -> None:
    page = results_page(tmp_path, tmp_path)
    for name, spec in TABLES.items():
        assert f"\n## {name}\n" in page
        assert f"`pfgnn reproduce {name}`" in page
        assert all(f"| {row.title} |" in page for row in spec.rows if not row.grid)
    assert "| DGN | 79.70 ± 0.97 (OGB leaderboard) | – |" in page
    assert "| GIN | mean | 10 (Dwivedi et al., 2020) | not run yet |" in page
    assert "| strongly regular | 50 | not run yet |" in page
    assert "| N²-GNN | 287 |" in page
    assert "±" not in "".join(cell for row in headline(tmp_path).rows for cell in (row[1], row[3]))


def test_a_grid_shows_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    write(tmp_path, "table8", "csl-t4-k8", [run(0, fold, test={"accuracy": 0.9}) for fold in range(5)])
    tables = {table.caption: table for table in table_section(tmp_path, "table8", tmp_path).tables}
    assert tables["CSL: published"].rows[3] == ("4", "89", "93", "88", "100", "95")
    ours = tables["CSL: ours"]
    assert ours.header == ("T", "K = 1", "K = 2", "K = 4", "K = 8", "K = 16")
    assert ours.rows[3] == ("4", *["not run yet"] * 3, "90.00 ± 0.00", "not run yet")
    assert {cell for row in tables["TRIANGLES-large: ours"].rows for cell in row[1:]} == {"not run yet"}
    assert [row[0] for row in tables["The runs, accuracy"].rows] == ["CSL, T=4, K=8"]
    assert tables["The runs, accuracy"].rows[0][3] == "1 × 5 folds"


def test_a_backbone_alone_has_no_particles(tmp_path: Path) -> None:
    path = write(tmp_path, "table4", "zinc-pna", [run(0, test={"mae": 0.2})])
    content = json.loads(path.read_text())
    content["config"]["model"]["steps"] = 0
    write_json(path, content)
    assert rows(tmp_path, "table4")["ZINC, PNA"][4:8] == ("1 of 4", "0", "–", "3")
    content["config"]["model"]["steps"] = "many"
    write_json(path, content)
    with pytest.raises(InputError, match=r"zinc-pna.json: model.steps must be a whole number or null, .* 'many'"):
        results_page(tmp_path, tmp_path)


def test_the_main_table_follows_the_records(tmp_path: Path) -> None:
    write(tmp_path, "zinc", "ours", [run(seed, test={"mae": 0.07}) for seed in range(4)])
    write(tmp_path, "one-setting", "exp-pf-gnn", [run(0, fold, test={"accuracy": 1 - fold / 100}) for fold in range(2)])
    counts = [pair_counts(105, 0, told, 0, 1.0) for told in (105, 105, 104)]
    write(tmp_path, "one-setting", "sr25-pf-gnn", [run(seed, pairs=of) for seed, of in enumerate(counts)])
    cells = {row[0]: row[1:] for row in headline(tmp_path).rows}
    zinc = cells["ZINC, mean absolute error"]
    assert zinc[:2] == ("not run yet", "0.122 ± 0.01")
    assert zinc[2] == "**0.070 ± 0.000**, with ring walks **not run yet**; at most 1,234 parameters"
    exp = cells["EXP, ten folds, accuracy"][2]
    assert exp == "**99.5 ± 0.7 % (2 of 30 runs)**, perfect in 1 of 2 trainings"
    sr25 = cells["SR25, pairs told apart reliably"][2]
    assert sr25 == "**at least 104 of 105** in each of 3 seeds; false alarms 0 of 3,015"


def test_the_first_sentence_follows_the_diagnoses(tmp_path: Path) -> None:
    assert lead(tmp_path) == (
        "Do molecules need more than 1-WL? This is not run yet: `pfgnn diagnose zinc --json`, "
        "`pfgnn diagnose molhiv --json`, `pfgnn diagnose qm9 --json`."
    )
    for name, pairs in {"zinc": 0, "molhiv": 1234, "qm9": 7}.items():
        write_json(tmp_path / "diagnosis" / f"{name}.json", {"pairs": pairs})
    assert "no two different molecules of ZINC are equal to 1-WL, and in ogbg-molhiv only 1,234 pairs are" in (
        lead(tmp_path)
    )
    write_json(tmp_path / "diagnosis" / "zinc.json", {"pairs": None})
    with pytest.raises(InputError, match=r"zinc.json must hold what `pfgnn diagnose zinc --json` prints, .* is None"):
        lead(tmp_path)


def test_a_readme_without_marks_gets_a_sentence(tmp_path: Path) -> None:
    folder = checkout(tmp_path)
    assert generated_files(folder / "results", folder).keys() == {folder / "docs/results.md", folder / "README.md"}
    (folder / "README.md").write_text("# Mine\n")
    with pytest.raises(InputError, match=r"README.md must have the lines <!-- begin.* between which the table is"):
        generated_files(folder / "results", folder)


def test_notes_belong_to_tables_and_hold_no_results() -> None:
    assert NOTES.keys() <= {*TABLES, "brec"}
    assert not [name for name, text in NOTES.items() if "±" in text or any(f".{digit}" in text for digit in range(10))]
