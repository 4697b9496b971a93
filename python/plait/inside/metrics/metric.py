"""Common to all metrics: a state of tensors that merges."""

import copy

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.unused import expect_used
from plait.inside.trees.buffers import Buffer, of_structure as buffers_of
from plait.inside.trees.module import Module, holds_module
from plait.tree import map as map_tree


class Metric(Module):
    """The base of metrics: Modules whose state consists of buffers, which are not trained. A metric of your own begins with buffers of
    zeros, has `update`, which returns the metric with a batch more, and `compute`. By default `merge` and `all_reduce` add the buffers, and
    `reset` sets them to zero; a metric whose buffers are not sums, as a maximum, defines all three. NumPy arrays, and models in buffers,
    are constants.

    >>> class Hinge(plait.metrics.Metric):
    ...     def __init__(self):
    ...         self.total, self.count = plait.nn.Buffer(plait.zeros(())), plait.nn.Buffer(plait.zeros((), dtype=plait.i64))
    ...     def update(self, scores, signs):
    ...         losses = plait.relu(1 - scores * signs)
    ...         return self.with_(total=self.total + plait.sum(losses), count=self.count + losses.size)
    ...     def compute(self):
    ...         return self.total / self.count
    >>> one, other = Hinge(), Hinge().update(plait.tensor([0.5, 2.0]), plait.tensor([1.0, -1.0]))
    >>> one.update(plait.tensor([1.0, 0.0]), plait.tensor([1.0, 1.0])).merge(other).compute()
    1.125 : f32[]
    """

    _constants = ()  # buffers that are not part of the state

    def update(self, predictions, targets, mask=None):
        """The metric of the data so far and of a batch. Elements where the mask is false do not count; a mask may lack the last
        axes of the targets."""
        following = self.merge(self.with_(**self._batch(predictions, targets, mask)))
        expect_updated()
        return following

    def with_(self, **state):
        """The metric with other buffers, by name.

        >>> plait.metrics.Sum().with_(total=plait.tensor(4.0)).compute()
        4. : f32[]
        """
        made = copy.copy(self)
        for name, value in state.items():
            if name not in self._buffers:
                raise errors.AttributeError(f"metrics.{type(self).__name__}: {name} is not one of its buffers, {', '.join(sorted(self._buffers))}")
            setattr(made, name, value)
        return made

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
        return self.with_(**{name: map_tree(_core.zeros_like, value) for name, value in self._state("reset").items()})

    def _joined(self, parts):
        return self.with_(**{name: parts.total(lambda part: getattr(part, name)) for name in self._state("merge")})

    def _batch(self, predictions, targets, mask):
        raise errors.TypeError.with_hint(f"metrics.{type(self).__name__}: there is no update", "define update(self, predictions, targets), which "
                                         "returns self.with_(total=self.total + …)")

    def _state(self, what):
        """The buffers that change, by name. TypeError if there are none, or if there are weights."""
        name = f"metrics.{type(self).__name__}"
        leaves, structure = _core._flatten(self)
        for path, leaf, is_buffer in zip(structure.paths, leaves, buffers_of(structure)):
            if isinstance(leaf, _core.Tensor) and not is_buffer:
                raise errors.TypeError.with_hint(f"{name}: {path} is a weight, which {what} does not know", f"define {what}, or make it a buffer: "
                                                 f"self.{path} = plait.nn.Buffer(…)")
        found = {each: getattr(self, each) for each in sorted(self._buffers - set(self._constants))}
        found = {each: value for each, value in found.items() if _is_state(value)}
        if not found:
            raise errors.TypeError.with_hint(f"{name}: it has no buffers, and no {what} of its own", f"define {what}, or keep the state in "
                                             "buffers, which are added: self.total = plait.nn.Buffer(plait.zeros(()))")
        return found

    def _begin(self, **state):
        for name, value in state.items():
            setattr(self, name, Buffer(value))


def _is_state(value):
    return not holds_module(value) and all(isinstance(leaf, _core.Tensor) for leaf in _core._flatten(value)[0])


def expect_updated():
    """TypeError if the caller of `update` does not use its result."""
    expect_used("update", "metric = metric.update(predictions, targets)", "the metric with a batch more", depth=3)


class _Two:
    """Two parts of the data."""

    def __init__(self, *parts):
        self._parts = parts

    def total(self, value_of):
        return map_tree(_core.add, *map(value_of, self._parts))

    def together(self, value_of):
        return _core.concat([value_of(part) for part in self._parts], axis=0)


class _AlongAxis:
    """The parts of the data along a named axis."""

    def __init__(self, part, name):
        self._part, self._name = part, name

    def total(self, value_of):
        return map_tree(lambda value: _core.all_reduce_sum(value, self._name), value_of(self._part))

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
        following = self._each(lambda name, metric: metric.update(*given, **named))
        expect_updated()
        return following

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


def counted(name, mask, like):
    """Which elements of a tensor count: the mask, repeated along the axes that it lacks."""
    shape = like.shape
    if mask is None:
        return _core._made_beside(like, _core.full(shape, True, dtype=_core.boolean))
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
