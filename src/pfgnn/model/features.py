"""Encoders of node or edge features, to embeddings of the model's width."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pfgnn.argument_checks import check_positive
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.clamp import bounded
from pfgnn.ops.embedding import look_up
from pfgnn.setting_types import MOST_CHANNELS


class Continuous(nn.Module):
    """h = W x + b for continuous features, from x [N, F] to h [N, D].

    Args:
        name: Name of the features, for error messages.
        channels: F, the number of columns.
        width: D.
    """

    def __init__(self, name: str, channels: int, width: int) -> None:
        super().__init__()
        self.name = name
        self.linear = nn.Linear(channels, width)

    def check(self, x: Tensor, values: bool = True) -> None:
        """Raise an InputError if the number of columns is wrong; see :meth:`Categorical.check`."""
        columns = 1 if x.dim() == 1 else x.flatten(1).shape[1]
        if columns != self.linear.in_features:
            raise InputError(f"{self.name} must have {self.linear.in_features} columns, but it has {columns}")

    def forward(self, x: Tensor) -> Tensor:
        """Encode; see the class."""
        x = x[:, None] if x.dim() == 1 else x.flatten(1)
        return bounded(self.linear(bounded(x.to(self.linear.weight.dtype))))


class Categorical(nn.Module):
    """h = Σ_c E_c[x_c] for categorical features, from x [N, C] to h [N, D]. E_c is a learned table for column c.

    Args:
        name: Name of the features, for error messages.
        categories: Number of categories of each of the C columns.
        width: D.
    """

    def __init__(self, name: str, categories: Sequence[int], width: int) -> None:
        super().__init__()
        self.name = name
        self.categories = list(categories)
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in self.categories)

    def check(self, x: Tensor, values: bool = True) -> None:
        """Raise an error if the type, the number of columns or a category number is wrong.

        Args:
            x: The features.
            values: Whether to look at the category numbers, for which the CPU has to wait for the GPU.
        """
        x = x[:, None] if x.dim() == 1 else x
        if x.is_floating_point() or x.dtype == torch.bool:
            raise InputTypeError(f"{self.name} must hold category numbers (int), but it has dtype {x.dtype}")
        if x.shape[1] != len(self.tables):
            raise InputError(f"{self.name} must have {len(self.tables)} columns, but it has {x.shape[1]}")
        for c, size in enumerate(self.categories if values and x.numel() else ()):
            if not (int(x[:, c].min()) >= 0 and int(x[:, c].max()) < size):
                raise InputError(
                    f"{self.name} column {c} must lie in 0..{size - 1}, "
                    f"but it spans {int(x[:, c].min())}..{int(x[:, c].max())}"
                )

    def forward(self, x: Tensor) -> Tensor:
        """Encode; see the class."""
        x = x[:, None] if x.dim() == 1 else x
        first, *others = (look_up(table, x[:, c].long()) for c, table in enumerate(self.tables.parameters()))
        return sum(others, first)


class Constant(nn.Module):
    """The same learned h for every row, used if there are no features.

    This is H0 in the text of the paper. The listing has the identity matrix, which depends on the order of the nodes.

    Args:
        name: Name of the features, for error messages.
        width: D.
    """

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        self.name = name
        self.value = nn.Parameter(torch.randn(width))

    def check(self, x: Tensor, values: bool = True) -> None:
        """Raise an InputError if there are features; see :meth:`Categorical.check`."""
        if x.dim() > 1 and x.shape[1]:
            raise InputError(
                f"{self.name} must have 0 columns, because the model was built with 0, but it has {x.shape[1]}"
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return h for each row of x, from x [N] or [N, 0] to [N, D]."""
        return self.value.expand(x.shape[0], -1)


def encoder(name: str, channels: int | Sequence[int], width: int) -> Continuous | Categorical | Constant:
    """Make the encoder of some features.

    Args:
        name: Name of the features, for error messages.
        channels: Number of continuous columns, or a list with the number of categories of each column, or 0 if there
            are no features.
        width: D.
    """
    argument = {"x": "in_channels", "edge_attr": "edge_channels"}.get(name, f"the channels of {name}")
    checked = check_channels(argument, channels)
    if isinstance(checked, list):
        return Categorical(name, checked, width)
    return Continuous(name, checked, width) if checked else Constant(name, width)


def check_channels(argument: str, channels: int | Sequence[int]) -> int | list[int]:
    """The number of continuous columns, or the number of categories of each column; otherwise raise an error.

    Args:
        argument: Name of the argument, for error messages.
        channels: Its value.
    """
    if isinstance(channels, Sequence) and not isinstance(channels, str):
        if not channels:
            raise InputError(f"{argument} must list the categories of at least one column, but it is empty")
        return [check_positive(f"an entry of {argument}", size, most=MOST_CHANNELS) for size in channels]
    return check_positive(argument, channels, least=0, most=MOST_CHANNELS)
