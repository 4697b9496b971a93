"""Transformations that keep moments of the gradient: Adam and its family."""

import dataclasses

from plait import _core, errors
from plait.inside.transformations.transformation import ANY, DECAY, POSITIVE, Limits, PerWeight, square

AT_MOST_ONE = Limits(0.0, 1.0 + 2.0**-52)


def unbiased(n, t, *names):
    """The factors by which moments that began at zero are too small, by the names of their decays."""
    return {f"{name} bias": 1.0 - n[name] ** t for name in names}


class Adaptive(PerWeight):
    """The base of those with a first moment mu, in mu_dtype, and a second moment nu."""

    _kept = ("mu", "nu")
    _debiased = ("b1", "b2")

    def _begin(self, weight, n):
        dtype = getattr(self, "mu_dtype", None) or weight.dtype
        return [_core.zeros_like(_core.astype(weight, dtype)), *(_core.zeros_like(weight) for _ in self._kept[1:])]

    def _at(self, n, t, columns):
        found = unbiased(n, t, *self._debiased)
        return found | {"next b1 bias": 1.0 - n["b1"] ** (t + 1.0)} if getattr(self, "nesterov", False) else found

    def _mu_hat(self, n, mu, update):
        """The first moment without its bias; with Nesterov's, as it will be."""
        if getattr(self, "nesterov", False):
            return n.mix("b1", mu / bias(n, "next b1"), update / bias(n, "b1"))
        return mu / bias(n, "b1")


def bias(n, name):
    return getattr(n, f"{name} bias")


class scale_by_adam(Adaptive):  # noqa: N801: optax's names
    """Divides the first moment of the gradient by the root of the second, both without bias.

    >>> tx = plait.optim.scale_by_adam()
    >>> updates, state = tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    >>> updates
    [ 1. -1.] : f32[2]
    >>> plait.tree.structure(state).paths
    ('count', 'mu', 'nu')
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    mu_dtype: object = None
    _: dataclasses.KW_ONLY
    nesterov: bool = False

    def _one(self, n, update, mu, nu):
        mu, nu = n.mix("b1", mu, update), n.mix("b2", nu, square(update))
        return self._mu_hat(n, mu, update) / (_core.sqrt(nu / bias(n, "b2") + n.eps_root) + n.eps), mu, nu


class scale_by_amsgrad(Adaptive):  # noqa: N801
    """As scale_by_adam, with the maximum of all second moments so far.

    >>> tx = plait.optim.scale_by_amsgrad()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    mu_dtype: object = None
    bias_correction_mu: bool = True
    bias_correction_nu: bool = True
    _kept = ("mu", "nu", "nu_max")

    def _one(self, n, update, mu, nu, most):
        mu, nu = n.mix("b1", mu, update), n.mix("b2", nu, square(update))
        most = _core.maximum(most, nu / bias(n, "b2") if self.bias_correction_nu else nu)
        return (mu / bias(n, "b1") if self.bias_correction_mu else mu) / (_core.sqrt(most + n.eps_root) + n.eps), mu, nu, most


class scale_by_adamax(Adaptive):  # noqa: N801
    """Divides the first moment by a decaying maximum of the magnitudes.

    >>> tx = plait.optim.scale_by_adamax()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-8
    _debiased = ("b1",)

    def _one(self, n, update, mu, nu):
        mu, nu = n.mix("b1", mu, update), _core.maximum(_core.absolute(update) + n.eps, n.b2 * nu)
        return mu / bias(n, "b1") / nu, mu, nu


class scale_by_belief(Adaptive):  # noqa: N801
    """Divides the first moment by the root of the second moment of the difference from it.

    >>> tx = plait.optim.scale_by_belief()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1.1111112 -1.1111112] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-16
    eps_root: POSITIVE = 1e-16
    _: dataclasses.KW_ONLY
    nesterov: bool = False

    def _one(self, n, update, mu, nu):
        mu = n.mix("b1", mu, update)
        nu = n.mix("b2", nu, square(update - mu)) + n.eps_root
        return self._mu_hat(n, mu, update) / (_core.sqrt(nu / bias(n, "b2")) + n.eps), mu, nu


