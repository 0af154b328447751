"""What a run depends on, as typed dataclasses; `settings` reads them from YAML."""

from dataclasses import dataclass, field
from pathlib import Path
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
        ring_walks: longest closed walk without turning back that is counted, see
            :func:`pfgnn.data.encodings.ring_walks`; appended to the node features; 0 for none.
        options: of the dataset's generator; with any, it is generated.
        fold: which fold of a dataset in folds; None for its fixed parts.
        train, validation: parts; "all" for all graphs. Without a validation part the last weights are kept.
        tests: parts that are read once, at the end.
    """

    name: str
    edge_features: bool = True
    positions: Literal["none", "distance"] = "none"
    random_walks: int = 0
    ring_walks: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    fold: int | None = None
    train: str = "train"
    validation: str | None = "validation"
    tests: tuple[str, ...] = ("test",)

    @property
    def file(self) -> Path | None:
        """The packed file, if ``name`` is one."""
        return Path(self.name).expanduser() if self.name.endswith(".pfgnn") else None


@dataclass(frozen=True)
class ModelConfig:
    """The model. See :class:`pfgnn.model.PFGNN` for the parts, and docs/method.md for why the defaults are these.

    Args:
        kind: PF-GNN, or a rival: "rni" (random node initialisation), "ppgn" (3-WL).
        backbone: the GNN of "pfgnn" and "rni"; PF-GNN with no steps is its backbone alone.
        width: D.
        layers: of the first refinement.
        step_layers: of each step's refinement; as many by default.
        towers: of PNA.
        norm, residual, feed_forward, dropout: of the backbone's layers.
        steps: T.
        particles: K.
        share_steps: one set of parameters for the refinements of all steps.
        policy: how vertices are scored: all alike, by a fixed centrality, or by a learned MLP or GNN.
        straight_through: whether the marks carry a gradient to the policy.
        sampling: "distinct" paths; the "top" ones, those that the policy prefers; or "independent" draws of the
            particles, as in the paper.
        vertices_per_step: drawn at once by a particle; more than 1 only with independent draws.
        mask_used: never individualise a vertex twice.
        individualise: "distance" marks all vertices by their distance to the drawn one. The others mark that one alone.
        max_distance: distances beyond it are not told apart.
        share: of the dimensions that the individualisation changes, or, with "rni", that are random.
        exchange: what is told in every layer: each particle's "mark" to its vertices, the "mean" particle to all
            particles, "both" or "none". With the mean, K at test should be as in training.
        observe: how particles are weighed.
        resample, alpha: how particles are replaced by their weights; "none" with distinct paths, which need no other.
        readout: "particle" reads each particle by itself, "mean" the mean particle, "max" the largest.
        second_moment: of the mean particle.
        join_layers: read all layers of a refinement, not only the last.
        pool: over the nodes of a graph.
        scale_sums: divide sums over nodes by the mean size of the training graphs.
    """

    kind: Literal["pfgnn", "rni", "ppgn"] = "pfgnn"
    backbone: Backbone = "gin"
    width: int = 64
    layers: int = 3
    step_layers: int | None = None
    towers: int = 1
    norm: Literal["mark", "graph", "batch", "size", "layer", "none"] = "batch"
    residual: bool = True
    feed_forward: bool = True
    dropout: float = 0.0
    steps: int = 1
    particles: int = 16
    share_steps: bool = False
    policy: Literal["uniform", "centrality", "mlp", "gnn"] = "uniform"
    sampling: Literal["distinct", "top", "independent"] = "distinct"
    vertices_per_step: int = 1
    mask_used: bool = False
    individualise: Literal["distance", "multiplicative", "multiplicative_relu", "additive", "random"] = "distance"
    max_distance: int = 5
    share: float = 1.0
    straight_through: bool = False
    exchange: Literal["mark", "mean", "both", "none"] = "mark"
    observe: Literal["none", "set"] = "none"
    resample: Literal["none", "soft", "systematic", "ess"] = "none"
    alpha: float = 0.5
    readout: Literal["particle", "mean", "max"] = "particle"
    second_moment: bool = False
    join_layers: bool = False
    pool: Literal["sum", "mean", "max"] = "sum"
    scale_sums: bool = True


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
