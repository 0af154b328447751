"""All registries of model parts, filled: importing this module imports every shipped part."""

from typing import Any

from pfgnn.model import rivals  # registers its backbones
from pfgnn.model.backbones.stack import BACKBONES
from pfgnn.model.individualise import INDIVIDUALISATIONS
from pfgnn.model.norms import NORMS
from pfgnn.model.observe import OBSERVATIONS
from pfgnn.model.policy import POLICIES
from pfgnn.model.readout import READOUTS
from pfgnn.model.resample import RESAMPLERS
from pfgnn.model.sample import SAMPLERS
from pfgnn.registry import Registry

__all__ = [
    "BACKBONES",
    "INDIVIDUALISATIONS",
    "NORMS",
    "OBSERVATIONS",
    "POLICIES",
    "READOUTS",
    "RESAMPLERS",
    "SAMPLERS",
    "SETTINGS",
    "rivals",
]

# The registry behind each setting of a model's config.
SETTINGS: dict[str, Registry[Any]] = {
    "backbone": BACKBONES,
    "norm": NORMS,
    "policy": POLICIES,
    "sampling": SAMPLERS,
    "individualise": INDIVIDUALISATIONS,
    "observe": OBSERVATIONS,
    "resample": RESAMPLERS,
    "readout": READOUTS,
}
