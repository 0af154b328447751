"""The shipped backbones: stacks of message-passing layers, none of them more expressive than 1-WL.

Every module of this folder is imported, so that a new backbone needs no other file: its decorator registers it.
"""

from importlib import import_module
from pkgutil import iter_modules

from pfgnn.model.backbones.gat import GAT
from pfgnn.model.backbones.gcn import GCN
from pfgnn.model.backbones.gin import GIN, GINE
from pfgnn.model.backbones.gnnml1 import GNNML1
from pfgnn.model.backbones.mpnn import MPNN
from pfgnn.model.backbones.pna import PNA, mean_log_degree

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["GAT", "GCN", "GIN", "GINE", "GNNML1", "MPNN", "PNA", "mean_log_degree"]
