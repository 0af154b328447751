"""Load a named dataset: search for it in several folders, and pack it on first use."""

import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pfgnn
from pfgnn.data import generated
from pfgnn.data.catalogue import Entry, find_entry
from pfgnn.data.dataset import Dataset
from pfgnn.errors import InputError, InputTypeError, PFGNNError, shown
from pfgnn.files import reading


def load(name: str, root: str | Path | None = None, **options: Any) -> Dataset:
    """Load a named dataset with its parts, task and metric.

    Args:
        name: A name of the catalogue, see ``pfgnn data list``.
        root: The folder that is searched first. Then come the folder that PFGNN_DATA names and the user's cache. Each
            may hold the dataset as a packed file NAME.pfgnn, or the published files in a subfolder.
        options: ``edge_features=False`` removes the edge features. Any other option, such as ``seed``, is passed to the
            generator, and the dataset is generated.
    """
    entry = find_entry(name)
    edge_features = options.pop("edge_features", True)
    found = None if options else find(name, root)
    if found is not None:
        dataset, source = _open(name, entry, found), str(found)
    elif entry.generate is not None:
        dataset, source = _generate(name, entry, options), "generated"
    elif options:
        raise InputTypeError(f"{name} is read from files, so it takes no option {', '.join(options)}")
    else:
        dataset, source = _fetch(name, entry, places(root)), "fetched"
    dataset = replace(dataset, about={"source": source, **dataset.about, "citation": entry.citation})
    return dataset if edge_features else dataset.without_edge_features()


def find(name: str, root: str | Path | None = None) -> Path | None:
    """The packed file, or the folder of published files, that :func:`load` would read; None if there is none."""
    entry = find_entry(name)
    for place in places(root):
        packed, folder = place / f"{name}.pfgnn", place / entry.folder
        if packed.is_file():
            return packed
        if entry.files and all((folder / file).is_file() for file in entry.files):
            return folder
    return None


def places(root: str | Path | None = None) -> list[Path]:
    """The folders that are searched for datasets, in order."""
    named = {"root": root, "PFGNN_DATA": os.environ.get("PFGNN_DATA")}
    given = {name: Path(place).expanduser() for name, place in named.items() if place}
    for name, place in given.items():
        if not place.is_dir():
            raise InputError(f"{name} must name a folder, but {place} is not a folder")
    return [*given.values(), cache_folder()]


def cache_folder() -> Path:
    """The user's cache folder for datasets."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pfgnn"


def _open(name: str, entry: Entry, found: Path) -> Dataset:
    """Open a packed file, or read published files. These are packed into the cache once, named by their checksum."""
    if found.is_file() or entry.read is None:
        dataset = Dataset.open(found)
        if dataset.name != name:
            raise InputError(f"{found} must hold the dataset {name}, but it holds {shown(dataset.name)}")
        return dataset
    crc = 0
    for file in entry.files:
        crc = zlib.crc32((found / file).read_bytes(), crc)
    path = cache_folder() / f"{name}-{pfgnn.__version__}-{crc:08x}.pfgnn"
    try:
        return Dataset.open(path)
    except (OSError, PFGNNError):  # not packed yet, or not readable
        with reading(found, f"be a folder with the published files of {name}"):
            dataset = entry.read(found)
    return _keep(dataset, path)


def _keep(dataset: Dataset, path: Path) -> Dataset:
    """Save the dataset and open the packed file. If it cannot be written, return the dataset itself."""
    try:
        dataset.save(path)
    except OSError:  # without the file, the dataset is only made again next time
        return dataset
    return Dataset.open(path)


def _generate(name: str, entry: Entry, options: dict[str, Any]) -> Dataset:
    """Generate the dataset, or take it from the cache.

    The name of the cached file depends on the options and on the source code of the generators.
    """
    assert entry.generate is not None
    made_by = zlib.crc32(Path(generated.__file__).read_bytes(), zlib.crc32(repr(sorted(options.items())).encode()))
    path = cache_folder() / f"{name}-{pfgnn.__version__}-generated-{made_by:08x}.pfgnn"
    try:
        return Dataset.open(path)
    except (OSError, PFGNNError):  # not generated yet, or not readable
        pass
    try:
        dataset = entry.generate(**options)
    except (TypeError, ValueError) as error:
        if not options:
            raise
        wrong = InputTypeError if isinstance(error, TypeError) else InputError
        given = ", ".join(f"{key}={shown(value)}" for key, value in options.items())
        raise wrong(f"{name} cannot be generated with {given}: {error}") from error
    return _keep(dataset, path)


def _fetch(name: str, entry: Entry, others: list[Path]) -> Dataset:
    try:
        if entry.fetch is None:
            raise ConnectionError("pfgnn cannot download it")
        dataset = entry.fetch(cache_folder() / "fetched", others)
    except Exception as error:  # the classes of PyG and OGB can raise anything
        raise InputError(
            f"{name} was not found, and fetching it failed ({_first_line(error)}); set root=FOLDER or "
            f"PFGNN_DATA=FOLDER, with {', '.join(entry.files)} in FOLDER/{entry.folder}, or put {name}.pfgnn in "
            f"{cache_folder()}"
        ) from error
    dataset.save(cache_folder() / f"{name}.pfgnn")
    return dataset


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
