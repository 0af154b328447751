"""The settings of a run, as typed dataclasses. `config_file` reads them from YAML."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pfgnn.errors import InputError, shown
from pfgnn.setting_types import (
    BelowOne,
    Bits,
    Controls,
    Distance,
    Draws,
    InsideZeroOne,
    Layers,
    NonNegative,
    Particles,
    PartName,
    Positive,
    PositiveNumber,
    Radius,
    RingWalkLength,
    Seed,
    SeveralDraws,
    Share,
    Steps,
    Trees,
    WalkLength,
    Width,
    ZeroToOne,
)
from pfgnn.training.config import ScheduleConfig, TrainingConfig

__all__ = [
    "Config",
    "DataConfig",
    "EvaluationConfig",
    "ForestConfig",
    "ModelConfig",
    "PairsConfig",
    "ScheduleConfig",
    "TrainingConfig",
    "check_together",
]


GIVEN = "given"  # the backbone of a run whose module was given in Python
NAME = r"[^\W\d]\w*"
OWN_BACKBONE = re.compile(rf"{GIVEN}|{NAME}(\.{NAME})*:{NAME}")  # or an import path, such as package.module:Class


@dataclass(frozen=True)
class DataConfig:
    """The graphs that a run is trained and tested on.

    A part is a named set of graphs, such as "train". The part "all" is every graph of the dataset.

    Args:
        name: Name of a dataset, see `pfgnn data list`, or path of a packed file or of a folder of shards. A path ends
            in .pfgnn or holds a slash.
        edge_features: Whether to keep the edge features of the dataset.
        node_scales: [mean, deviation] of each column of x, by which the model's x is scaled; empty for none.
        edge_scales: The same for edge_attr.
        positions: "none" ignores the positions of the nodes. "distance" appends the length of each edge to its
            features. "complete" first adds an edge between any two nodes of a graph that have none.
        random_walks: Steps of the longest walk of the encoding :func:`pfgnn.data.encodings.random_walks`, which is
            appended to the node features; 0 for no encoding.
        ring_walks: Steps of the longest walk of the encoding :func:`pfgnn.data.encodings.ring_walks`, which is
            appended to the node features; 0 for no encoding, otherwise at least 3.
        options: Options of the dataset's generator, such as the number of graphs. If any is set, the dataset is
            generated, even if there is a file of it.
        fold: Number of the fold, from 0, for a dataset with folds; None for a dataset with fixed parts.
        train: Part to train on.
        validation: Part on which the best weights are selected. With None, the weights of the last update are kept.
        tests: Parts to test on, after training.
    """

    name: str
    edge_features: bool = True
    node_scales: tuple[tuple[float, ...], ...] = ()
    edge_scales: tuple[tuple[float, ...], ...] = ()
    positions: Literal["none", "distance", "complete"] = "none"
    random_walks: WalkLength = 0
    ring_walks: RingWalkLength = 0
    options: dict[str, Any] = field(default_factory=dict)
    fold: NonNegative | None = None
    train: str = "train"
    validation: str | None = "validation"
    tests: tuple[str, ...] = ("test",)

    @property
    def file(self) -> Path | None:
        """The packed file or the folder of shards if ``name`` is a path, otherwise None."""
        is_path = self.name.endswith(".pfgnn") or "/" in self.name or os.sep in self.name
        return Path(self.name).expanduser() if is_path else None


@dataclass(frozen=True)
class ForestConfig:
    """A random forest on Morgan fingerprints. It is for datasets whose molecules are known as SMILES.

    Args:
        trees: Number of trees.
        min_leaf: Least number of training molecules in a leaf.
        radius: Largest distance in bonds of two atoms that share a bit of the fingerprint.
        bits: Length of the fingerprint.
    """

    trees: Trees = 200
    min_leaf: Positive = 1
    radius: Radius = 2
    bits: Bits = 2048


@dataclass(frozen=True)
class ModelConfig:
    """The model.

    :class:`pfgnn.model.PFGNN` explains the parts of PF-GNN, and docs/method.md explains the defaults. `pfgnn parts`
    lists the names of all parts.

    Args:
        kind: "pfgnn" for PF-GNN, or another model to compare it with: "rni" (random node initialisation), "ppgn"
            (PPGN, as strong as 3-WL) or "forest" (random forest on fingerprints). "ppgn" uses only ``width``,
            ``layers`` and ``pool``, and "forest" only ``forest``, and nothing of ``training``.
        backbone: GNN of "pfgnn" and "rni", such as "gin", "gine" or "pna"; or the import path of a class of your own,
            such as "my_package.my_module:MyGNN", see docs/pyg.md; or "given" for a module that is given in Python.
        backbone_options: Arguments of the constructor of a class of your own.
        width: D, size of a node embedding.
        layers: GNN layers before the first step.
        step_layers: GNN layers in each step; None for as many as ``layers``.
        towers: Number of towers of the backbone "pna"; must divide ``width``. Other backbones ignore it.
        norm: Normalisation in each layer: "mark" (per graph and particle; nodes near the marked vertex count most),
            "graph" (per graph and particle), "batch", "size" (batch, after division by the root of the graph's size),
            "layer" or "none".
        residual: Whether the input of each layer is added to its output.
        feed_forward: Whether each layer is followed by an MLP with a residual and a norm.
        dropout: Probability that an entry of a layer's output is set to 0 in training.
        steps: T, number of steps. In each step each particle individualises a vertex. With 0 the model is the backbone
            alone.
        particles: K, number of particles in training. For "rni", the number of random initialisations.
        share_steps: Whether the GNNs of all steps share their parameters.
        policy: Scores the vertices to draw from: "uniform", "centrality" (fixed), "mlp" or "gnn" (learned).
        sampling: How vertices are drawn. "distinct" draws K different paths of the search tree, without replacement.
            "top" takes the K most probable paths. "independent" draws for each particle on its own, as in the paper.
        vertices_per_step: Vertices that a particle draws in each step. Must be 1 unless ``sampling`` is "independent".
        mask_used: Whether a particle avoids vertices that it has already individualised.
        individualise: How a drawn vertex is marked. "multiplicative", "multiplicative_relu", "additive" and "random"
            change the embedding of this vertex only. "distance" also marks all vertices by their distance to it.
            "position" marks them by their distance in space too; it needs ``data.positions``.
        max_distance: Largest distance that "distance" distinguishes. All larger distances get the same mark.
        reach: Largest distance in space that "position" distinguishes, in the unit of the positions.
        share: Share of the dimensions of the drawn vertex that individualisation changes. For "rni", share of the
            dimensions that are random.
        straight_through: Whether the marks pass a gradient to the policy (straight-through estimator).
        exchange: What each layer of a step adds to the embeddings, through an MLP: "mark" the embedding of the
            particle's marked vertex, "mean" the mean over all particles, "both", or "none". With "mean" and "both", K
            should be the same in the test as in training.
        observe: How the weights of the particles change after each step: "set" by a learned score, "none" not at all.
        resample: Whether and how particles are resampled by their weights: "soft", "systematic", "ess" (only if the
            effective sample size is below K / 2) or "none". ``sampling: distinct`` needs no resampling.
        alpha: α of resampling, which draws from α w + (1 - α) / K with weights w.
        readout: "particle" reads each particle with an MLP and averages the results. "mean" reads the mean over the
            particles, as in the paper. "max" reads the maximum over the particles.
        second_moment: Whether to read the mean of the squares too. Must be False unless ``readout`` is "mean".
        join_layers: Whether to read the outputs of all layers, and not only of the last layer.
        pool: Pooling over the nodes of a graph.
        scale_sums: Whether to divide the sums of ``pool: sum`` by the mean number of nodes of a training graph.
        linear: Whether to add a part that is linear in the numbers of nodes and edges of each kind, see
            :class:`pfgnn.model.LinearPart`. It is fitted before the training, and the network learns the rest. It is
            for numbers that belong to graphs, and needs ``training.standardise``.
        forest: Settings of "forest"; None for the usual ones.
    """

    kind: Literal["pfgnn", "rni", "ppgn", "forest"] = "pfgnn"
    backbone: Annotated[str, PartName("backbone", OWN_BACKBONE)] = "gin"
    backbone_options: dict[str, Any] = field(default_factory=dict, hash=False)
    width: Width = 64
    layers: Layers = 3
    step_layers: Layers | None = None
    towers: Positive = 1
    norm: Annotated[str, PartName("norm")] = "batch"
    residual: bool = True
    feed_forward: bool = True
    dropout: BelowOne = 0.0
    steps: Steps = 1
    particles: Particles = 16
    share_steps: bool = False
    policy: Annotated[str, PartName("policy")] = "uniform"
    sampling: Annotated[str, PartName("sampling")] = "distinct"
    vertices_per_step: Layers = 1
    mask_used: bool = False
    individualise: Annotated[str, PartName("individualise")] = "distance"
    max_distance: Distance = 5
    reach: PositiveNumber = 10.0
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
    linear: bool = False
    forest: ForestConfig | None = None


@dataclass(frozen=True)
class PairsConfig:
    """The test of whether the model tells pairs of graphs apart, see :mod:`pfgnn.training.distinguish`.

    Args:
        draws: R, outputs of each graph that the test of a pair compares. Each is computed on a fresh relabelling.
        controls: Least number of isomorphic pairs that are tested too. The model should not tell them apart.
        level: Upper bound on the probability that the test tells an isomorphic pair apart, for normal outputs.
    """

    draws: SeveralDraws = 64
    controls: Controls = 1000
    level: InsideZeroOne = 1e-6


@dataclass(frozen=True)
class EvaluationConfig:
    """How the trained model is tested.

    Args:
        particles: K, number of particles in validation and test; None for ``model.particles``.
        draws: Number of independent predictions of each graph in the test.
        average: True averages the predictions of the draws and scores the mean. False scores each draw and averages the
            scores.
        relabel: Whether to renumber the nodes of each graph at random in each draw.
        batch_size: Largest number of graphs in a batch; None for ``training.batch_size``.
        pairs: Test of pairs of graphs; None for a dataset without pairs.
    """

    particles: Particles | None = None
    draws: Draws = 1
    average: bool = False
    relabel: bool = False
    batch_size: Positive | None = None
    pairs: PairsConfig | None = None


@dataclass(frozen=True)
class Config:
    """All settings of a run.

    Args:
        data: The graphs.
        model: The model.
        training: How it is trained.
        evaluation: How it is tested.
        seed: Seed of the parameters, the order of the training graphs, the relabellings and the model's draws.
    """

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    seed: Seed = 0


def check_together(config: Config) -> None:
    """Raise an InputError for the first settings that contradict each other. The dataset is not needed for this."""
    training = config.training
    if config.model.kind != "forest" and (training.epochs is None) == (training.updates is None):
        came = f"{training.epochs} and {training.updates}".replace("None", "null")
        raise InputError(f"exactly one of training.epochs and training.updates must be null, but they are {came}")
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
            f"but it is {model.vertices_per_step}; only model.sampling=independent can draw several"
        )
    learned = model.policy in ("mlp", "gnn") and model.steps > 0
    if learned and model.sampling != "independent" and training.gamma > 0 and training.credit == "graph":
        raise InputError(
            "training.credit must be particle, or training.gamma 0, for a learned policy with model.sampling "
            f"{model.sampling}, but it is graph, which needs model.sampling=independent"
        )
    if training.entropy > 0 and model.sampling == "independent":
        raise InputError(
            f"training.entropy must be 0 with model.sampling independent, but it is {training.entropy}; "
            "only distinct and top support it"
        )
    if model.backbone_options and ":" not in model.backbone:
        raise InputError(
            f"model.backbone_options must be empty with model.backbone {model.backbone}, but it is "
            f"{shown(model.backbone_options)}; only a class of your own has options"
        )
    if model.second_moment and model.readout != "mean":
        raise InputError(f"model.readout must be mean if model.second_moment is true, but it is {model.readout}")
    if model.linear and not training.standardise:
        raise InputError("training.standardise must be true if model.linear is true, but it is false")
    if model.individualise == "position" and config.data.positions == "none":
        raise InputError(
            "data.positions must be distance or complete with model.individualise position, but it is none"
        )
    if foreign := {"name", "root", "edge_features"} & config.data.options.keys():
        raise InputError(f"data.options must hold options of the generator, but it holds {', '.join(sorted(foreign))}")
