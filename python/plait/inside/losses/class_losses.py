"""Losses: functions of plait with their options, as Modules with PyTorch's names and arguments."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module

REDUCTIONS = ("none", "mean", "sum")


def expect_target(what, logits, target, axis):
    """Errors for classes that were given as booleans, or with an axis of 1."""
    logits, target = asarray(logits), asarray(target)
    message = f"{what}: the target is {_shown(target)} for {_shown(logits)}, expected "
    if target.dtype == _core.boolean:
        raise errors.TypeError.with_hint(message + "classes, which are integers", "target.astype(plait.i64); for one logit of yes or no "
                                         "nn.BCEWithLogitsLoss()(logits, target.astype(plait.f32))")
    if target.dtype.kind == "integer" and target.ndim == logits.ndim > 1 and target.shape[axis] == 1:
        raise errors.ShapeError.with_hint(message + "classes without their axis", f"target.squeeze({axis})")


def _shown(x):
    return f"{x.dtype.name}[{', '.join(map(str, x.shape))}]"


def cross_entropy(logits, target, *, axis=None, weight=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
    """-log p(target), where classes are along the axis of logits, which may be omitted for [classes] and [batch, classes];
    the target has classes, or probabilities of all of them. The result for narrow floats is f32.

    >>> plait.nn.cross_entropy(plait.zeros((2, 10)), plait.zeros(2, dtype=plait.i64))
    2.3025851 : f32[]
    >>> plait.nn.cross_entropy(plait.zeros((2, 2, 10)), plait.zeros((2, 2), dtype=plait.i64), axis=-1)
    2.3025851 : f32[]
    """
    logits = asarray(logits)
    if axis is None and logits.ndim > 2:
        raise errors.ValueError.with_hint(f"nn.cross_entropy: logits of {logits.ndim} axes need the axis of the classes",
                                           "axis=-1 for [batch, length, classes]; axis=1 for [batch, classes, …], which PyTorch uses")
    if logits.dtype.kind == "floating" and logits.dtype != _core.f64:
        logits = _core.astype(logits, _core.f32)
    expect_target("nn.cross_entropy", logits, target, -1 if axis is None else axis)
    return _core.cross_entropy(logits, target, axis=-1 if axis is None else axis, weight=weight, ignore_index=ignore_index,
                               label_smoothing=label_smoothing, reduction=reduction)


def expect_reduction(what, reduction, allowed=REDUCTIONS):
    if reduction not in allowed:
        raise errors.ValueError(f"nn.{what}: the reduction is {reduction!r}, expected one of {', '.join(map(repr, allowed))}")
    return reduction


def expect_number(what, value, least=-math.inf, most=math.inf):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        limits = "" if (least, most) == (-math.inf, math.inf) else f": {least} or more" if most == math.inf else f" from {least} to {most}"
        raise errors.ValueError(f"nn.{what} is {value!r}, expected a number{limits}")
    return value


def reduced(values, reduction):
    """The values, their mean or their sum."""
    return {"none": lambda x: x, "mean": _core.mean, "sum": _core.sum}[reduction](values)


class Loss(Module):
    """The base of losses. `size_average` and `reduce` are PyTorch's older way to say what the reduction is."""

    _reductions = REDUCTIONS

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        self.reduction = expect_reduction(type(self).__name__, reduction, self._reductions)

    def _number(self, name, value, least=-math.inf, most=math.inf):
        return expect_number(f"{type(self).__name__}: {name}", value, least, most)


