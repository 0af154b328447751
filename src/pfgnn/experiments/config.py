"""What a run depends on, as typed dataclasses; `config_file` reads them from YAML."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pfgnn.errors import InputError
from pfgnn.limits import (
    BelowOne,
    InsideZeroOne,
    NonNegative,
    PartName,
    Positive,
    Seed,
    Several,
    Share,
    WalkLength,
    ZeroToOne,
)
from pfgnn.training.config import ScheduleConfig, TrainingConfig

__all__ = [
    "Config",
    "DataConfig",
    "EvaluationConfig",
    "ModelConfig",
    "PairsConfig",
    "ScheduleConfig",
    "TrainingConfig",
    "check_together",
]


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
    random_walks: NonNegative = 0
    ring_walks: WalkLength = 0
    options: dict[str, Any] = field(default_factory=dict)
    fold: NonNegative | None = None
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
    backbone: Annotated[str, PartName("backbone")] = "gin"
    width: Positive = 64
    layers: Positive = 3
    step_layers: Positive | None = None
    towers: Positive = 1
    norm: Annotated[str, PartName("norm")] = "batch"
    residual: bool = True
    feed_forward: bool = True
    dropout: BelowOne = 0.0
    steps: NonNegative = 1
    particles: Positive = 16
    share_steps: bool = False
    policy: Annotated[str, PartName("policy")] = "uniform"
    sampling: Annotated[str, PartName("sampling")] = "distinct"
    vertices_per_step: Positive = 1
    mask_used: bool = False
    individualise: Annotated[str, PartName("individualise")] = "distance"
    max_distance: Positive = 5
    share: Share = 1.0
    straight_through: bool = False
    exchange: Literal["mark", "mean", "both", "none"] = "mark"
    observe: Annotated[str, PartName("observe")] = "none"
    resample: Annotated[str, PartName("resample")] = "none"
    alpha: ZeroToOne = 0.5
    readout: Annotated[str, PartName("readout")] = "particle"
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

    draws: Several = 64
    controls: Positive = 1000
    level: InsideZeroOne = 1e-6


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

    particles: Positive | None = None
    draws: Positive = 1
    average: bool = False
    relabel: bool = False
    batch_size: Positive | None = None
    pairs: PairsConfig | None = None


@dataclass(frozen=True)
class Config:
    """One run: data, model, training, evaluation, and the seed of everything that is drawn."""

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    seed: Seed = 0


def check_together(config: Config) -> None:
    """Raise an error that names the first settings that do not go together, whatever the dataset."""
    training = config.training
    if (training.epochs is None) == (training.updates is None):
        came = f"{training.epochs} and {training.updates}".replace("None", "null")
        raise InputError(
            f"one of training.epochs and training.updates must be null, the other not, but they are {came}"
        )
    schedule = training.schedule
    if schedule.kind in ("plateau", "cosine") and schedule.min_lr > training.learning_rate:
        raise InputError(
            f"training.schedule.min_lr must be at most training.learning_rate, {training.learning_rate}, "
            f"but it is {schedule.min_lr}"
        )
    model = config.model
    if model.vertices_per_step > 1 and model.sampling != "independent":
        raise InputError(
            f"model.vertices_per_step must be 1 with model.sampling {model.sampling}, "
            f"but it is {model.vertices_per_step}; model.sampling=independent draws several"
        )
    learned = model.policy in ("mlp", "gnn") and model.steps > 0
    if learned and model.sampling != "independent" and training.gamma > 0 and training.credit == "graph":
        raise InputError(
            "training.credit must be particle, or training.gamma 0, for a learned policy with model.sampling "
            f"{model.sampling}, but it is graph, which is made for independent draws"
        )
    if training.entropy > 0 and model.sampling == "independent":
        raise InputError(
            f"training.entropy must be 0 with model.sampling independent, but it is {training.entropy}; "
            "distinct and top have it"
        )
    if model.second_moment and model.readout != "mean":
        raise InputError(f"model.second_moment must be false unless model.readout is mean, but that is {model.readout}")
    if foreign := {"name", "root", "edge_features"} & config.data.options.keys():
        raise InputError(f"data.options must hold options of the generator, but it has {', '.join(sorted(foreign))}")
