"""The other models in the paper's tables. They are called and trained in the same way as PF-GNN."""

from pfgnn.model.rivals.backbone_alone import Alone
from pfgnn.model.rivals.chebnet import ChebNet
from pfgnn.model.rivals.gnnml3 import GNNML3
from pfgnn.model.rivals.ppgn import PPGN
from pfgnn.model.rivals.rni import RNI

__all__ = ["GNNML3", "PPGN", "RNI", "Alone", "ChebNet"]
