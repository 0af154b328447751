"""The names of the checkpoints in a run directory, for code that must not import torch."""

LAST, PREVIOUS, BEST = "last.safetensors", "previous.safetensors", "best.safetensors"
