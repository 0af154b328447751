"""Measures how often the intervals and sets of classes of a trained model hold the truth.

    python -m benchmarks.coverage RUN [RUN ...]

takes run directories of `pfgnn train` or model folders of `pfgnn fit`. Each model predicts the test part of its data
once. Then 20 random splits divide these graphs into halves: one calibrates, the other measures. No graph of the test
part was used in the training, so the halves are as good as new graphs. Writes results/bench/coverage.json; rows of
other datasets that are there stay.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from pfgnn.data import Dataset
from pfgnn.errors import InputError
from pfgnn.experiments.build import load_data, parts
from pfgnn.experiments.coverage import coverage_over_splits
from pfgnn.experiments.predict import load_run
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.run_directory import read_run_config
from pfgnn.files import read_json, write_json

OUT = Path("results/bench/coverage.json")
ASKED, SPLITS, DRAWS = 0.9, 20, 16


def measure(directory: Path, device: str = "auto") -> dict[str, Any]:
    """The coverage of one model, as a row of the record."""
    trained, config = load_run(directory, device), read_run_config(directory)
    dataset = load_data(config.data, config.model)
    if not config.data.tests:
        raise InputError(f"{directory} must be a run with a test part, but it has none")
    test = parts(config.data, dataset)[config.data.tests[0]]
    graphs = dataset.subset(test)
    assert isinstance(graphs, Dataset)
    splits = coverage_over_splits(trained.outputs(graphs, DRAWS), graphs.y, dataset.task, ASKED, SPLITS)
    columns = {name: np.array([getattr(of, name) for of in splits]) for name in splits[0]._fields}
    return {
        **provenance(trained.devices.device),
        "data": dataset.name,
        "seed": config.seed,
        "graphs": len(test),
        "splits": SPLITS,
        "draws": DRAWS,
        "asked": ASKED,
        "covered": columns["covered"].mean(),
        "std": columns["covered"].std(ddof=1),
        "control": columns["control"].mean(),
        "size": columns["size"].mean(),
        "by_class": columns["by_class"].mean(0).tolist(),
        "loss_before_and_after": columns["loss"].mean(0).tolist(),
    }


def main(directories: list[str]) -> None:
    """Measure, print, and write the record."""
    if not directories:
        raise InputError("name at least one run directory: python -m benchmarks.coverage RUN [RUN ...]")
    rows = {row["data"]: row for row in read_json(OUT)["rows"]} if OUT.exists() else {}
    for directory in directories:
        row = measure(Path(directory))
        rows[row["data"]] = row
        print(
            f"{row['data']}: {100 * ASKED:g} % asked, {100 * row['covered']:.1f} ± {100 * row['std']:.1f} % covered "
            f"over {SPLITS} splits of {row['graphs']} graphs; control {100 * row['control']:.1f} %; "
            f"size {row['size']:.3g}"
        )
    write_json(OUT, {"rows": list(rows.values())})


if __name__ == "__main__":
    main(sys.argv[1:])
