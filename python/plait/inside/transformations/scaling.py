"""Transformations that scale updates: by numbers, schedules, norms of the weights."""

from plait import _core, errors
from plait.inside.optimizers.numbers import expect_flag, number_at
from plait.inside.transformations.transformation import ANY, POSITIVE, GradientTransformation, PerWeight, identity, square, squared_norm, State, zero_steps
from plait.inside.transformations.combining import masked


class scale(PerWeight):  # noqa: N801: optax's names
    """Multiplies the updates by a number.

    >>> tx = plait.optim.scale(-0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [-0.1  0.2] : f32[2]
    """

    step_size: ANY

    def _one(self, n, update):
        return n.step_size * update


class scale_by_schedule(scale):  # noqa: N801
    """Multiplies the updates by a function of the number of steps.

    >>> tx = plait.optim.scale_by_schedule(lambda step: 1.0 / (step + 1))
    >>> _, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> tx.update(plait.tensor([1.0, -2.0]), state)[0]
    [ 0.5 -1. ] : f32[2]
    """

    def __init__(self, step_size_fn):
        self.step_size = step_size_fn


class _scale_by_learning_rate(PerWeight):  # noqa: N801
    def __init__(self, learning_rate, flip_sign):
        self.learning_rate, self.flip_sign = learning_rate, flip_sign

    learning_rate: POSITIVE

    def _one(self, n, update):
        return (-n.learning_rate if self.flip_sign else n.learning_rate) * update


_scale_by_learning_rate.__name__ = "scale_by_learning_rate"


def scale_by_learning_rate(learning_rate=None, *, flip_sign=True):
    """Multiplies the updates by minus the rate, a number or a schedule; without a rate they pass unchanged.

    >>> tx = plait.optim.scale_by_learning_rate(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [-0.1  0.2] : f32[2]
    >>> tx.learning_rate
    0.1 : f64[]
    """
    expect_flag("optim.scale_by_learning_rate: flip_sign", flip_sign)
    return identity() if learning_rate is None else _scale_by_learning_rate(learning_rate, flip_sign)


class _add_decayed_weights(PerWeight):  # noqa: N801
    weight_decay: ANY
    _reads_params = True

    def _one(self, n, update, weight):
        return update + n.weight_decay * weight


_add_decayed_weights.__name__ = "add_decayed_weights"


def add_decayed_weights(weight_decay=0.0, mask=None):
    """Adds weight_decay times the weight to its update. A mask says to which weights, as in `masked`.

    >>> tx = plait.optim.add_decayed_weights(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [ 1.1 -1.9] : f32[2]
    """
    made = _add_decayed_weights(weight_decay)
    return made if mask is None else masked(made, mask)