class WeightedLoss(Loss):
    """A loss with weights of classes, a buffer."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.weight = self._weights("weight", weight)

    def _weights(self, name, values):
        if values is None:
            return None
        values = asarray(values)
        if values.dtype.kind != "floating":
            raise errors.TypeError(f"nn.{type(self).__name__}: {name} is {values.dtype.name}{list(values.shape)}, expected floats")
        return Buffer(values)


class ClassLoss(WeightedLoss):
    """A weighted loss by indices of classes."""

    def _weights(self, name, values):
        if values is not None and asarray(values).ndim != 1:
            raise errors.ShapeError(f"nn.{type(self).__name__}: {name} is {list(asarray(values).shape)}, expected [classes]")
        return super()._weights(name, values)


class CrossEntropyLoss(ClassLoss):
    """Cross-entropy of logits [classes] or [batch, classes, …]. The target has indices of classes, without their axis, or
    probabilities, of the shape of the logits. `weight` has a number per class.

    >>> loss = plait.nn.CrossEntropyLoss(label_smoothing=0.1)
    >>> loss(plait.tensor([[2.0, 0.0, 0.0]]), plait.tensor([0]))
    0.3728781 : f32[]
    """

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = self._number("label_smoothing", label_smoothing, 0, 1)

    def __call__(self, input, target):
        """The loss of logits and of classes, or of probabilities of the shape of the logits."""
        expect_target("nn.CrossEntropyLoss", input, target, 1)
        return _core.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
                                   reduction=self.reduction)


class NLLLoss(ClassLoss):
    """The negative log-likelihood: cross-entropy of log-probabilities [classes] or [batch, classes, …] and indices of classes.

    >>> plait.nn.NLLLoss()(plait.log(plait.tensor([[0.25, 0.75]])), plait.tensor([1]))
    0.28768206 : f32[]
    """

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def __call__(self, input, target):
        """The loss of log-probabilities and of classes."""
        expect_target("nn.NLLLoss", input, target, 1)
        return _core.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """NLLLoss, by the name that PyTorch once gave it for images.

    >>> plait.nn.NLLLoss2d()(plait.log(plait.full((1, 2, 4, 4), 0.5)), plait.zeros((1, 4, 4), dtype=plait.i64))
    0.6931472 : f32[]
    """


class MultiMarginLoss(ClassLoss):
    """The mean over the classes other than the target of max(0, margin - x[target] + x[class])^p.

    >>> plait.nn.MultiMarginLoss()(plait.tensor([[0.1, 0.2, 0.4, 0.8]]), plait.tensor([3]))
    0.325 : f32[]
    """

    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise errors.ValueError(f"nn.MultiMarginLoss: p is {p!r}, expected 1 or 2")
        self.p, self.margin = p, self._number("margin", margin)

    def __call__(self, input, target):
        """The loss of scores [batch, classes] and of classes [batch]."""
        return _core.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(Loss):
    """max(0, 1 - x[listed] + x[other]), summed over all pairs and divided by the number of classes. Rows of the target list
    classes, up to the first negative number.

    >>> plait.nn.MultiLabelMarginLoss()(plait.tensor([[0.1, 0.2, 0.4, 0.8]]), plait.tensor([[3, 0, -1, 1]]))
    0.85 : f32[]
    """

    def __call__(self, input, target):
        """The loss of scores [batch, classes] and of lists of classes of the same shape."""
        return _core.multilabel_margin_loss(input, target, self.reduction)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """The mean over the classes, the last dimension, of binary cross-entropies of logits.

    >>> plait.nn.MultiLabelSoftMarginLoss()(plait.tensor([[2.0, -2.0]]), plait.tensor([[1.0, 0.0]]))
    0.12692802 : f32[]
    """

    def __call__(self, input, target):
        """The loss of logits and of labels, 0 or 1, of the same shape."""
        return _core.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class BCELoss(WeightedLoss):
    """Binary cross-entropy of probabilities. Its logarithms are at least -100.

    >>> plait.nn.BCELoss()(plait.tensor([0.5, 0.25]), plait.tensor([1.0, 0.0]))
    0.49041462 : f32[]
    """

    def __call__(self, input, target):
        """The loss of probabilities and of targets from 0 to 1, of the same shape."""
        return _core.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(WeightedLoss):
    """Binary cross-entropy of logits: stable where BCELoss of a sigmoid is not. `pos_weight` multiplies the loss of targets of 1.

    >>> plait.nn.BCEWithLogitsLoss(pos_weight=plait.tensor(3.0))(plait.tensor([0.0, -200.0]), plait.tensor([1.0, 0.0]))
    1.0397208 : f32[]
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(weight, size_average, reduce, reduction)
        self.pos_weight = self._weights("pos_weight", pos_weight)

    def __call__(self, input, target):
        """The loss of logits and of targets from 0 to 1, of the same shape."""
        return _core.binary_cross_entropy_with_logits(input, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction)


class CTCLoss(Loss):
    """Connectionist temporal classification: -log of the probability of all alignments of a target. log_probs is [steps, batch,
    classes]; the targets are [batch, length], or concatenated.

    >>> log_probs = plait.log(plait.full((2, 1, 2), 0.5))
    >>> plait.nn.CTCLoss()(log_probs, plait.tensor([[1]]), plait.tensor([2]), plait.tensor([1]))
    0.2876821 : f32[]
    """

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = self._number("blank", blank, 0), bool(zero_infinity)

    def __call__(self, log_probs, targets, input_lengths, target_lengths):
        """The loss; the lengths are integers [batch]."""
        return _core.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=self.blank, reduction=self.reduction,
                              zero_infinity=self.zero_infinity)
