"""The area under the curve of true positives over false positives."""

from plait import _core, errors
from plait.inside.metrics.metric import exact, expect_option, quotient
from plait.inside.metrics.classification import Classification
from plait.inside.transforms.batching import vmap
from plait.inside.trees.buffers import Buffer

AVERAGES = ("macro", "weighted", "none", None)


class AUROC(Classification):
    """The area under the ROC curve: the probability that an element of the class has a higher score than another one, where equal
    scores count half. For "multiclass" each class is compared with all others, and averaged.

    It is exact, since all scores are kept: its state grows, so in a scan use `thresholds`: so many between 0 and 1, or a sorted list
    of them, between which scores count as equal. Predictions for "binary" and "multilabel" are scores: probabilities or logits.

    >>> auroc = plait.metrics.AUROC()
    >>> auroc.update(plait.tensor([0.1, 0.4, 0.35, 0.8]), plait.tensor([0, 0, 1, 1])).compute()
    0.75 : f64[]
    >>> plait.metrics.AUROC(thresholds=11).update(plait.tensor([0.1, 0.42, 0.35, 0.8]), plait.tensor([0, 0, 1, 1])).positives.shape
    (1, 12)
    """

    _constants = ("thresholds",)

    def __init__(self, task="binary", num_classes=None, *, average="macro", thresholds=None, ignore_index=None, axis=-1):
        super().__init__(task, num_classes, None, ignore_index, axis)
        self.average = expect_option("AUROC", "average", average, AVERAGES)
        classes = self._expect_classes()
        if thresholds is None:
            self.thresholds, self._names = None, ("scores", "is_positive", "counts")
            self._begin(scores=_core.zeros((0, classes), dtype=_core.f64), is_positive=_core.zeros((0, classes), dtype=_core.boolean),
                        counts=_core.zeros((0, classes), dtype=_core.boolean))
        else:
            self.thresholds, self._names = Buffer(_thresholds(thresholds)), ("positives", "negatives")
            bins = self.thresholds.shape[0] + 1
            self._begin(**{name: _core.zeros((classes, bins), dtype=_core.i64) for name in self._names})

    def _batch(self, predictions, targets, mask):
        scores, targets, counts = self._rows(predictions, targets, mask)
        if scores.ndim != 2 or scores.dtype.kind != "floating":
            raise errors.TypeError(f"metrics.AUROC: the predictions are {scores.dtype.name}, expected scores")
        if self.task == "multiclass":
            targets = _core.one_hot(_core.where(counts, targets, 0), self.num_classes, _core.boolean)
            counts = _core.broadcast_to(counts[:, None], targets.shape)
        self._expect_sizes(targets.shape[1])
        scores, is_positive = exact(scores), targets != 0
        if self.thresholds is None:
            return {"scores": scores, "is_positive": is_positive, "counts": counts}
        return {"positives": self._histogram(scores, counts & is_positive), "negatives": self._histogram(scores, counts & ~is_positive)}

    def _histogram(self, scores, counts):
        """How many scores of each class are between the thresholds, [classes, bins]."""
        classes, bins = scores.shape[1], self.thresholds.shape[0] + 1
        place = _core.reshape(_core.searchsorted(self.thresholds, _core.reshape(scores, (-1,)), "right"), scores.shape)
        place = _core.reshape(place + bins * _core.arange(classes), (-1,))
        return _core.reshape(_core.bincount(place, classes * bins, _core.astype(_core.reshape(counts, (-1,)), _core.i64)), (classes, bins))

    def _joined(self, parts):
        join = parts.together if self.thresholds is None else parts.total
        return self.with_(**{name: join(lambda part: getattr(part, name)) for name in self._names})

    def reset(self):
        """The metric of no data."""
        if self.thresholds is not None:
            return super().reset()
        return self.with_(**{name: getattr(self, name)[:0] for name in self._names})

    def compute(self):
        """The area; NaN if a class has no elements, or all."""
        if self.thresholds is None:
            areas, positives = vmap(_exact_area, 1)(self.scores, self.is_positive, self.counts)
        else:
            below = _core.cumsum(self.negatives, -1) - self.negatives
            positives = _core.sum(self.positives, -1)
            areas = quotient(_core.sum(self.positives * (2 * below + self.negatives), -1), 2 * positives * _core.sum(self.negatives, -1))
        if self.task == "binary":
            return areas[0]
        if self.average in ("none", None):
            return areas
        return _core.mean(areas) if self.average == "macro" else quotient(_core.sum(areas * exact(positives)), _core.sum(positives))


def _exact_area(scores, is_positive, counts):
    """(area, number of positives), by the ranks of the positives among the negatives."""
    positive, negative = counts & is_positive, counts & ~is_positive
    others, number = _core.sort(_core.where(negative, scores, float("inf"))), _core.sum(negative)
    pairs = sum(_core.minimum(_core.searchsorted(others, scores, side), number) for side in ("left", "right"))
    positives = _core.sum(positive)
    area = quotient(_core.sum(_core.where(positive, pairs, 0)), 2 * positives * number)
    return _core.where(_core.any(_core.isnan(scores) & counts), float("nan"), area), positives


def _thresholds(given):
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 2:
            raise errors.ValueError(f"metrics.AUROC: thresholds is {given}, expected 2 or more, or a list")
        return _core.linspace(0.0, 1.0, given, dtype=_core.f64)
    values = exact(given)
    if values.ndim != 1:
        raise errors.ShapeError(f"metrics.AUROC: the thresholds are {list(values.shape)}, expected a list")
    return _core.sort(values)
