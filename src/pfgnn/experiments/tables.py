"""Tables as lists of runs: the paper's by their numbers, and ours. Table 12 is a benchmark, and 15 has no results."""

from dataclasses import dataclass, replace
from pathlib import Path

from pfgnn.arguments import choose
from pfgnn.experiments.measures import (
    ACCURACY,
    ERROR_RATIOS,
    FIVE,
    LARGE,
    LCC,
    LOG_MAE,
    MAE,
    MAE_100,
    PAIRS,
    ROC_AUC,
    SPREAD,
    THREE_PARTS,
    TRIANGLES,
    VALIDATION_MAE,
    Measure,
)


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


def find_table(name: str) -> TableSpec:
    """The table of a name, or a sentence with the names there are."""
    return choose("name", name, TABLES)


def row_file(results: Path, table: str, row: Row) -> Path:
    """Where the records of a table's row lie."""
    return results / (row.shared or table) / f"{row.name}.json"


BACKBONES = {"GCN": "gcn", "GAT": "gat", "GIN": "gin", "GNNML1": "gnnml1"}
RNI = {"RNI 12.5 %": 0.125, "RNI 50 %": 0.5, "RNI 87.5 %": 0.875, "RNI": 1.0}
SHARES = {"100 %": 1.0, "87.5 %": 0.875, "50 %": 0.5, "12.5 %": 0.125}
PPGN = ("model.kind=ppgn",)
UNIFORM_ADDITIVE = ("model.policy=uniform", "model.individualise=additive")
THIRTY_EPOCHS = ("training.epochs=30", "training.schedule.kind=one_cycle")
ABLATED = (("TRIANGLES-large", "triangles", LARGE, None), ("CSL", "csl", ACCURACY, 5))  # title, config, measures, folds


def _alone(backbone: str) -> tuple[str, ...]:
    return f"model.backbone={backbone}", "model.steps=0"


def _name(title: str) -> str:
    """A title as a file name: "LCC, RNI 12.5 %" becomes lcc-rni-12.5."""
    kept = "".join(letter if letter.isalnum() or letter == "." else " " for letter in title.lower())
    return "-".join(kept.split())


def _row(
    title: str,
    config: str,
    overrides: tuple[str, ...],
    measures: tuple[Measure, ...],
    seeds: int = 1,
    folds: int | None = None,
) -> Row:
    return Row(title, _name(title), f"{config}.yaml", overrides, measures, seeds, folds)


def _isomorphism(dataset: str) -> tuple[Row, ...]:
    config = dataset.lower()
    rivals = {title: f"rivals/{config}-{title.lower()}" for title in ("ChebNet", "PPGN", "GNNML3")}
    return (
        *(_row(f"{dataset}, {title}", rival, (), PAIRS, seeds=10) for title, rival in rivals.items()),
        *(_row(f"{dataset}, {title}", config, _alone(name), PAIRS, seeds=10) for title, name in BACKBONES.items()),
        *(
            _row(f"{dataset}, {title} + PF", config, (f"model.backbone={name}",), PAIRS, seeds=10)
            for title, name in BACKBONES.items()
        ),
    )


def _properties(dataset: str, measures: tuple[Measure, ...]) -> tuple[Row, ...]:
    config = dataset.lower()
    rows: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("GIN", config, _alone("gin")),
        ("GAT", config, _alone("gat")),
        ("ChebNet", f"rivals/{config}-chebnet", ()),
        *((title, f"rivals/{config}-rni", (f"model.share={share}",)) for title, share in RNI.items()),
        ("PF-GNN", config, ()),
    )
    return tuple(_row(f"{dataset}, {title}", file, overrides, measures, seeds=3) for title, file, overrides in rows)


def _molecules(dataset: str, config: str, measures: tuple[Measure, ...], layers: int) -> tuple[Row, ...]:
    """PNA, with as many layers as PF-GNN has in all, and PF-GNN."""
    alone = "model.steps=0", f"model.layers={layers}"
    return tuple(
        _row(f"{dataset}, {title}", config, overrides, measures, seeds=4)
        for title, overrides in (("PNA", alone), ("PF-GNN", ()))
    )


