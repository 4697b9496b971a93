import builtins
from typing import Any, Self, TypeVar

from . import ArrayLike, Module, Tensor

_T = TypeVar("_T")

class _Optimizer(Module):
    lr: Tensor | float
    steps: Tensor
    def update(self, params: _T, grads: Any = None) -> tuple[_T, Self]: ...

class SGD(_Optimizer):
    velocity: Any
    momentum: float
    weight_decay: float
    nesterov: builtins.bool
    def __init__(self, params: Any, lr: float | Tensor = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0,
                 nesterov: builtins.bool = False) -> None: ...

class Adam(_Optimizer):
    means: Any
    squares: Any
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0) -> None: ...

class AdamW(Adam):
    def __init__(self, params: Any, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2) -> None: ...

def warmup_cosine(steps: ArrayLike, peak: float, total: int, warmup: int = 0, least: float = 0.0) -> Tensor: ...
