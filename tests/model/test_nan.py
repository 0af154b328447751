"""What is not finite in one graph stays visible there, and does not change other graphs."""

import pytest
import torch
from tests.graph_samples import circulant_edges
from torch import nn

from pfgnn.data.batch import GraphBatch
from pfgnn.model import Distinct, Independent, Top
from pfgnn.model.belief import Belief
from pfgnn.model.randomness import default_node_key, make_noise


@pytest.mark.parametrize("sample", [Independent(), Distinct(), Top()], ids=["independent", "distinct", "top"])
@pytest.mark.parametrize("own", [True, False])
def test_scores_that_are_not_finite_stay_in_their_graph(sample: nn.Module, own: bool) -> None:
    """Three graphs of five nodes; the scores of the second one hold NaN."""
    edges = torch.cat([circulant_edges(5, 1) + 5 * g for g in range(3)], 1)
    graph = GraphBatch.from_tensors(None, edges, None, torch.arange(3).repeat_interleave(5))
    noise = make_noise(0, torch.arange(3), default_node_key(graph), graph.nodes)
    belief = Belief(torch.zeros(15, 4 if own else 1, 2), torch.full((3, 4), 0.25).log(), None)
    scores = torch.randn(15, 4 if own else 1)
    want = sample(scores, belief, graph, noise, 1)
    scores[7, 0] = torch.nan
    found = sample(scores, belief, graph, noise, 1)
    assert torch.equal(found.vertices[[0, 2]], want.vertices[[0, 2]])
    assert torch.equal(found.log_weights[[0, 2]], want.log_weights[[0, 2]])
    assert (found.log_prob if isinstance(sample, Independent) else found.log_weights)[1].isnan().any()
    assert (found.vertices // 5 == torch.arange(3)[:, None, None]).all()
