"""Two strong models built from PyG's own layers, for ZINC. :mod:`benchmarks.time_to_error` trains them.

- bag: a subgraph GNN on the full bag, in which every vertex is marked once and the copies exchange (GNN-SSWL+ of Zhang
  et al., ICML 2023: 6 layers of width 96, batches of 128, Adam, a learning rate of 1e-3 that falls along a cosine).
- gps: GPS (Rampášek et al., NeurIPS 2022): 10 layers of GINE and attention of width 64, random walks of 20 steps,
  batches of 32, AdamW with a weight decay of 1e-5, a learning rate of 1e-3 after a warm-up, then along a cosine.

The papers train for 400 and 2,000 epochs. Here the seconds are chosen, and the schedule follows the clock, so that it
ends with them. The weights are the best on validation, and the test part is read once.
"""

import copy
import math
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINEConv, GPSConv, global_add_pool, global_mean_pool
from torch_geometric.transforms import AddRandomWalkPE

from pfgnn.data import Dataset

ATOMS, BONDS, FAR, WALK = 28, 4, 5, 20  # types of atoms and bonds; distances above FAR look alike; steps of the walks
LEARNING_RATE = 1e-3
WARM_UP = 0.05  # share of the training in which the learning rate grows


def mlp(width: int) -> nn.Sequential:
    """Two linear maps with a relu between them."""
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))


def make_bag(graph: Data) -> Data:
    """The full bag of a graph: node v n + u is vertex u in the copy where v is marked.

    When PyG joins graphs to a batch, it adds the numbers of nodes, n², to the attributes whose name ends in "index".
    """
    n, (source, target) = int(graph.num_nodes or 0), graph.edge_index
    row = torch.arange(n)[:, None]
    reached, distance = torch.eye(n), torch.full((n, n), FAR + 1)
    for d in range(FAR + 1):
        distance[(reached > 0) & (distance > FAR)] = d
        reached = reached.index_add(1, target, reached[:, source])
    return Data(
        num_nodes=n * n,
        x=graph.x[:, 0].repeat(n),
        edge_attr=graph.edge_attr[:, 0].repeat(n),
        distance=distance.flatten(),
        within_index=torch.stack([(n * row + source).flatten(), (n * row + target).flatten()]),
        across_index=torch.stack([(n * source + row).flatten(), (n * target + row).flatten()]),
        mark_index=(torch.arange(n) * (n + 1)).repeat_interleave(n),  # the marked node of the copy of each node
        root_index=torch.arange(n) * (n + 1),
        y=graph.y,
    )


