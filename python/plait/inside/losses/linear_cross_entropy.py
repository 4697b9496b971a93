"""Cross-entropy of a linear map, without its logits in memory: they exist for one block of rows at a time."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.layers.checks import is_number
from plait.inside.layers.linear import Linear
from plait.inside.layers.on_device import on_device
from plait.inside.losses.class_losses import ClassLoss, expect_number, expect_reduction
from plait.inside.transforms.control import scan
from plait.inside.transforms.custom_rules import custom_vjp
from plait.inside.transforms.derivatives import value_and_grad
from plait.inside.transforms.remat import remat

_CHUNK = 256  # rows of a block, of batches of 1024 rows and more
_FEW = 2**20  # logits that need not be divided


def linear_cross_entropy(x, linear_weight, target, *, linear_bias=None, weight=None, ignore_index=None, label_smoothing=0.0, reduction="mean",
                         softcap=None, chunk=None, options=None):
    """cross_entropy(x @ linear_weight.T + linear_bias, target) without the logits in memory: they are computed, and differentiated,
    for `chunk` rows of x at a time. By default these are 256 rows, or a quarter of fewer than 1024, but not less than have 2^20 logits.

    x is [..., features]. The target has an index of a class for each row, or the probabilities of all classes. With a linear_weight
    [classes, *sizes, features] there are `sizes` targets for each row, and x is [batch, features]. softcap=s replaces each
    logit by s tanh(logit / s). The result for narrow floats is f32. PyTorch's `options` are refused, unless they are None.

    >>> x, weight = plait.ones((4, 3)), plait.zeros((10, 3))
    >>> plait.nn.linear_cross_entropy(x, weight, plait.tensor([0, 1, 2, 3]), chunk=2)
    2.3025851 : f32[]
    """
    expect_reduction("linear_cross_entropy", reduction)
    _expect_options("linear_cross_entropy", label_smoothing, softcap, chunk, options)
    x, linear_weight, target = asarray(x), asarray(linear_weight), asarray(target)
    linear_bias, weight = (None if each is None else asarray(each) for each in (linear_bias, weight))
    rows = _Rows(linear_weight.shape, target.dtype.kind == "floating", weight, -100 if ignore_index is None else ignore_index, label_smoothing,
                 softcap, chunk)
    before = rows.expect(x, linear_weight, target, linear_bias)
    operands = rows.flat(x, linear_weight, linear_bias), _core.reshape(target, (-1, *target.shape[len(before):]))
    if reduction == "none":
        return _core.reshape(rows.losses(*operands), (*before, *rows.sizes))
    total = rows.losses_summed(*operands) if rows.is_of_probabilities else rows.total(*operands)
    return total if reduction == "sum" else _divided(total, rows.denominator(target, total.dtype))


def _divided(total, denominator):
    """The mean over no targets is NaN, with derivatives of 0."""
    is_none = denominator == 0
    return _core.where(is_none, math.nan, total / _core.where(is_none, 1, denominator))


def _expect_options(what, label_smoothing, softcap, chunk, options):
    if options is not None:
        raise errors.TypeError.with_hint(f"nn.{what}: options is {in_words(options)}, expected None",
                                         "chunk=512 is batch_chunk_size; sums are of f32 or f64, and derivatives of any order need no option")
    expect_number(f"{what}: label_smoothing", label_smoothing, 0, 1)
    if softcap is not None and not (isinstance(softcap, _core.Tensor) or is_number(softcap) and softcap > 0):
        raise errors.ValueError(f"nn.{what}: softcap is {softcap!r}, expected more than 0")
    if chunk is not None and (isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1):
        raise errors.ValueError(f"nn.{what}: chunk is {chunk!r}, expected a number of rows")


class _Rows:
    """The losses of rows of x. The operands are (x [rows, features], weight, bias or None) and the targets."""

    def __init__(self, weight_shape, is_of_probabilities, class_weight, ignore_index, label_smoothing, softcap, chunk):
        self.classes, *self.sizes = weight_shape[:-1] or (0,)
        self.is_of_probabilities, self.class_weight, self.softcap, self.chunk = is_of_probabilities, class_weight, softcap, chunk
        self.ignore_index = ignore_index
        self.options = {"weight": class_weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}

    def expect(self, x, weight, target, bias):
        """Checks the shapes, and returns the axes of x that count rows."""
        before = tuple(x.shape[:-1])
        wanted = (*before, self.classes, *self.sizes) if self.is_of_probabilities else (*before, *self.sizes)
        if weight.ndim < 2 or x.ndim < 1:
            raise errors.ShapeError(f"nn.linear_cross_entropy: x is {list(x.shape)} and linear_weight {list(weight.shape)}, expected [..., features] "
                                    "and [classes, features]")
        if x.shape[-1] != weight.shape[-1]:
            raise errors.ShapeError(f"nn.linear_cross_entropy: x is {list(x.shape)} and linear_weight {list(weight.shape)}, expected the same number "
                                    "of features, the last size")
        if tuple(target.shape) != wanted:
            raise errors.ShapeError(f"nn.linear_cross_entropy: the target is {list(target.shape)}, expected {list(wanted)}")
        if bias is not None and tuple(bias.shape) != tuple(weight.shape[:-1]):
            raise errors.ShapeError(f"nn.linear_cross_entropy: linear_bias is {list(bias.shape)}, expected {list(weight.shape[:-1])}")
        return before

    def flat(self, x, weight, bias):
        features = x.shape[-1]
        return _core.reshape(x, (-1, features)), _core.reshape(weight, (-1, features)), None if bias is None else _core.reshape(bias, (-1,))

    def block(self, linear, target):
        """The losses of some rows, by the logits of all of them."""
        logits = _core.linear(*linear)
        if logits.dtype != _core.f64:
            logits = _core.astype(logits, _core.f32)
        if self.softcap is not None:
            logits = self.softcap * _core.tanh(logits / self.softcap)
        return _core.cross_entropy(_core.reshape(logits, (logits.shape[0], self.classes, *self.sizes)), target, axis=1, reduction="none",
                                   **self.options)

    def block_sum(self, linear, target):
        return _core.sum(self.block(linear, target))

    def each_block(self, step, carry, x, target):
        """(carry, outputs of all rows) of step(carry, (x, target)) for blocks of rows, and for the rows that remain."""
        rows, chunk, outputs = x.shape[0], self.chunk or self.default_chunk(x), []
        count, left = rows // chunk, rows % chunk
        if not _is_nothing(count):
            blocks = (_core.reshape(each[:count * chunk], (count, chunk, *each.shape[1:])) for each in (x, target))
            carry, found = scan(step, carry, tuple(blocks))
            outputs.append(_core.reshape(found, (count * chunk, *found.shape[2:])))
        if not _is_nothing(left) or not outputs:
            carry, found = step(carry, (x[count * chunk:], target[count * chunk:]))
            outputs.append(found)
        return carry, _core.concat(outputs, axis=0)

    def default_chunk(self, x):
        """A quarter of the rows, from those that have few logits to 256. The number of rows may be a symbol."""
        logits = math.prod(self.sizes, start=self.classes)  # in a row
        least = min(max(_FEW // max(logits, 1), 1), _CHUNK) if isinstance(logits, int) else _CHUNK
        return least + x[:x.shape[0] // 4][least:_CHUNK].shape[0]

    def losses(self, linear, target):
        """Each row's; the logits are recomputed in the backward pass."""
        x, *weights = linear
        block = remat(lambda x, weights, target: self.block((x, *weights), target))
        return self.each_block(lambda carry, each: (carry, block(each[0], weights, each[1])), (), x, target)[1]

    def losses_summed(self, linear, target):
        return _core.sum(self.losses(linear, target))

    def total(self, linear, target):
        """The sum over the rows. Its rule computes the derivatives along with the loss, as they are those of one number."""
        summed = custom_vjp(lambda *linear: self.losses_summed(linear, target))
        summed.defvjp(lambda *linear: self._total_and_slopes(linear, target), _scaled)
        return summed(*linear)

    def _total_and_slopes(self, linear, target):
        x, *weights = linear
        exact = _core.f64 if any(each is not None and each.dtype == _core.f64 for each in linear) else _core.f32
        slopes_of = value_and_grad(self.block_sum)

        def step(carry, each):
            value, (by_x, *by_weights) = slopes_of((each[0], *weights), each[1])
            total, sums = carry
            sums = [None if one is None else one + _core.astype(other, exact) for one, other in zip(sums, by_weights)]
            return (total + _core.astype(value, exact), sums), by_x

        sums = [None if each is None else _core.zeros_like(each, dtype=exact) for each in weights]
        nothing = _core.zeros((), dtype=exact), sums
        (total, sums), by_x = self.each_block(step, nothing, x, target)
        return total, [by_x, *(None if one is None else _core.astype(one, each.dtype) for one, each in zip(sums, weights))]

    def denominator(self, target, dtype):
        """The denominator of the mean: the weights of the targets, or their number."""
        if self.is_of_probabilities:
            return _core.astype(_core.sum(_core.ones_like(target)), dtype) / self.classes
        counts = target != self.ignore_index
        if self.class_weight is None:
            return _core.astype(_core.sum(counts), dtype)
        return _core.sum(_core.where(counts, _core.take(_core.astype(self.class_weight, dtype), _core.where(counts, target, 0), 0), 0))


