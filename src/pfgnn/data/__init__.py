"""Datasets: the paper's datasets by name and the user's own graphs, stored in flat arrays and batched on the device."""

from typing import TYPE_CHECKING

from pfgnn.data.dataset import Dataset
from pfgnn.data.load import load
from pfgnn.data.task import Task
from pfgnn.lazy import lazy

__all__ = ["Dataset", "GraphBatch", "Loader", "Resident", "Task", "load"]

if TYPE_CHECKING:
    from pfgnn.data.batch import GraphBatch
    from pfgnn.data.loader import Loader, Resident
else:  # only these names need torch, which takes seconds to import
    _homes = {"GraphBatch": "pfgnn.data.batch", "Loader": "pfgnn.data.loader", "Resident": "pfgnn.data.loader"}
    __getattr__ = lazy(__name__, _homes)
