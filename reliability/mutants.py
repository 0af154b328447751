"""Mutation testing: changes one place of the code at a time, and asks whether a test notices.

A changed copy of a file is a mutant. It is killed if one of the fast tests that run the changed line fails. A survivor
is a place that no test checks, or a change that makes no difference. `make mutants` runs it; the tests of each line
are learned first, by their coverage.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pfgnn"
TRAINING = ("objective", "distinguish", "linear_fit", "checkpoint_file", "checkpoints")
FILES = (
    *sorted(path for path in (SOURCE / "model").rglob("*.py") if path.name != "__init__.py"),
    *(SOURCE / "training" / f"{name}.py" for name in TRAINING),
)
SECONDS = 120  # a mutant that takes longer counts as killed, for it hangs
MOST_TESTS = 40  # that run the line: so many in files of a similar name, and so many in others; and all known results

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """A changed copy of a file.

    Fields:
        path: The file.
        line: Line of the change.
        before: The changed piece of code, as it was.
        after: As it is now.
        source: The whole changed file.
    """

    path: Path
    line: int
    before: str
    after: str
    source: str


def mutants(path: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    text = path.read_text()
    for place, node in enumerate(_sites(ast.parse(text))):
        before = ast.unparse(node)
        tree = ast.parse(text)
        changed = _sites(tree)[place]
        _change(changed)
        yield Mutant(path, node.lineno, before, ast.unparse(changed), ast.unparse(tree))


def _sites(tree: ast.Module) -> list[ast.expr]:
    """The expressions that can be changed. Types, defaults of arguments and texts are left alone."""
    left_out = {
        id(inside)
        for node in ast.walk(tree)
        for outer in (
            *([node.annotation] if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation else []),
            *([node.returns] if isinstance(node, ast.FunctionDef) and node.returns else []),
            *(node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []),
            *(node.keywords if isinstance(node, ast.ClassDef) else []),
            *([node] if isinstance(node, ast.JoinedStr) else []),
            *([node] if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else []),
        )
        for inside in ast.walk(outer)
    }
    return [node for node in ast.walk(tree) if id(node) not in left_out and isinstance(node, ast.expr) and _fits(node)]


def _fits(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1
    if isinstance(node, ast.BinOp):
        return type(node.op) in ARITHMETIC
    return isinstance(node, ast.BoolOp | ast.IfExp) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub)
    )


def _change(node: ast.expr) -> None:
    if isinstance(node, ast.Constant):
        assert isinstance(node.value, int | float)
        more = node.value + 1
        node.value = not node.value if isinstance(node.value, bool) else 2 * node.value if more == node.value else more
    elif isinstance(node, ast.Compare):
        node.ops = [COMPARISONS[type(node.ops[0])]()]
    elif isinstance(node, ast.BinOp):
        node.op = ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.IfExp):
        node.body, node.orelse = node.orelse, node.body
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        node.operand = node.operand if isinstance(node.op, ast.UAdd) else ast.UnaryOp(ast.Not(), node.operand)


def _scopes(mutant: Mutant) -> Iterator[range]:
    """The lines of the mutant's line, of the functions and classes around it, from the inside, and of its file."""
    text = mutant.path.read_text()
    yield range(mutant.line, mutant.line + 1)
    outer = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    yield from sorted((lines for lines in outer if mutant.line in lines), key=len)
    yield range(1, text.count("\n") + 2)


def closest(tests: list[str], mutant: Mutant) -> list[str]:
    """Those of the tests that are most likely to notice a mutant; see :meth:`Tests.of`."""
    near = [test for test in tests if f"test_{mutant.path.stem}" in test or f"test_{mutant.path.parent.stem}" in test]
    known = [test for test in tests if "known_results" in test]
    by_file: dict[str, list[str]] = {}
    for test in tests:
        if test not in near and test not in known:
            by_file.setdefault(test.partition("::")[0], []).append(test)
    in_turns = [test for row in zip_longest(*by_file.values()) for test in row if test is not None]
    return [*near[:MOST_TESTS], *known, *in_turns[:MOST_TESTS]]


class Tests:
    """Which tests run which lines, learned by one run of the fast tests."""

    def __init__(self, file: Path) -> None:
        if not file.exists():
            learn = ["--cov", "--cov-report=", "--cov-context=test", "-m", "not slow", "-n", "2"]
            environment = {**os.environ, "COVERAGE_FILE": str(file)}
            subprocess.run([sys.executable, "-m", "pytest", *learn], cwd=ROOT, env=environment, check=True)
        self.data = CoverageData(str(file))
        self.data.read()

    def of(self, mutant: Mutant) -> list[str]:
        """The tests to run: those in files of a similar name, all known results, and some of every other file.

        A default value and a constant are read when the file is imported, by no test. For them the tests of all lines
        of the function, the class or the file are taken.
        """
        by_line = self.data.contexts_by_lineno(str(mutant.path))
        for lines in _scopes(mutant):
            tests = sorted({test.partition("|")[0] for line in lines for test in by_line.get(line, []) if test})
            if tests:
                return closest(tests, mutant)
        return []


def survives(mutant: Mutant, tests: list[str]) -> bool:
    """Whether all the tests pass with the mutant."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        package = Path(folder) / "pfgnn"
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / mutant.path.relative_to(SOURCE)).write_text(mutant.source)
        environment = {**os.environ, "PYTHONPATH": folder, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "--seed", "0", "-p", "no:cacheprovider", *tests]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
        )
        try:
            return process.wait(SECONDS) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False


def main() -> None:
    """Read the options, try mutants, and print a table and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=300, help="how many mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--file", help="only files whose path contains this")
    parser.add_argument("--coverage", type=Path, default=Path(".coverage-mutants"), help="which tests run which lines")
    known = parser.parse_args()
    tests = Tests(known.coverage)
    files = [path for path in FILES if known.file is None or known.file in str(path)]
    everything = [mutant for path in files for mutant in mutants(path)]
    chosen = random.Random(known.seed).sample(everything, min(known.number, len(everything)))
    counts: Counter[tuple[str, str]] = Counter()

    def attempt(mutant: Mutant) -> tuple[Mutant, str]:
        run = tests.of(mutant)
        return mutant, "no test" if not run else "survived" if survives(mutant, run) else "killed"

    with ThreadPoolExecutor(known.jobs) as pool:
        for mutant, end in pool.map(attempt, chosen):
            name = str(mutant.path.relative_to(SOURCE))
            counts[name, end] += 1
            if end != "killed":
                print(f"{end}: {name}:{mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
    ends = ("killed", "survived", "no test")
    print("\n| file | " + " | ".join(ends) + " |\n|---|---:|---:|---:|")
    for name in sorted({name for name, _ in counts}):
        print(f"| {name} | " + " | ".join(str(counts[name, end]) for end in ends) + " |")
    total = {end: sum(count for (_, other), count in counts.items() if other == end) for end in ends}
    print(f"{len(chosen)} of {len(everything)} mutants: {total}")


if __name__ == "__main__":
    main()
