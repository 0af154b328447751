"""Datasets: the paper's by name, and the user's own, packed into flat arrays and batched on the device."""

from pfgnn.data.batching import Batch, Loader, Resident
from pfgnn.data.dataset import Dataset
from pfgnn.data.load import load
from pfgnn.data.task import Task

__all__ = ["Batch", "Dataset", "Loader", "Resident", "Task", "load"]
