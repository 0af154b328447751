"""The rows of the nodes in the matrices of their graphs."""

import torch

from pfgnn.model.rivals.matrices import places


def test_places_count_from_zero_in_each_graph() -> None:
    place, sizes = places(torch.tensor([0, 0, 0, 1, 2, 2]), num_graphs=3)
    assert place.tolist() == [0, 1, 2, 0, 0, 1]
    assert sizes.tolist() == [3, 1, 2]
