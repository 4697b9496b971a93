"""Normalisation by the statistics of each sample."""

from plait import _core, errors
from plait.inside.layers.checks import expect_dimensions, multiple, name_of, number, whole
from plait.inside.layers.on_device import on_device
from plait.inside.trees.module import Module


def affine_weights(shape, affine, bias, dtype):
    """Weights of ones and biases of zeros, or None."""
    return _core.ones(shape, dtype=dtype) if affine else None, _core.zeros(shape, dtype=dtype) if affine and bias else None


def _shape(layer, normalized_shape):
    sizes = normalized_shape if isinstance(normalized_shape, (tuple, list)) else (normalized_shape,)
    if not sizes:
        raise errors.ValueError(f"{name_of(layer)}: normalized_shape is {normalized_shape!r}, expected one size or more")
    return tuple(whole(layer, "normalized_shape", size) for size in sizes)


class LayerNorm(Module):
    """Normalises the last dimensions, whose sizes are normalized_shape, to mean 0 and variance 1, then multiplies by
    weight and adds bias.

    >>> plait.nn.LayerNorm(3)(plait.tensor([[1.0, 2.0, 3.0]]))
    [[-1.2247357  0.         1.2247357]] : f32[1, 3]
    """

    @on_device
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, *, dtype=_core.f32):
        self.normalized_shape = _shape(self, normalized_shape)
        self.weight, self.bias = affine_weights(self.normalized_shape, elementwise_affine, bias, dtype)
        self.eps = number(self, "eps", eps, 0)

    def __call__(self, input):
        return _core.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Divides the last dimensions, whose sizes are normalized_shape, by their root mean square, then multiplies by weight. eps is
    by default that of the dtype.

    >>> plait.nn.RMSNorm(2)(plait.tensor([[3.0, 4.0]]))
    [[0.84852815 1.1313709 ]] : f32[1, 2]
    """

    @on_device
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, *, dtype=_core.f32):
        self.normalized_shape = _shape(self, normalized_shape)
        self.weight, _ = affine_weights(self.normalized_shape, elementwise_affine, False, dtype)
        self.eps = None if eps is None else number(self, "eps", eps, 0)

    def __call__(self, x):
        return _core.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Normalises each of num_groups groups of neighbouring channels of a sample, over space too, then multiplies each channel by
    its weight and adds its bias. Channels are along axis 1.

    >>> plait.nn.GroupNorm(2, 4)(plait.tensor([[1.0, 3.0, 10.0, 30.0]]))
    [[-0.999995    0.999995   -0.99999994  0.99999994]] : f32[1, 4]
    """

    @on_device
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, *, bias=True, dtype=_core.f32):
        self.num_groups, self.num_channels = whole(self, "num_groups", num_groups, 1), whole(self, "num_channels", num_channels)
        multiple(self, "num_channels", self.num_channels, "groups", self.num_groups)
        self.eps = number(self, "eps", eps, 0)
        self.weight, self.bias = affine_weights((self.num_channels,), affine, bias, dtype)

    def __call__(self, input):
        return _core.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LocalResponseNorm(Module):
    """x / (k + alpha · m)^beta, where m is the mean of squares over `size` neighbouring channels, which are along axis 1.

    >>> plait.nn.LocalResponseNorm(2, alpha=1.0)(plait.ones((1, 2, 1))).flatten()
    [0.73778796 0.59460354] : f32[2]
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        self.size, self.alpha = whole(self, "size", size, 1), number(self, "alpha", alpha)
        self.beta, self.k = number(self, "beta", beta), number(self, "k", k)

    def __call__(self, input):
        return _core.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class CrossMapLRN2d(LocalResponseNorm):
    """LocalResponseNorm of images [batch, channels, height, width]. (PyTorch's has the first channel in the windows of all others, too.)

    >>> plait.nn.CrossMapLRN2d(3)(plait.zeros((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def __call__(self, input):
        expect_dimensions(self, input, 4)
        return super().__call__(input)
