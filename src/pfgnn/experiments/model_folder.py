"""The files of a model folder, which `pfgnn fit` writes. It is a run directory with some files more.

- config.yaml, record.json, metrics.jsonl, best.safetensors, last.safetensors: as `pfgnn train` writes them. The results
  of the test part are in record.json, under results.test. Without a test part they are not there.
- fit.json: what `fit` found in the data, see :class:`Facts`.
- data.pfgnn: the graphs with their targets and parts (train, validation, calibration, test).
- parts.csv: for each graph its number in data.pfgnn, its part (empty if it is in none), its SMILES if it is a molecule,
  its line in the input, the other columns of the input if this was a table, and its targets (columns "true NAME"). A
  graph that is in the training part several times has one row.
- rejects.txt: the lines of the input that could not be read, each as "line N: reason". There only if there are any.
- calibration.json: see :mod:`pfgnn.experiments.calibration`. There only if there is a calibration part.
- test_predictions.csv: one row for each graph of the test part: graph (its number in data.pfgnn), the columns of
  parts.csv from smiles on, and the columns that `pfgnn predict` writes: each output, its Monte Carlo standard error,
  the ends of its interval, and why the graph is unlike the training graphs. There only if there is a test part.
- report.html: a page about the model, see :mod:`pfgnn.report.fit_page`.
- baselines.json: the test scores of simple models. There only if there is a page.
- backbone: run directory of the backbone alone, which the page compares the model with.
"""

from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from pfgnn.errors import InputError, shown
from pfgnn.experiments.calibration import CALIBRATION_FILE
from pfgnn.experiments.fit_command import DATA, FACTS, PARTS, REJECTS, TEST
from pfgnn.experiments.run_directory import CONFIG, RECORD
from pfgnn.experiments.seen import Seen
from pfgnn.files import check_version, read_json, reading, write_json
from pfgnn.training.checkpoint_file import BEST, LAST

__all__ = ["DATA", "FACTS", "KEPT", "PARTS", "REJECTS", "TEST", "Facts", "read_facts"]

# What a prediction needs, and the history of the training.
KEPT = (CONFIG, RECORD, FACTS, CALIBRATION_FILE, BEST, LAST, "metrics.jsonl")
FORMAT = 1


@dataclass(frozen=True)
class Facts:
    """What `fit` found in the data.

    Args:
        source: The file that the graphs come from; "" for graphs that were given in Python.
        smiles_column: The column of SMILES of this file; "" if it has none.
        about: Which target and task were chosen, and why.
        parts: Number of graphs of each part.
        rejected: Number of lines that could not be read.
        largest: Number of vertices of the largest training graph.
        split: How the parts were drawn: "random", "scaffold" or "given".
        command: The options of `pfgnn fit` that the user gave, see :mod:`pfgnn.experiments.fit_command`.
        node_values: The categories of x that occur in training, see :class:`pfgnn.experiments.seen.Seen`.
        edge_values: The same for edge_attr.
        smallest: Number of vertices of the smallest training graph; 0 if it is not known.
    """

    source: str
    smiles_column: str
    about: dict[str, str]
    parts: dict[str, int]
    rejected: int
    largest: int
    split: str
    # Folders of earlier versions do not have these.
    command: dict[str, list[str]] = field(default_factory=dict)
    node_values: list[list[int]] = field(default_factory=list)
    edge_values: list[list[int]] = field(default_factory=list)
    smallest: int = 0

    @property
    def seen(self) -> Seen:
        """What the training graphs were like."""
        return Seen(self.smallest, self.largest, self.node_values, self.edge_values)

    def write(self, folder: Path) -> None:
        """Write fit.json."""
        write_json(folder / FACTS, {"format": FORMAT, **asdict(self)})


def read_facts(folder: Path) -> Facts | None:
    """Read fit.json; None if the folder is a run of `pfgnn train`, which has none."""
    path = folder / FACTS
    if not path.exists():
        return None
    content = read_json(path)
    check_version(path, content.get("format"), FORMAT)
    with reading(path, "be the facts of a model, as `pfgnn fit` writes them"):
        needed = {of.name for of in fields(Facts) if of.default is MISSING and of.default_factory is MISSING}
        known = [of.name for of in fields(Facts) if of.name in needed or of.name in content]
        values = {name: content[name] for name in known}
    for name, hint in get_type_hints(Facts).items():
        if name in values and not _has_type(values[name], hint):
            kind = hint.__name__ if isinstance(hint, type) else hint
            raise InputError(f"{path}: {name} must be of type {kind}, but it is {shown(values[name])}; fit again")
    return Facts(**values)


def _has_type(value: object, hint: Any) -> bool:
    """Whether a value that was read from JSON is a text, a whole number, or a list or dictionary of such values."""
    if isinstance(value, list):
        return get_origin(hint) is list and all(_has_type(one, get_args(hint)[0]) for one in value)
    if isinstance(value, dict):
        return get_origin(hint) is dict and all(_has_type(one, get_args(hint)[1]) for one in value.values())
    return get_origin(hint) is None and isinstance(value, hint) and not isinstance(value, bool)
