"""Transformations of transformations that keep weights of their own: lookahead, schedule-free, sharpness-aware, mechanic."""

from plait import _core, errors
from plait.inside.transformations.accumulation import whole
from plait.inside.transformations.descents import sgd
from plait.inside.transformations.optimizer import apply_updates
from plait.inside.transformations.combining import chain
from plait.inside.transformations.conditions import Wrapping
from plait.inside.optimizers.numbers import ABOVE_ONE, number_at
from plait.inside.transformations.scaling import add_decayed_weights, scale_by_learning_rate
from plait.inside.transformations.squares import scale_by_rms
from plait.inside.transformations.transformation import (ANY, POSITIVE, Columns, Limits, State, cast_like, choose, expect_transformation, map_leaves,
                                                    squared_norm, sum_of, update_of, wide, widened, zero_steps)


def dot(first, second):
    """The sum of the products of all leaves."""
    columns = Columns("optim", first)
    return sum_of(_core.sum(widened(a) * widened(b)) for a, b in zip(columns.leaves, columns.of("another tree", second)))


def lowest_dtype(tree):
    """The narrowest dtype of the leaves."""
    return min((each.dtype for each in Columns("optim", tree).leaves), key=lambda dtype: dtype.itemsize)


class lookahead(Wrapping):  # noqa: N801: optax's names
    """Lookahead: every sync_period steps, slow weights move towards the weights, which then continue from there. The slow weights are in
    the state, `state.slow`.

    >>> tx = plait.optim.lookahead(plait.optim.sgd(1.0), 1, 0.5)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0]
    [-0.5  1. ] : f32[2]
    """

    slow_step_size: Limits(0.0, ABOVE_ONE)

    def __init__(self, fast_optimizer, sync_period, slow_step_size, reset_state=False):
        self.sync_period = whole("optim.lookahead: sync_period", sync_period)
        self.slow_step_size, self.reset_state = slow_step_size, reset_state
        self.inner = expect_transformation("optim.lookahead", fast_optimizer)

    def init(self, params):
        return State(count=zero_steps(), fast_state=self.inner.init(params), steps_since_sync=zero_steps(), slow=params)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        rate = number_at(self.slow_step_size, state.count)
        updates, inner = update_of(self.inner, updates, state.fast_state, params, extra)
        syncs = _core.equal(state.steps_since_sync, self.sync_period - 1)
        goal = map_leaves(self._name(), lambda slow, fast, update: slow + _core.astype(rate, fast.dtype) * (fast + update - slow), state.slow,
                          params, updates)
        made = map_leaves(self._name(), lambda goal, fast, update: _core.where(syncs, goal - fast, update), goal, params, updates)
        inner = choose(syncs, self.inner.init(params), inner) if self.reset_state else inner
        return made, State(count=state.count + 1, fast_state=inner, steps_since_sync=(state.steps_since_sync + 1) % self.sync_period,
                           slow=choose(syncs, goal, state.slow))


