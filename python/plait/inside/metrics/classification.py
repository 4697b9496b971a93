"""Metrics of classes: of one class of several for each element, of two, or of any number of labels."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.metrics.metric import Metric, counted, exact, expect_alike, expect_option, quotient

TASKS = ("binary", "multiclass", "multilabel")
AVERAGES = ("micro", "macro", "weighted", "none", None)


class Classification(Metric):
    """The base of metrics of classes. `task` is "multiclass", where predictions are scores along the axis, or classes; or "binary" or
    "multilabel", where predictions are probabilities, compared with the threshold, or booleans; labels are along the last axis."""

    def __init__(self, task, num_classes, threshold, ignore_index, axis):
        name = type(self).__name__
        self.task = expect_option(name, "task", task, TASKS)
        if num_classes is not None and (isinstance(num_classes, bool) or not isinstance(num_classes, int) or num_classes < 1):
            raise errors.ValueError(f"metrics.{name}: num_classes is {num_classes!r}, expected 1 or more")
        self.num_classes, self.threshold, self.ignore_index, self.axis = num_classes, threshold, ignore_index, axis

    def _expect_classes(self):
        """The number of classes or labels, of which binary metrics have one."""
        if self.task == "binary":
            return 1
        if self.num_classes is None:
            raise errors.ValueError.with_hint(f"metrics.{type(self).__name__}: num_classes is missing for {self.task}",
                                              f"metrics.{type(self).__name__}({self.task!r}, num_classes=10)")
        return self.num_classes

    def _rows(self, predictions, targets, mask):
        """(predictions [rows, classes] or [rows], targets, which count): of scores, or of labels."""
        name, predictions, targets = type(self).__name__, _core.stop_gradient(asarray(predictions)), asarray(targets)
        counts = counted(name, mask, targets)
        if self.ignore_index is not None:
            counts = counts & (targets != self.ignore_index)
        if self.task != "multiclass":
            expect_alike(name, predictions, targets)
            if self.task == "multilabel" and targets.ndim == 0:
                raise errors.ShapeError(f"metrics.{name}: the targets are {targets.dtype.name}[], expected an axis of labels")
            _expect_yes_or_no(name, targets, counts)
            shape = (-1, 1) if self.task == "binary" else (-1, targets.shape[-1])
            return [_core.reshape(each, shape) for each in (predictions, targets, counts)]
        expect_class_dtype(name, predictions, targets)
        if predictions.ndim == targets.ndim + 1:
            predictions = _core.moveaxis(predictions, self.axis, -1)
            self._expect_sizes(predictions.shape[-1])
            expect_alike(name, predictions[..., 0], targets)
            classes = predictions.shape[-1]
            predictions = _core.reshape(predictions, (-1, classes))
        else:
            expect_alike(name, predictions, targets)
            if predictions.dtype.kind == "floating":
                raise errors.ShapeError.with_hint(f"metrics.{name}: the predictions are {predictions.dtype.name}{list(predictions.shape)}, expected "
                                                  "scores with an axis of classes, or classes", f"metrics.{name}(\"binary\") for probabilities")
            classes = self.num_classes
            _expect_range(name, "predictions", predictions, counts, classes)
            predictions = _core.reshape(predictions, (-1,))
        _expect_range(name, "targets", targets, counts, classes)
        return predictions, _core.reshape(targets, (-1,)), _core.reshape(counts, (-1,))

    def _expect_sizes(self, classes):
        if self.num_classes is not None and classes != self.num_classes:
            raise errors.ShapeError(f"metrics.{type(self).__name__}: there are scores of {classes} classes, expected {self.num_classes}")

    def _decided(self, predictions, targets, mask):
        """The same with classes, or booleans, as predictions and targets."""
        predictions, targets, counts = self._rows(predictions, targets, mask)
        if self.task == "multiclass":
            predictions = _core.argmax(predictions, -1) if predictions.ndim == 2 else predictions
            return _core.astype(predictions, _core.i64), _core.astype(targets, _core.i64), counts
        if self.task == "multilabel":
            self._expect_sizes(targets.shape[-1])
        is_predicted = predictions > self.threshold if predictions.dtype.kind == "floating" else predictions != 0
        return is_predicted, targets != 0, counts


def expect_class_dtype(name, predictions, targets):
    """TypeError if the targets are not integers or booleans."""
    if targets.dtype.kind not in ("integer", "boolean"):
        hint = "plait.argmax(targets, axis) of one-hot targets" if targets.ndim == predictions.ndim else "targets.astype(plait.i64)"
        raise errors.TypeError.with_hint(f"metrics.{name}: the targets are {targets.dtype.name}{list(targets.shape)}, expected classes, which are "
                                         "integers", hint)


def _expect_range(name, what, classes, counts, number):
    """CheckError if a class that counts is negative, or not below the number of classes, if that is known."""
    classes = _core.astype(classes, _core.i64)
    is_class = classes >= 0 if number is None else (classes >= 0) & (classes < number)
    wanted = "0 or more" if number is None else f"0 to {number - 1}"
    _core.check(is_class | ~counts, f"metrics.{name}: the {what} have another class than {wanted}")


def _expect_yes_or_no(name, targets, counts):
    """CheckError if a target that counts is neither 0 nor 1."""
    if targets.dtype != _core.boolean:
        _core.check((targets == 0) | (targets == 1) | ~counts, f"metrics.{name}: the targets have another value than 0 or 1")


class Accuracy(Classification):
    """The share of right predictions: of classes, where one of the top_k scores is that of the target, or of labels. Predictions for "binary"
    and "multilabel" are probabilities, which are compared with the threshold, or booleans: plait.sigmoid(logits), or logits > 0.

    >>> accuracy = plait.metrics.Accuracy()
    >>> accuracy = accuracy.update(plait.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]), plait.tensor([1, 0, 0]))
    >>> accuracy.compute(), accuracy.correct
    (0.66666667 : f64[], 2 : i64[])
    >>> plait.metrics.Accuracy("binary").update(plait.tensor([0.2, 0.8]), plait.tensor([1, 1])).compute()
    0.5 : f64[]
    """

    _names = ("correct", "count")

    def __init__(self, task="multiclass", *, top_k=1, threshold=0.5, ignore_index=None, axis=-1):
        super().__init__(task, None, threshold, ignore_index, axis)
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1 or (top_k > 1 and task != "multiclass"):
            raise errors.ValueError(f"metrics.Accuracy: top_k is {top_k!r} for {task}, expected 1, or more for multiclass")
        self.top_k = top_k
        self._begin(correct=_core.zeros((), dtype=_core.i64), count=_core.zeros((), dtype=_core.i64))

    def _batch(self, predictions, targets, mask):
        if self.top_k == 1:
            predictions, targets, counts = self._decided(predictions, targets, mask)
            is_right = predictions == targets
        else:
            scores, targets, counts = self._rows(predictions, targets, mask)
            if scores.ndim != 2:
                raise errors.ShapeError("metrics.Accuracy: the predictions are classes, expected scores for the top_k")
            is_right = _core.any(_core.topk(scores, self.top_k, axis=-1)[1] == targets[:, None], -1)
        return {"correct": _core.sum(is_right & counts), "count": _core.sum(counts)}

    def compute(self):
        """The share; NaN of no data."""
        return quotient(self.correct, self.count)


class _OfClasses(Classification):
    """A ratio of the numbers of true and false positives and false negatives of each class."""

    _names = ("true_positives", "false_positives", "false_negatives")

    def __init__(self, task="multiclass", num_classes=None, *, average="macro", threshold=0.5, ignore_index=None, axis=-1):
        super().__init__(task, num_classes, threshold, ignore_index, axis)
        self.average = expect_option(type(self).__name__, "average", average, AVERAGES)
        classes = self._expect_classes()
        self._begin(**{name: _core.zeros((classes,), dtype=_core.i64) for name in self._names})

    def _batch(self, predictions, targets, mask):
        predictions, targets, counts = self._decided(predictions, targets, mask)
        if self.task == "multiclass":
            hits = _occurrences(targets, counts & (predictions == targets), self.num_classes)
            predicted, actual = (_occurrences(each, counts, self.num_classes) for each in (predictions, targets))
        else:
            hits, predicted, actual = (_core.sum(each & counts, 0) for each in (predictions & targets, predictions, targets))
        return {"true_positives": hits, "false_positives": predicted - hits, "false_negatives": actual - hits}

    def compute(self):
        """The ratio, averaged over the classes as sklearn does; 0 where there is nothing to divide by."""
        numbers = self.true_positives, self.false_positives, self.false_negatives
        if self.average == "micro":
            return _ratio(*self._terms(*(_core.sum(each) for each in numbers)))
        ratios = _ratio(*self._terms(*numbers))
        if self.task == "binary":
            return ratios[0]
        if self.average in ("none", None):
            return ratios
        if self.average == "weighted":
            shares = self.true_positives + self.false_negatives
        else:  # classes that neither occur nor are predicted do not count, but labels do
            shares = (sum(numbers) > 0) | (self.task == "multilabel")
        return _ratio(_core.sum(ratios * exact(shares)), _core.sum(exact(shares)))


def _occurrences(classes, counts, number):
    """How often each class occurs where it counts. IndexError if there is no such class."""
    return _core.bincount(_core.where(counts, classes, 0), number, _core.astype(counts, _core.i64))


def _ratio(numerator, denominator):
    return quotient(numerator, _core.where(denominator == 0, 1, denominator))


class Precision(_OfClasses):
    """The share of the elements predicted as a class that are of it, averaged over the classes: "macro", "weighted" by their elements,
    "micro", which counts all together, or "none". Predictions for "binary" and "multilabel" are probabilities, which are compared with the
    threshold, or booleans: plait.sigmoid(logits), or logits > 0.

    >>> precision = plait.metrics.Precision(num_classes=3, average="none")
    >>> precision.update(plait.tensor([0, 0, 1, 2]), plait.tensor([0, 1, 1, 2])).compute()
    [0.5 1.  1. ] : f64[3]
    """

    @staticmethod
    def _terms(true_positives, false_positives, false_negatives):
        return true_positives, true_positives + false_positives


class Recall(_OfClasses):
    """The share of the elements of a class that are predicted as it, averaged over the classes like Precision. Predictions for "binary" and
    "multilabel" are probabilities, which are compared with the threshold, or booleans.

    >>> recall = plait.metrics.Recall(num_classes=3, average="none")
    >>> recall.update(plait.tensor([0, 0, 1, 2]), plait.tensor([0, 1, 1, 2])).compute()
    [1.  0.5 1. ] : f64[3]
    """

    @staticmethod
    def _terms(true_positives, false_positives, false_negatives):
        return true_positives, true_positives + false_negatives


class F1(_OfClasses):
    """The harmonic mean of Precision and Recall, averaged over the classes like them. Predictions for "binary" and "multilabel" are
    probabilities, which are compared with the threshold, or booleans.

    >>> plait.metrics.F1("binary").update(plait.tensor([0.9, 0.8, 0.3]), plait.tensor([1, 0, 1])).compute()
    0.5 : f64[]
    """

    @staticmethod
    def _terms(true_positives, false_positives, false_negatives):
        return 2 * true_positives, 2 * true_positives + false_positives + false_negatives


class ConfusionMatrix(Classification):
    """How often each class (row) was predicted as each (column); for "multilabel" a matrix per label. `normalize` divides by the sums
    of "true" classes, of those predicted ("pred"), or of "all". Predictions for "binary" and "multilabel" are probabilities, which are
    compared with the threshold, or booleans.

    >>> matrix = plait.metrics.ConfusionMatrix(num_classes=2)
    >>> matrix.update(plait.tensor([0, 1, 1]), plait.tensor([0, 0, 1])).compute()
    [[1 1]
     [0 1]] : i64[2, 2]
    """

    _names = ("counts",)

    def __init__(self, task="multiclass", num_classes=None, *, normalize=None, threshold=0.5, ignore_index=None, axis=-1):
        super().__init__(task, num_classes, threshold, ignore_index, axis)
        self.normalize = expect_option("ConfusionMatrix", "normalize", normalize, (None, "true", "pred", "all"))
        classes = self._expect_classes()
        shape = (classes, classes) if task == "multiclass" else (2, 2) if task == "binary" else (classes, 2, 2)
        self._begin(counts=_core.zeros(shape, dtype=_core.i64))

    def _batch(self, predictions, targets, mask):
        predictions, targets, counts = self._decided(predictions, targets, mask)
        classes = self.counts.shape[-1]
        predictions, targets = (_core.astype(each, _core.i64) for each in (predictions, targets))
        place = targets * classes + predictions
        if self.task == "multilabel":
            place = place + 4 * _core.arange(self.num_classes)
        place, counts = _core.reshape(place, (-1,)), _core.reshape(counts, (-1,))
        number = 4 * self.num_classes if self.task == "multilabel" else classes * classes
        return {"counts": _core.reshape(_occurrences(place, counts, number), self.counts.shape)}

    def compute(self):
        """The matrix: i64, or shares, which are 0 where there is nothing to divide by."""
        if self.normalize is None:
            return self.counts
        axes = {"true": -1, "pred": -2, "all": (-2, -1)}[self.normalize]
        return _ratio(self.counts, _core.sum(self.counts, axes, keepdims=True))


class Perplexity(Metric):
    """exp of the mean cross-entropy of logits, whose classes are along the axis, and indices of classes.

    >>> plait.metrics.Perplexity().update(plait.zeros((2, 3, 8), dtype=plait.f64), plait.zeros((2, 3), dtype=plait.i64)).compute()
    8. : f64[]
    """

    _names = ("total", "count")

    def __init__(self, ignore_index=None, *, axis=-1):
        self.ignore_index, self.axis = ignore_index, axis
        self._begin(total=_core.zeros((), dtype=_core.f64), count=_core.zeros((), dtype=_core.i64))

    def _batch(self, predictions, targets, mask):
        logits, targets = _core.stop_gradient(asarray(predictions)), asarray(targets)
        if logits.dtype != _core.f64:
            logits = _core.astype(logits, _core.f32)
        expect_class_dtype("Perplexity", logits, targets)
        counts = counted("Perplexity", mask, targets)
        if self.ignore_index is not None:
            counts = counts & (targets != self.ignore_index)
        classes = _core.where(counts, _core.where(targets < 0, -2, targets), -1)  # -2 is refused, -1 is ignored
        losses = _core.cross_entropy(logits, classes, axis=self.axis, ignore_index=-1, reduction="none")
        return {"total": _core.sum(exact(losses)), "count": _core.sum(counts)}

    def compute(self):
        """The perplexity; NaN of no data."""
        return _core.exp(quotient(self.total, self.count))
