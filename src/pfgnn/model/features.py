"""From raw node or edge features to embeddings of the model's width."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pfgnn.arguments import check_positive
from pfgnn.errors import InputError, InputTypeError
from pfgnn.model.numeric import bounded
from pfgnn.ops.embedding import look_up


class Continuous(nn.Module):
    """h = W x + b for continuous features x [N, F] -> [N, D]."""

    def __init__(self, name: str, channels: int, width: int) -> None:
        super().__init__()
        self.name = name
        self.linear = nn.Linear(channels, width)

    def check(self, x: Tensor) -> None:
        """A sentence, if the features do not fit."""
        columns = 1 if x.dim() == 1 else x.flatten(1).shape[1]
        if columns != self.linear.in_features:
            raise InputError(f"{self.name} must have {self.linear.in_features} columns, but it has {columns}")

    def forward(self, x: Tensor) -> Tensor:
        """Encode; see the class."""
        x = x[:, None] if x.dim() == 1 else x.flatten(1)
        return bounded(self.linear(bounded(x.to(self.linear.weight.dtype))))


class Categorical(nn.Module):
    """h = Σ_c E_c[x_c] for categorical columns x [N, C] with given numbers of categories -> [N, D]."""

    def __init__(self, name: str, categories: Sequence[int], width: int) -> None:
        super().__init__()
        self.name = name
        self.categories = [check_positive(f"{name} categories", size) for size in categories]
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in self.categories)

    def check(self, x: Tensor) -> None:
        """A sentence, if the features do not fit."""
        x = x[:, None] if x.dim() == 1 else x
        if x.is_floating_point() or x.dtype == torch.bool:
            raise InputTypeError(f"{self.name} must hold category numbers (int), but it has dtype {x.dtype}")
        if x.shape[1] != len(self.tables):
            raise InputError(f"{self.name} must have {len(self.tables)} columns, but it has {x.shape[1]}")
        for c, size in enumerate(self.categories):
            if x.numel() and not (int(x[:, c].min()) >= 0 and int(x[:, c].max()) < size):
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
    """The same learned h for every row, where there are no features (the text's H0, not the listing's)."""

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        self.name = name
        self.value = nn.Parameter(torch.randn(width))

    def check(self, x: Tensor) -> None:
        """A sentence, if there are features after all."""
        if x.dim() > 1 and x.shape[1]:
            raise InputError(f"{self.name} must have no columns for a model built with 0 of them, not {x.shape[1]}")

    def forward(self, x: Tensor) -> Tensor:
        """One row per row of ``x``, of shape [N] or [N, 0] -> [N, D]."""
        return self.value.expand(len(x), -1)


def encoder(name: str, channels: int | Sequence[int], width: int) -> Continuous | Categorical | Constant:
    """The encoder for ``channels``: a number of continuous columns, category counts per column, or 0 for none."""
    if isinstance(channels, Sequence) and not isinstance(channels, str):
        if not channels:
            raise InputError(f"{name} channels must name at least one column's categories, but it is empty")
        return Categorical(name, channels, width)
    number = check_positive(f"{name} channels", channels, least=0)
    return Continuous(name, number, width) if number else Constant(name, width)
