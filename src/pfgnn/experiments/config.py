"""What a run depends on, as typed dataclasses; `settings` reads them from YAML."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pfgnn.training.config import ScheduleConfig, TrainingConfig

__all__ = [
    "Config",
    "DataConfig",
    "EvaluationConfig",
    "ModelConfig",
    "PairsConfig",
    "ScheduleConfig",
    "TrainingConfig",
]

Backbone = Literal["gcn", "gat", "gin", "gine", "gnnml1", "pna", "mpnn", "chebnet", "gnnml3"]


@dataclass(frozen=True)
class DataConfig:
    """Which graphs a run trains and tests on.

    Args:
        name: of the dataset, see `pfgnn data list`, or a packed file (.pfgnn).
        edge_features: False leaves the edges bare.
        positions: "distance" adds the length of each edge to its features, where the nodes have positions.
        random_walks: length of the random-walk encoding appended to the node features; 0 for none.
        options: of the dataset's generator; with any, it is generated.
        fold: which fold of a dataset in folds; None for its fixed parts.
        train, validation: parts; "all" for all graphs. Without a validation part the last weights are kept.
        tests: parts that are read once, at the end.
    """

    name: str
    edge_features: bool = True
    positions: Literal["none", "distance"] = "none"
    random_walks: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    fold: int | None = None
    train: str = "train"
    validation: str | None = "validation"
    tests: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class ModelConfig:
    """The model; defaults are the paper's, see :class:`pfgnn.model.PFGNN` for the parts.

    Args:
        kind: PF-GNN, or a rival: "rni" (random node initialisation), "ppgn" (3-WL).
        backbone: the GNN of "pfgnn" and "rni"; PF-GNN with no steps is its backbone alone.
        width: D.
        layers: of the first refinement.
        step_layers: of each step's refinement; as many by default.
        towers: of PNA.
        norm, residual: of the backbone's layers.
        steps: T.
        particles: K.
        share: of the dimensions that the individualisation changes, or, with "rni", that are random.
        alpha: of soft resampling.
    """

    kind: Literal["pfgnn", "rni", "ppgn"] = "pfgnn"
    backbone: Backbone = "gin"
    width: int = 64
    layers: int = 3
    step_layers: int | None = None
    towers: int = 1
    norm: Literal["graph", "batch", "layer", "none"] = "graph"
    residual: bool = True
    steps: int = 3
    particles: int = 8
    share_steps: bool = False
    vertices_per_step: int = 1
    mask_used: bool = False
    policy: Literal["mlp", "gnn", "uniform"] = "mlp"
    individualise: Literal["multiplicative", "additive", "random"] = "multiplicative"
    share: float = 1.0
    observe: Literal["set", "none"] = "set"
    resample: Literal["soft", "systematic", "ess", "none"] = "soft"
    alpha: float = 0.5
    pool: Literal["mean", "sum", "max"] = "mean"
    second_moment: bool = False


@dataclass(frozen=True)
class PairsConfig:
    """How pairs of graphs are told apart, see :mod:`pfgnn.training.distinguish`.

    Args:
        draws: R, outputs of a graph in one test, each on a fresh relabelling.
        controls: isomorphic pairs that must not be told apart, at least.
        level: of the test of one pair.
    """

    draws: int = 64
    controls: int = 1000
    level: float = 1e-6


@dataclass(frozen=True)
class EvaluationConfig:
    """How the trained model is tested.

    Args:
        particles: K at test; as in training by default.
        draws: independent draws of every prediction.
        average: score the mean prediction of the draws; otherwise the draws' scores are averaged.
        relabel: number the nodes of each graph afresh in each draw.
        batch_size: graphs a batch; as in training by default.
        pairs: how pairs are told apart; None for a task without pairs.
    """

    particles: int | None = None
    draws: int = 1
    average: bool = False
    relabel: bool = False
    batch_size: int | None = None
    pairs: PairsConfig | None = None


@dataclass(frozen=True)
class Config:
    """One run: data, model, training, evaluation, and the seed of everything that is drawn."""

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    seed: int = 0
