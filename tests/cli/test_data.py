"""The data commands as a user meets them."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from tests.cli.process import pfgnn
from tests.data.loader_samples import REGRESSION, random_dataset
from tests.data.shard_samples import divided

from pfgnn.data import Dataset
from pfgnn.data.catalogue import ENTRIES


@pytest.fixture(autouse=True)
def _empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("PFGNN_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def test_list_names_every_dataset_and_what_is_here(tmp_path: Path) -> None:
    done = pfgnn("data", "list")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ENTRIES)
    assert "generated on demand" in done.stdout


@pytest.mark.slow
def test_prepare_info_verify(tmp_path: Path) -> None:
    done = pfgnn("data", "prepare", "connectivity", "--out", tmp_path / "connectivity.pfgnn")
    assert done.returncode == 0, done.stderr
    assert "140 graphs" in done.stdout
    for command in ("info", "verify"):
        done = pfgnn("data", command, "connectivity", "--root", tmp_path)
        assert done.returncode == 0, done.stderr
        assert "2800" in done.stdout
    dataset = Dataset.open(tmp_path / "connectivity.pfgnn")
    dataset.subset(range(100)).save(tmp_path / "connectivity.pfgnn")
    done = pfgnn("data", "verify", "connectivity", "--root", tmp_path)
    assert done.returncode == 2
    assert "connectivity is not the published dataset (source: generated): graphs, nodes" in done.stderr


# The command line with shards of 256 lines. KILLED kills it after the second one.
SHORT = """
import os, signal, sys
from pfgnn.data import convert_file, convert_pieces
from pfgnn.data.unfinished import Unfinished
convert_pieces.LINES, convert_file.LINES, convert_file.LARGE = 64, 256, 512
add = Unfinished.add

def add_and_die(self, pieces):
    add(self, pieces)
    if len(self.blocks) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

if "KILLED" in os.environ:
    Unfinished.add = add_and_die
