"""PF-GNN: any graph neural network plus a differentiable particle filter over the search tree."""

from typing import TYPE_CHECKING

from pfgnn.lazy import lazy

__version__ = "0.2.0"

__all__ = [
    "GAT",
    "GCN",
    "GIN",
    "GINE",
    "GNNML1",
    "MPNN",
    "PFGNN",
    "PNA",
    "Additive",
    "Belief",
    "ByDistance",
    "CentralityPolicy",
    "Distinct",
    "ESSResampling",
    "Exchange",
    "GNNPolicy",
    "Graph",
    "Independent",
    "MLPPolicy",
    "MaxParticle",
    "MeanParticle",
    "Multiplicative",
    "MultiplicativeRelu",
    "NoObservation",
    "NoResampling",
    "Output",
    "PFGNNError",
    "PerParticle",
    "RandomNormal",
    "SetObservation",
    "SoftResampling",
    "StepTrace",
    "StraightThrough",
    "SystematicResampling",
    "Top",
    "UniformPolicy",
    "load",
    "load_run",
    "mean_log_degree",
]

if TYPE_CHECKING:
    from pfgnn.data.load import load
    from pfgnn.errors import PFGNNError
    from pfgnn.experiments.predict import load_run
    from pfgnn.graphs import Graph
    from pfgnn.model import (
        GAT,
        GCN,
        GIN,
        GINE,
        GNNML1,
        MPNN,
        PFGNN,
        PNA,
        Additive,
        Belief,
        ByDistance,
        CentralityPolicy,
        Distinct,
        ESSResampling,
        Exchange,
        GNNPolicy,
        Independent,
        MaxParticle,
        MeanParticle,
        MLPPolicy,
        Multiplicative,
        MultiplicativeRelu,
        NoObservation,
        NoResampling,
        Output,
        PerParticle,
        RandomNormal,
        SetObservation,
        SoftResampling,
        StepTrace,
        StraightThrough,
        SystematicResampling,
        Top,
        UniformPolicy,
        mean_log_degree,
    )
else:  # importing torch takes seconds, so each name is imported when it is first used
    _others = {
        "Graph": "pfgnn.graphs",
        "PFGNNError": "pfgnn.errors",
        "load": "pfgnn.data",
        "load_run": "pfgnn.experiments.predict",
    }
    __getattr__ = lazy(__name__, dict.fromkeys(__all__, "pfgnn.model") | _others)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
