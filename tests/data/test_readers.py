"""The published files, read again by other means."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from pfgnn.data import readers
from pfgnn.data.catalogue import ENTRIES
from pfgnn.graphs import is_isomorphic, read_graph6, wl_equivalent


@pytest.fixture
def folder(data_dir: Path, request: pytest.FixtureRequest) -> Path:
    entry = ENTRIES[request.param]
    if not all((data_dir / entry.folder / file).exists() for file in entry.files):
        pytest.skip(f"the files of {request.param} are not in the data folder")
    return data_dir / entry.folder


@pytest.mark.parametrize("folder", ["exp"], indirect=True)
def test_exp_pairs_are_1_wl_equal_and_not_isomorphic(folder: Path) -> None:
    dataset = readers.exp(folder)
    assert dataset.y[:, 0].tolist() == [1, 0] * 600
    assert dataset.pairs is not None
    for left, right in dataset.pairs[::100]:
        assert wl_equivalent(dataset.graph(left), dataset.graph(right))
    assert not is_isomorphic(dataset.graph(0), dataset.graph(1))
    tests = [dataset.splits[f"fold {fold} test"] for fold in range(10)]
    assert np.array_equal(np.concatenate(tests), np.arange(1200))
    fold = [set(dataset.splits[f"fold 3 {part}"].tolist()) for part in ("train", "validation", "test")]
    assert [len(part) for part in fold] == [972, 108, 120]
    assert len(set.union(*fold)) == 1200


@pytest.mark.parametrize("folder", ["lcc"], indirect=True)
def test_lcc_labels_are_the_edges_among_neighbours(folder: Path) -> None:
    dataset = readers.lcc(folder)
    first = np.cumsum(dataset.node_counts.astype(np.int64)) - dataset.node_counts
    for number in (0, 1500, 2500):
        graph = dataset.graph(number)
        near = [
            set(graph.neighbours.indices[a:b].tolist()) for a, b in zip(*_rows(graph.neighbours.indptr), strict=True)
        ]
        label = [sum(len(near[u] & near[v]) for u in near[v]) // 2 for v in range(graph.num_nodes)]
        assert dataset.y[first[number] : first[number] + graph.num_nodes, 0].tolist() == label
    assert set(dataset.node_counts[dataset.splits["test-large"]].tolist()) == {100}


def _rows(indptr: np.ndarray) -> tuple[list[int], list[int]]:
    return indptr[:-1].tolist(), indptr[1:].tolist()


@pytest.mark.parametrize("folder", ["triangles"], indirect=True)
def test_triangles_labels_are_trace_a_cubed_over_six(folder: Path) -> None:
    dataset = readers.triangles(folder)
    for number in range(0, len(dataset), 4500):
        graph = dataset.graph(number)
        A = np.zeros((graph.num_nodes,) * 2, dtype=np.int64)
        A[graph.edges[:, 0], graph.edges[:, 1]] = 1
        A += A.T
        assert dataset.y[number, 0] + 1 == np.trace(A @ A @ A) // 6


@pytest.mark.parametrize("folder", ["brec"], indirect=True)
def test_brec_graphs_are_the_files_lines(folder: Path) -> None:
    dataset = readers.brec(folder)
    graphs = read_graph6(folder / "brec.g6")
    assert all(dataset.graph(number) == graphs[number] for number in range(0, 800, 37))


@pytest.mark.parametrize("folder", ["csl"], indirect=True)
def test_generated_csl_has_the_published_classes_in_the_published_order(folder: Path) -> None:
    from pfgnn.data import load

    dataset, graphs = load("csl", folder.parent), read_graph6(folder / "csl.g6")
    for number in range(0, 150, 7):
        assert is_isomorphic(dataset.graph(number), graphs[number])


@pytest.mark.parametrize("folder", ["zinc"], indirect=True)
def test_zinc_keeps_the_files_edges_with_their_bonds(folder: Path) -> None:
    dataset = readers.zinc(folder)
    with np.load(folder / "zinc12k.npz") as file:
        nodes, edges = file["num_nodes"].astype(int), file["num_edges"].astype(int)
        for number in (0, 86, 9999, 11999):
            rows = slice(edges[:number].sum(), edges[: number + 1].sum())
            want = {
                (*pair, bond) for *pair, bond in zip(*file["edge_index"][:, rows], file["bond_type"][rows], strict=True)
            }
            one = dataset.subset([number])
            assert one.edge_attr is not None
            assert one.x is not None
            assert {(*pair, bond) for *pair, bond in zip(*one.edges, one.edge_attr[:, 0], strict=True)} == want
            first = nodes[:number].sum()
            assert one.x[:, 0].tolist() == file["atom_type"][first : first + nodes[number]].tolist()
    bare = dataset.without_edge_features()
    assert bare.edge_channels is None


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["qm9-film"], indirect=True)
def test_qm9_film_reproduces_the_published_standardised_targets(folder: Path) -> None:
    dataset = readers.qm9_film(folder)
    norm = json.loads((folder / "film_norm.json").read_text())["targets"][:12]
    mean, std = (np.array([target[key] for target in norm]) for key in ("mean", "std"))
    for part, name in (("validation", "valid"), ("test", "test")):
        with gzip.open(folder / f"film_{name}.jsonl.gz") as file:
            want = np.array([[value[0] for value in json.loads(line)["targets"][:12]] for line in file])
        got = (dataset.y[dataset.splits[part]] - mean) / std
        assert np.abs(got - want).max() < 5e-6
    factors = np.array([target["error_ratio_factor"] for target in norm])
    assert np.allclose(np.array(dataset.task.scales) / std, factors, rtol=1e-4)
    parts = [set(part.tolist()) for part in dataset.splits.values()]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(dataset)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["qm9"], indirect=True)
def test_qm9_bonds_are_as_long_as_bonds(folder: Path) -> None:
    dataset = readers.qm9(folder)
    assert dataset.pos is not None
    owner = np.repeat(np.arange(len(dataset)), dataset.edge_counts)
    first = np.cumsum(dataset.node_counts.astype(np.int64)) - dataset.node_counts
    ends = dataset.edges + first[owner]
    length = np.linalg.norm(dataset.pos[ends[0]] - dataset.pos[ends[1]], axis=1)
    assert np.quantile(length, 0.999) < 2.0
    assert length.min() > 0.5


def test_each_edge_once_becomes_both_directions() -> None:
    counts, edges = np.array([2, 0, 1]), np.array([[0, 1, 0], [1, 2, 1]])
    made = readers.both_directions(counts, edges, np.array([[7], [8], [9]]))
    assert made["edge_counts"].tolist() == [4, 0, 2]
    assert made["edges"].tolist() == [[0, 1, 1, 2, 0, 1], [1, 2, 0, 1, 1, 0]]
    assert made["edge_attr"][:, 0].tolist() == [7, 8, 7, 8, 9, 9]