def _grid(title: str, config: str, measures: tuple[Measure, ...], folds: int | None = None) -> tuple[Row, ...]:
    return tuple(
        Row(
            f"{title}, T={steps}, K={particles}",
            f"{config}-t{steps}-k{particles}",
            f"{config}.yaml",
            (f"model.steps={steps}", f"model.particles={particles}"),
            measures,
            folds=folds,
            grid=(title, steps, particles),
        )
        for steps in (1, 2, 3, 4, 8)
        for particles in (1, 2, 4, 8, 16)
    )


def _of_grid(title: str, config: str, measures: tuple[Measure, ...], folds: int | None) -> Row:
    """The paper's T = 3 and K = 4 in an ablation: a cell of table 8."""
    cell = next(row for row in _grid("", config, measures, folds) if row.name == f"{config}-t3-k4")
    return replace(cell, title=title, grid=None, shared="table8")


# Without the test part: these compare settings, and only validation may.
SHORT = ("data.tests=[validation]", "training.epochs=30")
LEARNED = ("model.policy=mlp", "training.gamma=1", "training.credit=particle", "training.entropy=0.001")
PARTS = {
    "all parts": (),
    "no distances": ("model.individualise=additive",),
    "with replacement": ("model.sampling=independent",),
    "no exchange": ("model.exchange=none",),
    "the mark told, not the mean": ("model.exchange=mark",),
    "the mean told, not the mark": ("model.exchange=mean",),
    "mean particle": ("model.readout=mean",),
    "no feed-forward blocks": ("model.feed_forward=false",),
    "norm per graph": ("model.norm=graph",),
    "observation": ("model.observe=set",),
    "observation and soft resampling": ("model.observe=set", "model.resample=soft"),
    "learned policy": LEARNED,
}
EIGHTY_EPOCHS = ("data.tests=[validation]", "training.epochs=80", "training.schedule.kind=cosine")
SCRIPT = {
    "the maximum over particles": "model.readout=max",
    "layers joined": "model.join_layers=true",
    "graph-size norm": "model.norm=size",
    "relu on the mask": "model.individualise=multiplicative_relu",
    "uniform weights": "model.observe=none",
    "batches of 512": "training.batch_size=512",
    "weight decay": "training.weight_decay=3.0e-6",
}
ONE_SETTING = (  # title, measures, folds
    ("EXP", ACCURACY, 10),
    ("CSL", ACCURACY, 5),
    ("SR25", PAIRS, None),
    ("LCC", LCC, None),
    ("connectivity", ACCURACY, None),
    ("planarity", ACCURACY, None),
    ("bipartiteness", ACCURACY, None),
)
POLICIES = {"uniform": (), "centrality": ("model.policy=centrality",), "learned": LEARNED}


def _particles(number: int) -> tuple[str, ...]:
    """K in training and at test."""
    return f"model.particles={number}", f"evaluation.particles={number}"


def _policies() -> tuple[Row, ...]:
    return tuple(
        Row(
            f"{title} policy, K={particles}",
            f"{title}-k{particles}",
            "ours/zinc.yaml",
            (*_particles(particles), *overrides, *SHORT),
            VALIDATION_MAE,
            seeds=3 if particles <= 4 else 1,  # where the policies differ
            grid=(f"{title} policy", 1, particles),
        )
        for title, overrides in POLICIES.items()
        for particles in (1, 2, 4, 8, 16, 24)
    )