class scale_by_acprop(Adaptive):  # noqa: N801
    """Divides the gradient by the root of the centred second moment before it.

    >>> tx = plait.optim.scale_by_acprop()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -2.] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-16
    eps_root: POSITIVE = 1e-16

    def _at(self, n, t, columns):
        first = _core.equal(t, 1.0)
        return {"is_first": _core.astype(first, _core.f64), "past bias": 1.0 - n["b2"] ** _core.where(first, t, t - 1.0)}

    def _one(self, n, update, mu, nu):
        before = _core.where(n.is_first > 0, 1.0, nu / bias(n, "past"))
        nu = n.mix("b2", nu, square(update - mu)) + n.eps_root
        return update / (_core.sqrt(before) + n.eps), n.mix("b1", mu, update), nu


class scale_by_yogi(Adaptive):  # noqa: N801
    """As scale_by_adam, with a second moment that grows slowly.

    >>> tx = plait.optim.scale_by_yogi()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 0.9985114  -0.99937105] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-3
    eps_root: POSITIVE = 0.0
    initial_accumulator_value: ANY = 1e-6

    def _begin(self, weight, n):
        return [_core.zeros_like(weight) + _core.astype(n.initial_accumulator_value, weight.dtype)] * 2

    def _one(self, n, update, mu, nu):
        mu, squares = n.mix("b1", mu, update), square(update)
        nu = nu - n.rest("b2") * _core.sign(nu - squares) * squares
        return mu / bias(n, "b1") / (_core.sqrt(nu / bias(n, "b2") + n.eps_root) + n.eps), mu, nu


class scale_by_radam(Adaptive):  # noqa: N801
    """As scale_by_adam, rectified: the second moment counts once its variance is known.

    >>> tx = plait.optim.scale_by_radam()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -2.] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    threshold: POSITIVE = 5.0
    _: dataclasses.KW_ONLY
    nesterov: bool = False

    def _at(self, n, t, columns):
        most, power = 2.0 / (1.0 - n["b2"]) - 1.0, n["b2"] ** t
        length = most - 2.0 * t * power / (1.0 - power)
        factor = _core.sqrt((length - 4.0) * (length - 2.0) * most / ((most - 4.0) * (most - 2.0) * length))
        return super()._at(n, t, columns) | {"factor": factor, "is_known": _core.astype(length >= n["threshold"], _core.f64)}

    def _one(self, n, update, mu, nu):
        mu, nu = n.mix("b1", mu, update), n.mix("b2", nu, square(update))
        direction = self._mu_hat(n, mu, update)
        scaled = n.factor * direction / (_core.sqrt(nu / bias(n, "b2") + n.eps_root) + n.eps)
        return _core.where(n.is_known > 0, scaled, direction), mu, nu


class scale_by_lion(Adaptive):  # noqa: N801
    """The sign of an average of the gradient and its first moment; mode="smooth" takes a tanh, mode="refined" leaves small ones.

    >>> tx = plait.optim.scale_by_lion()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.99
    mu_dtype: object = None
    _: dataclasses.KW_ONLY
    mode: str = "hard"
    smooth_beta: POSITIVE = 1.0
    _kept, _debiased = ("mu",), ()

    def __post_init__(self):
        if self.mode not in _LION:
            raise errors.ValueError(f"optim.scale_by_lion: mode is {self.mode!r}, expected one of {list(_LION)}")

    def _one(self, n, update, mu):
        return _LION[self.mode](n.mix("b1", mu, update), n), n.mix("b2", mu, update)


_LION = {"hard": lambda x, n: _core.sign(x), "smooth": lambda x, n: _core.tanh(n.smooth_beta * x),
         "refined": lambda x, n: _core.where(_core.absolute(x) < 1.0, x, _core.sign(x))}


