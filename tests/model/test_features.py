import pytest
import torch

from pfgnn.model.features import encoder


def test_continuous_is_a_linear_map_in_the_models_dtype() -> None:
    encode = encoder("x", 3, 4).double()
    x = torch.randn(5, 3)
    torch.testing.assert_close(encode(x), x.double() @ encode.linear.weight.T + encode.linear.bias)  # type: ignore[union-attr,operator]


def test_categorical_sums_the_columns_embeddings() -> None:
    encode = encoder("x", [3, 2], 4)
    x = torch.tensor([[0, 1], [2, 0]])
    first, second = encode.tables  # type: ignore[misc]
    torch.testing.assert_close(encode(x), first(x[:, 0]) + second(x[:, 1]))
    torch.testing.assert_close(encoder("x", [3], 4)(torch.tensor([1, 1])).std(0), torch.zeros(4))


def test_no_features_give_every_node_the_same() -> None:
    h = encoder("x", 0, 4)(torch.zeros(3, 0))
    assert torch.equal(h, h[:1].expand(3, -1))
    assert h.abs().min() > 0


@pytest.mark.parametrize(
    ("channels", "x", "error", "sentence"),
    [
        (3, torch.zeros(5, 2), ValueError, "x must have 3 columns, but it has 2"),
        ([3, 2], torch.zeros(5, 1, dtype=torch.int64), ValueError, "x must have 2 columns, but it has 1"),
        ([3], torch.zeros(5, 1), TypeError, "x must hold category numbers"),
        ([3], torch.full((5, 1), 3), ValueError, r"x column 0 must lie in 0..2, but it spans 3..3"),
        (0, torch.zeros(5, 2), ValueError, "x must have 0 columns, because the model was built with 0, but it has 2"),
    ],
)
def test_features_that_do_not_fit(
    channels: int | list[int], x: torch.Tensor, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        encoder("x", channels, 4).check(x)


def test_bad_channels() -> None:
    with pytest.raises(ValueError, match="in_channels must be at least 0, but it is -1"):
        encoder("x", -1, 4)
    with pytest.raises(
        ValueError, match="in_channels must list the categories of at least one column, but it is empty"
    ):
        encoder("x", [], 4)
    with pytest.raises(TypeError, match=r"in_channels must be an int, but it is 2.5"):
        encoder("x", 2.5, 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an entry of in_channels must be at least 1, but it is 0"):
        encoder("x", [0], 4)
