"""The configs that come with pfgnn, and how a config is found by its name."""

from os.path import isfile
from pathlib import Path

from pfgnn.errors import nearest

CONFIGS = Path(__file__).parents[1] / "configs"
BASES = "bases/"  # parts that configs share, which are no configs by themselves
SUFFIX = ".yaml"


def shipped_configs() -> dict[str, Path]:
    """The file of each config by its name, such as "zinc" or "ours/zinc"."""
    return {name: path for name, path in _shipped().items() if not name.startswith(BASES)}


def find_config(path: str | Path, folder: Path = Path()) -> Path:
    """The file of a config.

    Args:
        path: The file, or the name of a config that comes with pfgnn, with or without .yaml. If both exist, the file is
            taken.
        folder: Folder that the file is relative to.

    Returns:
        The file, or the path as it was given if there is none.
    """
    file = folder / path
    if isfile(file):  # Path.is_file raises an error if the name is too long
        return file
    return _shipped().get(Path(path).as_posix().removesuffix(SUFFIX), file)


def similar_configs(path: str | Path) -> list[str]:
    """The names of the shipped configs whose last part is most similar to that of a path; empty if none is.

    Args:
        path: What the user gave, such as "znic" or "configs/zinc.yaml".
    """
    last = {name: name.rpartition("/")[2] for name in shipped_configs()}
    near = nearest(Path(path).name.removesuffix(SUFFIX), last.values())
    return [name for name, end in last.items() if end == near]


def first_comment(path: Path) -> str:
    """What a config says that it is: the first sentence of its comment."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines).split(". ")[0].removesuffix(".")


def _shipped() -> dict[str, Path]:
    """All YAML files in the package by their name, also the bases; those that lie in no folder come first."""
    files = sorted(CONFIGS.rglob(f"*{SUFFIX}"), key=lambda path: (len(path.parts), path))
    return {path.relative_to(CONFIGS).with_suffix("").as_posix(): path for path in files}