class schedule_free(Wrapping):  # noqa: N801
    """Schedule-free: the weights are an average of a sequence z, which the transformation moves, and of its mean, which
    schedule_free_eval_params returns.

    >>> tx = plait.optim.schedule_free(plait.optim.sgd(0.5), 0.5)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0]
    [-0.5  1. ] : f32[2]
    """

    learning_rate: POSITIVE
    b1: Limits(2.0**-52, 1.0)
    weight_lr_power: ANY

    def __init__(self, base_optimizer, learning_rate, b1=0.9, weight_lr_power=2.0, state_dtype=None):
        self.learning_rate, self.b1, self.weight_lr_power, self.state_dtype = learning_rate, b1, weight_lr_power, state_dtype
        self.inner = expect_transformation("optim.schedule_free", base_optimizer)

    def init(self, params):
        dtype, count = lowest_dtype(params), zero_steps()
        z = params if self.state_dtype is None else map_leaves(self._name(), lambda each: _core.astype(each, self.state_dtype), params)
        return State(b1=_core.astype(number_at(self.b1, count), dtype), weight_sum=_core.zeros((), dtype=_core.f64), step_count=count + 1,
                     max_lr=_core.zeros((), dtype=_core.f64), base_optimizer_state=self.inner.init(params), z=z)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n = self._numbers_at(state.step_count)
        most = _core.maximum(state.max_lr, n["learning_rate"])
        weight = most ** n["weight_lr_power"]
        total = state.weight_sum + weight
        part = weight / total
        part = _core.where(_core.logical_and(_core.isnan(part), _core.equal(total, 0.0)), 0.0, part)
        steps, inner = update_of(self.inner, updates, state.base_optimizer_state, params, extra)
        z = cast_like(map_leaves(self._name(), lambda z, step: z + step, state.z, steps), state.z)

        def change(weight, before, after):
            b1, share = _core.astype(n["b1"], weight.dtype), _core.astype(part, weight.dtype)
            mean = (weight - (1.0 - b1) * before) / b1
            mean = (1.0 - share) * mean + share * after
            return b1 * mean + (1.0 - b1) * after - weight

        made = map_leaves(self._name(), change, params, state.z, z)
        return made, State(b1=_core.astype(n["b1"], state.b1.dtype), weight_sum=total, step_count=state.step_count + 1, max_lr=most,
                           base_optimizer_state=inner, z=z)


def schedule_free_eval_params(state, params):
    """The weights to evaluate a model with, from the state of schedule_free and the weights in training.

    >>> tx = plait.optim.schedule_free_sgd(0.5)
    >>> plait.optim.schedule_free_eval_params(tx.init(plait.ones(2)), plait.ones(2))
    [1. 1.] : f32[2]
    """
    if not hasattr(state, "b1") or not hasattr(state, "z"):
        raise errors.TypeError(f"optim.schedule_free_eval_params: the state is a {type(state).__name__}, expected that of schedule_free")
    found = dict(zip(*_paths_and_leaves(state.z)))
    columns = Columns("optim.schedule_free_eval_params", params)

    def mean(weight, z):
        b1 = _core.astype(state.b1, widened(weight).dtype)
        return _core.astype((widened(weight) - (1.0 - b1) * widened(z)) / b1, weight.dtype)

    return columns.tree([mean(weight, found[path]) for path, weight in zip(columns.paths, columns.leaves)])


def _paths_and_leaves(tree):
    columns = Columns("optim", tree)
    return columns.paths, columns.leaves


def _warmed_up(learning_rate, warmup_steps):
    if warmup_steps is None:
        return learning_rate
    return lambda step: learning_rate * _core.clip(_core.astype(step, _core.f64) / warmup_steps, 0.0, 1.0)


def schedule_free_sgd(learning_rate=1.0, warmup_steps=None, b1=0.9, weight_decay=None, weight_lr_power=2.0, state_dtype=None):
    """Schedule-free gradient descent.

    >>> tx = plait.optim.schedule_free_sgd(0.5)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0]
    [-0.5  1. ] : f32[2]
    """
    learning_rate = _warmed_up(learning_rate, warmup_steps)
    inner = sgd(learning_rate)
    inner = inner if weight_decay is None else chain(add_decayed_weights(weight_decay), inner)
    return schedule_free(inner, learning_rate, b1, weight_lr_power, state_dtype)


def schedule_free_adamw(learning_rate=0.0025, warmup_steps=None, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.0, weight_lr_power=2.0,
                        state_dtype=None):
    """Schedule-free AdamW.

    >>> tx = plait.optim.schedule_free_adamw(0.5)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0]
    [-0.5  0.5] : f32[2]
    """
    learning_rate = _warmed_up(learning_rate, warmup_steps)
    inner = chain(scale_by_rms(b2, eps, eps_in_sqrt=False, bias_correction=True), add_decayed_weights(weight_decay),
                  scale_by_learning_rate(learning_rate))
    return schedule_free(inner, learning_rate, b1, weight_lr_power, state_dtype)