class scale_by_sign(PerWeight):  # noqa: N801
    """The signs of the updates.

    >>> tx = plait.optim.scale_by_sign()
    >>> tx.update(plait.tensor([3.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    def __init__(self):
        pass

    def _one(self, n, update):
        return _core.sign(update)


class centralize(PerWeight):  # noqa: N801
    """Subtracts from the updates of matrices and larger tensors their mean over all axes but the first.

    >>> tx = plait.optim.centralize()
    >>> tx.update(plait.tensor([[1.0, 3.0]]), tx.init(plait.zeros((1, 2))))[0]
    [[-1.  1.]] : f32[1, 2]
    """

    def __init__(self):
        pass

    def _one(self, n, update):
        axes = tuple(range(1, len(update.shape)))
        return update - _core.mean(update, axis=axes, keepdims=True) if axes else update


def least_norm(x, least):
    """The norm, at least `least`."""
    return _core.maximum(_core.sqrt(_core.sum_of_squares(x)), least)


def least_rms(x, least):
    return _core.maximum(_core.sqrt(_core.mean(square(x))), least)


class scale_by_param_block_norm(PerWeight):  # noqa: N801
    """Multiplies each update by the norm of its weight.

    >>> tx = plait.optim.scale_by_param_block_norm()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.tensor([3.0, 4.0]))[0]
    [  5. -10.] : f32[2]
    """

    min_scale: POSITIVE = 1e-3
    _reads_params = True

    def _one(self, n, update, weight):
        return update * least_norm(weight, n.min_scale)


class scale_by_param_block_rms(PerWeight):  # noqa: N801
    """Multiplies each update by the root of the mean square of its weight.

    >>> tx = plait.optim.scale_by_param_block_rms()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.tensor([2.0, 2.0]))[0]
    [ 2. -4.] : f32[2]
    """

    min_scale: POSITIVE = 1e-3
    _reads_params = True

    def _one(self, n, update, weight):
        return update * least_rms(weight, n.min_scale)


class scale_by_trust_ratio(PerWeight):  # noqa: N801
    """Multiplies each update by the norm of its weight over its own norm.

    >>> tx = plait.optim.scale_by_trust_ratio()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.ones(2)), plait.tensor([0.0, 10.0]))[0]
    [6. 8.] : f32[2]
    """

    min_norm: POSITIVE = 0.0
    trust_coefficient: POSITIVE = 1.0
    eps: POSITIVE = 0.0
    _reads_params = True

    def _one(self, n, update, weight):
        of_weight, of_update = least_norm(weight, n.min_norm), least_norm(update, n.min_norm)
        ratio = n.trust_coefficient * of_weight / (of_update + n.eps)
        return update * _core.where(_core.logical_or(_core.equal(of_weight, 0.0), _core.equal(of_update, 0.0)), 1.0, ratio)


class normalize_by_update_norm(PerWeight):  # noqa: N801
    """Divides the updates by their common norm.

    >>> tx = plait.optim.normalize_by_update_norm()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.zeros(2)))[0]
    [0.5999999  0.79999983] : f32[2]
    """

    scale_factor: ANY = 1.0
    eps: POSITIVE = 1e-6

    def _at(self, n, t, columns):
        return {"norm": (_core.sqrt(squared_norm(columns.leaves)) + n["eps"]) / n["scale_factor"]}

    def _one(self, n, update):
        return update / n.norm


class normalize(PerWeight):  # noqa: N801
    """Divides the updates by their common norm, of which sam is made.

    >>> tx = plait.optim.normalize()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.zeros(2)))[0]
    [0.6 0.8] : f32[2]
    """

    def __init__(self):
        pass

    def _at(self, n, t, columns):
        return {"norm": _core.sqrt(squared_norm(columns.leaves))}

    def _one(self, n, update):
        return update / n.norm


def expect_value(name, value):
    if value is None:
        raise errors.TypeError.with_hint(f"{name}: the loss is missing", "update(model, gradient, value=loss)")
    return value


class scale_by_polyak(GradientTransformation):  # noqa: N801
    """Scales the updates by the Polyak rate: the loss above f_min over the squared norm. `update` needs the loss: value=loss.

    >>> tx = plait.optim.scale_by_polyak(max_learning_rate=10.0)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)), value=plait.tensor(2.5))[0]
    [ 0.5 -1. ] : f32[2]
    """

    f_min: ANY = 0.0
    max_learning_rate: POSITIVE = 1.0
    eps: POSITIVE = 0.0
    variant: str = "sps"

    def __post_init__(self):
        if self.variant not in ("sps", "sps+"):
            raise errors.ValueError(f"optim.scale_by_polyak: variant is {self.variant!r}, expected 'sps' or 'sps+'")

    def init(self, params):
        return State(count=zero_steps())

    def update(self, updates, state, params=None, value=None, **extra):
        f_min, most, eps = (number_at(each, state.count) for each in (self.f_min, self.max_learning_rate, self.eps))
        gap = _core.astype(expect_value("optim.scale_by_polyak", value), _core.f64) - f_min
        gap = _core.maximum(gap, 0.0) if self.variant == "sps+" else gap
        scaler = _by_rate(lambda norm: _core.where(norm + eps <= _TINY, 0.0, _core.minimum(gap / (norm + eps), most)))
        return scaler.update(updates, ())[0], State(count=state.count + 1)


_TINY = 2.0**-52  # epsilon of f64


class _by_rate(PerWeight):  # noqa: N801
    """Multiplies by a function of the squared norm of the updates."""

    def __init__(self, rate):
        self.rate = rate

    def _at(self, n, t, columns):
        return {"rate": self.rate(_core.astype(squared_norm(columns.leaves), _core.f64))}

    def _one(self, n, update):
        return n.rate * update
