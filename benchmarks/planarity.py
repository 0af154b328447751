"""How well counts of short cycles and distances tell planar graphs from others: `python -m benchmarks.planarity`.

It asks how much of the dataset planarity can be learned without a graph neural network. A logistic regression and a
random forest read numbers of each graph: closed walks that never turn back at once, and pairs of vertices, each by
length. It writes results/bench/planarity.json.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pfgnn.data.generated import planarity
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.graphs import Graph

OUT = Path("results/bench/planarity.json")
LONGEST = 12
SIZES, TEST, SEEDS = (100, 1000, 5000), 1000, (1, 2, 3)


def features(graph: Graph) -> NDArray[np.float64]:
    """The logarithm of 1 + each count.

    Args:
        graph: A graph with n vertices.

    Returns:
        The closed walks of 3, ..., LONGEST edges that never turn back at once, then the ordered pairs of vertices at
        distance 1, ..., LONGEST.
    """
    arcs = np.concatenate([graph.edges, graph.edges[:, ::-1]])  # [2m, 2]
    follows = (arcs[:, 1:] == arcs[:, 0]) & (arcs[:, :1] != arcs[:, 1])  # b → c follows a → b, if c is not a
    adjacent = np.zeros((graph.num_nodes, graph.num_nodes), dtype=bool)
    adjacent[arcs[:, 0], arcs[:, 1]] = True
    walks, reached = follows.astype(np.float64), np.eye(graph.num_nodes, dtype=bool)
    closed, pairs = [], []
    for _ in range(LONGEST):
        closed.append(np.trace(walks))  # [2m, 2m]: the walks that lead from an arc to another one
        walks = walks @ follows
        further = reached | (reached @ adjacent)
        pairs.append(further.sum() - reached.sum())
        reached = further
    return np.log1p([*closed[2:], *pairs])


def models(seed: int) -> dict[str, Pipeline | RandomForestClassifier]:
    """The classifiers by name, not fitted yet."""
    logistic = LogisticRegressionCV(max_iter=5000, scoring="accuracy", l1_ratios=(0,), use_legacy_attributes=False)
    return {
        "logistic regression": make_pipeline(StandardScaler(), logistic),
        "random forest": RandomForestClassifier(500, random_state=seed),
    }


def main() -> None:
    """Fit, print, and write the record."""
    rows: list[dict[str, object]] = []
    for size in SIZES:
        found: dict[str, list[float]] = {}
        for seed in SEEDS:
            made = planarity(np.random.default_rng(seed), train=size, test=TEST)
            x, y = np.array([features(graph) for graph in made.graphs]), np.asarray(made.labels).ravel()
            train, test = (np.asarray(made.splits[part]) for part in ("train", "test"))
            for name, model in models(seed).items():
                found.setdefault(name, []).append(float(model.fit(x[train], y[train]).score(x[test], y[test])))
        for name, accuracies in found.items():
            rows.append({"model": name, "training graphs": size, "seeds": list(SEEDS), "test accuracy": accuracies})
            print(f"{name}, {size} training graphs: {100 * np.mean(accuracies):.1f} %", flush=True)
    write_json(OUT, {**provenance(torch.device("cpu")), "test graphs": TEST, "rows": rows})


if __name__ == "__main__":
    main()
