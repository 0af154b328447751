"""Features of all shipped backbones: feed-forward blocks, dropout, outputs of single layers."""

import pytest
import torch
from tests.graph_samples import random_graph

from pfgnn import testing
from pfgnn.data.batch import GraphBatch
from pfgnn.model import GIN, PFGNN

D = 8


def model(dropout: float = 0.5) -> PFGNN:
    backbone = GIN(D, layers=2, feed_forward=True, dropout=dropout)
    return PFGNN(backbone, 2, in_channels=3, particles=4)


def test_a_feed_forward_block_follows_each_layer() -> None:
    backbone = GIN(D, layers=2, feed_forward=True)
    x, edge_index, _ = random_graph(7, 9, D)
    graph = GraphBatch.from_tensors(x, edge_index, None, None)
    assert backbone.hidden is not None
    assert backbone.hidden_norms is not None
    h, outputs = x, []
    for conv, norm, mlp, last in zip(
        backbone.convs, backbone.norms, backbone.hidden, backbone.hidden_norms, strict=True
    ):
        h = h + norm.normalise(conv(h, graph), graph).relu()  # type: ignore[operator]
        h = last.normalise(h + mlp(h), graph)  # type: ignore[operator]
        outputs.append(h)
    layers: list[torch.Tensor] = []
    torch.testing.assert_close(backbone.refine(x, graph, layers=layers), h)
    torch.testing.assert_close(layers, outputs)


class TestDropout:
    x, edge_index, _ = random_graph(7, 9, 3)

    def test_evaluation_has_none(self) -> None:
        torch.manual_seed(0)
        with_it = model(0.5).eval()
        without = model(0.0).eval()
        without.load_state_dict(with_it.state_dict())
        torch.testing.assert_close(
            with_it(self.x, self.edge_index).prediction, without(self.x, self.edge_index).prediction
        )

    def test_a_seed_repeats_it_and_another_does_not(self) -> None:
        train = model().train()
        first, again, other = (train(self.x, self.edge_index, seed=s).prediction for s in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.allclose(first, other)

    def test_it_is_there_in_training(self) -> None:
        train, rng = model().train(), torch.random.get_rng_state()
        dropped = train(self.x, self.edge_index, seed=1).prediction
        assert not torch.allclose(dropped, train.eval()(self.x, self.edge_index, seed=1).prediction)
        assert torch.equal(rng, torch.random.get_rng_state())  # no global generator is touched

    def test_it_depends_on_no_other_graph_and_on_no_chunk(self) -> None:
        train = model().train()
        graphs = [(*random_graph(6 + s, 8, 3, seed=s)[:2], None) for s in range(3)]
        testing.assert_batch_independent(train, graphs)
        testing.assert_chunk_independent(train, *testing.collate(graphs))

    def test_bad_rates_and_a_backbone_on_its_own(self) -> None:
        with pytest.raises(ValueError, match=r"dropout must lie in \[0, 1\), but it is 1.0"):
            GIN(D, dropout=1.0)
        backbone = GIN(3, dropout=0.1)
        with pytest.raises(ValueError, match="dropout must be 0 in training outside a PFGNN"):
            backbone(self.x, self.edge_index)
        assert backbone.eval()(self.x, self.edge_index).shape == self.x.shape