class sam(Wrapping):  # noqa: N801
    """Sharpness-aware minimisation: the gradient is taken where adv_optimizer ascends to, for sync_period - 1 steps, and applied where that
    began. With opaque_mode one `update` does all of these, and needs grad_fn(model, i), which returns a gradient.

    >>> tx = plait.optim.sam(plait.optim.sgd(0.1), plait.optim.chain(plait.optim.normalize(), plait.optim.sgd(0.05)), opaque_mode=True)
    >>> weights = plait.tensor([3.0, 4.0])
    >>> tx.update(2 * weights, tx.init(weights), weights, grad_fn=lambda weights, i: 2 * weights)[0]
    [-0.606 -0.808] : f32[2]
    """

    def __init__(self, optimizer, adv_optimizer, sync_period=2, reset_state=True, opaque_mode=False, batch_axis_name=None):
        if opaque_mode and not isinstance(sync_period, int):
            raise errors.TypeError("optim.sam: sync_period: expected an integer in opaque mode")
        self.sync_period = sync_period if opaque_mode and whole("optim.sam: sync_period", sync_period) is not None else whole(
            "optim.sam: sync_period", sync_period)
        self.reset_state, self.opaque_mode, self.batch_axis_name = reset_state, opaque_mode, batch_axis_name
        self.adv_optimizer = expect_transformation("optim.sam", adv_optimizer)
        self.inner = expect_transformation("optim.sam", optimizer)

    def _parts(self):
        return [self.inner, self.adv_optimizer]

    def init(self, params):
        return State(steps_since_sync=zero_steps(), opt_state=self.inner.init(params), adv_state=self.adv_optimizer.init(params),
                     cache=None if self.opaque_mode else params)

    def update(self, updates, state, params=None, grad_fn=None, **extra):
        self._expect_params(params)
        return self._in_one(updates, state, params, grad_fn) if self.opaque_mode else self._by_steps(updates, state, params)

    def _by_steps(self, updates, state, params):
        is_first, is_last = _core.equal(state.steps_since_sync, 0), _core.equal(state.steps_since_sync, self.sync_period - 1)
        ascent, adv_state = self.adv_optimizer.update(updates, state.adv_state, params)
        descent, opt_state = self.inner.update(updates, state.opt_state, state.cache)
        back = map_leaves(self._name(), lambda start, here, step: start - here + step, state.cache, params, descent)
        made = map_leaves(self._name(), lambda down, up: _core.where(is_last, down, -up), back, ascent)
        adv_state = choose(is_last, self.adv_optimizer.init(params) if self.reset_state else state.adv_state, adv_state)
        return made, State(steps_since_sync=(state.steps_since_sync + 1) % self.sync_period, opt_state=choose(is_last, opt_state, state.opt_state),
                           adv_state=adv_state, cache=choose(is_first, params, state.cache))

    def _in_one(self, updates, state, params, grad_fn):
        if grad_fn is None:
            raise errors.TypeError.with_hint("optim.sam: grad_fn is missing, which opaque_mode needs",
                                             "update(model, gradient, grad_fn=lambda model, i: plait.grad(loss)(model))")
        here, adv_state = params, state.adv_state
        for i in range(self.sync_period - 1):
            updates, adv_state = self.adv_optimizer.update(updates, adv_state, here)
            here = apply_updates(here, map_leaves(self._name(), lambda each: -each, updates))
            updates = grad_fn(here, i)
            if self.batch_axis_name is not None:
                updates = map_leaves(self._name(), lambda each: _core.all_reduce_mean(each, self.batch_axis_name), updates)
        adv_state = self.adv_optimizer.init(params) if self.reset_state else adv_state
        made, opt_state = self.inner.update(updates, state.opt_state, params)
        return made, State(steps_since_sync=zero_steps(), opt_state=opt_state, adv_state=adv_state, cache=None)


