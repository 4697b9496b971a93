"""PyTorch's side of the cases of layer_cases_*.cpp."""

import dataclasses
import typing

import torch


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@dataclasses.dataclass
class Case:
    """A layer, its inputs, and the mode. `rename` maps names of PyTorch's tensors to ours; `call` calls the layer."""

    layer: typing.Callable
    inputs: typing.Callable
    eval: bool = False
    rename: typing.Callable = staticmethod(lambda name: name)
    call: typing.Callable = staticmethod(lambda layer, *inputs: layer(*inputs))
