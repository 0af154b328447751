"""Data flows one way: a module imports only from its own group or from earlier ones."""

import ast
from pathlib import Path

import pfgnn

SOURCE = Path(pfgnn.__file__).parent
# Later groups may import from earlier ones. Modules beside the groups (testing, ...) come last,
# the small modules that all groups may use come first.
ORDER = [
    *("errors", "lazy", "argument_checks", "files", "interrupts", "workers", "setting_types", "registry"),
    *("graphs", "ops", "data", "model", "training", "experiments", "report", "cli", "estimators"),
]


def group(parts: tuple[str, ...]) -> int:
    return ORDER.index(parts[0]) if parts and parts[0] in ORDER else len(ORDER)


def imported(path: Path) -> set[str]:
    """The pfgnn modules that a file imports, at its top or inside a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "pfgnn"}


def violations(root: Path) -> list[str]:
    found = []
    for path in sorted(root.rglob("*.py")):
        here = path.relative_to(root).with_suffix("").parts
        if here == ("__init__",):
            continue
        for name in imported(path):
            there = tuple(name.split(".")[1:])
            is_module = there and ((root / there[0]).exists() or (root / f"{there[0]}.py").exists())
            if is_module and group(there) > group(here):
                found.append(f"{'/'.join(here)} imports {name}")
    return found


def test_imports_go_one_way() -> None:
    assert violations(SOURCE) == []


def test_an_import_the_wrong_way_is_found(tmp_path: Path) -> None:
    wrong, right = "def f():\n    from pfgnn.model import PFGNN\n", "import pfgnn.graphs\n"
    for folder, text in {"graphs": wrong, "model": right}.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.py").write_text(text)
    assert set(violations(tmp_path)) == {"graphs/part imports pfgnn.model", "graphs/part imports pfgnn.model.PFGNN"}


def test_every_group_is_known() -> None:
    assert {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()} <= set(ORDER)
