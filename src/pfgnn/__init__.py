"""PF-GNN: any graph neural network plus a differentiable particle filter over the search tree."""

__version__ = "0.1.0"