class scale_by_adan(PerWeight):  # noqa: N801
    """Adan: moments of the gradient, of its change, and of their squared sum.

    >>> tx = plait.optim.scale_by_adan()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    b1: DECAY = 0.98
    b2: DECAY = 0.92
    b3: DECAY = 0.99
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    _kept = ("m", "v", "n", "g")

    def _at(self, n, t, columns):
        return unbiased(n, t, "b1", "b2", "b3") | {"is_later": _core.astype(t > 1.0, _core.f64)}

    def _one(self, n, update, m, v, squares, before):
        change = _core.where(n.is_later > 0, update - before, 0.0)
        m, v = n.mix("b1", m, update), n.mix("b2", v, change)
        squares = n.mix("b3", squares, square(update + n.rest("b2") * change))
        made = (m / bias(n, "b1") + n.rest("b2") * (v / bias(n, "b2"))) / (_core.sqrt(squares / bias(n, "b3") + n.eps_root) + n.eps)
        return made, m, v, squares, update


class scale_by_ademamix(PerWeight):  # noqa: N801
    """AdEMAMix: a fast and a slow first moment over the root of the second. b3 and alpha are often schedules.

    >>> tx = plait.optim.scale_by_ademamix()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1.0006 -1.0006] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.999
    b3: DECAY = 0.9999
    alpha: ANY = 6.0
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    mu_dtype: object = None
    _kept = ("m1", "m2", "nu")

    def _begin(self, weight, n):
        return [_core.zeros_like(_core.astype(weight, self.mu_dtype or weight.dtype))] * 3

    def _at(self, n, t, columns):
        return unbiased(n, t, "b1", "b2")

    def _one(self, n, update, m1, m2, nu):
        m1, m2, nu = n.mix("b1", m1, update), n.mix("b3", m2, update), n.mix("b2", nu, square(update))
        return (m1 / bias(n, "b1") + n.alpha * m2) / (_core.sqrt(nu / bias(n, "b2") + n.eps_root) + n.eps), m1, m2, nu


class scale_by_simplified_ademamix(PerWeight):  # noqa: N801
    """AdEMAMix with one accumulator, to which alpha times the gradient is added.

    >>> tx = plait.optim.scale_by_simplified_ademamix()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [ 1. -1.] : f32[2]
    """

    b1: DECAY = 0.99
    b2: DECAY = 0.95
    alpha: ANY = 0.0
    eps: POSITIVE = 1e-8
    eps_root: POSITIVE = 0.0
    _kept = ("m", "n")

    def _at(self, n, t, columns):
        return unbiased(n, t, "b2")

    def _one(self, n, update, m, squares):
        m, squares = update + n.b1 * m, n.mix("b2", squares, update * update)
        return (m + n.alpha * update) / (_core.sqrt(squares / bias(n, "b2") + n.eps_root) + n.eps), m, squares


def _fourth_root(steps):
    return _core.astype(steps, _core.f64) ** 0.25


class scale_by_adopt(Adaptive):  # noqa: N801
    """ADOPT: the gradient is divided by the second moment before it, clipped, and then averaged. clip_value_fn maps the number of steps
    to the bound.

    >>> tx = plait.optim.scale_by_adopt()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [0. 0.] : f32[2]
    """

    b1: DECAY = 0.9
    b2: DECAY = 0.9999
    eps: POSITIVE = 1e-6
    mu_dtype: object = None
    _: dataclasses.KW_ONLY
    nesterov: bool = False
    use_clipping: bool = True
    clip_value_fn: object = None

    def _at(self, n, t, columns):
        later, steps = t > 1.0, _core.astype(t, _core.i64) - 1
        bound = {"bound": _core.astype((self.clip_value_fn or _fourth_root)(steps), _core.f64)} if self.use_clipping else {}
        return bound | {"first": _core.where(later, n["b1"], 1.0), "second": _core.where(later, n["b2"], 0.0)}

    def _one(self, n, update, mu, nu):
        scaled = update / _core.maximum(_core.sqrt(nu), n.eps)
        scaled = _core.clip(scaled, -n.bound, n.bound) if self.use_clipping else scaled
        mu = n.mix("first", mu, scaled)
        return n.mix("first", mu, scaled) if self.nesterov else mu, mu, n.mix("second", nu, square(update))
