"""L-BFGS, and searches for the length of a step."""

import functools
import inspect

from plait import _core, errors
from plait.inside.transformations.accumulation import whole
from plait.inside.transformations.combining import chain
from plait.inside.transformations.scaling import expect_value, scale_by_learning_rate
from plait.inside.transformations.transformation import (DECAY, OPTIONAL, POSITIVE, Columns, GradientTransformation, Limits, State, cast_like, choose,
                                                    identity, map_leaves, real_dtype, zero_steps)
from plait.inside.transforms.control import cond, scan, while_loop
from plait.inside.transforms.derivatives import value_and_grad


def _dot(first, second):
    """The real inner product of two trees, f64[]."""
    parts = [_core.sum(_core.real(_core.conj(a) * b)) if a.dtype.kind == "complex" else _core.sum(a * b)
             for a, b in zip(Columns("optim", first).leaves, Columns("optim", first).of("another tree", second))]
    return functools.reduce(_core.add, [_core.astype(each, _core.f64) for each in parts])


def _added(tree, factor, step):
    """tree + factor · step."""
    return map_leaves("optim", lambda a, b: a + _core.astype(factor, real_dtype(b.dtype)) * b, tree, step)


class scale_by_lbfgs(GradientTransformation):  # noqa: N801: optax's names
    """Multiplies the gradient by an estimate of the inverse Hessian, from the last memory_size steps.

    >>> tx = plait.optim.scale_by_lbfgs()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [0.6 0.8] : f32[2]
    """

    memory_size: int = 10
    scale_init_precond: bool = True

    def __post_init__(self):
        whole("optim.scale_by_lbfgs: memory_size", self.memory_size)

    def init(self, params):
        zeros = map_leaves(self._name(), _core.zeros_like, params)
        memory = map_leaves(self._name(), lambda each: _core._made_beside(each, _core.zeros((self.memory_size, *each.shape), dtype=each.dtype)), params)
        return State(count=zero_steps(), params=zeros, updates=zeros, diff_params_memory=memory, diff_updates_memory=memory,
                     weights_memory=_core.zeros((self.memory_size,), dtype=_core.f64))

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        is_later = state.count > 0
        moved, changed = (map_leaves(self._name(), lambda new, old: _core.where(is_later, new - old, 0.0), new, old)
                          for new, old in ((params, state.params), (updates, state.updates)))
        product = _dot(changed, moved)
        place = (state.count - 1 + self.memory_size) % self.memory_size
        is_place = _core.equal(_core.arange(self.memory_size), place)
        weights = _core.where(is_place, _core.where(_core.equal(product, 0.0), 0.0, 1.0 / product), state.weights_memory)

        def stored(memory, new):
            here = _core.reshape(is_place, (-1,) + (1,) * len(new.shape))
            return _core.where(here, _core.expand_dims(new, 0), memory)

        moves, changes = (map_leaves(self._name(), stored, memory, new)
                          for memory, new in ((state.diff_params_memory, moved), (state.diff_updates_memory, changed)))
        made = self._preconditioned(updates, moves, changes, weights, self._first_scale(state, updates, changed, product), state.count)
        following = State(count=state.count + 1, params=params, updates=updates, diff_params_memory=moves, diff_updates_memory=changes,
                          weights_memory=weights)
        return made, following.with_(params=cast_like(params, state.params), updates=cast_like(updates, state.updates))

    def _first_scale(self, state, updates, changed, product):
        if not self.scale_init_precond:
            return _core.full((), 1.0, dtype=_core.f64)
        squares, norm = _dot(changed, changed), _core.sqrt(_dot(updates, updates))
        return _core.where(state.count > 0, _core.where(squares > 0, product / squares, 1.0), _core.minimum(1.0 / norm, 1.0))

    def _preconditioned(self, vector, moves, changes, weights, first_scale, count):
        order = (count % self.memory_size + _core.arange(self.memory_size)) % self.memory_size
        vector = map_leaves(self._name(), lambda each: each, vector)

        def right(vector, at):
            move, change = (map_leaves(self._name(), lambda each: _core.take(each, at, 0), tree) for tree in (moves, changes))
            alpha = _core.take(weights, at, 0) * _dot(move, vector)
            return _added(vector, -alpha, change), alpha

        def left(vector, slice_):
            at, alpha = slice_
            move, change = (map_leaves(self._name(), lambda each: _core.take(each, at, 0), tree) for tree in (moves, changes))
            return _added(vector, alpha - _core.take(weights, at, 0) * _dot(change, vector), move), alpha

        vector, alphas = scan(right, vector, order, reverse=True)
        vector = map_leaves(self._name(), lambda each: _core.astype(first_scale, real_dtype(each.dtype)) * each, vector)
        return scan(left, vector, (order, alphas))[0]