class mechanize(Wrapping):  # noqa: N801
    """Mechanic: learns the rate of a transformation.

    >>> tx = plait.optim.mechanize(plait.optim.sgd(1.0), s_init=0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.10000002  0.20000005] : f32[2]
    """

    weight_decay: ANY
    eps: POSITIVE
    s_init: POSITIVE

    def __init__(self, base_optimizer, weight_decay=0.01, eps=1e-8, s_init=1e-6, num_betas=6):
        self.weight_decay, self.eps, self.s_init, self.num_betas = weight_decay, eps, s_init, num_betas
        whole("optim.mechanize: num_betas", num_betas)
        self.inner = expect_transformation("optim.mechanize", base_optimizer)

    def init(self, params):
        zeros = _core.zeros((self.num_betas,), dtype=wide(lowest_dtype(params)))
        first = number_at(self.s_init, zero_steps())
        return State(base_optimizer_state=self.inner.init(params), count=zero_steps(), r=zeros, m=zeros, v=zeros,
                     s=zeros + _core.astype(first, zeros.dtype), x0=params)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n = {name: _core.astype(each, state.s.dtype) for name, each in self._numbers_at(state.count).items()}
        steps, inner = update_of(self.inner, updates, state.base_optimizer_state, params, extra)
        start = choose(_core.equal(state.count, 0), params, state.x0)
        total = _core.sum(state.s)
        norms = (_core.sqrt(squared_norm(Columns("optim", each).leaves)) for each in (updates, params))
        decay = n["weight_decay"] * total * next(norms) / (next(norms) + n["eps"])
        updates = map_leaves(self._name(), lambda update, weight: update + _core.astype(decay, weight.dtype) * weight, updates, params)
        before = map_leaves(self._name(), lambda weight, start: (start - weight) / _core.astype(total + n["eps"], weight.dtype), params, start)
        after = map_leaves(self._name(), lambda each, step: each - step, before, steps)
        gain = _core.astype(dot(updates, before), state.s.dtype)
        learned = self._learned(n, state, gain)
        size = _core.sum(learned["s"])
        made = map_leaves(self._name(), lambda start, each, weight: start - _core.astype(size, weight.dtype) * each - weight, start, after, params)
        return made, State(base_optimizer_state=inner, count=state.count + 1, x0=start, **{name: learned[name] for name in "rmvs"})

    def _learned(self, n, state, gain):
        betas = _core.stack([_core.full((), 1.0 - 0.1 ** (i + 1), dtype=state.s.dtype) for i in range(self.num_betas)])
        bounded = _core.clip(gain + _core.zeros_like(state.m), -state.m, state.m)
        m, v = _core.maximum(betas * state.m, _core.absolute(gain) + n["eps"]), betas * betas * state.v + gain * gain
        r = betas * state.r + bounded * state.s
        wealth = n["s_init"] / self.num_betas * m + _core.maximum(r, 0.0)
        return {"r": r, "m": m, "v": v, "s": wealth / (_core.sqrt(v) + n["eps"])}


class split_real_and_imaginary(Wrapping):  # noqa: N801
    """Applies a transformation to the real and imaginary parts of complex weights, as to separate weights.

    >>> tx = plait.optim.split_real_and_imaginary(plait.optim.scale_by_sign())
    >>> tx.update(plait.tensor([1.0 - 2.0j]), tx.init(plait.tensor([0.0j])))[0]
    [1.-1.j] : c64[1]
    """

    def __init__(self, inner):
        self.inner = expect_transformation("optim.split_real_and_imaginary", inner)

    def _split(self, tree):
        if tree is None:
            return None
        columns = Columns(self._name(), tree)
        return columns.tree([{"real": _core.real(each), "imaginary": _core.imag(each)} if each.dtype.kind == "complex" else each
                             for each in columns.leaves])

    def init(self, params):
        return State(inner_state=self.inner.init(self._split(params)))

    def update(self, updates, state, params=None, **extra):
        columns = Columns(self._name(), updates)
        made, inner = update_of(self.inner, self._split(updates), state.inner_state, self._split(params), extra)
        found = Columns(self._name(), made).by_path()

        def joined(path, leaf):
            prefix = f"{path}." if path else ""
            return _core.make_complex(found[f"{prefix}real"], found[f"{prefix}imaginary"]) if leaf.dtype.kind == "complex" else found[path]

        return columns.tree([joined(*each) for each in zip(columns.paths, columns.leaves)]), State(inner_state=inner)
