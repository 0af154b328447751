"""The model: PF-GNN, its backbones, and the parts that make up a step."""

from pfgnn.model.backbones import GAT, GCN, GIN, GINE, GNNML1, MPNN, PNA, mean_log_degree
from pfgnn.model.belief import Belief
from pfgnn.model.colour_table import ColourPolicy, ColourTable
from pfgnn.model.colours import ColourRefinement
from pfgnn.model.exchange import Exchange
from pfgnn.model.individualise import (
    Additive,
    ByDistance,
    ByPosition,
    Mark,
    Multiplicative,
    MultiplicativeRelu,
    RandomNormal,
    StraightThrough,
)
from pfgnn.model.linear_part import LinearPart
from pfgnn.model.observe import NoObservation, SetObservation
from pfgnn.model.output import Output, StepTrace
from pfgnn.model.per_particle import PerParticle
from pfgnn.model.pfgnn import PFGNN
from pfgnn.model.policy import CentralityPolicy, GNNPolicy, MLPPolicy, UniformPolicy
from pfgnn.model.readout import MaxParticle, MeanParticle
from pfgnn.model.resample import ESSResampling, NoResampling, SoftResampling, SystematicResampling
from pfgnn.model.sample import Distinct, Independent, Top

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
    "PerParticle",
    "RandomNormal",
    "SetObservation",
    "SoftResampling",
    "StepTrace",
    "StraightThrough",
    "SystematicResampling",
    "Top",
    "UniformPolicy",
    "mean_log_degree",
]
