"""The mean of the gradients of several devices."""

import torch
import torch.distributed
from torch import Tensor, nn


class Averaging:
    """Averages the gradients of all devices in one buffer: one message, however many parameters there are.

    The gradients are views of the buffer, so nothing is copied. A parameter that gets no gradient on any device in the
    first update, such as that of a policy without a policy loss, has none later either.

    Args:
        model: The model. Its parameters and buffers are set to those of the first device.
    """

    def __init__(self, model: nn.Module) -> None:
        self.parameters = list(model.parameters())
        self.flat: Tensor | None = None
        self.views: list[Tensor | None] = [None] * len(self.parameters)  # the gradient of each parameter
        with torch.no_grad():
            for tensor in (*self.parameters, *model.buffers()):
                torch.distributed.broadcast(tensor, 0)

    def clear(self) -> None:
        """Set the gradients to zero, or to None before the first update."""
        if self.flat is not None:
            self.flat.zero_()
        for parameter, view in zip(self.parameters, self.views, strict=True):
            parameter.grad = view

    def __call__(self) -> None:
        """Replace the gradients by their mean over all devices."""
        if self.flat is None:
            self._attach()
        assert self.flat is not None
        torch.distributed.all_reduce(self.flat)
        self.flat /= torch.distributed.get_world_size()

    def _attach(self) -> None:
        """Move the first gradients into the buffer."""
        device = self.parameters[0].device
        used = torch.tensor([float(parameter.grad is not None) for parameter in self.parameters], device=device)
        torch.distributed.all_reduce(used)  # a device without graphs of its own may lack some
        taken = [parameter for parameter, count in zip(self.parameters, used.tolist(), strict=True) if count]
        self.flat = torch.cat([_gradient(parameter).flatten() for parameter in taken])
        pieces = iter(self.flat.split([parameter.numel() for parameter in taken]))
        for place, (parameter, count) in enumerate(zip(self.parameters, used.tolist(), strict=True)):
            if count:
                self.views[place] = parameter.grad = next(pieces).view_as(parameter)


def _gradient(parameter: nn.Parameter) -> Tensor:
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