from pfgnn.cli import main
main()
"""


@pytest.mark.slow
def test_a_killed_conversion_of_a_large_file_goes_on(tmp_path: Path) -> None:
    (tmp_path / "own.g6").write_text("A_\nBw\n" * 500)
    (tmp_path / "labels.txt").write_text("0.5\n1\n" * 500)

    def convert(out: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SHORT, "data", "convert", "own.g6", out, "--labels", "labels.txt"]
        environment = {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    assert convert("own.pfgnn", KILLED="1").returncode == -signal.SIGKILL
    assert {path.name for path in tmp_path.iterdir()} == {"own.g6", "labels.txt", "own.pfgnn.unfinished"}
    done = convert("own.pfgnn")
    assert done.returncode == 0, done.stderr
    assert "own.pfgnn, a folder of 4 shards: 1,000 graphs; 0 lines rejected" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"own.g6", "labels.txt", "own.pfgnn"}
    again = convert("own.pfgnn")
    assert again.returncode == 2
    assert "own.pfgnn is a folder that exists" in again.stderr
    assert convert("whole.pfgnn").returncode == 0
    assert _contents(tmp_path / "own.pfgnn") == _contents(tmp_path / "whole.pfgnn")


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_info_describes_a_folder_of_shards(tmp_path: Path) -> None:
    dataset = replace(random_dataset(0, 40, REGRESSION), splits={"train": np.arange(30)})
    divided(dataset, tmp_path / "own", 3)
    done = pfgnn("data", "info", tmp_path / "own")
    assert done.returncode == 0, done.stderr
    for fact in ("graph level, 2 outputs", "categorical, (5, 5) categories", "yes", "40", "30", "shards"):
        assert fact in done.stdout


def test_convert_lists_rejects_and_writes_one_file(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(
        '{"num_nodes": 2, "edges": [[0, 1]], "y": 1.5}\n{"num_nodes": 2, "edges": [[0, 5]], "y": 1}\n'
    )
    done = pfgnn("data", "convert", tmp_path / "own.jsonl", tmp_path / "own.pfgnn", "--on-error", "skip")
    assert done.returncode == 0, done.stderr
    assert "line 2: edges has edge (0, 5), which is out of range for 2 nodes" in done.stdout
    assert "1 graph; 1 line rejected" in done.stdout
    assert len(Dataset.open(tmp_path / "own.pfgnn")) == 1
    assert "1 output," in pfgnn("data", "info", tmp_path / "own.pfgnn").stdout


def written(folder: Path, graphs: int) -> Path:
    """A file of graphs, each with a number."""
    line = '{{"num_nodes": 2, "edges": [[0, 1]], "y": {}.5}}\n'
    path = folder / "own.jsonl"
    path.write_text("".join(line.format(number) for number in range(graphs)))
    return path


def test_split_draws_parts_by_its_seed_and_keeps_them_in_the_file(tmp_path: Path) -> None:
    own, found = written(tmp_path, 20), []
    for seed in ([], ["--seed", 0], ["--seed", 1]):
        done = pfgnn("data", "convert", own, "own.pfgnn", "--split", "0.5,0.2,0.3", *seed, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Parts: 10 train, 4 validation, 6 test, at random with seed " in done.stdout
        dataset = Dataset.open(tmp_path / "own.pfgnn")
        found.append({name: graphs.tolist() for name, graphs in dataset.splits.items()})
        assert sorted(chain(*found[-1].values())) == list(range(20))
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("option", ["scaffold", "scaffold:0.4,0.3,0.3"])
def test_split_by_scaffold(tmp_path: Path, option: str) -> None:
    pytest.importorskip("rdkit")
    molecules = [tail + ring for ring in ("C1CC1", "C1CCC1", "c1ccccc1", "c1ccncc1", "C1CCCC1") for tail in "CN"]
    rows = "".join(f"m{number},{smiles},{number}.5\n" for number, smiles in enumerate(molecules))
    (tmp_path / "own.csv").write_text("id,Structure,y\n" + rows)
    done = pfgnn("data", "convert", "own.csv", "own.pfgnn", "--target", "y", "--split", option, cwd=tmp_path)
    if option == "scaffold":  # a tenth is less than one scaffold
        assert "--split needs more graphs, for 10 graphs of own give: 8 train" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert "SMILES column: Structure." in done.stdout
    assert "Parts: 4 train, 2 validation, 4 test, by scaffold." in done.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--split 0.8,0.1", "--split must be three shares above 0 that add up to 1, such as 0.8,0.1,0.1, but it is '"),
        ("--split 0.8,0.1,0.2", "but it is '0.8,0.1,0.2'"),
        ("--split 1,0,0", "but it is '1,0,0'"),
        ("--split 1.2,-0.1,-0.1", "but it is '1.2,-0.1,-0.1'"),
        ("--split nan,0.5,0.5", "but it is 'nan,0.5,0.5'"),
        ("--split a,b,c", "but it is 'a,b,c'"),
        ("--split 0.8,0.1,0.1", "--split needs more graphs, for 3 graphs of own give: 2 train, 1 validation, 0 test"),
        ("--split scaffold", "--split scaffold is for molecules, of the kind csv or smi, but "),
        ("--split ring:0.8,0.1,0.1", "--split must be shares, scaffold or scaffold:SHARES, but it is 'ring:"),
        ("--split scaffold:1", "--split must be three shares above 0 that add up to 1, such as 0.8,0.1,0.1, but it is"),
        ("--split scaffold --seed 1", "--seed is for a random --split, which is not given, but it is 1"),
        ("--seed 1", "--seed is for a random --split, which is not given, but it is 1"),
    ],
)
def test_a_wrong_split_is_refused_and_nothing_is_written(tmp_path: Path, options: str, sentence: str) -> None:
    done = pfgnn("data", "convert", written(tmp_path, 3), "own.pfgnn", *options.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "own.pfgnn").exists()


def test_convert_says_what_it_chose_and_why(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    (tmp_path / "own.csv").write_text("id,smiles,toxic\n1,C,yes\n2,CC,no\n3,CO,\n4,CCO,no\n5,CN,yes\n")
    done = pfgnn("data", "convert", tmp_path / "own.csv", tmp_path / "own.pfgnn")
    assert done.returncode == 0, done.stderr
    for line in (
        "Target: 'toxic', the only column that can be one; 'id' is named like a number or name of each row.",
        "Labels: 2 classes, because they are texts.",
        "Classes: no, yes.",
        "Unknown labels: 1 of 5.",
    ):
        assert line in done.stdout.splitlines()
    said = pfgnn("data", "info", tmp_path / "own.pfgnn").stdout
    assert "2 outputs" in said
    assert "they are texts" in said


def test_all_rejects_go_into_a_file_and_brackets_in_paths_are_no_markup(tmp_path: Path) -> None:
    good = '{"num_nodes": 1, "edges": [], "y": 1}\n'
    (tmp_path / "own.jsonl").write_text(good + "?\n" * 30)
    out, rejects = tmp_path / "a[/b].pfgnn", tmp_path / "rejects.txt"
    done = pfgnn("data", "convert", tmp_path / "own.jsonl", out, "--on-error", "skip", "--rejects", rejects)
    assert done.returncode == 0, done.stderr
    assert "... and 10 more" in done.stdout
    assert "a[/b].pfgnn" in done.stdout
    assert len(rejects.read_text().splitlines()) == 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["info", "zink"], "name must be one of csl, sr25"),
        (["info", "CSL"], "but it is 'CSL'; did you mean csl?"),
        (["info", "own.g6"], "but it is 'own.g6', which is a file of graphs; `pfgnn data convert own.g6 OUT.pfgnn`"),
        (["verify", "exp"], "exp was not found, and fetching it failed (pfgnn cannot download it)"),
        (["convert", "own.jsonl", "out.pfgnn"], "own.jsonl, line 1: this is not JSON"),
        (["convert", "empty.csv", "out.pfgnn"], "empty.csv must have at least one line, but it is empty"),
        (["convert", "missing.csv", "out.pfgnn"], "missing.csv: No such file or directory"),
        (["convert", "own.xyz", "out.pfgnn"], "own.xyz must end in one of .csv, .tsv, .smi, .smiles, .g6, .s6, .jsonl"),
        (["convert", "good.jsonl", "own.jsonl/out.pfgnn"], "own.jsonl/out.pfgnn: Not a directory"),
        (["info", "zinc", "--root", "."], "zinc.pfgnn is not a packed dataset"),
        (
            ["convert", "good.jsonl", "good.jsonl"],
            "out must be a file other than the one to read, but it is good.jsonl",
        ),
        (["convert", "good.jsonl", "."], "out must be a file, or a folder that does not exist, but . is a folder that"),
    ],
)
def test_wrong_input_gets_one_sentence_and_leaves_nothing(
    tmp_path: Path, arguments: list[object], sentence: str
) -> None:
    (tmp_path / "own.jsonl").write_text("not json\n")
    (tmp_path / "good.jsonl").write_text('{"num_nodes": 1, "edges": [], "y": 1}\n')
    (tmp_path / "own.xyz").write_text("?")
    (tmp_path / "own.g6").write_text("@\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "zinc.pfgnn").write_text("something else")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = pfgnn("data", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == before
