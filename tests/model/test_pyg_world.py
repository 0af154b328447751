"""PF-GNN in the tools around PyTorch Geometric: its loader, its explainer, Lightning, and plain torch."""

import copy
from typing import Any

import pytest
import torch
from tests.graph_samples import random_graph
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.loader import DataLoader

from pfgnn import GIN, PFGNN

D = 8


def make() -> PFGNN:
    return PFGNN(GIN(D, layers=1), 1, in_channels=3, particles=4)


def samples() -> list[Data]:
    """Graphs whose target is the share of their first feature."""
    found = []
    for n in range(4, 12):
        x, edges, _ = random_graph(n, n, 3, seed=n)
        found.append(Data(x=x, edge_index=edges, y=x[:, :1].mean(0, keepdim=True)))
    return found


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    return mse_loss(model(batch).prediction, batch.y)


def test_a_plain_loop_over_pygs_loader_learns() -> None:
    model = make()
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    losses = []
    for _ in range(30):
        for batch in DataLoader(samples(), batch_size=4):
            optimiser.zero_grad()
            loss = loss_of(model, batch)
            loss.backward()
            optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_the_loader_and_single_graphs_have_the_same_predictions() -> None:
    model = make().eval()
    [batch] = DataLoader(samples(), batch_size=8)
    alone = torch.cat([model(data).prediction for data in samples()])
    torch.testing.assert_close(model(batch).prediction, alone)


def test_a_copy_and_a_state_dict_have_the_same_predictions() -> None:
    model, batch = make(), Batch.from_data_list(samples())
    loss_of(model, batch).backward()  # a copy must work after a training pass too
    model.eval()
    want = model(batch).prediction
    torch.testing.assert_close(copy.deepcopy(model)(batch).prediction, want, rtol=0, atol=0)
    torch.manual_seed(1)
    fresh = make().eval()
    assert not torch.equal(fresh(batch).prediction, want)
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(fresh(batch).prediction, want, rtol=0, atol=0)


class Predictions(nn.Module):
    """What an explainer needs: a module that returns a tensor."""

    def __init__(self, model: PFGNN) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.model(x, edge_index, seed=0).prediction


def test_pygs_explainer_finds_the_feature_that_counts() -> None:
    model = make()
    with torch.no_grad():  # only the first feature enters
        model.get_parameter("encode_nodes.linear.weight")[:, 1:] = 0
    explainer = Explainer(
        model=Predictions(model.eval()),
        algorithm=GNNExplainer(epochs=20),
        explanation_type="model",
        node_mask_type="attributes",
        model_config={"mode": "regression", "task_level": "graph", "return_type": "raw"},
    )
    data = samples()[-1]
    explanation = explainer(data.x, data.edge_index)
    of_features = explanation.node_mask.sum(0)
    assert explanation.node_mask.shape == data.x.shape
    assert of_features[0] > 0
    assert (of_features[1:] == 0).all()


@pytest.mark.filterwarnings("ignore")  # Lightning warns of few workers, and of what it uses of torch
def test_inside_a_lightning_module() -> None:
    lightning: Any = pytest.importorskip("pytorch_lightning", reason="pytorch_lightning is not installed")

    class Regression(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = make()

        def training_step(self, batch: Batch, _: int) -> Tensor:
            return loss_of(self.model, batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), 0.02)

    module, loader = Regression(), DataLoader(samples(), batch_size=4)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
    before = loss_of(module.model, next(iter(loader))).item()
    lightning.Trainer(max_epochs=30, enable_model_summary=False, **quiet).fit(module, loader)
    assert loss_of(module.model.train(), next(iter(loader))).item() < 0.1 * before
