"""Layers, as Modules, initialised like PyTorch's, from a key or else from the default stream of plait.random.seed.
Losses, activations and everything else without weights are functions of plait itself."""

import math as _math

from plait import _core, errors as _errors
from plait.inside.arrays.interop import asarray as _asarray
from plait.inside.help.names import of_module as _of_module
from plait.inside.trees.buffers import Buffer  # noqa: F401
from plait.inside.trees.module import Module as _Module

__getattr__ = _of_module(__name__)


# ---- Initial weights.


def _fans(shape):
    """Fan-in and fan-out: the number of inputs of one output, and of outputs of one input."""
    shape = tuple(shape)
    if len(shape) < 2:
        raise _errors.ShapeError(f"weights are {list(shape)}, expected at least two dimensions: [outputs, inputs, …]")
    space = _math.prod(shape[2:])
    return shape[1] * space, shape[0] * space


def _drawn(key):
    return _core.random.draw_key() if key is None else key


def uniform(shape, bound, *, key=None, dtype=_core.f32):
    """Uniform numbers between -bound and bound.

    >>> plait.max(plait.nn.uniform((100,), 0.5, key=plait.random.key(1))).item() < 0.5
    True
    """
    if not bound >= 0:
        raise _errors.ValueError(f"nn.uniform: the bound is {bound}, expected 0 or more")
    key = _drawn(key)
    return _core.random.uniform(key, shape, -bound, bound, dtype) if bound else _core.zeros(shape, dtype=dtype)


def _deviation(gain_squared, fan):
    return _math.sqrt(gain_squared / fan) if fan else 0.0


def _normal(shape, deviation, key, dtype):
    return _core.random.normal(_drawn(key), shape, 0.0, deviation, dtype)


def kaiming_uniform(shape, slope=0.0, *, key=None, dtype=_core.f32):
    """Uniform weights [outputs, inputs, ...] for layers with leaky_relu(slope) between them: the variance is 2 / ((1 +
    slope²) fan-in).

    >>> weight = plait.nn.kaiming_uniform((50, 200), key=plait.random.key(1))
    >>> abs(plait.std(weight).item() - 0.1) < 0.01
    True
    """
    return uniform(shape, _math.sqrt(3) * _deviation(2 / (1 + slope**2), _fans(shape)[0]), key=key, dtype=dtype)


def kaiming_normal(shape, slope=0.0, *, key=None, dtype=_core.f32):
    """Like kaiming_uniform, from a normal distribution.

    >>> plait.nn.kaiming_normal((50, 200), key=plait.random.key(1)).shape
    (50, 200)
    """
    return _normal(shape, _deviation(2 / (1 + slope**2), _fans(shape)[0]), key, dtype)


def xavier_uniform(shape, gain=1.0, *, key=None, dtype=_core.f32):
    """Uniform weights [outputs, inputs, ...] that preserve the variance in both directions: it is 2 gain² / (fan-in +
    fan-out).

    >>> weight = plait.nn.xavier_uniform((100, 100), key=plait.random.key(1))
    >>> abs(plait.std(weight).item() - 0.1) < 0.01
    True
    """
    return uniform(shape, _math.sqrt(3) * _deviation(2 * gain**2, sum(_fans(shape))), key=key, dtype=dtype)


def xavier_normal(shape, gain=1.0, *, key=None, dtype=_core.f32):
    """Like xavier_uniform, from a normal distribution.

    >>> plait.nn.xavier_normal((100, 100), key=plait.random.key(1)).shape
    (100, 100)
    """
    return _normal(shape, _deviation(2 * gain**2, sum(_fans(shape))), key, dtype)


def _weights(shape, bias, key, dtype):
    """PyTorch's default: weight and bias are uniform in ±1/√fan-in."""
    keys = _core.random.split_key(_drawn(key), 2)
    fan = _fans(shape)[0]
    bound = 1 / _math.sqrt(fan) if fan else 0.0
    return uniform(shape, bound, key=keys[0], dtype=dtype), uniform(shape[:1], bound, key=keys[1], dtype=dtype) if bias else None


def _expect_sizes(layer, *sizes):
    for size in sizes:
        if size < 0:
            raise _errors.ValueError(f"nn.{layer} of {size}: expected sizes of 0 or more")


# ---- Layers.


