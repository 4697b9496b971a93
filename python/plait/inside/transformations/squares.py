"""Transformations that divide the gradient by what they know of its squares, and others with a memory of their own."""

import functools

from plait import _core, errors
from plait.inside.help.names import in_words
from plait.inside.transformations.transformation import (ANY, DECAY, POSITIVE, Columns, GradientTransformation, Limits, Numbers, PerWeight, State, square,
                                                    wide, widened, zero_steps)


def _filled(weight, value):
    return _core.zeros_like(weight) + _core.astype(value, weight.dtype)


class scale_by_rss(PerWeight):  # noqa: N801: optax's names
    """Divides by the root of the sum of all squares so far, as Adagrad does.

    >>> tx = plait.optim.scale_by_rss()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 0.95346254 -0.9877296 ] : f32[2]
    """

    initial_accumulator_value: POSITIVE = 0.1
    eps: POSITIVE = 1e-7
    _kept = ("sum_of_squares",)

    def _begin(self, weight, n):
        return [_filled(weight, n.initial_accumulator_value)]

    def _one(self, n, update, total):
        total = square(update) + total
        return _core.where(total > 0, _core.rsqrt(total + n.eps), 0.0) * update, total


class scale_by_rms(PerWeight):  # noqa: N801
    """Divides by the root of the second moment.

    >>> tx = plait.optim.scale_by_rms()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 3.1622775 -3.1622777] : f32[2]
    """

    decay: DECAY = 0.9
    eps: POSITIVE = 1e-8
    initial_scale: POSITIVE = 0.0
    eps_in_sqrt: bool = True
    bias_correction: bool = False
    _kept = ("nu",)

    def _begin(self, weight, n):
        return [_filled(weight, n.initial_scale)]

    def _at(self, n, t, columns):
        return {"bias": 1.0 - n["decay"] ** t}

    def _factor(self, n, squares):
        return _core.rsqrt(squares + n.eps) if self.eps_in_sqrt else 1.0 / (_core.sqrt(squares) + n.eps)

    def _corrected(self, n, moment):
        return moment / n.bias if self.bias_correction else moment

    def _one(self, n, update, nu):
        nu = n.mix("decay", nu, square(update))
        return self._factor(n, self._corrected(n, nu)) * update, nu


class scale_by_stddev(scale_by_rms):  # noqa: N801
    """Divides by the root of the centred second moment.

    >>> tx = plait.optim.scale_by_stddev()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 3.3333333 -3.3333333] : f32[2]
    """

    _kept = ("mu", "nu")

    def _begin(self, weight, n):
        return [_core.zeros_like(weight), _filled(weight, n.initial_scale)]

    def _one(self, n, update, mu, nu):
        mu, nu = n.mix("decay", mu, update), n.mix("decay", nu, square(update))
        return self._factor(n, self._corrected(n, nu) - square(self._corrected(n, mu))) * update, mu, nu


class scale_by_adadelta(PerWeight):  # noqa: N801
    """Multiplies by the root of the mean square of past updates over that of the gradients.

    >>> tx = plait.optim.scale_by_adadelta()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 0.00316226 -0.00316227] : f32[2]
    """

    rho: DECAY = 0.9
    eps: POSITIVE = 1e-6
    _kept = ("e_g", "e_x")

    def _one(self, n, update, of_gradients, of_updates):
        of_gradients = n.mix("rho", of_gradients, update * update)
        made = _core.sqrt(of_updates + n.eps) / _core.sqrt(of_gradients + n.eps) * update
        return made, of_gradients, n.mix("rho", of_updates, made * made)


