"""Steps of the same transformation here and in optax, in f64, on a tree with a matrix, a vector and a number."""

import sys
import types

import jax
import numpy as np
import optax
import plait as pl
from optax import contrib
from optax._src import factorized

jax.config.update("jax_enable_x64", True)

STEPS = 200
_RANDOM = np.random.default_rng(3)
START = {"matrix": _RANDOM.normal(size=(4, 3)), "vector": _RANDOM.normal(size=5), "number": np.array(0.7)}
_TARGET = {name: _RANDOM.normal(size=each.shape) for name, each in START.items()}
_CURVATURE = {name: _RANDOM.uniform(0.2, 3.0, size=each.shape) for name, each in START.items()}
_NOISE = {name: 0.3 * _RANDOM.normal(size=(STEPS, *each.shape)) for name, each in START.items()}


def gradient(params, step):
    """The gradient of a bowl, with noise."""
    return {name: _CURVATURE[name] * (np.asarray(each) - _TARGET[name]) + 0.1 * np.asarray(each) ** 3 + _NOISE[name][step]
            for name, each in params.items()}


def loss(params, module):
    """The loss of that bowl, without the noise; module is jax.numpy or plait."""
    return sum(module.sum(_CURVATURE[name] * (each - _TARGET[name]) ** 2 / 2 + 0.025 * each**4) for name, each in params.items())


def tensors(tree):
    return {name: pl.asarray(np.array(each)) for name, each in tree.items()}


def _in_f64():
    """optax computes this decay in f32."""
    function = factorized.scale_by_factored_rms
    function.__defaults__ = (*function.__defaults__[:-1], lambda step, exponent: 1.0 - (step + 1.0) ** -exponent)


    projections = sys.modules[contrib.galore.__module__]  # and these
    projections.jnp = types.SimpleNamespace(**{**vars(projections.jnp), "float32": projections.jnp.float64})


_in_f64()


def _with_wide_counts(state):
    """With i64 instead of i32, of which roots and schedules are f32."""
    if not any(name in repr(state) for name in ("Madgrad", "ScheduleFree")):
        return state
    return jax.tree.map(lambda each: each.astype("int64") if getattr(each, "dtype", None) == np.int32 else each, state)


def theirs(transformation, steps=STEPS, extra=None):
    """The weights after each step in optax."""
    extra = extra or (lambda params, step: {})

    def step_of(params, state, gradient, named):
        updates, state = optax.with_extra_args_support(transformation).update(gradient, state, params, **named)
        return optax.apply_updates(params, updates), state

    run, params = jax.jit(step_of), {name: jax.numpy.asarray(each) for name, each in START.items()}
    state, way = _with_wide_counts(transformation.init(params)), []
    for step in range(steps):
        params, state = run(params, state, gradient(params, step), extra(params, step))
        way.append({name: np.asarray(each) for name, each in params.items()})
    return way


def ours(transformation, steps=STEPS, extra=None, jitted=False):
    """The weights after each step here."""
    extra = extra or (lambda params, step: {})

    def step_of(params, state, gradient, named):
        updates, state = transformation.update(gradient, state, params, **named)
        return pl.optim.apply_updates(params, updates), state

    run, params = pl.jit(step_of) if jitted else step_of, tensors(START)
    state, way = transformation.init(params), []
    for step in range(steps):
        params, state = run(params, state, tensors(gradient(params, step)), tensors(extra(params, step)))
        way.append({name: np.array(each) for name, each in params.items()})
    return way


def searched(transformation, module, jitted=True, steps=12):
    """The weights after each step with a line search, in optax for jax.numpy, else here."""
    is_ours = module is pl
    library, apply = (pl, pl.optim.apply_updates) if is_ours else (jax, optax.apply_updates)

    def value_fn(params):
        return loss(params, module)

    def step_of(params, state):
        value, gradient = library.value_and_grad(value_fn)(params)
        updates, state = transformation.update(gradient, state, params, value=value, grad=gradient, value_fn=value_fn)
        return apply(params, updates), state

    run, params = library.jit(step_of) if jitted else step_of, tensors(START) if is_ours else {k: jax.numpy.asarray(v) for k, v in START.items()}
    state, way = transformation.init(params), []
    for _ in range(steps):
        params, state = run(params, state)
        way.append({name: np.array(each) for name, each in params.items()})
    return way


def difference(ours, theirs):
    """The largest difference of the weights over all steps, relative to the length of the way."""
    length = max(np.abs(theirs[-1][name] - START[name]).max() for name in START)
    length = max(length, max(np.abs(step[name] - START[name]).max() for step in theirs for name in START))
    return max(np.abs(a[name] - b[name]).max() for a, b in zip(ours, theirs) for name in START) / length