class Linear(_Module):
    """x @ weight.T + bias, along the last dimension: weight is [out_features, in_features].

    >>> layer = plait.nn.Linear(3, 2, key=plait.random.key(1))
    >>> layer(plait.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, in_features, out_features, bias=True, *, key=None, dtype=_core.f32):
        _expect_sizes("Linear", in_features, out_features)
        self.weight, self.bias = _weights((out_features, in_features), bias, key, dtype)

    def __call__(self, x):
        return _core.linear(x, self.weight, self.bias)


class LayerNorm(_Module):
    """Normalises the last dimensions, whose sizes are normalized_shape, to mean 0 and variance 1, then multiplies by
    weight and adds bias.

    >>> plait.nn.LayerNorm(3)(plait.tensor([[1.0, 2.0, 3.0]]))
    [[-1.2247357  0.         1.2247357]] : f32[1, 3]
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, *, dtype=_core.f32):
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        _expect_sizes("LayerNorm", *self.normalized_shape)
        if not eps >= 0:
            raise _errors.ValueError(f"nn.LayerNorm: eps is {eps}, expected 0 or more")
        self.weight = _core.ones(self.normalized_shape, dtype=dtype) if elementwise_affine else None
        self.bias = _core.zeros(self.normalized_shape, dtype=dtype) if elementwise_affine and bias else None
        self.eps = eps

    def __call__(self, x):
        return _core.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class Embedding(_Module):
    """Rows of a table, weight [num_embeddings, embedding_dim], selected by ids. The row padding_idx is initialised to
    zeros, and has no gradient.

    >>> plait.nn.Embedding(10, 4)(plait.tensor([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, *, key=None, dtype=_core.f32):
        _expect_sizes("Embedding", num_embeddings, embedding_dim)
        self.weight = _core.random.normal(_drawn(key), (num_embeddings, embedding_dim), dtype=dtype)
        self.padding_idx = padding_idx
        if padding_idx is not None:
            self.weight = self.weight.at[padding_idx].set(0.0)

    def __call__(self, ids):
        return _core.embedding(ids, self.weight, self.padding_idx)


class Conv2d(_Module):
    """A 2D convolution of images [batch, channels, height, width]; weight is [out_channels, in_channels / groups,
    *kernel_size].

    >>> plait.nn.Conv2d(3, 8, 4, stride=4)(plait.ones((2, 3, 32, 32))).shape
    (2, 8, 8, 8)
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, *, key=None,
                 dtype=_core.f32):
        _expect_sizes("Conv2d", in_channels, out_channels)
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise _errors.ValueError(f"nn.Conv2d: {in_channels} channels to {out_channels} in {groups} groups: both must be multiples of "
                                     "the groups")
        window = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.weight, self.bias = _weights((out_channels, in_channels // groups, *window), bias, key, dtype)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def __call__(self, images):
        return _core.conv2d(images, self.weight, self.bias, stride=self.stride, padding=self.padding, dilation=self.dilation,
                            groups=self.groups)


class Attention(_Module):
    """Multi-head self-attention over x of [..., length, embed_dim]: one product, qkv, computes queries, keys and
    values; `out` projects the concatenated heads. A causal one attends only to the same and earlier positions.

    >>> layer = plait.nn.Attention(8, 2, is_causal=True)
    >>> layer(plait.ones((1, 5, 8))).shape
    (1, 5, 8)
    """

    def __init__(self, embed_dim, num_heads, is_causal=False, bias=True, *, key=None, dtype=_core.f32):
        if num_heads < 1 or embed_dim < 0 or embed_dim % num_heads:
            raise _errors.ValueError(f"nn.Attention: {num_heads} heads of a width of {embed_dim}: the width must be a multiple of the heads")
        keys = _core.random.split_key(_drawn(key), 2)
        self.qkv = Linear(embed_dim, 3 * embed_dim, bias, key=keys[0], dtype=dtype)
        self.out = Linear(embed_dim, embed_dim, bias, key=keys[1], dtype=dtype)
        self.heads, self.is_causal = num_heads, is_causal

    def __call__(self, x, attn_mask=None):
        parts = _core.unflatten(self.qkv(x), -1, (3, self.heads, -1))
        q, k, v = (_core.swapaxes(parts[..., i, :, :], -3, -2) for i in range(3))
        seen = _core.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, is_causal=self.is_causal)
        return self.out(_core.reshape(_core.swapaxes(seen, -3, -2), x.shape))


class Mlp(_Module):
    """Two Linears, `up` to the hidden size and `down` back, with an activation between them.

    >>> plait.nn.Mlp(8, 32)(plait.ones((5, 8))).shape
    (5, 8)
    """

    def __init__(self, features, hidden, activation=_core.gelu, bias=True, *, key=None, dtype=_core.f32):
        keys = _core.random.split_key(_drawn(key), 2)
        self.up = Linear(features, hidden, bias, key=keys[0], dtype=dtype)
        self.down = Linear(hidden, features, bias, key=keys[1], dtype=dtype)
        self.activation = activation

    def __call__(self, x):
        return self.down(self.activation(self.up(x)))


class Sequential(_Module):
    """Layers, or other functions, one after another.

    >>> net = plait.nn.Sequential(plait.nn.Linear(4, 8), plait.relu, plait.nn.Linear(8, 2))
    >>> net(plait.ones((3, 4))).shape, len(net)
    ((3, 2), 3)
    """

    def __init__(self, *layers):
        for layer in layers:
            if not callable(layer):
                hint = "pass layers without brackets: plait.nn.Sequential(*layers)" if isinstance(layer, (list, tuple)) else "pass a layer"
                raise _errors.TypeError.with_hint(f"nn.Sequential: a {type(layer).__name__} is not a layer, which can be called", hint)
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self):
        return len(self.layers)

    def __iter__(self):
        return iter(self.layers)

    def __getitem__(self, index):
        return Sequential(*self.layers[index]) if isinstance(index, slice) else self.layers[index]


# ---- Losses.


def cross_entropy(logits, target, *, axis=None, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    """-log p(target), where classes are along the axis of logits, which may be omitted for [classes] and [batch, classes];
    the target has classes, or probabilities of all of them. The result for narrow floats is f32.

    >>> plait.nn.cross_entropy(plait.zeros((2, 10)), plait.zeros(2, dtype=plait.i64))
    2.3025851 : f32[]
    >>> plait.nn.cross_entropy(plait.zeros((2, 3, 10)), plait.zeros((2, 3), dtype=plait.i64), axis=-1)
    2.3025851 : f32[]
    """
    logits = _asarray(logits)
    if axis is None and logits.ndim > 2:
        raise _errors.ValueError.with_hint(f"nn.cross_entropy: logits of {logits.ndim} axes need the axis of the classes",
                                           "axis=-1 for [batch, length, classes]; axis=1 for [batch, classes, …], which PyTorch uses")
    if logits.dtype.kind == "floating" and logits.dtype != _core.f64:
        logits = _core.astype(logits, _core.f32)
    return _core.cross_entropy(logits, target, axis=-1 if axis is None else axis, weight=weight, ignore_index=ignore_index,
                               label_smoothing=label_smoothing, reduction=reduction)
