"""Datasets: the paper's by name, and the user's own, packed into flat arrays and batched on the device."""

from pfgnn.data.batch import GraphBatch
from pfgnn.data.dataset import Dataset
from pfgnn.data.load import load
from pfgnn.data.loader import Loader, Resident
from pfgnn.data.task import Task

__all__ = ["Dataset", "GraphBatch", "Loader", "Resident", "Task", "load"]