class _Search(GradientTransformation):
    """The base of searches: value_fn and its further arguments, the value and the gradient at the weights, and the slope."""

    def _expect_arguments(self, params, value, grad, value_fn, extra):
        self._expect_params(params)
        expect_value(self._name(), value)
        if value_fn is None or grad is None:
            raise errors.TypeError.with_hint(f"{self._name()}: {'value_fn' if value_fn is None else 'grad'} is missing",
                                             "update(model, gradient, value=loss, grad=gradient, value_fn=loss_of)")
        return functools.partial(value_fn, **_arguments_of(self._name(), value_fn, extra))


def _arguments_of(name, function, extra):
    parameters = inspect.signature(function).parameters
    unknown = [] if any(each.kind is each.VAR_KEYWORD for each in parameters.values()) else [each for each in extra if each not in parameters]
    if unknown:
        raise errors.TypeError(f"{name}: value_fn has no argument {unknown[0]!r}")
    return extra


def _wide(value):
    return _core.astype(value, _core.f64)


def _scaled(rate, updates):
    return map_leaves("optim", lambda each: _core.astype(rate, real_dtype(each.dtype)) * each, updates)


def _error(value):
    """The positive part; infinite for NaN."""
    return _core.maximum(_core.where(_core.isnan(value), float("inf"), value), 0.0)


class scale_by_backtracking_linesearch(_Search):  # noqa: N801
    """Shortens the step until the loss falls enough (Armijo). `update` needs value, grad and value_fn.

    >>> tx = plait.optim.chain(plait.optim.sgd(1.0), plait.optim.scale_by_backtracking_linesearch(20))
    >>> loss = lambda x: plait.sum(x ** 2)
    >>> x = plait.tensor([3.0, 4.0])
    >>> tx.update(2 * x, tx.init(x), x, value=loss(x), grad=2 * x, value_fn=loss)[0]
    [-4.8 -6.4] : f32[2]
    """

    max_backtracking_steps: Limits(1.0)
    slope_rtol: POSITIVE = 1e-4
    decrease_factor: DECAY = 0.8
    increase_factor: POSITIVE = 1.5
    max_learning_rate: POSITIVE = 1.0
    atol: POSITIVE = 0.0
    rtol: POSITIVE = 0.0
    store_grad: bool = False
    verbose: bool = False

    def init(self, params):
        one = _core.full((), 1.0, dtype=_core.f64)
        grad = map_leaves(self._name(), _core.zeros_like, params) if self.store_grad else None
        return State(count=zero_steps(), learning_rate=one, value=one * float("inf"), grad=grad,
                     info=State(num_linesearch_steps=zero_steps(), decrease_error=one * float("inf")))

    def update(self, updates, state, params=None, value=None, grad=None, value_fn=None, **extra):
        value_fn, n = self._expect_arguments(params, value, grad, value_fn, extra), self._numbers_at(state.count)
        slope, value = _dot(grad, updates), _wide(value)

        def goes_on(search):
            return _core.logical_and(_core.logical_not(search["error"] <= n["atol"]), _wide(search["steps"]) <= n["max_backtracking_steps"])

        def step(search):
            rate = _core.where(search["steps"] > 0, n["decrease_factor"] * search["rate"], search["rate"])
            new = _wide(value_fn(cast_like(_added(params, rate, updates), params)))
            error = _error(new - (1.0 + n["rtol"]) * value - rate * n["slope_rtol"] * slope)
            return {"rate": rate, "value": new, "error": error, "steps": search["steps"] + 1}

        start = {"rate": _core.minimum(n["increase_factor"] * state.learning_rate, n["max_learning_rate"]), "value": value,
                 "error": _core.full((), float("inf"), dtype=_core.f64), "steps": zero_steps()}
        found = while_loop(goes_on, step, start)
        rate = _core.where(_core.isinf(found["error"]), 0.0, found["rate"])
        grad = None
        if self.store_grad:
            grad = cast_like(value_and_grad(value_fn)(cast_like(_added(params, found["rate"], updates), params))[1], state.grad)
        return _scaled(rate, updates), State(count=state.count + 1, learning_rate=rate, value=found["value"], grad=grad,
                                             info=State(num_linesearch_steps=found["steps"], decrease_error=found["error"]))


