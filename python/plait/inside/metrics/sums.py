"""Metrics that are sums, and errors of numbers."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.metrics.metric import Metric, counted, exact, expect_alike, expect_updated, quotient


class _Total(Metric):
    """A weighted sum of numbers, and the sum of the weights."""

    _names = ("total", "count")

    def __init__(self):
        self._begin(total=_core.zeros((), dtype=_core.f64), count=_core.zeros((), dtype=_core.f64))

    def _added(self, values, weights, mask):
        values = exact(values)
        weights = _core.broadcast_to(_weights(type(self).__name__, weights, mask, values), values.shape)
        total = _core.sum(_core.where(weights == 0, 0, values) * weights)
        return self.merge(self.with_(total=total, count=_core.sum(weights)))


def _weights(name, weights, mask, values):
    """The weight of each element: 0 where it is masked."""
    counts = counted(name, mask, values)
    if weights is None:
        return exact(counts)
    return _core.where(counts, exact(weights), 0)


class Mean(_Total):
    """The mean of numbers, such as losses, with weights if there are any.

    >>> mean = plait.metrics.Mean()
    >>> mean = mean.update(plait.tensor([1.0, 2.0])).update(plait.tensor(6.0))
    >>> mean.compute()
    3. : f64[]
    >>> mean.reset().update(plait.tensor([1.0, 5.0]), weights=plait.tensor([3.0, 1.0])).compute()
    2. : f64[]
    """

    def update(self, values, weights=None, mask=None):
        """The mean of the numbers so far and of more. A weight belongs to each number; where the mask is false, none counts."""
        following = self._added(values, weights, mask)
        expect_updated()
        return following

    def compute(self):
        """The mean; NaN of no numbers."""
        return quotient(self.total, self.count)


class Sum(_Total):
    """The sum of numbers.

    >>> plait.metrics.Sum().update(plait.tensor([1.0, 2.0]), mask=plait.tensor([True, False])).compute()
    1. : f64[]
    """

    def update(self, values, weights=None, mask=None):
        """The sum of the numbers so far and of more."""
        following = self._added(values, weights, mask)
        expect_updated()
        return following

    def compute(self):
        """The sum."""
        return self.total


class _Error(_Total):
    """The mean of a function of differences."""

    def update(self, predictions, targets, weights=None, mask=None):
        """The metric of the data so far and of a batch."""
        predictions, targets = exact(predictions), exact(targets)
        expect_alike(type(self).__name__, predictions, targets)
        following = self._added(self._of(predictions - targets), weights, mask)
        expect_updated()
        return following

    def compute(self):
        """The mean; NaN of no data."""
        return quotient(self.total, self.count)


class MSE(_Error):
    """The mean squared error, or its root with squared=False.

    >>> plait.metrics.MSE().update(plait.tensor([1.0, 2.0]), plait.tensor([1.0, 4.0])).compute()
    2. : f64[]
    """

    _of = staticmethod(_core.square)

    def __init__(self, squared=True):
        super().__init__()
        self.squared = bool(squared)

    def compute(self):
        """The error; NaN of no data."""
        return super().compute() if self.squared else _core.sqrt(super().compute())


class MAE(_Error):
    """The mean absolute error.

    >>> plait.metrics.MAE().update(plait.tensor([1.0, 2.0]), plait.tensor([1.0, 4.0])).compute()
    1. : f64[]
    """

    _of = staticmethod(_core.absolute)


class R2(Metric):
    """The coefficient of determination: 1 - Σ (target - prediction)² / Σ (target - mean of the targets)². With several outputs, along the
    last axis, it is the mean of theirs.

    >>> plait.metrics.R2().update(plait.tensor([1.0, 2.0, 4.0]), plait.tensor([1.0, 3.0, 5.0])).compute()
    0.75 : f64[]
    """

    _names = ("count", "mean", "squares", "residual", "rows")

    def __init__(self, num_outputs=1):
        if not isinstance(num_outputs, int) or num_outputs < 1:
            raise errors.ValueError(f"metrics.R2: num_outputs is {num_outputs!r}, expected 1 or more")
        self.num_outputs = num_outputs
        self._begin(**{name: _core.zeros((num_outputs,), dtype=_core.i64 if name == "rows" else _core.f64) for name in self._names})

    def update(self, predictions, targets, weights=None, mask=None):
        """The metric of the data so far and of a batch."""
        predictions, targets = exact(predictions), exact(targets)
        expect_alike("R2", predictions, targets)
        if self.num_outputs > 1 and (targets.ndim < 1 or targets.shape[-1] != self.num_outputs):
            raise errors.ShapeError(f"metrics.R2: the targets are {list(targets.shape)}, expected {self.num_outputs} along the last axis")
        weights = None if weights is None else asarray(weights)
        if weights is not None and weights.ndim < targets.ndim:
            weights = _core.reshape(weights, (*weights.shape, *[1] * (targets.ndim - weights.ndim)))
        weights = _core.broadcast_to(_weights("R2", weights, mask, targets), targets.shape)
        rows = [_core.reshape(_core.where(weights == 0, 0, each), (-1, self.num_outputs)) for each in (predictions, targets, weights)]
        predictions, targets, weights = rows
        count = _core.sum(weights, 0)
        mean = _over(_core.sum(weights * targets, 0), count)
        batch = self.with_(count=count, mean=mean, rows=_core.sum(weights != 0, 0), squares=_core.sum(weights * (targets - mean) ** 2, 0),
                           residual=_core.sum(weights * (targets - predictions) ** 2, 0))
        following = self.merge(batch)
        expect_updated()
        return following

    def _joined(self, parts):
        """Squares are relative to the mean of each part, and then to that of all, so no digits are lost."""
        count = parts.total(lambda part: part.count)
        mean = _over(parts.total(lambda part: part.count * part.mean), count)
        return self.with_(count=count, mean=mean, residual=parts.total(lambda part: part.residual), rows=parts.total(lambda part: part.rows),
                          squares=parts.total(lambda part: part.squares + part.count * (part.mean - mean) ** 2))

    def compute(self):
        """The coefficient; NaN of less than two targets. Where all targets are equal it is 1 without errors, else 0."""
        is_constant = self.squares == 0
        found = 1 - self.residual / _core.where(is_constant, 1, self.squares)
        found = _core.where(is_constant, _core.astype(self.residual == 0, _core.f64), found)
        return _core.mean(_core.where(self.rows < 2, float("nan"), found))


def _over(total, count):
    """0 where nothing counts."""
    return total / _core.where(count == 0, 1, count)
