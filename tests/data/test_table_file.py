"""One reader for all tables, however they are written."""

import gzip
from pathlib import Path

import pytest

from pfgnn.data.convert import convert
from pfgnn.data.table_file import open_table

PLAIN = "id,smiles,y\n1,CCO,0.5\n2,c1ccccc1,2\n"
FORMS = {
    "plain.csv": PLAIN,
    "bom.csv": f"\ufeff{PLAIN}",
    "windows.csv": PLAIN.replace("\n", "\r\n"),
    "mac.csv": PLAIN.replace("\n", "\r"),
    "semicolon.csv": PLAIN.replace(",", ";"),
    "tabs.tsv": PLAIN.replace(",", "\t"),
    "bars.csv": PLAIN.replace(",", " | "),
    "padded.csv": " id , smiles, y \n 1 , CCO,0.5\n2, c1ccccc1 ,2\n",
    "quoted.csv": '"id","smiles","y"\n"1","CCO","0.5"\n"2", "c1ccccc1","2"\n',
    "blank.csv": "id,smiles,y\n\n1,CCO,0.5\n,,\n2,c1ccccc1,2\n\n",
    "upper.CSV": PLAIN,
    "below.csv": f"\n \n{PLAIN}",
}


def read_all(path: Path) -> None:
    table = open_table(path)
    table.place("smiles")
    for _, row in table.read():
        table.check_row(row)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_form_gives_the_same_table(tmp_path: Path, name: str, zipped: bool) -> None:
    path = tmp_path / (f"{name}.gz" if zipped else name)
    content = FORMS[name].encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    table = open_table(path)
    assert table.header == ["id", "smiles", "y"]
    lines = {"blank.csv": [3, 5], "below.csv": [4, 5]}.get(name, [2, 3])
    assert list(table.read()) == [(lines[0], ["1", "CCO", "0.5"]), (lines[1], ["2", "c1ccccc1", "2"])]
    pytest.importorskip("rdkit")
    assert convert(path).dataset.y.tolist() == [[0.5], [2]]


def test_quotes_may_hold_separators_and_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('smiles;"a;b, c"\nCCO;"one\ntwo; ""three"""\nC;4\n')
    table = open_table(tmp_path / "a.csv")
    assert table.header == ["smiles", "a;b, c"]
    assert list(table.read()) == [(3, ["CCO", 'one\ntwo; "three"']), (4, ["C", "4"])]


def test_a_single_column_needs_no_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smiles\nCCO\nC\n")
    assert list(open_table(tmp_path / "a.csv").read()) == [(2, ["CCO"]), (3, ["C"])]


def test_a_header_alone_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smiles,y\n \n,\n")
    with pytest.raises(ValueError, match=r"a\.csv must have at least one row below its header, but it has none"):
        convert(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["a.smi", "a.smiles", "a.SMI"])
def test_a_file_of_smiles_is_a_table_without_header(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("\ufeffCCO ethanol, pure\n\n c1ccccc1\tbenzene\nC\n", encoding="utf-8")
    table = open_table(tmp_path / name)
    assert table.header == ["smiles", "name"]
    assert list(table.read()) == [(1, ["CCO", "ethanol, pure"]), (3, ["c1ccccc1", "benzene"]), (4, ["C", ""])]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a.csv must have at least one line, but it is empty"),
        (" \n\n", "a.csv must have at least one line, but it is empty"),
        ("id,y\n1,2\n", "a.csv has no column 'smiles', but has: id, y"),
        ("id,smiles,smiles\n1,C,C\n", "each column must occur once in .*a.csv, but 'smiles' is repeated"),
        ('""\n', "a.csv must have at least one line, but it is empty"),
        ("id,smiles\n1\n", "there are 1 entries, but the header has 2"),
        ("id,smiles\n1,C,,\n", "there are 4 entries, but the header has 2"),
        ("smiles\n" + "C" * 200_000, r"a.csv, line 2: field larger than field limit \(131072\)"),
        (",".join("abcdefghij" * 100) + "\n1", "a.csv has no column 'smiles', but has: a, b, .*…; name a column with"),
    ],
)
def test_wrong_tables(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_all(tmp_path / "a.csv")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('name,smiles,y\n"a,CCO,1.5\nb,CC,2.5\nc",CCC,1.7\nd,CCCC,2\n', "line 4: a cell must not hold whole rows"),
        ('name,smiles,y\na,CCO,1.5\n"b,CC,2.5\n', "line 3: a quote is opened in this row or above"),
    ],
)
def test_a_missing_quote_loses_no_rows(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(ValueError, match=rf"own.csv, {sentence}"):
        read_all(tmp_path / "own.csv")


def test_a_table_is_read_row_by_row_and_again(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("smiles\nC\nCC\n" + "x" * 200_000)
    table = open_table(tmp_path / "own.csv")
    for _ in range(2):
        rows = table.read()
        assert [next(rows), next(rows)] == [(2, ["C"]), (3, ["CC"])]
        with pytest.raises(ValueError, match=r"own.csv, line 4: field larger"):
            next(rows)
