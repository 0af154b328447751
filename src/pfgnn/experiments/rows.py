"""A row of a table: a model, and the runs that measure it."""

from dataclasses import dataclass

from pfgnn.experiments.measures import Measure


@dataclass(frozen=True)
class Row:
    """One model of a table: a config, run once for each seed and fold.

    Args:
        title: the model, and the dataset where the table has several. Must equal the title of the paper's row.
        name: of its files.
        config: a file below the folder of configs.
        overrides: of the config.
        measures: what is reported of it.
        seeds: 0 to this, without it.
        folds: number of folds; None for fixed parts.
        grid: which grid, T and K, for a cell of a grid.
        shared: the table whose row of this name is the same runs; they are run once.
    """

    title: str
    name: str
    config: str
    overrides: tuple[str, ...]
    measures: tuple[Measure, ...]
    seeds: int = 1
    folds: int | None = None
    grid: tuple[str, int, int] | None = None
    shared: str | None = None

    def run_keys(self) -> list[tuple[int, int | None]]:
        """Seed and fold of each run."""
        folds = [None] if self.folds is None else range(self.folds)
        return [(seed, fold) for seed in range(self.seeds) for fold in folds]


@dataclass(frozen=True)
class TableSpec:
    """What a table shows, and its rows in order."""

    title: str
    rows: tuple[Row, ...]


def alone(backbone: str) -> tuple[str, ...]:
    """Overrides for the backbone without particles."""
    return f"model.backbone={backbone}", "model.steps=0"


def file_name(title: str) -> str:
    """A title as a file name: "LCC, RNI 12.5 %" becomes lcc-rni-12.5."""
    kept = "".join(letter if letter.isalnum() or letter == "." else " " for letter in title.lower())
    return "-".join(kept.split())


def make_row(
    title: str,
    config: str,
    overrides: tuple[str, ...],
    measures: tuple[Measure, ...],
    seeds: int = 1,
    folds: int | None = None,
) -> Row:
    """A row whose file is named after its title; see :class:`Row`."""
    return Row(title, file_name(title), f"{config}.yaml", overrides, measures, seeds, folds)