TABLES: dict[str, TableSpec] = {
    "table1": TableSpec("Pairs of SR25 and EXP told apart, %", (*_isomorphism("SR25"), *_isomorphism("EXP"))),
    "sr25-reliable": TableSpec(
        "SR25, a setting to rely on (not in the paper): pairs told apart, %",
        (
            _row("GIN", "sr25-reliable", _alone("gin"), PAIRS, seeds=3),
            _row("GIN + PF", "sr25-reliable", (), PAIRS, seeds=3),
            *(
                _row(f"{title} + PF", "sr25-reliable", (f"model.backbone={name}",), PAIRS)
                for title, name in BACKBONES.items()
                if name != "gin"
            ),
        ),
    ),
    "table2": TableSpec(
        "CSL, accuracy in 5 folds, %",
        (
            *(_row(title, "csl", _alone(title.lower()), FIVE, seeds=4, folds=5) for title in ("GCN", "GAT", "GIN")),
            _row("3-WL GNN", "csl", PPGN, FIVE, seeds=4, folds=5),
            _row("PF-GNN", "csl", (), FIVE, seeds=4, folds=5),
            _row("PF-GNN, T=4", "csl", ("model.steps=4",), FIVE, seeds=4, folds=5),
        ),
    ),
    "table3": TableSpec(
        "LCC (mean one-against-rest ROC-AUC × 100, and accuracy) and TRIANGLES (accuracy), %",
        (
            *_properties("LCC", LCC),
            _row("LCC, PF-GNN, our setting", "lcc-ours", (), LCC, seeds=3),
            *_properties("TRIANGLES", TRIANGLES),
        ),
    ),
    "table4": TableSpec(
        "ZINC and ALCHEMY, mean absolute error",
        (
            *_molecules("ZINC", "zinc", MAE, 8),
            _row("ZINC, PF-GNN, uniform policy, additive", "zinc", UNIFORM_ADDITIVE, MAE, seeds=4),
            *_molecules("ZINC without edge features", "ablations/zinc-no-edge-features", MAE, 8),
            *_molecules("ALCHEMY", "alchemy", (*MAE, LOG_MAE), 9),
        ),
    ),
    "one-setting": TableSpec(
        "Our method in one setting, %",
        tuple(
            _row(f"{title}, {name}", f"ours/{title.lower()}", overrides, measures, seeds=seeds, folds=folds)
            for title, measures, folds in ONE_SETTING
            for name, overrides, seeds in (("GIN", _alone("gin"), 1), ("PF-GNN", (), 3))
        ),
    ),
    "zinc": TableSpec(
        "ZINC, our method, mean absolute error",
        (
            _row("ours", "ours/zinc", (), MAE, seeds=4),
            _row("ours, random-walk encodings", "ours/zinc", ("data.random_walks=20",), MAE, seeds=4),
            _row("ours, K=4", "ours/zinc", _particles(4), MAE, seeds=4),
            _row(
                "ours, K=4, random-walk encodings", "ours/zinc", (*_particles(4), "data.random_walks=20"), MAE, seeds=4
            ),
        ),
    ),
    "zinc-script": TableSpec(
        "ZINC, the paper's model and what its authors' script does differently, 80 epochs, mean absolute error on "
        "validation",
        tuple(
            _row(title, "zinc", (*overrides, *EIGHTY_EPOCHS), VALIDATION_MAE)
            for title, overrides in (
                ("as in the paper", ()),
                ("all that the script does", tuple(SCRIPT.values())),
                *(
                    (f"all but {title}", tuple(one for other, one in SCRIPT.items() if other != title))
                    for title in SCRIPT
                ),
            )
        ),
    ),
    "zinc-parts": TableSpec(
        "ZINC, our method with K = 16 and one part changed, 30 epochs, mean absolute error on validation",
        tuple(
            _row(title, "ours/zinc", (*_particles(16), *overrides, *SHORT), VALIDATION_MAE, seeds=2)
            for title, overrides in PARTS.items()
        ),
    ),
    "zinc-particles": TableSpec(
        "ZINC, particles K by policy, 30 epochs, mean absolute error on validation", _policies()
    ),
    "zinc-spread": TableSpec(
        "ZINC, by how much a prediction on validation changes from draw to draw",
        tuple(
            _row(title, config, (*overrides, "evaluation.draws=8"), (*VALIDATION_MAE, SPREAD))
            for title, config, overrides in (
                ("the paper's model, K=8, 80 epochs", "zinc", EIGHTY_EPOCHS),
                ("ours, K=8, 30 epochs", "ours/zinc", (*_particles(8), *SHORT)),
                ("ours, K=38, 30 epochs", "ours/zinc", SHORT),
            )
        ),
    ),
    "table5": TableSpec(
        "QM9 with positions, mean absolute error of 12 joint targets",
        (_row("MPNN", "qm9", ("model.steps=0",), MAE, seeds=3), _row("PF-GNN", "qm9", (), MAE, seeds=3)),
    ),
    "table6": TableSpec(
        "QM9 without positions, error over chemical accuracy",
        (
            _row("MPNN", "qm9-film", ("model.steps=0",), ERROR_RATIOS, seeds=3),
            _row("PF-GNN", "qm9-film", (), ERROR_RATIOS, seeds=3),
        ),
    ),
    "table7": TableSpec(
        "ogbg-molhiv, ROC-AUC × 100",
        (
            _row("PNA", "molhiv", ("model.steps=0", "model.layers=7"), ROC_AUC, seeds=10),  # as many as PF-GNN in all
            _row("PF-GNN", "molhiv", (), ROC_AUC, seeds=10),
        ),
    ),
    "table8": TableSpec(
        "Steps T and particles K: accuracy on TRIANGLES-large and CSL, %",
        (*_grid("TRIANGLES-large", "triangles", LARGE), *_grid("CSL", "csl", ACCURACY, folds=5)),
    ),
    "table9": TableSpec(
        "Resampling and policy loss: accuracy on TRIANGLES, %",
        (
            Row("PF-GNN", "triangles-pf-gnn", "triangles.yaml", (), THREE_PARTS, seeds=3, shared="table3"),
            _row("w/o resampling", "ablations/triangles-no-resampling", (), THREE_PARTS, seeds=3),
            _row("w/o policy loss", "ablations/triangles-no-policy-loss", (), THREE_PARTS, seeds=3),
        ),
    ),
    "table10": TableSpec(
        "Individualisation, learned or random, of a share of the dimensions: accuracy, %",
        tuple(
            _of_grid(f"{dataset}, MLP {percent}", config, measures, folds)
            if kind == "MLP" and share == 1
            else _row(
                f"{dataset}, {kind} {percent}",
                f"ablations/{config}-{kind.lower()}",
                (f"model.share={share}",),
                measures,
                folds=folds,
            )
            for dataset, config, measures, folds in ABLATED
            for kind in ("MLP", "random")
            for percent, share in SHARES.items()
        ),
    ),
    "table11": TableSpec(
        "One vertex after the other, or several at once: accuracy, %",
        tuple(
            row
            for dataset, config, measures, folds in ABLATED
            for row in (
                _of_grid(f"{dataset}, PF-GNN", config, measures, folds),
                *(
                    _row(
                        f"{dataset}, PF-GNN-{letter}",
                        f"ablations/{config}-simultaneous",
                        (f"model.vertices_per_step={vertices}",),
                        measures,
                        folds=folds,
                    )
                    for letter, vertices in (("A", 3), ("B", 6), ("C", 9))
                ),
            )
        ),
    ),
    "table13": TableSpec(
        "Six layers in all: mean absolute error × 100",
        tuple(
            _row(f"{dataset}, {layers}", f"ablations/{dataset.lower()}-layers-{_name(layers)}", (), MAE_100, seeds=4)
            for dataset in ("ZINC", "ALCHEMY")
            for layers in ("[6]", "[4, 2]", "[2, 2, 2]")
        ),
    ),
    "table14": TableSpec(
        "Graph properties, accuracy, %",
        tuple(
            _row(f"{name}, {title}", f"{name}{suffix}", overrides, ACCURACY, seeds=10)
            for name in ("connectivity", "planarity", "bipartiteness")
            for title, suffix, overrides in (
                ("GIN", "", _alone("gin")),
                ("PF-GNN", "", ()),
                ("GIN, more graphs", "-more", _alone("gin")),
                ("PF-GNN, more graphs", "-more", ()),
            )
        ),
    ),
    "table16": TableSpec(
        "EXP, accuracy in 10 folds, %",
        tuple(
            _row(title, config, overrides, ACCURACY, seeds=seeds, folds=10)
            for title, config, overrides, seeds in (
                ("GIN", "exp-folds", _alone("gin"), 1),
                ("PPGN", "exp-folds", PPGN, 1),
                ("PF-GNN", "exp-folds", (), 1),
                ("GIN, our setting", "exp-folds-ours", _alone("gin"), 1),
                ("PF-GNN, our setting", "exp-folds-ours", (), 2),  # seed 1 after the setting was settled
            )
        ),
    ),
    "precision": TableSpec(
        "Products in float32, TF32 and bf16",
        (
            *(  # table 2 has it in float32
                _row(f"CSL, {kind}", "csl", (f"training.precision={kind}",), ACCURACY, folds=5)
                for kind in ("tf32", "bf16")
            ),
            *(
                _row(f"ZINC, 30 epochs, {kind}", "zinc", (f"training.precision={kind}", *THIRTY_EPOCHS), MAE)
                for kind in ("float32", "tf32", "bf16")
            ),
        ),
    ),
    "table17": TableSpec(
        "Steps T and particles K: accuracy on TRIANGLES-orig, %",
        tuple(replace(row, shared="table8") for row in _grid("TRIANGLES-orig", "triangles", ACCURACY)),
    ),
}
