"""Softmax over many classes, the rare ones in clusters."""

import collections
import itertools

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.layers.checks import expect_indices, flag, name_of, number, whole
from plait.inside.layers.linear import Linear
from plait.inside.layers.first_weights import drawn
from plait.inside.layers.on_device import on_device
from plait.inside.trees.module import Module

AdaptiveLoss = collections.namedtuple("AdaptiveLoss", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over classes that are sorted by frequency: the first cutoffs[0] are in the head, the others in clusters up to each
    cutoff, whose layers are narrower by div_value each. It returns the log-probability of each target, and the loss, which is minus
    their mean.

    >>> layer = plait.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])
    >>> output, loss = layer(plait.ones((3, 8)), plait.tensor([0, 7, 19]))
    >>> output.shape, layer.log_prob(plait.ones((3, 8))).shape
    ((3,), (3, 20))
    """

    @on_device
    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, *, key=None, dtype=_core.f32):
        self.in_features, self.n_classes = whole(self, "in_features", in_features, 1), whole(self, "n_classes", n_classes, 1)
        if not isinstance(cutoffs, (list, tuple)):
            raise errors.TypeError(f"{name_of(self)}: cutoffs is {cutoffs!r}, expected a list")
        cutoffs = [whole(self, "cutoffs", cutoff, 1) for cutoff in cutoffs]
        if not cutoffs or any(a >= b for a, b in itertools.pairwise([*cutoffs, self.n_classes])):
            raise errors.ValueError(f"{name_of(self)}: cutoffs are {cutoffs}, expected rising numbers below n_classes, {n_classes}")
        self.cutoffs, self.div_value = (*cutoffs, self.n_classes), number(self, "div_value", div_value, 1)
        self.head_bias = flag(self, "head_bias", head_bias)
        keys = _core.random.split_key(drawn(key), 2 * len(cutoffs) + 1)
        self.head = Linear(in_features, cutoffs[0] + len(cutoffs), head_bias, key=keys[0], dtype=dtype)
        self.tail = [self._cluster(i, keys[2 * i + 1], keys[2 * i + 2], dtype) for i in range(len(cutoffs))]

    def _cluster(self, i, first, second, dtype):
        width, classes = int(self.in_features // self.div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
        return [Linear(self.in_features, width, False, key=first, dtype=dtype), Linear(width, classes, False, key=second, dtype=dtype)]

    def log_prob(self, input):
        """The log-probabilities of all classes: [..., n_classes]."""
        head = _core.log_softmax(self.head(input), -1)
        first = self.cutoffs[0]
        parts = [head[..., :first]]
        for i, (down, up) in enumerate(self.tail):
            parts.append(_core.log_softmax(up(down(input)), -1) + head[..., first + i : first + i + 1])
        return _core.concat(parts, -1)

    def predict(self, input):
        """The most probable class of each row."""
        return _core.argmax(self.log_prob(input), axis=-1)

    def __call__(self, input, target):
        """(the log-probability of each target, the loss), for inputs [..., in_features] and classes [...]."""
        input, target = asarray(input), asarray(target)
        if target.shape != input.shape[:-1]:
            raise errors.ShapeError(f"{name_of(self)}: the target is {list(target.shape)} for the input {list(input.shape)}, expected "
                                    f"{list(input.shape[:-1])}")
        expect_indices(self, "targets", target, f"classes from 0 to {self.n_classes - 1}")
        output = _core.take_along_axis(self.log_prob(input), target[..., None])[..., 0]
        return AdaptiveLoss(output, -_core.mean(output))
