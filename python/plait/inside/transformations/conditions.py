"""Transformations of transformations that run every few steps, or under a condition."""

from plait import _core
from plait.inside.optimizers.numbers import number
from plait.inside.transformations.accumulation import whole
from plait.inside.transformations.clipping import are_finite
from plait.inside.transformations.combining import Composite
from plait.inside.transformations.transformation import (Columns, State, cast_like, choose, expect_function, expect_transformation, map_leaves,
                                                    squared_norm, sum_of, update_of, wide, zero_steps)
from plait.inside.transforms.control import cond


class Wrapping(Composite):
    """The base of those with one transformation inside."""

    def _parts(self):
        return [self.inner]

    def _update_if(self, condition, updates, state, params, extra, otherwise):
        """The updates and the state of the inner transformation if the condition is true, else `otherwise` and the state as it is."""
        def run(*_):
            made, inner = update_of(self.inner, updates, state, params, extra)
            return map_leaves(self._name(), lambda each: each, made), cast_like(inner, state)

        return cond(condition, run, lambda *_: (map_leaves(self._name(), lambda each: each, otherwise), state))


def _zeros(updates):
    return map_leaves("optim", _core.zeros_like, updates)


class apply_if_finite(Wrapping):  # noqa: N801: optax's names
    """Applies a transformation if the updates are finite; else the updates are zero and its state stays. After max_consecutive_errors such
    steps it is applied all the same.

    >>> tx = plait.optim.apply_if_finite(plait.optim.sgd(0.1), 5)
    >>> updates, state = tx.update(plait.tensor([1.0, float("inf")]), tx.init(plait.zeros(2)))
    >>> updates, state.notfinite_count
    ([0. 0.] : f32[2], 1 : i64[])
    """

    def __init__(self, inner, max_consecutive_errors):
        self.max_consecutive_errors = whole(f"{self._name()}: max_consecutive_errors", max_consecutive_errors, 0)
        self.inner = expect_transformation(self._name(), inner)

    def init(self, params):
        return State(notfinite_count=zero_steps(), last_finite=_core.full((), True), total_notfinite=zero_steps(),
                     inner_state=self.inner.init(params))

    def update(self, updates, state, params=None, **extra):
        is_finite = are_finite(updates)
        failed = _core.where(is_finite, 0, state.notfinite_count + 1)
        goes_on = _core.logical_or(is_finite, failed > self.max_consecutive_errors)
        made, inner = self._update_if(goes_on, updates, state.inner_state, params, extra, _zeros(updates))
        total = state.total_notfinite + _core.astype(_core.logical_not(is_finite), _core.i64)
        return made, State(notfinite_count=_core.astype(failed, _core.i64), last_finite=is_finite, total_notfinite=total, inner_state=inner)


class conditionally_transform(Wrapping):  # noqa: N801
    """Applies a transformation at the steps that should_transform_fn names, a function of the number of steps; else the updates pass
    unchanged.

    >>> tx = plait.optim.conditionally_transform(plait.optim.scale(2.0), lambda step: step > 0)
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> updates, tx.update(plait.tensor([1.0, -2.0]), state)[0]
    ([ 1. -2.] : f32[2], [ 2. -4.] : f32[2])
    """

    def __init__(self, inner, should_transform_fn, forward_extra_args=False):
        self.should_transform_fn = expect_function(f"{self._name()}: should_transform_fn", should_transform_fn)
        self.forward_extra_args = forward_extra_args
        self.inner = expect_transformation(self._name(), inner)

    def init(self, params):
        return State(inner_state=self.inner.init(params), step=zero_steps())

    def update(self, updates, state, params=None, **extra):
        condition = self.should_transform_fn(state.step, **(extra if self.forward_extra_args else {}))
        made, inner = self._update_if(condition, updates, state.inner_state, params, extra, self._otherwise(updates))
        return made, State(inner_state=inner, step=state.step + 1)

    def _otherwise(self, updates):
        return updates


class conditionally_mask(conditionally_transform):  # noqa: N801
    """Applies a transformation at the steps that should_transform_fn names, a function of the number of steps; else the updates are zero.

    >>> tx = plait.optim.conditionally_mask(plait.optim.scale(2.0), lambda step: step > 0)
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> updates, tx.update(plait.tensor([1.0, -2.0]), state)[0]
    ([0. 0.] : f32[2], [ 2. -4.] : f32[2])
    """

    def _otherwise(self, updates):
        return _zeros(updates)