class scale_by_novograd(PerWeight):  # noqa: N801
    """NovoGrad: the gradient over the root of the second moment of its norm, plus decay, accumulated.

    >>> tx = plait.optim.scale_by_novograd()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [0.6 0.8] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.25
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    weight_decay: ANY = 0.0
    mu_dtype: object = None
    _kept, _reads_params = ("mu", "nu"), True

    def _begin(self, weight, n):
        return [_core.zeros_like(_core.astype(weight, self.mu_dtype or weight.dtype)), _core.zeros((), dtype=weight.dtype)]

    def _at(self, n, t, columns):
        is_first = _core.equal(t, 1.0)
        return {"past": _core.where(is_first, 0.0, n["b2"]), "momentum": _core.where(is_first, 0.0, n["b1"])}

    def _one(self, n, update, weight, mu, nu):
        nu = n.mix("past", nu, _core.sum_of_squares(update))
        mu = n.momentum * mu + update / (_core.sqrt(nu + n.eps_root) + n.eps) + n.weight_decay * weight
        return mu, mu, nu


class scale_by_optimistic_gradient(PerWeight):  # noqa: N801
    """The gradient plus its change, (alpha + beta) · g - beta · the one before.

    >>> tx = plait.optim.scale_by_optimistic_gradient()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -2.] : f32[2]
    """

    alpha: ANY = 1.0
    beta: ANY = 1.0
    _kept = ("previous_gradient",)

    def _at(self, n, t, columns):
        return {"is_later": _core.astype(t > 1.0, _core.f64)}

    def _one(self, n, update, before):
        return (n.alpha + n.beta) * update - n.beta * _core.where(n.is_later > 0, before, update), update


class scale_by_rprop(PerWeight):  # noqa: N801
    """Rprop: steps of their own size for each element, larger as long as the sign of the gradient stays. As in optax, the update
    of a step is returned by the next one.

    >>> tx = plait.optim.scale_by_rprop(0.1)
    >>> _, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> tx.update(plait.tensor([1.0, -2.0]), state)[0]
    [ 0.1 -0.1] : f32[2]
    """

    learning_rate: POSITIVE
    eta_minus: DECAY = 0.5
    eta_plus: POSITIVE = 1.2
    min_step_size: POSITIVE = 1e-6
    max_step_size: POSITIVE = 50.0
    _kept = ("step_sizes", "prev_updates")

    def _begin(self, weight, n):
        return [_filled(weight, n.learning_rate), _core.zeros_like(weight)]

    def _one(self, n, update, sizes, before):
        same = update * before
        changed = _core.clip(sizes * _core.where(same > 0, n.eta_plus, n.eta_minus), n.min_step_size, n.max_step_size)
        sizes = _core.where(_core.equal(same, 0.0), sizes, changed)
        kept = _core.where(same < 0, 0.0, sizes * _core.sign(update))
        return _core.where(same < 0, 0.0, before), sizes, kept


class apply_every(PerWeight):  # noqa: N801
    """Adds up the updates of k steps, which are then applied; the other updates are zero.

    >>> tx = plait.optim.apply_every(2)
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> updates, tx.update(plait.tensor([1.0, -2.0]), state)[0]
    ([ 0. -0.] : f32[2], [ 2. -4.] : f32[2])
    """

    k: Limits(1.0) = 1
    _kept = ("grad_acc",)

    def _at(self, n, t, columns):
        place = (t - 1.0) % n["k"]
        return {"goes_on": _core.astype(place > 0, _core.f64), "is_due": _core.astype(_core.equal(place, n["k"] - 1.0), _core.f64)}

    def _one(self, n, update, total):
        total = n.goes_on * total + update
        return n.is_due * total, total


class scale_by_cocob(PerWeight):  # noqa: N801
    """COCOB: bets on the sign of the gradient, without a rate.

    >>> tx = plait.optim.scale_by_cocob()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0]
    [-0.01  0.01] : f32[2]
    """

    alpha: POSITIVE = 100.0
    eps: POSITIVE = 1e-8
    _kept, _reads_params = ("init_particles", "cumulative_gradients", "scale", "subgradients", "reward"), True

    def _begin(self, weight, n):
        zeros = _core.zeros_like(weight)
        return [weight, zeros, _filled(weight, n.eps), zeros, zeros]

    def _one(self, n, update, weight, start, total, largest, magnitudes, reward):
        largest, magnitudes = _core.maximum(largest, _core.absolute(update)), magnitudes + _core.absolute(update)
        reward, total = _core.maximum(reward - update * (weight - start), 0.0), total - update
        bet = total / (largest * _core.maximum(magnitudes + largest, n.alpha * largest)) * (largest + reward)
        return start + bet - weight, start, total, largest, magnitudes, reward


class scale_by_madgrad(PerWeight):  # noqa: N801
    """MADGRAD: dual averaging with the cube root of the squares.

    >>> tx = plait.optim.scale_by_madgrad(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), plait.zeros(2))[0]
    [-0.02154444  0.02714432] : f32[2]
    """

    learning_rate: ANY
    momentum: DECAY = 0.9
    eps: POSITIVE = 1e-6
    _kept, _reads_params = ("grad_sum_sq", "s", "x0"), True

    def _begin(self, weight, n):
        return [_core.zeros_like(weight), _core.zeros_like(weight), weight]

    def _at(self, n, t, columns):
        return {"factor": (n["learning_rate"] + n["eps"]) * _core.sqrt(t)}

    def _one(self, n, update, weight, squares, total, start):
        squares, total = squares + n.factor * update * update, total + n.factor * update
        goal = start - total / (_core.cbrt(squares) + n.eps)
        return n.mix("momentum", weight, goal) - weight, squares, total, start


class scale_by_distance_over_gradients(PerWeight):  # noqa: N801
    """For each weight, the largest distance from its start over the root of the sum of squared norms of its gradients.

    >>> tx = plait.optim.scale_by_distance_over_gradients()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.zeros(2)), plait.tensor([0.0, 10.0]))[0]
    [6. 8.] : f32[2]
    """

    reps_rel: POSITIVE = 1e-6
    eps: POSITIVE = 1e-8
    param_dtype: object = _core.f32
    global_scale: ANY = 1.0
    _kept, _reads_params = ("max_dist", "grad_sum_of_squares", "init_params"), True

    def _begin(self, weight, n):
        norm = _core.sqrt(_core.sum_of_squares(widened(weight)))
        return [n.reps_rel * (1.0 + norm), _core.zeros_like(norm), _core.astype(weight, self.param_dtype)]

    def _one(self, n, update, weight, distance, squares, start):
        distance = _core.maximum(distance, _core.sqrt(_core.sum_of_squares(weight - start)))
        squares = squares + _core.sum_of_squares(update)
        return n.global_scale * (distance / _core.sqrt(squares + n.eps)) * update, distance, squares, start


def _decay_of_power(steps, exponent):
    return 1.0 - (_core.astype(steps, _core.f64) + 1.0) ** -exponent


class scale_by_factored_rms(PerWeight):  # noqa: N801
    """Divides by the root of the second moment, of which large matrices keep the means of rows and columns only, as Adafactor does.

    >>> tx = plait.optim.scale_by_factored_rms(min_dim_size_to_factor=2)
    >>> updates, state = tx.update(plait.tensor([[1.0, -2.0], [2.0, 4.0]]), tx.init(plait.zeros((2, 2))), plait.zeros((2, 2)))
    >>> updates, state.v_row.shape
    ([[ 1. -1.]
     [ 1.  1.]] : f32[2, 2], (2,))
    """

    factored: bool = True
    decay_rate: ANY = 0.8
    step_offset: ANY = 0
    min_dim_size_to_factor: int = 128
    epsilon: POSITIVE = 1e-30
    decay_rate_fn: object = None
    _kept, _reads_params = ("v_row", "v_col", "v"), True

    def __post_init__(self):
        size = self.min_dim_size_to_factor
        if not isinstance(size, int) or isinstance(size, bool):
            raise errors.TypeError(f"optim.scale_by_factored_rms: min_dim_size_to_factor is {in_words(size)}, expected an integer: it decides "
                                   "about the shapes of the state")

    def _axes(self, shape):
        """The second largest and the largest axis, if both are large enough."""
        order = sorted(range(len(shape)), key=lambda axis: shape[axis])[-2:]
        return order if self.factored and len(order) == 2 and shape[order[0]] >= self.min_dim_size_to_factor else None

    def _begin(self, weight, n):
        none, axes = _core._made_beside(weight, _core.zeros((1,), dtype=weight.dtype)), self._axes(weight.shape)
        if axes is None:
            return [none, none, _core.zeros_like(weight)]
        rows, columns = (tuple(size for i, size in enumerate(weight.shape) if i != axis) for axis in reversed(axes))
        return [*(_core._made_beside(weight, _core.zeros(shape, dtype=weight.dtype)) for shape in (rows, columns)), none]

    def _at(self, n, t, columns):
        return {"rate": _core.astype((self.decay_rate_fn or _decay_of_power)(t - 1.0 - n["step_offset"], n["decay_rate"]), _core.f64)}

    def _one(self, n, update, weight, rows, columns, squares):
        axes, now = self._axes(weight.shape), square(update) + n.epsilon
        if axes is None:
            squares = n.mix("rate", squares, now)
            return update * _core.rsqrt(squares), rows, columns, squares
        shorter, longer = axes
        rows, columns = n.mix("rate", rows, _core.mean(now, axis=longer)), n.mix("rate", columns, _core.mean(now, axis=shorter))
        mean = _core.mean(rows, axis=shorter - 1 if shorter > longer else shorter, keepdims=True)
        factors = (_core.expand_dims(_core.rsqrt(each), axis) for each, axis in ((rows / mean, longer), (columns, shorter)))
        return functools.reduce(_core.multiply, factors, update), rows, columns, squares


class scale_by_sm3(GradientTransformation):  # noqa: N801
    """SM3: a maximum of the squares along each axis instead of all squares.

    >>> tx = plait.optim.scale_by_sm3()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 0.1 -0.1] : f32[2]
    """

    b1: DECAY = 0.9
    b2: Limits(0.0, 1.0 + 2.0**-52) = 1.0
    eps: POSITIVE = 1e-8

    def init(self, params):
        columns = Columns(self._name(), params)
        if any(each.dtype.kind == "complex" for each in columns.leaves):
            raise errors.TypeError(f"{self._name()}: a weight is complex, expected real numbers")
        mu = columns.tree([[_core._made_beside(each, _core.zeros((size,), dtype=each.dtype)) for size in each.shape or (1,)] for each in columns.leaves])
        return State(count=zero_steps(), mu=mu, nu=columns.tree([_core.zeros_like(each) for each in columns.leaves]))

    def update(self, updates, state, params=None, **extra):
        columns, exact = Columns(self._name(), updates), self._numbers_at(state.count)
        exact["new"] = _core.where(_core.equal(exact["b2"], 1.0), 1.0, 1.0 - exact["b2"])
        mu = Columns(self._name(), state.mu).by_path()
        rows = []
        for path, update, nu in zip(columns.paths, columns.leaves, columns.of("the state's nu", state.nu)):
            past = [mu[f"{path}.{axis}" if path else str(axis)] for axis in range(len(update.shape) or 1)]
            rows.append(self._one(Numbers(exact, wide(update.dtype)), widened(update), past, nu))
        return columns.tree([row[0] for row in rows]), State(count=state.count + 1, mu=columns.tree([row[1] for row in rows]),
                                                             nu=columns.tree([_core.astype(row[0], row[2]) for row in rows]))

    @staticmethod
    def _one(n, update, past, nu):
        rank = len(update.shape)
        sizes = [tuple(size if i == axis else 1 for i, size in enumerate(update.shape)) for axis in range(rank)] or [()]
        bounds = [_core.reshape(widened(each), size) for each, size in zip(past, sizes)]
        total = n.new * update * update + n.b2 * functools.reduce(_core.minimum, bounds)
        made = n.mix("b1", widened(nu), update * _core.where(total > 0, _core.rsqrt(total + n.eps), 0.0))
        largest = [_core.reshape(total, (-1,))]
        if rank > 1:
            largest = [_core.max(total, axis=tuple(i for i in range(rank) if i != axis)) for axis in range(rank)]
        return made, [_core.astype(each, old.dtype) for each, old in zip(largest, past)], nu.dtype
