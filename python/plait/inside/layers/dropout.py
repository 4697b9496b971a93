"""Dropout: parts of the input are replaced at random in training. The key is an argument of the call; without one, it is the next
of the default stream."""

from plait import _core
from plait.inside.layers.checks import flag, probability
from plait.inside.layers.first_weights import drawn
from plait.inside.trees.module import Module


class _Dropout(Module):
    _function = None

    def __init__(self, p=0.5, inplace=False):
        self.p = probability(self, "p", p)

    def __call__(self, input, key=None):
        """x, with some of it dropped in training; key draws what, by default from the default stream."""
        if not self.training or self.p == 0:
            return input
        return type(self)._function(input, self.p, key=drawn(key))


class Dropout(_Dropout):
    """In training, zeros each element with probability p, and divides the others by 1 - p. Without a key, it is the next of the
    default stream.

    >>> plait.nn.Dropout(0.5)(plait.ones(4), key=plait.random.key(0))
    [0. 2. 2. 0.] : f32[4]
    >>> plait.nn.Dropout(0.5).eval()(plait.ones(4))
    [1. 1. 1. 1.] : f32[4]
    """

    _function = staticmethod(_core.dropout)


class Dropout1d(_Dropout):
    """Dropout of whole channels of [batch, channels, length] or [channels, length].

    >>> plait.nn.Dropout1d(0.5)(plait.ones((4, 2)), key=plait.random.key(0))[:, 0]
    [0. 2. 2. 0.] : f32[4]
    """

    _function = staticmethod(_core.dropout1d)


class Dropout2d(_Dropout):
    """Dropout of whole channels of images [batch, channels, height, width], or of [batch, channels, length].

    >>> plait.nn.Dropout2d(0.5)(plait.ones((1, 4, 2, 2)), key=plait.random.key(0))[0, :, 0, 0]
    [0. 2. 2. 0.] : f32[4]
    """

    _function = staticmethod(_core.dropout2d)


class Dropout3d(_Dropout):
    """Dropout of whole channels of volumes [batch, channels, depth, height, width], or without a batch.

    >>> plait.nn.Dropout3d(0.5)(plait.ones((4, 2, 2, 2)), key=plait.random.key(0))[:, 0, 0, 0]
    [0. 2. 2. 0.] : f32[4]
    """

    _function = staticmethod(_core.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1, for SELU: dropped elements get SELU's least value, and all are scaled and moved.

    >>> plait.nn.AlphaDropout(0.5)(plait.zeros(4), key=plait.random.key(0))
    [-0.7791938   0.77919394  0.77919394 -0.7791938 ] : f32[4]
    """

    _function = staticmethod(_core.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels.

    >>> plait.nn.FeatureAlphaDropout(0.5)(plait.zeros((1, 4, 2)), key=plait.random.key(0))[0, :, 0]
    [-0.7791938   0.77919394  0.77919394 -0.7791938 ] : f32[4]
    """

    _function = staticmethod(_core.feature_alpha_dropout)


class DropPath(Module):
    """In training, zeros each sample of the batch with probability drop_prob, and divides the others by 1 - drop_prob, if
    scale_by_keep: for the branches of a residual network.

    >>> plait.nn.DropPath(0.5)(plait.ones((4, 2)), key=plait.random.key(0))[:, 0]
    [0. 2. 2. 0.] : f32[4]
    """

    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        self.drop_prob = probability(self, "drop_prob", drop_prob)
        self.scale_by_keep = flag(self, "scale_by_keep", scale_by_keep)

    def __call__(self, input, key=None):
        """x, with some of the samples dropped in training; key draws which."""
        if not self.training or self.drop_prob == 0:
            return input
        keep = _core.random.bernoulli(drawn(key), 1.0 - self.drop_prob, (input.shape[0], *(1 for _ in input.shape[1:])))
        return _core.dropout(input, self.drop_prob if self.scale_by_keep else 0.0, keep=keep)
