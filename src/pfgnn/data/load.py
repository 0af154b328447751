"""Load a named dataset: search for it in several folders, and pack it on first use."""

import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pfgnn
from pfgnn.data.catalogue import ENTRIES, Entry, find_entry
from pfgnn.data.code_checksum import code_checksum, is_covered
from pfgnn.data.dataset import Dataset
from pfgnn.data.table_file import open_table
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
        if _is_file(packed):
            return packed
        if entry.files and all(_is_file(folder / file) for file in entry.files):
            return folder
    fetched = _cached(name, "fetched", entry.fetch)
    return fetched if fetched is not None and _is_file(fetched) else None


def load_smiles(name: str, graphs: int) -> list[str]:
    """The SMILES of all graphs of a named dataset, in their order.

    Args:
        name: A name of the catalogue whose entry has a table of SMILES.
        graphs: Number of graphs of the dataset.
    """
    known = [other for other, entry in ENTRIES.items() if entry.smiles]
    if name not in known:
        raise InputError(f"the dataset must be one with SMILES, {', '.join(known)}, but it is {shown(name)}")
    entry = ENTRIES[name]
    file = next((path for at in places() if _is_file(path := at / entry.folder / entry.smiles)), None)
    if file is None:
        raise InputError(
            f"the SMILES of {name} were not found; set PFGNN_DATA=FOLDER, with {entry.smiles} in FOLDER/{entry.folder}"
        )
    table = open_table(file)
    place = table.place("smiles")
    with reading(file, "be a table of SMILES"):
        found = [row[place] for _, row in table.read()]
    if len(found) != graphs:
        raise InputError(f"{file} must have a row for each of the {graphs} graphs of {name}, but it has {len(found)}")
    return found


def _is_file(path: Path) -> bool:
    """Whether there is a file that can be seen. A folder that may not be read, such as a cache, has none."""
    try:
        return path.is_file()
    except PermissionError:
        return False


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
    path = _cached(name, f"{crc:08x}", entry.read)
    if (taken := _take(path)) is not None:
        return taken
    with reading(found, f"be a folder with the published files of {name}"):
        dataset = entry.read(found)
    return _keep(dataset, path)


def _cached(name: str, made_from: str, made_by: object) -> Path | None:
    """The packed file of a dataset in the cache.

    Args:
        name: Name of the dataset.
        made_from: Names the input that it is made from.
        made_by: The function that makes it. If it is not part of pfgnn, nobody can tell when its code changes, so the
            dataset is not cached, and None is returned.
    """
    file = f"{name}-{pfgnn.__version__}-{made_from}-{code_checksum()}.pfgnn"
    return cache_folder() / file if is_covered(made_by) else None


def _take(path: Path | None) -> Dataset | None:
    """The dataset in a cached file; None if there is none, or it cannot be read."""
    try:
        return None if path is None else Dataset.open(path)
    except (OSError, PFGNNError):
        return None


def _keep(dataset: Dataset, path: Path | None) -> Dataset:
    """Save the dataset and open the packed file. If it cannot be written, return the dataset itself."""
    if path is None:
        return dataset
    try:
        dataset.save(path)
    except OSError:  # without the file, the dataset is only made again next time
        return dataset
    return Dataset.open(path)


def _generate(name: str, entry: Entry, options: dict[str, Any]) -> Dataset:
    """Generate the dataset, or take it from the cache."""
    assert entry.generate is not None
    path = _cached(name, f"generated-{zlib.crc32(repr(sorted(options.items())).encode()):08x}", entry.generate)
    if (found := _take(path)) is not None:
        return found
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
    return _keep(dataset, _cached(name, "fetched", entry.fetch))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