_ON_LINE = ("stepsize", "value", "slope")


class scale_by_zoom_linesearch(_Search):  # noqa: N801
    """Searches a step for which the loss falls enough and its slope is flat enough (strong Wolfe). `update` needs value, grad and value_fn.

    >>> tx = plait.optim.chain(plait.optim.sgd(1.0), plait.optim.scale_by_zoom_linesearch(20))
    >>> loss = lambda x: plait.sum(x ** 2)
    >>> x = plait.tensor([3.0, 4.0])
    >>> tx.update(2 * x, tx.init(x), x, value=loss(x), grad=2 * x, value_fn=loss)[0]
    [-3. -4.] : f32[2]
    """

    max_linesearch_steps: Limits(1.0)
    max_learning_rate: OPTIONAL = None
    tol: POSITIVE = 0.0
    increase_factor: POSITIVE = 2.0
    slope_rtol: POSITIVE = 1e-4
    curv_rtol: POSITIVE = 0.9
    approx_dec_rtol: OPTIONAL = 1e-6
    stepsize_precision: POSITIVE = 1e-5
    initial_guess_strategy: str = "keep"
    verbose: bool = False

    def __post_init__(self):
        if self.initial_guess_strategy not in ("keep", "one"):
            raise errors.ValueError(f"{self._name()}: initial_guess_strategy is {self.initial_guess_strategy!r}, expected 'keep' or 'one'")

    def init(self, params):
        one = _core.full((), 1.0, dtype=_core.f64)
        return State(count=zero_steps(), learning_rate=one, value=one * float("inf"), grad=map_leaves(self._name(), _core.zeros_like, params),
                     info=State(num_linesearch_steps=zero_steps(), decrease_error=one * float("inf"), curvature_error=one * float("inf")))

    def update(self, updates, state, params=None, value=None, grad=None, value_fn=None, **extra):
        value_fn, n = self._expect_arguments(params, value, grad, value_fn, extra), self._numbers_at(state.count)
        line = _Line(n, params, updates, grad, value, value_fn)
        guess = _core.full((), 1.0, dtype=_core.f64) if self.initial_guess_strategy == "one" else state.learning_rate
        found = while_loop(lambda search: _core.logical_not(_core.logical_or(search["done"], search["failed"])),
                           functools.partial(_zoom_step, line, guess), line.start())
        return _scaled(found["stepsize"], updates), State(
            count=state.count + 1, learning_rate=found["stepsize"], value=found["value"], grad=cast_like(found["grad"], state.grad),
            info=State(num_linesearch_steps=found["steps"], decrease_error=found["decrease_error"], curvature_error=found["curvature_error"]))


class _Line:
    """The loss along the direction of a step."""

    def __init__(self, n, params, updates, grad, value, value_fn):
        self.n, self._params, self._updates, self._value_fn = n, params, updates, value_fn
        self.grad, self.value, self.slope = cast_like(grad, params), _wide(value), _dot(grad, updates)

    def start(self):
        zero = _core.zeros((), dtype=_core.f64)
        no, most = _core.full((), False), zero + float("inf")
        search = {"steps": zero_steps(), "interval_found": no, "done": no, "failed": no, "decrease_error": most, "curvature_error": most,
                  "stepsize": zero, "value": self.value, "slope": self.slope, "grad": self.grad, "safe_stepsize": zero,
                  "safe_value": self.value, "safe_grad": self.grad, "cubic_stepsize": zero, "cubic_value": self.value}
        return search | {f"{end}_{name}": search[name] for end in ("low", "high") for name in _ON_LINE}

    def at(self, stepsize):
        """Value, slope, gradient and errors at a place."""
        value, grad = value_and_grad(self._value_fn)(cast_like(_added(self._params, stepsize, self._updates), self._params))
        value, slope = _wide(value), _dot(grad, self._updates)
        error = value - self.value - self.n["slope_rtol"] * stepsize * self.slope
        if "approx_dec_rtol" in self.n:
            flat = slope - (2.0 * self.n["slope_rtol"] - 1.0) * self.slope
            change = value - self.value - self.n["approx_dec_rtol"] * _core.absolute(self.value)
            error = _core.minimum(_core.maximum(flat, change), error)
        curvature = _core.absolute(slope) - self.n["curv_rtol"] * _core.absolute(self.slope)
        return {"stepsize": stepsize, "value": value, "slope": slope, "grad": cast_like(grad, self._params), "decrease_error": _error(error),
                "curvature_error": _error(curvature)}


