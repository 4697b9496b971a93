import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar, overload

from . import ArrayLike, DType, DTypeLike, Module, Tensor

_T = TypeVar("_T")

def Buffer(value: _T) -> _T: ...  # the attribute is the value

def uniform(shape: Sequence[int], bound: float, *, key: Tensor | None = None, dtype: DTypeLike = ...) -> Tensor: ...
def kaiming_uniform(shape: Sequence[int], slope: float = 0.0, *, key: Tensor | None = None, dtype: DTypeLike = ...) -> Tensor: ...
def kaiming_normal(shape: Sequence[int], slope: float = 0.0, *, key: Tensor | None = None, dtype: DTypeLike = ...) -> Tensor: ...
def xavier_uniform(shape: Sequence[int], gain: float = 1.0, *, key: Tensor | None = None, dtype: DTypeLike = ...) -> Tensor: ...
def xavier_normal(shape: Sequence[int], gain: float = 1.0, *, key: Tensor | None = None, dtype: DTypeLike = ...) -> Tensor: ...

class Linear(Module):
    weight: Tensor
    bias: Tensor | None
    def __init__(self, in_features: int, out_features: int, bias: builtins.bool = True, *, key: Tensor | None = None,
                 dtype: DTypeLike = ...) -> None: ...
    def __call__(self, x: ArrayLike) -> Tensor: ...

class LayerNorm(Module):
    normalized_shape: tuple[int, ...]
    weight: Tensor | None
    bias: Tensor | None
    eps: float
    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: builtins.bool = True,
                 bias: builtins.bool = True, *, dtype: DTypeLike = ...) -> None: ...
    def __call__(self, x: ArrayLike) -> Tensor: ...

class Embedding(Module):
    weight: Tensor
    padding_idx: int | None
    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, *, key: Tensor | None = None,
                 dtype: DTypeLike = ...) -> None: ...
    def __call__(self, ids: ArrayLike) -> Tensor: ...

class Conv2d(Module):
    weight: Tensor
    bias: Tensor | None
    stride: int | Sequence[int]
    padding: str | int | Sequence[int]
    dilation: int | Sequence[int]
    groups: int
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: str | int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
                 bias: builtins.bool = True, *, key: Tensor | None = None, dtype: DTypeLike = ...) -> None: ...
    def __call__(self, images: ArrayLike) -> Tensor: ...

class Attention(Module):
    qkv: Linear
    out: Linear
    heads: int
    is_causal: builtins.bool
    def __init__(self, embed_dim: int, num_heads: int, is_causal: builtins.bool = False, bias: builtins.bool = True, *,
                 key: Tensor | None = None, dtype: DTypeLike = ...) -> None: ...
    def __call__(self, x: ArrayLike, attn_mask: ArrayLike | None = None) -> Tensor: ...

class Mlp(Module):
    up: Linear
    down: Linear
    activation: Callable[[Tensor], Tensor]
    def __init__(self, features: int, hidden: int, activation: Callable[[Tensor], Tensor] = ..., bias: builtins.bool = True, *,
                 key: Tensor | None = None, dtype: DTypeLike = ...) -> None: ...
    def __call__(self, x: ArrayLike) -> Tensor: ...

class Sequential(Module):
    layers: list[Callable[[Any], Any]]
    def __init__(self, *layers: Callable[[Any], Any]) -> None: ...
    def __call__(self, x: ArrayLike) -> Tensor: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Callable[[Any], Any]]: ...
    @overload
    def __getitem__(self, index: int) -> Callable[[Any], Any]: ...
    @overload
    def __getitem__(self, index: builtins.slice) -> Sequential: ...

def cross_entropy(logits: ArrayLike, target: ArrayLike, *, axis: int | None = None, weight: ArrayLike | None = None,
                  ignore_index: int = -100, label_smoothing: float = 0.0, reduction: Literal["none", "mean", "sum", "batchmean"] = "mean") -> Tensor: ...