class BagLayer(nn.Module):
    """h_vu ← h_vu + relu(norm(GINE over u) + norm(GINE over v) + norm(MLP(h_vv))).

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.within, self.across = (GINEConv(mlp(width), train_eps=True) for _ in range(2))
        self.mark = mlp(width)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(3))

    def forward(self, h: Tensor, edge: Tensor, bag: Batch) -> Tensor:
        """h [Σ n², D], edge [Σ n e, D] -> [Σ n², D]."""
        within, across = self.within(h, bag.within_index, edge), self.across(h, bag.across_index, edge)
        mark = self.mark(h[bag.root_index])
        place = torch.empty_like(bag.batch).index_copy(0, bag.root_index, torch.arange(len(mark), device=h.device))
        told = self.norms[2](mark)[place[bag.mark_index]]
        return h + (self.norms[0](within) + self.norms[1](across) + told).relu()


class BagModel(nn.Module):
    """A subgraph GNN on the full bag; see the module."""

    def __init__(self, width: int = 96, layers: int = 6) -> None:
        super().__init__()
        self.atom, self.bond = nn.Embedding(ATOMS, width), nn.Embedding(BONDS, width)
        self.distance = nn.Embedding(FAR + 2, width)
        self.layers = nn.ModuleList(BagLayer(width) for _ in range(layers))
        self.copy, self.head = mlp(width), nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, bag: Batch) -> Tensor:
        """The prediction, [G, 1]."""
        h, edge = self.atom(bag.x) + self.distance(bag.distance), self.bond(bag.edge_attr)
        for layer in self.layers:
            h = layer(h, edge, bag)
        copies = torch.zeros_like(h).index_add(0, bag.mark_index, h)[bag.root_index]
        return self.head(global_mean_pool(self.copy(copies).relu(), bag.batch[bag.root_index], bag.num_graphs))


def add_walks(graph: Data) -> Data:
    """The graph with the random walks that return after 1 to 20 steps."""
    made: Data = AddRandomWalkPE(WALK, "walks")(graph)
    return Data(
        num_nodes=graph.num_nodes,
        x=graph.x[:, 0],
        edge_index=graph.edge_index,
        edge_attr=graph.edge_attr[:, 0],
        walks=made.walks,
        y=graph.y,
    )


class GPS(nn.Module):
    """GPS with GINE and full attention; see the module."""

    def __init__(self, width: int = 64, layers: int = 10, of_walks: int = 28) -> None:
        super().__init__()
        self.atom, self.bond = nn.Embedding(ATOMS, width - of_walks), nn.Embedding(BONDS, width)
        self.walks = nn.Sequential(nn.BatchNorm1d(WALK), nn.Linear(WALK, of_walks))
        self.layers = nn.ModuleList(
            GPSConv(width, GINEConv(mlp(width)), heads=4, attn_kwargs={"dropout": 0.5}) for _ in range(layers)
        )
        self.head = nn.Sequential(nn.Linear(width, width // 2), nn.ReLU(), nn.Linear(width // 2, 1))

    def forward(self, batch: Batch) -> Tensor:
        """The prediction, [G, 1]."""
        h, edge = torch.cat([self.atom(batch.x), self.walks(batch.walks)], 1), self.bond(batch.edge_attr)
        for layer in self.layers:
            h = layer(h, batch.edge_index, batch.batch, edge_attr=edge)
        return self.head(global_add_pool(h, batch.batch, batch.num_graphs))


class Rival(NamedTuple):
    """A model and its published settings.

    Fields:
        make: Makes the model.
        prepare: Changes each graph before the training.
        batch: Graphs in a batch.
        weight_decay: Of AdamW.
    """

    make: Callable[[], nn.Module]
    prepare: Callable[[Data], Data]
    batch: int
    weight_decay: float


RIVALS = {"bag": Rival(BagModel, make_bag, 128, 0.0), "gps": Rival(GPS, add_walks, 32, 1e-5)}


def train(
    name: str,
    dataset: Dataset,
    seconds: float,
    device: str,
    workers: int,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, object]:
    """Train a rival and return the time and the errors.

    Args:
        name: A name in RIVALS.
        dataset: ZINC, or a dataset like it, with the parts train, validation and test.
        seconds: How long to train.
        device: "cuda" or "cpu".
        workers: Processes that make the batches.
        seed: Seed of the weights and the order.
        clock: Returns the time in seconds.
    """
    rival = RIVALS[name]
    torch.manual_seed(seed)
    graphs = [rival.prepare(graph) for graph in dataset.to_pyg()]
    loaders = {
        part: DataLoader(
            [graphs[number] for number in dataset.splits[part]],
            rival.batch,
            shuffle=part == "train",
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=device == "cuda",
        )
        for part in ("train", "validation", "test")
    }
    model = rival.make().to(device)
    optimiser = torch.optim.AdamW(model.parameters(), LEARNING_RATE, weight_decay=rival.weight_decay)
    curve: list[float] = []
    best: dict[str, Tensor] = {}
    begin, updates, progress = clock(), 0, 0.0
    while progress < 1:
        model.train()
        for batch in loaders["train"]:
            progress = min(1.0, (clock() - begin) / seconds)
            if progress == 1:
                break
            optimiser.param_groups[0]["lr"] = LEARNING_RATE * rate(progress)
            batch = batch.to(device, non_blocking=True)
            optimiser.zero_grad()
            (model(batch) - batch.y.view(-1, 1)).abs().mean().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            updates += 1
        curve.append(error(model, loaders["validation"], device))
        if curve[-1] == min(curve):
            best = copy.deepcopy(model.state_dict())
    taken, epochs = clock() - begin, updates / len(loaders["train"])
    model.load_state_dict(best)
    return {
        "rival": name,
        "seed": seed,
        "epochs": epochs,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "seconds": taken,
        "seconds an epoch": taken / epochs,
        "validation": min(curve),
        "test": error(model, loaders["test"], device),
        "curve": curve,
    }


def rate(progress: float) -> float:
    """The learning rate by the share of the training that is done, as a share of the largest one."""
    return min(progress / WARM_UP, 0.5 + 0.5 * math.cos(math.pi * max(0.0, progress - WARM_UP) / (1 - WARM_UP)))


@torch.no_grad()
def error(model: nn.Module, loader: DataLoader, device: str) -> float:
    """The mean absolute error over all graphs of a loader."""
    model.eval()
    total, graphs = torch.zeros((), device=device), 0
    for batch in loader:
        batch = batch.to(device, non_blocking=True)
        total += (model(batch) - batch.y.view(-1, 1)).abs().sum()
        graphs += batch.num_graphs
    return float(total) / graphs
