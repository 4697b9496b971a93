"""Losses that optax has and PyTorch does not, with optax's names: one loss for each row of scores, along the last axis."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.arrays.simplex import onto_simplex
from plait.inside.losses.class_losses import expect_number, expect_reduction, reduced
from plait.inside.losses.more_losses import dice_loss
from plait.inside.transforms.batching import vmap


def sparsemax_loss(logits, labels):
    """The loss of a binary sparsemax for labels 0 and 1: 0 once the logit is beyond 1 on the side of its label.

    >>> plait.nn.sparsemax_loss(plait.tensor([0.0, 2.0, 2.0]), plait.tensor([1, 1, 0]))
    [0.25 0.   2.  ] : f32[3]
    """
    x = asarray(logits)
    x = _core.where(_core.astype(asarray(labels), _core.boolean), -x, x)
    return _core.where(x <= -1.0, 0.0, _core.where(x >= 1.0, x, _core.square(x + 1.0) / 4))


def multiclass_sparsemax_loss(scores, labels):
    """The loss of a sparsemax, which is the projection of the scores onto the simplex, for scores [..., classes] and indices of classes.

    >>> plait.nn.multiclass_sparsemax_loss(plait.tensor([[0.0, 0.5], [0.0, 2.0]]), plait.tensor([1, 1]))
    [0.0625 0.    ] : f32[2]
    """
    scores, labels = asarray(scores), asarray(labels)
    shares = onto_simplex(scores)
    differences = scores - _of_labels(scores, labels)[..., None]
    return _core.sum(shares * differences, -1) + 0.5 * (1.0 - _core.sum(_core.square(shares), -1))


def perceptron_loss(predictor_outputs, targets):
    """max(0, -target output), for targets 1 and -1.

    >>> plait.nn.perceptron_loss(plait.tensor([0.5, -2.0]), plait.tensor([1.0, 1.0]))
    [0. 2.] : f32[2]
    """
    outputs, targets = _alike("perceptron_loss", predictor_outputs, targets)
    return _core.maximum(0.0, -outputs * targets)


def multiclass_perceptron_loss(scores, labels):
    """The largest score less that of the label, for scores [..., classes] and indices of classes.

    >>> plait.nn.multiclass_perceptron_loss(plait.tensor([[1.0, 3.0], [1.0, 3.0]]), plait.tensor([0, 1]))
    [2. 0.] : f32[2]
    """
    scores = asarray(scores)
    return _core.max(scores, -1) - _of_labels(scores, asarray(labels))


def make_fenchel_young_loss(max_fun):
    """A Fenchel-Young loss: a function of scores and targets, both [..., classes], that returns max_fun(scores) less their product. max_fun is
    a function of one vector; its gradient is the prediction that the loss brings to the target.

    >>> loss = plait.nn.make_fenchel_young_loss(lambda scores: plait.logsumexp(scores, axis=-1))
    >>> loss(plait.tensor([0.0, 0.0]), plait.tensor([1.0, 0.0]))
    0.6931472 : f32[]
    """
    if not callable(max_fun):
        raise errors.TypeError.with_hint(f"nn.make_fenchel_young_loss: max_fun is {max_fun!r}, expected a function of a vector",
                                         "max_fun=lambda scores: plait.logsumexp(scores, axis=-1)")

    def fenchel_young_loss(scores, targets, *arguments, **named):
        scores, targets = asarray(scores), asarray(targets)
        of_row = lambda row: max_fun(row, *arguments, **named)  # noqa: E731
        for _ in range(scores.ndim - 1):
            of_row = vmap(of_row)
        return of_row(scores) - _core.sum(targets * scores, -1)

    return fenchel_young_loss


def poly_loss_cross_entropy(logits, labels, *, epsilon=2.0, axis=-1, where=None):
    """Cross-entropy of logits and shares of classes, plus epsilon Σ label (1 - p): PolyLoss.

    >>> plait.nn.poly_loss_cross_entropy(plait.tensor([0.0, 0.0]), plait.tensor([1.0, 0.0]))
    1.6931472 : f32[]
    """
    logits, labels = asarray(logits), asarray(labels)
    logarithms = _core.log_softmax(logits if where is None else _core.where(where, logits, float("-inf")), axis)
    missing = _core.where(labels == 0, 0.0, logarithms) if where is None else _core.where(where, logarithms, 0.0)
    return _summed(-labels * missing + epsilon * labels * (1 - _core.exp(logarithms)), axis, where)


def ranking_softmax_loss(logits, labels, *, where=None, weights=None, reduction="mean"):
    """-Σ relevance log softmax(score), for scores and relevances [..., items]. `where` says which items are there; a list without any
    counts for nothing. `weights` has one for each item.

    >>> plait.nn.ranking_softmax_loss(plait.tensor([[0.0, 0.0]]), plait.tensor([[1.0, 0.0]]))
    0.6931472 : f32[]
    """
    expect_reduction("ranking_softmax_loss", reduction)
    logits = asarray(logits)
    labels = _core.astype(asarray(labels), logits.dtype)
    labels = labels if weights is None else labels * asarray(weights)
    if where is None:
        return reduced(-_core.sum(labels * _core.log_softmax(logits, -1), -1), reduction)
    where = asarray(where)
    is_there = _core.any(where, axis=-1)
    shown = _core.where(_core.logical_or(where, ~is_there[..., None]), logits, float("-inf"))
    losses = -_core.sum(_core.where(where, labels * _core.where(where, _core.log_softmax(shown, -1), 0.0), 0.0), -1)
    if reduction != "mean":
        return reduced(losses, reduction)
    return _core.sum(losses) / _core.maximum(_core.astype(_core.sum(is_there), losses.dtype), 1.0)


def generalized_kl_divergence(log_predictions, targets, axis=-1, where=None):
    """Σ target (log target - log prediction) + prediction - target, for logarithms of predictions and targets that need not sum to 1.

    >>> plait.nn.generalized_kl_divergence(plait.log(plait.tensor([1.0, 2.0])), plait.tensor([1.0, 2.0]))
    0. : f32[]
    """
    predictions, targets = _alike("generalized_kl_divergence", log_predictions, targets)
    logarithms = _core.log(_core.where(targets == 0, 1.0, targets))
    return _summed(targets * (logarithms - predictions) + _core.exp(predictions) - targets, axis, where)


def convex_kl_divergence(log_predictions, targets, axis=-1, where=None):
    """The earlier name of generalized_kl_divergence.

    >>> plait.nn.convex_kl_divergence(plait.log(plait.tensor([1.0, 2.0])), plait.tensor([1.0, 2.0]))
    0. : f32[]
    """
    return generalized_kl_divergence(log_predictions, targets, axis, where)


def multiclass_generalized_dice_loss(predictions, targets, *, smooth=1.0, apply_softmax=True, ignore_background=False):
    """The mean of the Dice losses of classes, each with a weight that falls with the square of how often it is in the targets. Both are
    [batch, …, classes]: logits, and one-hot targets. The background is class 0.

    >>> targets = plait.one_hot(plait.tensor([[0, 1]]), 2)
    >>> plait.nn.multiclass_generalized_dice_loss(100.0 * targets, targets)
    0. : f32[]
    """
    expect_number("multiclass_generalized_dice_loss: smooth", smooth, 0)
    predictions, targets = _alike("multiclass_generalized_dice_loss", predictions, targets)
    if targets.ndim < 2:
        raise errors.ShapeError(f"nn.multiclass_generalized_dice_loss: the targets are {list(targets.shape)}, expected [batch, …, classes]")
    count = targets.shape[-1]
    weights = 1.0 / (_core.square(_core.sum(targets, tuple(range(targets.ndim - 1)))) + 1e-7)
    weights = weights / _core.sum(weights) * count
    if apply_softmax:
        predictions = _core.sigmoid(predictions) if count == 1 else _core.softmax(predictions, -1)
    # As in optax, which adds `smooth` to half of dice_loss's fraction.
    losses = weights * dice_loss(predictions, targets, 2 * smooth, tuple(range(1, targets.ndim - 1)), "none")
    return _core.mean(losses[..., 1:] if ignore_background and count > 1 else losses)


def _of_labels(scores, labels):
    """The score of each label."""
    return _core.take_along_axis(scores, labels[..., None], -1)[..., 0]


def _summed(values, axis, where):
    return _core.sum(values if where is None else _core.where(where, values, 0.0), axis)


def _alike(name, one, other):
    one, other = asarray(one), asarray(other)
    if tuple(one.shape) != tuple(other.shape):
        raise errors.ShapeError(f"nn.{name}: the arguments are {list(one.shape)} and {list(other.shape)}, expected one shape")
    return one, other