def skip_not_finite(updates, gradient_step, params):
    """For MultiSteps: skips updates that are not finite.

    >>> plait.optim.skip_not_finite(plait.tensor([1.0, float("nan")]), 0, None)[0]
    True : bool[]
    """
    leaves = Columns("optim", updates).leaves
    count = sum_of((_core.sum(_core.astype(_core.logical_not(_core.isfinite(each)), _core.i64)) for each in leaves), _core.i64)
    return count > 0, {"should_skip": count > 0, "num_not_finite": count}


def skip_large_updates(updates, gradient_step, params, max_squared_norm):
    """For MultiSteps: skips updates whose squared norm is not below max_squared_norm.

    >>> plait.optim.skip_large_updates(plait.tensor([1.0, 3.0]), 0, None, max_squared_norm=9.0)[0]
    True : bool[]
    """
    number("optim.skip_large_updates: max_squared_norm", max_squared_norm)
    norm = squared_norm(Columns("optim", updates).leaves)
    is_large = _core.logical_not(norm < max_squared_norm)
    return is_large, {"should_skip": is_large, "norm_squared": norm}


class MultiSteps(Wrapping):
    """Applies a transformation to the means of the gradients of k steps, or to their sums; the updates of the steps between are zero.
    k may be a function of the number of steps that were applied. should_skip_update_fn says which gradients to leave out.

    >>> tx = plait.optim.MultiSteps(plait.optim.sgd(0.1), 2)
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> updates, tx.update(plait.tensor([3.0, -2.0]), state)[0]
    ([0. 0.] : f32[2], [-0.2  0.2] : f32[2])
    """

    def __init__(self, opt, every_k_schedule, use_grad_mean=True, should_skip_update_fn=None, accumulator_dtype=_core.f32):
        is_schedule = callable(every_k_schedule) and not isinstance(every_k_schedule, _core.Tensor)
        self.every_k_schedule = every_k_schedule if is_schedule else whole("optim.MultiSteps: every_k_schedule", every_k_schedule)
        self.use_grad_mean, self.should_skip_update_fn, self.accumulator_dtype = use_grad_mean, should_skip_update_fn, accumulator_dtype
        self.inner = expect_transformation("optim.MultiSteps", opt)

    @property
    def inner_opt(self):
        return self.inner

    def _skips(self, updates, step, params):
        if self.should_skip_update_fn is None:
            return None, ()
        return self.should_skip_update_fn(updates, step, params)

    def init(self, params):
        total = map_leaves(self._name(), lambda each: _core.zeros_like(_core.astype(each, self.accumulator_dtype or each.dtype)), params)
        return State(mini_step=zero_steps(), gradient_step=zero_steps(), inner_opt_state=self.inner.init(params), acc_grads=total,
                     skip_state=self._skips(_zeros(params), zero_steps(), params)[1])

    def update(self, updates, state, params=None, **extra):
        steps = self.every_k_schedule if isinstance(self.every_k_schedule, _core.Tensor) else self.every_k_schedule(state.gradient_step)
        skips, skip_state = self._skips(updates, state.gradient_step, params)
        place, due = state.mini_step, _core.equal(state.mini_step, steps - 1)
        total = map_leaves(self._name(), lambda new, old: self._added(new, old, place), updates, state.acc_grads)
        applies = due if skips is None else _core.logical_and(due, _core.logical_not(skips))
        made, inner = self._update_if(applies, total, state.inner_opt_state, params, extra, _zeros(total))
        following = State(mini_step=(place + 1) % steps, gradient_step=state.gradient_step + _core.astype(due, _core.i64), inner_opt_state=inner,
                          acc_grads=choose(due, _zeros(total), total), skip_state=())
        following = cast_like(following, state.with_(skip_state=()))
        if skips is not None:
            inner, following = following.inner_opt_state, following.with_(inner_opt_state=())
            following = choose(skips, state.with_(skip_state=(), inner_opt_state=()), following).with_(inner_opt_state=inner)
        return made, following.with_(skip_state=skip_state)

    def _added(self, new, old, place):
        dtype = old.dtype if old.dtype.kind == "complex" else wide(old.dtype)
        return old + (new - old) / _core.astype(place + 1, dtype) if self.use_grad_mean else old + new

    def has_updated(self, state):
        """True if the last step applied an update."""
        return _core.logical_and(_core.equal(state.mini_step, 0), state.gradient_step > 0)

    def gradient_transformation(self):
        return self
