"""Transformations that bound updates, and what to do where they are not finite."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.optimizers.numbers import expect_flag
from plait.inside.transformations.transformation import (ANY, POSITIVE, Columns, GradientTransformation, PerWeight, State, square, squared_norm, widened)
from plait.inside.settings.anomaly import check_finite
from plait.random import key as make_key, normal, split_key


class clip(PerWeight):  # noqa: N801: optax's names
    """Clips each element of the updates to [-max_delta, max_delta].

    >>> tx = plait.optim.clip(1.5)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1.  -1.5] : f32[2]
    """

    max_delta: POSITIVE

    def _one(self, n, update):
        return _core.clip(update, -n.max_delta, n.max_delta)


class clip_by_block_rms(PerWeight):  # noqa: N801
    """Scales each update down whose root of the mean square is above the threshold.

    >>> tx = plait.optim.clip_by_block_rms(1.0)
    >>> tx.update(plait.tensor([2.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    threshold: POSITIVE

    def _one(self, n, update):
        return update / _core.maximum(_core.sqrt(_core.mean(square(update))) / n.threshold, 1.0)


class clip_by_norm(PerWeight):  # noqa: N801
    """Scales each update down whose own norm is above max_norm.

    >>> tx = plait.optim.clip_by_norm(1.0)
    >>> tx.update({"w": plait.tensor([3.0, 4.0]), "b": plait.tensor(0.5)}, tx.init(plait.zeros(2)))[0]
    {'w': [0.6 0.8] : f32[2], 'b': 0.5 : f32[]}
    """

    max_norm: POSITIVE

    def _one(self, n, update):
        return update / _core.maximum(_core.sqrt(_core.sum(square(update))) / n.max_norm, 1.0)


class clip_by_global_norm(PerWeight):  # noqa: N801
    """Scales all updates down together if their common norm is above max_norm.

    >>> tx = plait.optim.clip_by_global_norm(1.0)
    >>> tx.update({"w": plait.tensor(3.0), "b": plait.tensor(4.0)}, tx.init(plait.zeros(2)))[0]
    {'w': 0.6 : f32[], 'b': 0.8 : f32[]}
    """

    max_norm: POSITIVE

    def _at(self, n, t, columns):
        return {"norm": _core.astype(_core.sqrt(squared_norm(columns.leaves)), _core.f64)}

    def _one(self, n, update):
        return _core.where(n.norm < n.max_norm, update, update / n.norm * n.max_norm)


def unitwise_norm(x, axis=None):
    """The norm of each unit of a weight, broadcast to its shape: along the axes, or by the rank as for layers of networks whose last axis is
    their output: all of a vector, the first axis of a matrix, the first three of a convolution.

    >>> plait.optim.unitwise_norm(plait.tensor([[3.0, 1.0], [4.0, 0.0]]))
    [[5. 1.]
     [5. 1.]] : f32[2, 2]
    """
    if not hasattr(x, "shape"):
        raise errors.TypeError(f"optim.unitwise_norm: x is {x!r}, expected a tensor")
    rank = len(x.shape)
    if axis is None and sum(1 for each in x.shape if not (isinstance(each, int) and each == 1)) > 1:
        axis = {2: (0,), 3: (0,), 4: (0, 1, 2), 5: (0, 1, 2, 3)}.get(rank)
        if axis is None:
            raise errors.ValueError.with_hint(f"optim.unitwise_norm: the weight is {list(x.shape)}, expected up to 5 axes", "pass axis")
    return _core.broadcast_to(_core.sqrt(_core.sum(square(x), axis=axis, keepdims=True)), x.shape)


def unitwise_clip(g_norm, max_norm, grad, div_eps=1e-6):
    """A gradient whose units have at most a norm: g_norm are the norms that they have, max_norm those that they may have, both of the
    shape of the gradient.

    >>> gradient = plait.tensor([[3.0, 1.0], [4.0, 0.0]])
    >>> plait.optim.unitwise_clip(plait.optim.unitwise_norm(gradient), plait.full((2, 2), 2.5), gradient)
    [[1.5 1. ]
     [2.  0. ]] : f32[2, 2]
    """
    g_norm, max_norm, grad = (asarray(each) for each in (g_norm, max_norm, grad))
    for name, norm in ("g_norm", g_norm), ("max_norm", max_norm):
        if norm.shape != grad.shape:
            raise errors.ShapeError(f"optim.unitwise_clip: {name} is {list(norm.shape)}, expected {list(grad.shape)} as the gradient")
    return _core.where(g_norm < max_norm, grad, grad * (max_norm / _core.maximum(g_norm, div_eps)))


class adaptive_grad_clip(PerWeight):  # noqa: N801
    """Scales the updates of each unit down whose norm is above `clipping` times the norm of its weights.

    >>> tx = plait.optim.adaptive_grad_clip(0.5)
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.ones(2)), plait.tensor([0.0, 2.0]))[0]
    [0.6 0.8] : f32[2]
    """

    clipping: POSITIVE
    eps: POSITIVE = 1e-3
    axis: object = None
    _reads_params = True

    def _one(self, n, update, weight):
        norm = unitwise_norm(update, self.axis)
        most = n.clipping * _core.maximum(unitwise_norm(weight, self.axis), n.eps)
        return unitwise_clip(norm, most, update)


def _expect_batch(name, leaves):
    if not leaves or any(len(each.shape) == 0 or each.shape[0] != leaves[0].shape[0] for each in leaves):
        raise errors.ShapeError.with_hint(f"{name}: the gradients are {[list(each.shape) for each in leaves][:8]}, expected an axis of examples "
                                          "first, of one size", "plait.vmap(plait.grad(loss), in_axes=(None, 0)) returns them")


def per_example_global_norm_clip(grads, l2_norm_clip):
    """Clips the gradient of each example, along the first axis, to a norm; returns their sum, and how many were clipped.

    >>> plait.optim.per_example_global_norm_clip([plait.tensor([[3.0, 4.0], [0.5, 0.0]])], 1.0)
    ([[1.1 0.8] : f32[2]], 1 : i64[])
    """
    columns = Columns("optim.per_example_global_norm_clip", grads)
    _expect_batch("optim.per_example_global_norm_clip", columns.leaves)
    leaves = [widened(each) for each in columns.leaves]
    flat = [_core.reshape(each, (each.shape[0], math.prod(each.shape[1:]))) for each in leaves]
    norms = _core.sqrt(sum(_core.sum(square(each), axis=1) for each in flat))
    factors = _core.minimum(l2_norm_clip / norms, 1.0)
    factors = _core.where(_core.isnan(factors), 1.0, factors)
    clipped = [_core.sum(_core.reshape(factors, (each.shape[0],) + (1,) * (len(each.shape) - 1)) * each, axis=0) for each in leaves]
    return columns.tree(clipped), _core.sum(_core.astype(factors < 1.0, _core.i64))


def per_example_layer_norm_clip(grads, global_l2_norm_clip, uniform=True):
    """Clips the gradient of each example and weight, to equal parts of the norm or to parts by the sizes; returns the sums, and for each
    weight how many were clipped.

    >>> plait.optim.per_example_layer_norm_clip([plait.tensor([[3.0, 4.0], [0.5, 0.0]])], 1.0)
    ([[1.1 0.8] : f32[2]], [1 : i64[]])
    """
    name = "optim.per_example_layer_norm_clip"
    columns = Columns(name, grads)
    _expect_batch(name, columns.leaves)
    sizes = [math.prod(each.shape[1:]) for each in columns.leaves]
    expect_flag("optim.per_example_layer_norm_clip: uniform", uniform)
    parts = [1.0 / len(sizes) if uniform else size / sum(sizes) for size in sizes]
    rows = [per_example_global_norm_clip(each, global_l2_norm_clip * part**0.5) for each, part in zip(columns.leaves, parts)]
    return columns.tree([row[0] for row in rows]), columns.tree([row[1] for row in rows])


def as_key(name, key, seed=None):
    """A random key, from a key or a number."""
    if seed is not None and key is not None:
        raise errors.TypeError(f"{name}: both a key and a seed")
    key = seed if key is None else key
    if key is None:
        raise errors.TypeError.with_hint(f"{name}: the key is missing", "key=plait.random.key(0)")
    return make_key(key) if isinstance(key, int) else key


class differentially_private_aggregate(GradientTransformation):  # noqa: N801
    """Clips the gradient of each example, along the first axis of the updates, adds noise to their sum, and divides by their number.

    >>> tx = plait.optim.differentially_private_aggregate(1.0, 0.0, plait.random.key(0))
    >>> tx.update(plait.tensor([[3.0, 4.0], [0.5, 0.0]]), tx.init(plait.zeros(2)))[0]
    [0.55 0.4 ] : f64[2]
    """

    l2_norm_clip: POSITIVE
    noise_multiplier: POSITIVE

    def __init__(self, l2_norm_clip, noise_multiplier, key=None, *, seed=None):
        self.l2_norm_clip, self.noise_multiplier = l2_norm_clip, noise_multiplier
        self.key = as_key(self._name(), key, seed)

    def init(self, params):
        return State(count=_core.zeros((), dtype=_core.i64), rng_key=self.key)

    def update(self, updates, state, params=None, **extra):
        n = self._numbers_at(state.count)
        columns = Columns(self._name(), updates)
        _expect_batch(self._name(), columns.leaves)
        batch = columns.leaves[0].shape[0]
        clipped = Columns(self._name(), per_example_global_norm_clip(updates, n["l2_norm_clip"])[0])
        following, *keys = split_key(state.rng_key, len(clipped.leaves) + 1)
        deviation = n["l2_norm_clip"] * n["noise_multiplier"]
        noised = [(leaf + _core.astype(deviation, leaf.dtype) * normal(key, leaf.shape, dtype=leaf.dtype)) / batch
                  for leaf, key in zip(clipped.leaves, keys)]
        return columns.tree(noised), State(count=state.count + 1, rng_key=following)


class add_noise(PerWeight):  # noqa: N801
    """Adds normal noise of variance eta / (1 + count)^gamma to the updates.

    >>> tx = plait.optim.add_noise(0.0, 0.55, plait.random.key(0))
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -2.] : f32[2]
    """

    eta: POSITIVE
    gamma: ANY

    def __init__(self, eta, gamma, key=None, *, seed=None):
        self.eta, self.gamma, self.key = eta, gamma, as_key(self._name(), key, seed)

    def init(self, params):
        return State(count=_core.zeros((), dtype=_core.i64), rng_key=self.key)

    def update(self, updates, state, params=None, **extra):
        n, columns = self._numbers_at(state.count), Columns(self._name(), updates)
        deviation = _core.sqrt(n["eta"] / _core.astype(state.count + 1, _core.f64) ** n["gamma"])
        following, *keys = split_key(state.rng_key, len(columns.leaves) + 1)
        noised = [leaf + _core.astype(deviation, leaf.dtype) * normal(key, leaf.shape, dtype=leaf.dtype)
                  for leaf, key in zip(map(widened, columns.leaves), keys)]
        return columns.tree(noised), State(count=state.count + 1, rng_key=following)


class zero_nans(PerWeight):  # noqa: N801
    """Replaces NaN by zero; the state says for each weight whether there was one.

    >>> tx = plait.optim.zero_nans()
    >>> updates, state = tx.update({"w": plait.tensor([1.0, float("nan")])}, tx.init({"w": plait.zeros(2)}))
    >>> updates, state.found_nan
    ({'w': [1. 0.] : f32[2]}, {'w': True : bool[]})
    """

    _kept = ("found_nan",)

    def __init__(self):
        pass

    def _begin(self, weight, n):
        return [_core.zeros((), dtype=_core.boolean)]

    def _one(self, n, update, found_nan):
        is_nan = _core.isnan(update)
        return _core.where(is_nan, 0.0, update), _core.any(is_nan)


class keep_params_nonnegative(PerWeight):  # noqa: N801
    """Changes updates that would make a weight negative, so that it becomes zero.

    >>> tx = plait.optim.keep_params_nonnegative()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [ 1. -1.] : f32[2]
    """

    _reads_params = True

    def __init__(self):
        pass

    def _one(self, n, update, weight):
        return _core.where(weight + update < 0.0, -weight, update)


class expect_finite(PerWeight):  # noqa: N801
    """Passes the updates on, and raises CheckError if one has a NaN or an infinity; the error names the weight by its path.

    >>> tx = plait.optim.chain(plait.optim.expect_finite(), plait.optim.sgd(0.1))
    >>> tx.update({"scale": plait.tensor([1.0, float("inf")])}, tx.init({"scale": plait.zeros(2)}))
    Traceback (most recent call last):
        ...
    plait.errors.CheckError: CheckError: check_finite of f32[2]: the gradient.scale has 1 inf among 2 elements, the first at [1], at ...
      hint: ...
    """

    def __init__(self):
        pass

    def update(self, updates, state, params=None, **extra):
        check_finite(updates, "the gradient")
        return updates, state


def are_finite(tree):
    """True if all elements of all leaves are finite, bool[]."""
    found = [_core.all(_core.isfinite(each)) for each in Columns("optim", tree).leaves]
    return _core.all(_core.stack(found)) if found else _core.full((), True)
