"""Losses that PyTorch does not have: of images, for contrastive learning, and others."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.losses.class_losses import expect_number, expect_reduction, reduced


def sigmoid_focal_loss(inputs, targets, alpha=0.25, gamma=2.0, reduction="none"):
    """Binary cross-entropy of logits, times (1 - p)^gamma for the probability p of the target, so that well-classified elements
    count less. alpha is the weight of targets of 1, and 1 - alpha that of others; a negative alpha means no weights.

    >>> plait.nn.sigmoid_focal_loss(plait.tensor([0.0, 0.0]), plait.tensor([1.0, 0.0]))
    [0.0433217 0.1299651] : f32[2]
    """
    expect_number("sigmoid_focal_loss: alpha", alpha, most=1)
    expect_number("sigmoid_focal_loss: gamma", gamma, 0)
    expect_reduction("sigmoid_focal_loss", reduction)
    return _core.focal_loss(inputs, targets, alpha=None if alpha < 0 else alpha, gamma=gamma, reduction=reduction)


def softmax_focal_loss(inputs, targets, alpha=None, gamma=2.0, ignore_index=-100, reduction="none"):
    """Cross-entropy of logits [batch, classes, …] and indices of classes, times (1 - p)^gamma for the probability p of the target.
    alpha has a weight per class. The mean is over the targets that are not ignored.

    >>> plait.nn.softmax_focal_loss(plait.tensor([[0.0, 0.0], [0.0, 0.0]]), plait.tensor([0, -100]))
    [0.1732868 0.       ] : f32[2]
    """
    expect_number("softmax_focal_loss: gamma", gamma, 0)
    expect_reduction("softmax_focal_loss", reduction)
    targets = asarray(targets)
    entropy = _core.cross_entropy(inputs, targets, ignore_index=ignore_index, reduction="none")
    losses = entropy * (-_core.expm1(-entropy)) ** gamma if gamma else entropy
    if alpha is not None:
        losses = losses * _core.take(asarray(alpha), _core.where(targets == ignore_index, 0, targets), 0)
    if reduction != "mean":
        return reduced(losses, reduction)
    return _core.sum(losses) / _core.astype(_core.sum(targets != ignore_index), losses.dtype)


def dice_loss(inputs, targets, smooth=1.0, axis=None, reduction="mean"):
    """1 - (2 Σ input target + smooth) / (Σ input + Σ target + smooth), for probabilities and targets [batch, classes, …]. The sums are
    along the axis, or axes; by default all after the first two.

    >>> mask = plait.tensor([[[[1.0, 1.0], [0.0, 0.0]]]])
    >>> plait.nn.dice_loss(mask, mask), plait.nn.dice_loss(1 - mask, mask)
    (0. : f32[], 0.8 : f32[])
    """
    expect_number("dice_loss: smooth", smooth, 0)
    expect_reduction("dice_loss", reduction)
    inputs, targets = asarray(inputs), asarray(targets)
    if axis is None and inputs.ndim < 3:
        raise errors.ShapeError.with_hint(f"nn.dice_loss: inputs of {inputs.ndim} axes, expected [batch, classes, …]",
                                          "pass the axes of the sums: axis=-1")
    axis = tuple(range(2, inputs.ndim)) if axis is None else axis
    both, all_of_it = _core.sum(inputs * targets, axis), _core.sum(inputs + targets, axis)
    return reduced(1 - (2 * both + smooth) / (all_of_it + smooth), reduction)


def log_cosh(inputs, targets, reduction="mean"):
    """log cosh(input - target): half of the square of small differences, and the absolute value of large ones, less log 2.

    >>> plait.nn.log_cosh(plait.tensor([0.0, 100.0]), plait.zeros(2), reduction="none")
    [ 0.       99.306854] : f32[2]
    """
    expect_reduction("log_cosh", reduction)
    difference = asarray(inputs) - asarray(targets)
    return reduced(_core.logaddexp(difference, -difference) - math.log(2), reduction)


def hinge_loss(inputs, targets, reduction="mean"):
    """max(0, 1 - target input), for targets 1 and -1.

    >>> plait.nn.hinge_loss(plait.tensor([0.25, 3.0]), plait.tensor([1.0, -1.0]), reduction="none")
    [0.75 4.  ] : f32[2]
    """
    expect_reduction("hinge_loss", reduction)
    return reduced(_core.relu(1 - asarray(inputs) * asarray(targets)), reduction)


def info_nce(query, positive_key, negative_keys=None, temperature=0.1, reduction="mean"):
    """The contrastive loss InfoNCE of vectors [batch, features]: cross-entropy of cosine similarities divided by the temperature,
    where the positive key of a query is in its row, and all other rows are negative, or else negative_keys [keys, features].

    >>> x = plait.eye(3)
    >>> plait.nn.info_nce(x, x, temperature=1.0)
    0.5514447 : f32[]
    """
    _expect_vectors("info_nce", temperature, reduction, query, positive_key)
    query, positive_key = _core.normalize(query), _core.normalize(positive_key)
    if negative_keys is None:
        return _contrasted(query @ positive_key.T, _core.arange(query.shape[0]), temperature, reduction)
    positive = _core.sum(query * positive_key, -1, keepdims=True)
    scores = _core.concat([positive, query @ _core.normalize(negative_keys).T], axis=1)
    return _contrasted(scores, _core.zeros(query.shape[:1], dtype=_core.i64), temperature, reduction)


def nt_xent(x1, x2, temperature=0.5, reduction="mean"):
    """The contrastive loss of SimCLR, of two views [batch, features] of the same samples: each vector shall be more similar to its
    other view than to all other vectors of both. Without a reduction there is a loss for each of x1, then of x2.

    >>> x = plait.eye(3)
    >>> plait.nn.nt_xent(x, x, temperature=1.0)
    0.9048324 : f32[]
    """
    _expect_vectors("nt_xent", temperature, reduction, x1, x2)
    count = asarray(x1).shape[0]
    vectors = _core.normalize(_core.concat([x1, x2], axis=0))
    rows = _core.arange(2 * count)
    scores = _core.where(rows[:, None] == rows, -math.inf, vectors @ vectors.T / temperature)
    return _core.cross_entropy(scores, _core.where(rows < count, rows + count, rows - count), reduction=reduction)


def _contrasted(scores, target, temperature, reduction):
    return _core.cross_entropy(scores / temperature, target, reduction=reduction)


def _expect_vectors(name, temperature, reduction, x1, x2):
    expect_reduction(name, reduction)
    if not isinstance(temperature, _core.Tensor):
        expect_number(f"{name}: temperature", temperature, 0)
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 2 or tuple(x1.shape) != tuple(x2.shape):
        raise errors.ShapeError(f"nn.{name}: the vectors are {list(x1.shape)} and {list(x2.shape)}, expected [batch, features] twice")