def _is_nothing(size):
    """True if it is known to be 0."""
    return isinstance(size, int) and size == 0


def _scaled(slopes, cotangent):
    return tuple(None if each is None else _core.astype(cotangent, each.dtype) * each for each in slopes)


class LinearCrossEntropyLoss(ClassLoss):
    """CrossEntropyLoss of a Linear, whose logits are never in memory: linear_cross_entropy.

    >>> loss = plait.nn.LinearCrossEntropyLoss(4, 10, chunk=64)
    >>> loss(plait.ones((6, 4)), plait.tensor([0, 1, 2, 3, 4, 5])).shape
    ()
    """

    @on_device
    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, reduction="mean", weight=None, ignore_index=None,
                 label_smoothing=0.0, softcap=None, chunk=None, options=None, key=None, dtype=_core.f32):
        super().__init__(weight, reduction=reduction)
        _expect_options("LinearCrossEntropyLoss", label_smoothing, softcap, chunk, options)
        if self.weight is not None and self.weight.shape[0] != num_classes:
            raise errors.ShapeError(f"nn.LinearCrossEntropyLoss: weight is {list(self.weight.shape)}, expected [{num_classes}]")
        if not isinstance(out_features, (list, tuple)):
            raise errors.TypeError(f"nn.LinearCrossEntropyLoss: out_features is {out_features!r}, expected a tuple of sizes")
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing = -100 if ignore_index is None else ignore_index, label_smoothing
        self.softcap, self.chunk = softcap, chunk
        self.linear = Linear(in_features, math.prod(self.out_features, start=num_classes), bias, key=key, dtype=dtype)

    def __call__(self, input, target):
        """The loss of features, before the projection to logits, and of classes."""
        sizes, bias = (self.num_classes, *self.out_features), self.linear.bias
        return linear_cross_entropy(input, _core.reshape(self.linear.weight, (*sizes, -1)), target,
                                    linear_bias=None if bias is None else _core.reshape(bias, sizes), weight=self.weight,
                                    ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, reduction=self.reduction,
                                    softcap=self.softcap, chunk=self.chunk)
