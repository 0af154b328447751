"""The paper's tables by their numbers, with rows and tables that we add.

Table 12 of the paper is a benchmark, and table 15 has no results. So they are not here.
"""

from dataclasses import replace

from pfgnn.experiments.our_tables import in_one_setting
from pfgnn.experiments.rows import (
    ACCURACY,
    BACKBONES,
    ERROR_RATIOS,
    FIVE,
    LARGE,
    LCC,
    LOG_MAE,
    MAE,
    MAE_100,
    PAIRS,
    ROC_AUC,
    THREE_PARTS,
    TRIANGLES,
    Measure,
    Row,
    TableSpec,
    alone,
    file_name,
    make_row,
)

RNI = {"RNI 12.5 %": 0.125, "RNI 50 %": 0.5, "RNI 87.5 %": 0.875, "RNI": 1.0}
SHARES = {"100 %": 1.0, "87.5 %": 0.875, "50 %": 0.5, "12.5 %": 0.125}
PPGN = ("model.kind=ppgn",)
UNIFORM_ADDITIVE = ("model.policy=uniform", "model.individualise=additive")
THIRTY_EPOCHS = ("training.epochs=30", "training.schedule.kind=one_cycle")
ABLATED = (("TRIANGLES-large", "triangles", LARGE, None), ("CSL", "csl", ACCURACY, 5))  # title, config, measures, folds


def _isomorphism(dataset: str) -> tuple[Row, ...]:
    """The rows of table 1 for one dataset."""
    config = dataset.lower()
    rivals = {title: f"rivals/{config}-{title.lower()}" for title in ("ChebNet", "PPGN", "GNNML3")}
    return (
        *(make_row(f"{dataset}, {title}", rival, (), PAIRS, seeds=10) for title, rival in rivals.items()),
        *(make_row(f"{dataset}, {title}", config, alone(name), PAIRS, seeds=10) for title, name in BACKBONES.items()),
        *(
            make_row(f"{dataset}, {title} + PF", config, (f"model.backbone={name}",), PAIRS, seeds=10)
            for title, name in BACKBONES.items()
        ),
    )


def _properties(dataset: str, measures: tuple[Measure, ...]) -> tuple[Row, ...]:
    """The rows of table 3 for one dataset."""
    config = dataset.lower()
    rows: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("GIN", config, alone("gin")),
        ("GAT", config, alone("gat")),
        ("ChebNet", f"rivals/{config}-chebnet", ()),
        *((title, f"rivals/{config}-rni", (f"model.share={share}",)) for title, share in RNI.items()),
        ("PF-GNN", config, ()),
    )
    return tuple(make_row(f"{dataset}, {title}", file, overrides, measures, seeds=3) for title, file, overrides in rows)


def _molecules(dataset: str, config: str, measures: tuple[Measure, ...], layers: int) -> tuple[Row, ...]:
    """Two rows: PNA with as many layers as PF-GNN has in total, and PF-GNN."""
    alone = "model.steps=0", f"model.layers={layers}"
    return tuple(
        make_row(f"{dataset}, {title}", config, overrides, measures, seeds=4)
        for title, overrides in (("PNA", alone), ("PF-GNN", ()))
    )


def _qm9(config: str, measures: tuple[Measure, ...]) -> tuple[Row, ...]:
    """Three rows: MPNN, which is the backbone of the paper's model alone, this model, and our method."""
    return (
        make_row("MPNN", config, ("model.steps=0",), measures, seeds=3),
        make_row("PF-GNN", config, (), measures, seeds=3),
        make_row("our method", f"ours/{config}", (), measures, seeds=3),
    )


def _grid(title: str, config: str, measures: tuple[Measure, ...], folds: int | None = None) -> tuple[Row, ...]:
    """A row for each T and K."""
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
    """The row of T = 3 and K = 4 in an ablation. Its runs are those of table 8."""
    cell = next(row for row in _grid("", config, measures, folds) if row.name == f"{config}-t3-k4")
    return replace(cell, title=title, grid=None, shared=f"table8/{cell.name}")


