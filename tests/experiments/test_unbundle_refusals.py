"""A bundle that is damaged, foreign or dangerous is refused with one sentence, and nothing is written."""

import json
import stat
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
from tests.experiments.bundle_samples import RUN, gathered, unfinished
from tests.experiments.reproduce_samples import CONFIG, Stage
from tests.experiments.test_run_directory import RECORD

from pfgnn.errors import PFGNNError
from pfgnn.experiments import bundle
from pfgnn.experiments.bundle import write_bundle
from pfgnn.experiments.unbundle import unbundle

MANIFEST = {"bundle.json": '{"format": 1}'}
BUNDLE = "state.zip"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Stage(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    unfinished(Path("away", "runs", RUN), 4)
    gathered(Path("away", "results"), (0, "c"))
    write_bundle(Path(BUNDLE), runs=Path("away", "runs"), results=Path("away", "results"))


def add(name: str, content: str | bytes = "", mode: int = 0o644) -> None:
    """Add a file to the bundle."""
    entry = ZipInfo(name)
    entry.external_attr = mode << 16
    with ZipFile(BUNDLE, "a") as archive:
        archive.writestr(entry, content)


def replaced(files: dict[str, str]) -> None:
    """Replace the bundle by one with other files."""
    with ZipFile(BUNDLE, "w", ZIP_DEFLATED) as archive:
        for name, content in {**MANIFEST, **files}.items():
            archive.writestr(name, content)


def refused() -> str:
    """The sentence with which the bundle is refused."""
    before = sorted(Path().rglob("*"))
    with pytest.raises(PFGNNError) as error:
        unbundle([Path(BUNDLE)], runs=Path("runs"), results=Path("results"))
    assert sorted(Path().rglob("*")) == before
    said = str(error.value)
    assert BUNDLE in said
    assert "pfgnn-bundle" not in said  # the folder of its copies
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../outside.yaml",
        f"runs/{RUN}/../../../../outside.yaml",
        f"runs/{RUN}/tensorboard",
        f"runs/{RUN}/run.lock",
        f"runs\\{RUN}\\config.yaml",
        f"RUNS/{RUN}/record.json",
        "runs/tiny/b/seed9-fold0/config.yaml",
        "results/tiny/nope.json",
        f"runs/{RUN}/",
        "other.txt",
        "",
    ],
)
def test_names_that_are_no_place_of_a_run(name: str) -> None:
    add(name)
    assert f"but it holds {name!r} too" in refused()


def test_a_link() -> None:
    add("runs/tiny/b/seed1-fold0/config.yaml", "/etc/passwd", mode=stat.S_IFLNK | 0o777)
    assert "but it holds 'runs/tiny/b/seed1-fold0/config.yaml' as a link" in refused()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice() -> None:
    add(f"runs/{RUN}/config.yaml", CONFIG)
    assert f"but it holds 'runs/{RUN}/config.yaml' twice" in refused()


def test_more_bytes_than_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_READ", 10**6)
    replaced({f"runs/{RUN}/metrics.jsonl": "\n" * 10**6})
    assert Path(BUNDLE).stat().st_size < 10**4
    assert "must hold at most 1000000 bytes, but it claims 1000013" in refused()


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"bundle.json": "{"}, "bundle.json must hold JSON"),
        ({"bundle.json": '{"format": 2}'}, "a newer version of pfgnn wrote it"),
        ({"bundle.json": "{}"}, "must have a format of 1 to 1, but it has None"),
        ({f"runs/{RUN}/config.yaml": CONFIG}, "must hold config.yaml, and record.json or last.safetensors"),
        ({f"runs/{RUN}/record.json": json.dumps(RECORD)}, "must hold config.yaml, and record.json or last.safetensors"),
        (
            {f"runs/{RUN}/config.yaml": CONFIG, f"runs/{RUN}/record.json": "{}"},
            f"runs/{RUN}/record.json must be the record of a run",
        ),
        (
            {f"runs/{RUN}/config.yaml": "model: 3", f"runs/{RUN}/record.json": json.dumps(RECORD)},
            "config.yaml",
        ),
        (
            {f"runs/{RUN}/config.yaml": CONFIG, f"runs/{RUN}/last.safetensors": "no checkpoint"},
            f"runs/{RUN}/last.safetensors must be a whole checkpoint",
        ),
        ({"results/tiny/b.json": "[]"}, "results/tiny/b.json must hold a JSON object"),
        (
            {"results/tiny/b.json": '{"table": "tiny", "row": "b", "config": {}, "runs": []}'},
            "results/tiny/b.json",
        ),
    ],
)
def test_content_that_is_wrong(files: dict[str, str], sentence: str) -> None:
    replaced(files)
    assert sentence in refused()


def test_a_checkpoint_without_its_best_weights() -> None:
    Path("away", "runs", RUN, "best.safetensors").unlink()
    write_bundle(Path(BUNDLE), runs=Path("away", "runs"), results=Path("away", "results"))
    assert f"runs/{RUN}/best.safetensors must be a checkpoint, but there is no such file" in refused()


def test_no_zip_file_and_damaged_ones() -> None:
    content = Path(BUNDLE).read_bytes()
    place = content.index(b"safetensors") + 300  # within the stored checkpoint
    Path(BUNDLE).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    assert "must be a bundle, as `pfgnn bundle` writes it, but it is truncated or damaged" in refused()
    for damaged in (b"", b"no zip file", content[: len(content) // 2], content[:-1]):
        Path(BUNDLE).write_bytes(damaged)
        assert "must be a bundle, as `pfgnn bundle` writes it, but it is truncated or damaged" in refused()


def test_a_zip_file_without_the_manifest() -> None:
    with ZipFile(BUNDLE, "w") as archive:
        archive.writestr("results/tiny/b.json", "{}")
    assert "but it has no bundle.json" in refused()


def test_a_wrong_bundle_spoils_all_that_are_given() -> None:
    Path("wrong.zip").write_bytes(b"")
    with pytest.raises(PFGNNError, match=r"wrong.zip"):
        unbundle([Path(BUNDLE), Path("wrong.zip")], runs=Path("runs"), results=Path("results"))
    assert not Path("runs").exists()
