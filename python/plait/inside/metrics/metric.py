"""What all metrics have in common: a state of tensors that merges."""

import copy

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module


class Metric(Module):
    """The base of metrics: Modules whose state consists of buffers, which are not trained."""

    _names = ()  # of the state

    def update(self, predictions, targets, mask=None):
        """The metric of the data so far and of a batch. Elements where the mask is false do not count; a mask may lack the last
        axes of the targets."""
        return self.merge(self._with(**self._batch(predictions, targets, mask)))

    def merge(self, other):
        """The metric of the data of both.

        >>> one, other = (plait.metrics.Sum().update(plait.tensor(x)) for x in ([1.0, 2.0], [3.0]))
        >>> one.merge(other).compute()
        6. : f64[]
        """
        if type(other) is not type(self) or _core._flatten(other)[1] != _core._flatten(self)[1]:
            raise errors.TypeError.with_hint(f"metrics.{type(self).__name__}: it does not merge with another {type(other).__name__}",
                                             "merge metrics that were made with the same options")
        return self._joined(_Two(self, other))

    def all_reduce(self, axis_name):
        """The metric of the data of all samples along a named axis.

        >>> x = plait.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> plait.vmap(lambda x: plait.metrics.Mean().update(x).all_reduce("data").compute(), axis_name="data")(x)
        [2.5 2.5] : f64[2]
        """
        return self._joined(_AlongAxis(self, axis_name))

    def reset(self):
        """The metric of no data.

        >>> plait.metrics.Sum().update(plait.tensor(2.0)).reset().compute()
        0. : f64[]
        """
        return self._with(**{name: _core.zeros_like(getattr(self, name)) for name in self._names})

    def _joined(self, parts):
        return self._with(**{name: parts.total(lambda part: getattr(part, name)) for name in self._names})

    def _with(self, **state):
        made = copy.copy(self)
        for name, value in state.items():
            setattr(made, name, value)
        return made

    def _begin(self, **state):
        for name, value in state.items():
            setattr(self, name, Buffer(value))


class _Two:
    """Two parts of the data."""

    def __init__(self, *parts):
        self._parts = parts

    def total(self, value_of):
        return value_of(self._parts[0]) + value_of(self._parts[1])

    def together(self, value_of):
        return _core.concat([value_of(part) for part in self._parts], axis=0)


class _AlongAxis:
    """The parts of the data along a named axis."""

    def __init__(self, part, name):
        self._part, self._name = part, name

    def total(self, value_of):
        return _core.all_reduce_sum(value_of(self._part), self._name)

    def together(self, value_of):
        values = value_of(self._part)
        return _core.reshape(_core.all_gather(values, self._name), (-1, *values.shape[1:]))


class Collection(Module):
    """Several metrics of the same predictions and targets, by name: all methods are those of each.

    >>> metrics = plait.metrics.Collection(mse=plait.metrics.MSE(), mae=plait.metrics.MAE())
    >>> metrics.update(plait.tensor([1.0, 2.0]), plait.tensor([1.0, 4.0])).compute()
    {'mse': 2. : f64[], 'mae': 1. : f64[]}
    """

    def __init__(self, metrics=None, **named):
        if not isinstance(metrics, dict | None):
            raise errors.TypeError(f"metrics.Collection: metrics is {metrics!r}, expected a dict")
        self.metrics = {**(metrics or {}), **named}
        for name, metric in self.metrics.items():
            if not isinstance(metric, (Metric, Collection)):
                raise errors.TypeError(f"metrics.Collection: {name} is a {type(metric).__name__}, expected a metric")

    def update(self, *given, **named):
        """Each metric, updated."""
        return self._each(lambda name, metric: metric.update(*given, **named))

    def merge(self, other):
        """Each metric, merged with that of the same name."""
        if not isinstance(other, Collection) or other.metrics.keys() != self.metrics.keys():
            raise errors.TypeError("metrics.Collection: it merges with a Collection of the same names")
        return self._each(lambda name, metric: metric.merge(other.metrics[name]))

    def all_reduce(self, axis_name):
        """Each metric of the data of all samples along a named axis."""
        return self._each(lambda name, metric: metric.all_reduce(axis_name))

    def reset(self):
        """Each metric, of no data."""
        return self._each(lambda name, metric: metric.reset())

    def compute(self):
        """The results by name."""
        return {name: metric.compute() for name, metric in self.metrics.items()}

    def __getitem__(self, name):
        return self.metrics[name]

    def _each(self, change):
        return Collection({name: change(name, metric) for name, metric in self.metrics.items()})


def exact(x):
    """As f64, without derivatives."""
    return _core.astype(_core.stop_gradient(asarray(x)), _core.f64)


def counted(name, mask, shape):
    """Which elements count: the mask, repeated along the axes that it lacks."""
    if mask is None:
        return _core.full(shape, True, dtype=_core.boolean)
    mask = asarray(mask)
    if mask.dtype != _core.boolean:
        raise errors.TypeError.with_hint(f"metrics.{name}: the mask is {mask.dtype.name}{list(mask.shape)}, expected bool", "mask != 0")
    if tuple(mask.shape) != tuple(shape[:mask.ndim]):
        raise errors.ShapeError(f"metrics.{name}: the mask is {list(mask.shape)}, expected {list(shape)}, or its first sizes")
    return _core.broadcast_to(_core.reshape(mask, (*mask.shape, *[1] * (len(shape) - mask.ndim))), shape)


def expect_option(name, what, value, allowed):
    if value not in allowed:
        raise errors.ValueError(f"metrics.{name}: {what} is {value!r}, expected one of {', '.join(map(repr, allowed))}")
    return value


def expect_alike(name, predictions, targets):
    if tuple(predictions.shape) != tuple(targets.shape):
        raise errors.ShapeError(f"metrics.{name}: the predictions are {list(predictions.shape)} and the targets {list(targets.shape)}, expected "
                                "the same sizes")


def quotient(numerator, denominator):
    """In f64; NaN where both are 0."""
    return _core.astype(numerator, _core.f64) / _core.astype(denominator, _core.f64)