PAPER_TABLES: dict[str, TableSpec] = {
    "table1": TableSpec("Pairs of SR25 and EXP told apart, %", (*_isomorphism("SR25"), *_isomorphism("EXP"))),
    "sr25-reliable": TableSpec(
        "SR25, a setting to rely on (not in the paper): pairs told apart, %",
        (
            make_row("GIN", "sr25-reliable", alone("gin"), PAIRS, seeds=3),
            make_row("GIN + PF", "sr25-reliable", (), PAIRS, seeds=3),
            *(
                make_row(f"{title} + PF", "sr25-reliable", (f"model.backbone={name}",), PAIRS)
                for title, name in BACKBONES.items()
                if name != "gin"
            ),
        ),
    ),
    "table2": TableSpec(
        "CSL, accuracy in 5 folds, %",
        (
            *(make_row(title, "csl", alone(title.lower()), FIVE, seeds=4, folds=5) for title in ("GCN", "GAT", "GIN")),
            make_row("3-WL GNN", "csl", PPGN, FIVE, seeds=4, folds=5),
            make_row("PF-GNN", "csl", (), FIVE, seeds=4, folds=5),
            make_row("PF-GNN, T=4", "csl", ("model.steps=4",), FIVE, seeds=4, folds=5),
            in_one_setting("CSL", "our method", FIVE),
        ),
    ),
    "table3": TableSpec(
        "LCC (mean one-against-rest ROC-AUC × 100, and accuracy) and TRIANGLES (accuracy), %",
        (
            *_properties("LCC", LCC),
            in_one_setting("LCC", "LCC, our method", LCC),
            *_properties("TRIANGLES", TRIANGLES),
            make_row("TRIANGLES, our method", "ours/triangles", (), TRIANGLES, seeds=3),
        ),
    ),
    "table4": TableSpec(
        "ZINC and ALCHEMY, mean absolute error",
        (
            *_molecules("ZINC", "zinc", MAE, 8),
            make_row("ZINC, PF-GNN, uniform policy, additive", "zinc", UNIFORM_ADDITIVE, MAE, seeds=4),
            make_row("ZINC, PF-GNN, weight decay", "zinc", ("training.weight_decay=3.0e-6",), MAE, seeds=4),
            *_molecules("ZINC without edge features", "ablations/zinc-no-edge-features", MAE, 8),
            make_row("ZINC without edge features, our method", "ours/zinc-no-edge-features", (), MAE, seeds=4),
            *_molecules("ALCHEMY", "alchemy", (*MAE, LOG_MAE), 9),
            make_row("ALCHEMY, our method", "ours/alchemy", (), (*MAE, LOG_MAE), seeds=4),
        ),
    ),
    "table5": TableSpec(
        "QM9 with positions, mean absolute error of 12 joint targets",
        _qm9("qm9", MAE),
    ),
    "table6": TableSpec(
        "QM9 without positions, error over chemical accuracy",
        _qm9("qm9-film", ERROR_RATIOS),
    ),
    "table7": TableSpec(
        "ogbg-molhiv, ROC-AUC × 100",
        (
            make_row(
                "PNA", "molhiv", ("model.steps=0", "model.layers=7"), ROC_AUC, seeds=10
            ),  # as many layers as PF-GNN has in total
            make_row("PF-GNN", "molhiv", (), ROC_AUC, seeds=10),
            make_row("our method", "ours/molhiv", (), ROC_AUC, seeds=4),
            Row(
                "random forest on Morgan fingerprints",
                "random-forest",
                "rivals/molhiv-forest.yaml",
                (),
                ROC_AUC,
                seeds=10,
            ),
        ),
    ),
    "table8": TableSpec(
        "Steps T and particles K: accuracy on TRIANGLES-large and CSL, %",
        (*_grid("TRIANGLES-large", "triangles", LARGE), *_grid("CSL", "csl", ACCURACY, folds=5)),
    ),
    "table9": TableSpec(
        "Resampling and policy loss: accuracy on TRIANGLES, %",
        (
            Row(
                "PF-GNN",
                "triangles-pf-gnn",
                "triangles.yaml",
                (),
                THREE_PARTS,
                seeds=3,
                shared="table3/triangles-pf-gnn",
            ),
            make_row("w/o resampling", "ablations/triangles-no-resampling", (), THREE_PARTS, seeds=3),
            make_row("w/o policy loss", "ablations/triangles-no-policy-loss", (), THREE_PARTS, seeds=3),
        ),
    ),
    "table10": TableSpec(
        "Individualisation, learned or random, of a share of the dimensions: accuracy, %",
        tuple(
            _of_grid(f"{dataset}, MLP {percent}", config, measures, folds)
            if kind == "MLP" and share == 1
            else make_row(
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
                    make_row(
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
            make_row(
                f"{dataset}, {layers}", f"ablations/{dataset.lower()}-layers-{file_name(layers)}", (), MAE_100, seeds=4
            )
            for dataset in ("ZINC", "ALCHEMY")
            for layers in ("[6]", "[4, 2]", "[2, 2, 2]")
        ),
    ),
    "table14": TableSpec(
        "Graph properties, accuracy, %",
        tuple(
            row
            for name in ("connectivity", "planarity", "bipartiteness")
            for row in (
                make_row(f"{name}, GIN", name, alone("gin"), ACCURACY, seeds=10),
                make_row(f"{name}, PF-GNN", name, (), ACCURACY, seeds=10),
                in_one_setting(name, f"{name}, our method", ACCURACY),
            )
        ),
    ),
    "table16": TableSpec(
        "EXP, accuracy in 10 folds, %",
        (
            make_row("GIN", "exp-folds", alone("gin"), ACCURACY, folds=10),
            make_row("PPGN", "exp-folds", PPGN, ACCURACY, folds=10),
            make_row("PF-GNN", "exp-folds", (), ACCURACY, folds=10),
            in_one_setting("EXP", "our method", ACCURACY),
        ),
    ),
    "precision": TableSpec(
        "Products in float32, TF32 and bf16",
        (
            *(  # CSL in float32 is in table 2
                make_row(f"CSL, {kind}", "csl", (f"training.precision={kind}",), ACCURACY, folds=5)
                for kind in ("tf32", "bf16")
            ),
            *(
                make_row(f"ZINC, 30 epochs, {kind}", "zinc", (f"training.precision={kind}", *THIRTY_EPOCHS), MAE)
                for kind in ("float32", "tf32", "bf16")
            ),
        ),
    ),
    "table17": TableSpec(
        "Steps T and particles K: accuracy on TRIANGLES-orig, %",
        tuple(replace(row, shared=f"table8/{row.name}") for row in _grid("TRIANGLES-orig", "triangles", ACCURACY)),
    ),
}