def _zoom_step(line, guess, search):
    search = cond(search["interval_found"], functools.partial(_zoom, line), functools.partial(_bracket, line, guess), search)
    safe = _core.logical_or(search["safe_stepsize"] > 0, _core.isinf(search["decrease_error"]))
    takes_safe = _core.logical_and(search["failed"], safe)
    names = ("stepsize", "value", "grad")
    return search | choose(takes_safe, {name: search[f"safe_{name}"] for name in names}, {name: search[name] for name in names})


def _chosen(condition, new, old):
    """By name, the new numbers or the old ones."""
    return {name: _core.where(condition, new[name], old[name]) for name in old}


def _end(search, end):
    return {name: search[f"{end}_{name}" if end else name] for name in _ON_LINE}


def _named(end, place):
    return {f"{end}_{name}": value for name, value in place.items()}


def _with_safe(search, place, condition):
    names = ("stepsize", "value", "grad")
    return _named("safe", choose(condition, {name: place[name] for name in names}, {name: search[f"safe_{name}"] for name in names}))


def _is_last(line, search):
    return _wide(search["steps"] + 1) >= line.n["max_linesearch_steps"]


def _bracket(line, guess, search):
    """Lengthens the step until an interval has what is searched."""
    n, is_first = line.n, _core.equal(search["steps"], 0)
    stepsize = _core.where(is_first, guess, n["increase_factor"] * search["stepsize"])
    is_longest = _core.full((), False)
    if "max_learning_rate" in n:
        is_longest, stepsize = stepsize >= n["max_learning_rate"], _core.minimum(stepsize, n["max_learning_rate"])
    place, before = line.at(stepsize), _end(search, "")
    error = _core.maximum(place["decrease_error"], place["curvature_error"])
    rises = _core.logical_and(place["value"] >= before["value"], _core.logical_not(is_first))
    sets_high = _core.logical_or(place["decrease_error"] > 0, rises)
    sets_low = _core.logical_and(place["slope"] >= 0, _core.logical_not(sets_high))
    here = {name: place[name] for name in _ON_LINE}
    low, high = _chosen(sets_low, here, before), _chosen(sets_low, before, here)
    found = _core.logical_or(_core.logical_or(sets_high, sets_low), error <= n["tol"])
    done = _core.logical_or(error <= n["tol"], _core.logical_and(is_longest, _core.logical_not(found)))
    return search | place | _with_safe(search, place, place["decrease_error"] <= n["tol"]) | _named("low", low) | _named("high", high) | {
        "steps": search["steps"] + 1, "interval_found": found, "done": done, "cubic_stepsize": low["stepsize"], "cubic_value": low["value"],
        "failed": _core.logical_and(_is_last(line, search), _core.logical_not(done))}


def _zoom(line, search):
    """Shrinks the interval."""
    n, low, high = line.n, _end(search, "low"), _end(search, "high")
    width = _core.absolute(high["stepsize"] - low["stepsize"])
    place = line.at(_middle(search, low, high, width))
    error = _core.maximum(place["decrease_error"], place["curvature_error"])
    is_safe = _core.logical_and(place["decrease_error"] <= n["tol"], place["value"] < search["safe_value"])
    safe, done = _with_safe(search, place, is_safe), error <= n["tol"]
    sets_high = _core.logical_or(place["decrease_error"] > 0, place["value"] >= low["value"])
    crosses = _core.logical_and(place["slope"] * (high["stepsize"] - low["stepsize"]) >= 0, _core.logical_not(sets_high))
    here = {name: place[name] for name in _ON_LINE}
    following = {**_named("high", _chosen(crosses, low, _chosen(sets_high, here, high))), **_named("low", _chosen(sets_high, low, here))}
    third = _chosen(_core.logical_or(sets_high, crosses), high, low)
    stuck = _core.logical_and(width <= n["stepsize_precision"], safe["safe_stepsize"] > 0)
    return search | place | safe | following | {
        "steps": search["steps"] + 1, "done": done, "cubic_stepsize": third["stepsize"], "cubic_value": third["value"],
        "failed": _core.logical_and(_core.logical_or(_is_last(line, search), stuck), _core.logical_not(done))}


