"""The models of the paper's tables beside PF-GNN and its backbones, called and trained as PF-GNN is."""

from pfgnn.model.rivals.alone import Alone
from pfgnn.model.rivals.chebnet import ChebNet
from pfgnn.model.rivals.gnnml3 import GNNML3
from pfgnn.model.rivals.ppgn import PPGN
from pfgnn.model.rivals.rni import RNI

__all__ = ["GNNML3", "PPGN", "RNI", "Alone", "ChebNet"]
