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
    "ByPosition",
    "CentralityPolicy",
    "ColourPolicy",
    "ColourRefinement",
    "ColourTable",
    "Distinct",
    "ESSResampling",
    "Exchange",
    "GNNPolicy",
    "Graph",
    "Independent",
    "LinearPart",
    "MLPPolicy",
    "Mark",
    "MaxParticle",
    "MeanParticle",
    "Multiplicative",
    "MultiplicativeRelu",
    "NoObservation",
    "NoResampling",
    "Output",
    "PFGNNClassifier",
    "PFGNNError",
    "PFGNNRegressor",
    "PerParticle",
    "RandomNormal",
    "SetObservation",
    "SoftResampling",
    "StepTrace",
    "StraightThrough",
    "SystematicResampling",
    "Top",
    "UniformPolicy",
    "explain_graph",
    "export",
    "export_onnx",
    "load",
    "load_pretrained",
    "load_run",
    "mean_log_degree",
]

if TYPE_CHECKING:
    from pfgnn.data.load import load
    from pfgnn.errors import PFGNNError
    from pfgnn.estimators import PFGNNClassifier, PFGNNRegressor
    from pfgnn.experiments.explain import explain_graph
    from pfgnn.experiments.predict import load_run
    from pfgnn.experiments.pretrained import load_pretrained
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
        ByPosition,
        CentralityPolicy,
        ColourPolicy,
        ColourRefinement,
        ColourTable,
        Distinct,
        ESSResampling,
        Exchange,
        GNNPolicy,
        Independent,
        LinearPart,
        Mark,
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
    from pfgnn.model.export import export
    from pfgnn.model.export_onnx import export_onnx
else:  # importing torch takes seconds, so each name is imported when it is first used
    _others = {
        "Graph": "pfgnn.graphs",
        "PFGNNClassifier": "pfgnn.estimators",
        "PFGNNError": "pfgnn.errors",
        "PFGNNRegressor": "pfgnn.estimators",
        "explain_graph": "pfgnn.experiments.explain",
        "export": "pfgnn.model.export",
        "export_onnx": "pfgnn.model.export_onnx",
        "load": "pfgnn.data",
        "load_pretrained": "pfgnn.experiments.pretrained",
        "load_run": "pfgnn.experiments.predict",
    }
    __getattr__ = lazy(__name__, dict.fromkeys(__all__, "pfgnn.model") | _others)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