def _middle(search, low, high, width):
    """The minimum of a cubic in the interval, or of a parabola, or its middle."""
    left, right = _core.minimum(low["stepsize"], high["stepsize"]), _core.maximum(low["stepsize"], high["stepsize"])

    def is_inside(x, margin):
        return _core.logical_and(x > left + margin * width, x < right - margin * width)

    cubic, parabola = _cubic(search, low, high), _parabola(low, high)
    middle = _core.where(is_inside(parabola, 0.1), parabola, (low["stepsize"] + high["stepsize"]) / 2.0)
    return _core.where(is_inside(cubic, 0.2), cubic, middle)


def _cubic(search, low, high):
    """Where the cubic through three places, with the slope at the first, is least."""
    b, c = high["stepsize"] - low["stepsize"], search["cubic_stepsize"] - low["stepsize"]
    at_b, at_c = high["value"] - low["value"] - low["slope"] * b, search["cubic_value"] - low["value"] - low["slope"] * c
    scale = (b * c) ** 2 * (b - c)
    third, second = (c * c * at_b - b * b * at_c) / scale, (-(c**3) * at_b + b**3 * at_c) / scale
    return low["stepsize"] + (-second + _core.sqrt(second * second - 3.0 * third * low["slope"])) / (3.0 * third)


def _parabola(low, high):
    width = high["stepsize"] - low["stepsize"]
    second = (high["value"] - low["value"] - low["slope"] * width) / (width * width)
    return low["stepsize"] - low["slope"] / (2.0 * second)


def lbfgs(learning_rate=None, memory_size=10, scale_init_precond=True, linesearch="zoom"):
    """L-BFGS with a line search, or without one: linesearch=None and a rate. `update` needs value, grad and value_fn; it works in jit.

    >>> model = plait.tensor([3.0, 4.0])
    >>> optimizer, loss = plait.optim.Optimizer(plait.optim.lbfgs(), model), lambda x: plait.sum((x - 1.0) ** 4)
    >>> for _ in range(10):
    ...     value, gradient = plait.value_and_grad(loss)(model)
    ...     model, optimizer = optimizer.update(model, gradient, value=value, grad=gradient, value_fn=loss)
    >>> loss(model).item() < 1e-6
    False
    """
    if isinstance(linesearch, str) and linesearch == "zoom":
        linesearch = scale_by_zoom_linesearch(20, initial_guess_strategy="one")
    return chain(scale_by_lbfgs(memory_size, scale_init_precond), scale_by_learning_rate(1.0 if learning_rate is None else learning_rate),
                 identity() if linesearch is None else linesearch)


def value_and_grad_from_state(value_fn):
    """As value_and_grad(value_fn), from the state of a line search where it has them: f(params, state=state).

    >>> loss = lambda x: plait.sum(x ** 2)
    >>> tx = plait.optim.scale_by_backtracking_linesearch(20, store_grad=True)
    >>> plait.optim.value_and_grad_from_state(loss)(plait.ones(2), state=tx.init(plait.ones(2)))
    (2. : f64[], [2. 2.] : f32[2])
    """
    def value_and_gradient(params, *rest, state, **named):
        found = _search_state(state)
        if found is None:
            raise errors.ValueError.with_hint("optim.value_and_grad_from_state: the state has no value and gradient",
                                              "use a line search that stores them: scale_by_backtracking_linesearch(…, store_grad=True)")
        is_known = _core.isfinite(found.value)

        def again(*_):
            value, grad = value_and_grad(value_fn)(params, *rest, **named)
            return _wide(value), cast_like(grad, found.grad)

        return cond(is_known, lambda *_: (_wide(found.value), found.grad), again)

    return value_and_gradient


def _search_state(state):
    if getattr(state, "grad", None) is not None and "value" in vars(state):
        return state
    for _, child in _core._children(state) or ():
        found = _search_state(child) if _core._children(child) is not None else None
        if found is not None:
            return found
    return None
