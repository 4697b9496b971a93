"""Linear and bilinear maps."""

import math

from plait import _core
from plait.inside.layers.checks import whole
from plait.inside.layers.first_weights import default_weights
from plait.inside.layers.on_device import on_device
from plait.inside.trees.module import Module


class Identity(Module):
    """Returns its input. It takes any arguments, so that it can stand where another layer did.

    >>> plait.nn.Identity(54, unused=True)(plait.ones(2))
    [1. 1.] : f32[2]
    """

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, input):
        return input


class Linear(Module):
    """x @ weight.T + bias, along the last dimension: weight is [out_features, in_features].

    >>> layer = plait.nn.Linear(3, 2, key=plait.random.key(1))
    >>> layer(plait.ones((5, 3))).shape
    (5, 2)
    """

    @on_device
    def __init__(self, in_features, out_features, bias=True, *, key=None, dtype=_core.f32):
        shape = whole(self, "out_features", out_features), whole(self, "in_features", in_features)
        self.weight, self.bias = default_weights(shape, bias, key, dtype)

    @property
    def in_features(self):
        return self.weight.shape[-1]

    @property
    def out_features(self):
        return self.weight.shape[-2]

    def __call__(self, input):
        return _core.linear(input, self.weight, self.bias)


class Bilinear(Module):
    """x1 @ weight @ x2 + bias for each output: weight is [out_features, in1_features, in2_features].

    >>> plait.nn.Bilinear(3, 4, 2)(plait.ones((5, 3)), plait.ones((5, 4))).shape
    (5, 2)
    """

    @on_device
    def __init__(self, in1_features, in2_features, out_features, bias=True, *, key=None, dtype=_core.f32):
        self.in1_features = whole(self, "in1_features", in1_features, 1)
        self.in2_features = whole(self, "in2_features", in2_features)
        self.out_features = whole(self, "out_features", out_features)
        shape = (self.out_features, self.in1_features, self.in2_features)
        self.weight, self.bias = default_weights(shape, bias, key, dtype, bound=1 / math.sqrt(self.in1_features))

    def __call__(self, input1, input2):
        """The output for inputs [..., in1_features] and [..., in2_features]."""
        return _core.bilinear(input1, input2, self.weight, self.bias)
