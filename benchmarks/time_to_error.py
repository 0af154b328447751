"""Time to an error on ZINC, of our method and of two rivals.

    python -m benchmarks.time_to_error ours --epochs 100
    python -m benchmarks.time_to_error bag --seconds 200

Each call is one whole training with its own schedule, and adds a line to the record. The time is that of the training
with its validations, without reading the data. The weights are the best on validation, and the test part is read once,
at the end. `bag` and `gps` are in :mod:`benchmarks.rivals`. With --draw, all lines of the record become a picture.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from matplotlib.figure import Figure

from benchmarks import rivals
from benchmarks.measure import Record
from pfgnn.data import load
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.provenance import provenance
from pfgnn.experiments.run import run
from pfgnn.files import read_json, write_json
from pfgnn.report.picture import save_picture

RESULT = Path("results/bench/time-to-error.json")
CONFIG = "ours/zinc"
# The shape whose speed is measured: K = 16, 1 + 6 layers of width 96, batches of 128. The test uses all vertices.
SHAPE = ["model.particles=16", "model.width=96", "model.step_layers=6", "training.batch_size=128"]
ERRORS = (0.10, 0.08)
NAMES = {"ours": "our method", "bag": "subgraph GNN (bag)", "gps": "GPS"}


def train_ours(epochs: int, settings: list[str], device: str, seed: int) -> Record:
    """Train our method with the trainer of `pfgnn train`, and return the time and the errors."""
    config = read_config(CONFIG, [*SHAPE, f"training.epochs={epochs}", f"seed={seed}", *settings])
    with tempfile.TemporaryDirectory() as folder:
        record = run(config, Path(folder) / "run", device=device)
        lines = [json.loads(line) for line in (Path(folder) / "run" / "metrics.jsonl").read_text().splitlines()]
    results = record["results"]
    return {
        "settings": [*SHAPE, *settings],
        "seed": seed,
        "epochs": epochs,
        "parameters": record["parameters"],
        "seconds": record["seconds"]["training"],
        "seconds an epoch": record["seconds"]["training"] / epochs,
        "validation": results["validation"]["scores"]["mae"],
        "test": results["test"]["scores"]["mae"],
        "curve": [line["validation"] for line in lines if "validation" in line],
    }


def times(record: Record) -> dict[str, dict[float, float | None]]:
    """For each method, the seconds of its shortest training that ended with at most this test error, or None."""
    names = dict.fromkeys(line["who"] for line in record["trainings"])
    return {
        name: {
            error: min(
                (line["seconds"] for line in record["trainings"] if line["who"] == name and line["test"] <= error),
                default=None,
            )
            for error in ERRORS
        }
        for name in names
    }


def draw(record: Record, path: Path) -> None:
    """Draw the test error of all trainings by their time."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, marker in zip(times(record), "os^Dv", strict=False):
        lines = [line for line in record["trainings"] if line["who"] == name]
        seconds, tests = [line["seconds"] for line in lines], [line["test"] for line in lines]
        axes.plot(seconds, tests, marker, label=NAMES.get(name, name))
    for error in ERRORS:
        axes.axhline(error, color="0.8", zorder=0)
        axes.text(0.99, error, f"goal {error:g}", transform=axes.get_yaxis_transform(), ha="right", va="bottom")
    axes.set(xscale="log", yscale="log", xlabel="seconds of training", ylabel="mean absolute error on ZINC's test part")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(lambda value, _: f"{value:g}")
    axes.tick_params(which="both", length=3, pad=4)
    axes.legend()
    save_picture(figure, path)


def main() -> None:
    """Train, add a line to the record, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("who", choices=["ours", *rivals.RIVALS], nargs="?")
    parser.add_argument("--epochs", type=int, default=100, help="length of a training of our method")
    parser.add_argument("--seconds", type=float, default=200, help="length of a training of a rival")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="change a setting of our method; repeatable")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=4, help="processes that make the batches of a rival")
    parser.add_argument("--draw", action="store_true", help="draw the picture beside the record")
    parser.add_argument("--out", type=Path, default=RESULT)
    known = parser.parse_args()
    record: Record = read_json(known.out) if known.out.exists() else {"trainings": []}
    if known.who is not None:
        if known.who == "ours":
            found = train_ours(known.epochs, known.set, known.device, known.seed)
        else:
            found = rivals.train(known.who, load("zinc"), known.seconds, known.device, known.workers, known.seed)
        line = {"who": known.who, **provenance(torch.device(known.device)), **found}
        record["trainings"].append(line)
        write_json(known.out, record)
        print(json.dumps({key: value for key, value in line.items() if key != "curve"}))
    print(json.dumps(times(record), indent=2))
    if known.draw:
        draw(record, known.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
