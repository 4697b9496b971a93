"""Transformations that find their rate: Prodigy, D-Adaptation, DoG, MoMo."""

from plait import _core, errors
from plait.inside.optimizers.numbers import pair
from plait.inside.transformations.combining import chain
from plait.inside.transformations.scaling import add_decayed_weights, expect_value, scale_by_learning_rate
from plait.inside.transformations.transformation import (ANY, DECAY, OPTIONAL, POSITIVE, Columns, GradientTransformation, State, cast_like, identity,
                                                    map_leaves, squared_norm, sum_of, wide, zero_steps)
from plait.inside.transformations.wrappers import dot


def _zeros(params):
    return map_leaves("optim", lambda each: _core.zeros_like(each), params)


def _wide_dot(first, second):
    return _core.astype(dot(first, second), _core.f64)


def _wide_norm(tree):
    return _core.astype(squared_norm(Columns("optim", tree).leaves), _core.f64)


def _sum_of_magnitudes(tree):
    return sum_of((_core.astype(_core.sum(_core.absolute(each)), _core.f64) for each in Columns("optim", tree).leaves), _core.f64)


class _Learning(GradientTransformation):
    """The base: what is learned is f64[] in the state, next to trees like the weights."""

    _trees = ()

    def _map(self, function, *trees, numbers=()):
        """function(leaves..., numbers in their dtype...) for each leaf."""
        def at_leaf(*leaves):
            dtype = wide(leaves[0].dtype)
            return function(*leaves, *(_core.astype(each, dtype) for each in numbers))

        return map_leaves(self._name(), at_leaf, *trees)

    def _moment(self, decay, old, new, factor=1.0):
        """decay · old + (1 - decay) · factor · new."""
        return cast_like(self._map(lambda old, new, decay, rest: decay * old + rest * new, old, new, numbers=(decay, (1.0 - decay) * factor)), old)

    def _begin(self, params, **numbers):
        return State(count=zero_steps(), **{name: cast_like(_zeros(params), params) for name in self._trees},
                     **{name: _core.astype(_core.full((), value, dtype=_core.f64) if isinstance(value, float) else value, _core.f64)
                        for name, value in numbers.items()})

    def _numbers_of(self, state):
        return self._numbers_at(state.count), _core.astype(state.count + 1, _core.f64)


class prodigy(_Learning):  # noqa: N801: optax's names
    """Prodigy: Adam that estimates its rate; learning_rate scales the estimate.

    >>> tx = plait.optim.prodigy(estim_lr0=0.01)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.01  0.01] : f32[2]
    """

    learning_rate: ANY
    beta1: DECAY
    beta2: DECAY
    beta3: OPTIONAL
    eps: POSITIVE
    estim_lr0: POSITIVE
    estim_lr_coef: POSITIVE
    weight_decay: ANY
    _trees = ("exp_avg", "exp_avg_sq", "grad_sum")

    def __init__(self, learning_rate=1.0, betas=(0.9, 0.999), beta3=None, eps=1e-8, estim_lr0=1e-6, estim_lr_coef=1.0, weight_decay=0.0,
                 safeguard_warmup=False):
        self.beta1, self.beta2 = pair(f"{self._name()}: betas", betas)
        self.learning_rate, self.beta3, self.eps, self.estim_lr0, self.estim_lr_coef = learning_rate, beta3, eps, estim_lr0, estim_lr_coef
        self.weight_decay, self.safeguard_warmup = weight_decay, safeguard_warmup

    def init(self, params):
        first = self._numbers_at(zero_steps())["estim_lr0"]
        return self._begin(params, estim_lr=first, numerator_weighted=0.0).with_(params0=params)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n, t = self._numbers_of(state)
        beta3 = n["beta3"] if "beta3" in n else _core.sqrt(n["beta2"])
        rate = state.estim_lr
        step = rate * n["learning_rate"] * _core.sqrt(1.0 - n["beta2"] ** t) / (1.0 - n["beta1"] ** t)
        gain = _wide_dot(updates, self._map(lambda start, weight: start - weight, state.params0, params))
        mean = self._moment(n["beta1"], state.exp_avg, updates, rate)
        squares = self._moment(n["beta2"], state.exp_avg_sq, self._map(lambda each: each * each, updates), rate * rate)
        factor = (rate if self.safeguard_warmup else step) * rate / n["estim_lr0"]
        total = cast_like(self._map(lambda old, new, b3, f: b3 * old + f * new, state.grad_sum, updates, numbers=(beta3, factor)), state.grad_sum)
        numerator = beta3 * state.numerator_weighted + rate / n["estim_lr0"] * step * gain
        following = _core.maximum(rate, n["estim_lr_coef"] * numerator / _sum_of_magnitudes(total))
        made = self._map(lambda mean, squares, weight, decay, step, eps: -decay * weight - step * mean / (_core.sqrt(squares) + eps), mean, squares,
                         params, numbers=(n["weight_decay"] * step, step, following * n["eps"]))
        return made, State(count=state.count + 1, exp_avg=mean, exp_avg_sq=squares, grad_sum=total, estim_lr=following,
                           numerator_weighted=numerator, params0=state.params0)


class dadapt_adamw(_Learning):  # noqa: N801
    """AdamW that estimates its rate by D-Adaptation.

    >>> tx = plait.optim.dadapt_adamw(estim_lr0=0.01)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.00999999  0.01      ] : f32[2]
    """

    learning_rate: ANY
    beta1: DECAY
    beta2: DECAY
    eps: POSITIVE
    estim_lr0: POSITIVE
    weight_decay: ANY
    _trees = ("exp_avg", "exp_avg_sq", "grad_sum")

    def __init__(self, learning_rate=1.0, betas=(0.9, 0.999), eps=1e-8, estim_lr0=1e-6, weight_decay=0.0):
        self.beta1, self.beta2 = pair(f"{self._name()}: betas", betas)
        self.learning_rate, self.eps, self.estim_lr0, self.weight_decay = learning_rate, eps, estim_lr0, weight_decay

    def init(self, params):
        return self._begin(params, estim_lr=self._numbers_at(zero_steps())["estim_lr0"], numerator_weighted=0.0)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n, t = self._numbers_of(state)
        root = _core.sqrt(n["beta2"])
        step = state.estim_lr * n["learning_rate"] * _core.sqrt(1.0 - n["beta2"] ** t) / (1.0 - n["beta1"] ** t)
        gain = _wide_dot(updates, self._map(lambda total, squares, eps: total / (_core.sqrt(squares) + eps), state.grad_sum, state.exp_avg_sq,
                                            numbers=(n["eps"],)))
        mean = self._moment(n["beta1"], state.exp_avg, updates, step)
        squares = self._moment(n["beta2"], state.exp_avg_sq, self._map(lambda each: each * each, updates))
        total = self._moment(root, state.grad_sum, updates, step)
        numerator = root * state.numerator_weighted + (1.0 - root) * step * gain
        following = _core.maximum(state.estim_lr, numerator / ((1.0 - root) * _sum_of_magnitudes(total)))
        made = self._map(lambda mean, squares, weight, decay, eps: -decay * weight - mean / (_core.sqrt(squares) + eps), mean, squares, params,
                         numbers=(n["weight_decay"] * step, n["eps"]))
        return made, State(count=state.count + 1, exp_avg=mean, exp_avg_sq=squares, grad_sum=total, estim_lr=following,
                           numerator_weighted=numerator)


_LEAST = 2.0**-52  # eps of f64


class _MoMo(_Learning):
    learning_rate: ANY
    lower_bound: ANY
    weight_decay: ANY

    def _start(self, params):
        return self._begin(params, barf=0.0, gamma=0.0, lb=self._numbers_at(zero_steps())["lower_bound"])

    def _expect_arguments(self, params, value):
        self._expect_params(params)
        return _core.astype(expect_value(self._name(), value), _core.f64)

    def _rate(self, n, barf, gamma, product, bound, norm, bias):
        """The rate, and the lower bound of the next step; `bias` is that of the averages."""
        decayed = 1.0 + n["learning_rate"] * n["weight_decay"]
        if self.adapt_lower_bound:
            cap = decayed * (barf - gamma) + product
            bound = _core.where(cap < decayed * bias * bound, _core.maximum(cap / (2.0 * bias * decayed), n["lower_bound"]), bound)
        rate = _core.maximum(decayed * (barf - bias * bound - gamma) + product, 0.0) / norm
        rate = _core.minimum(n["learning_rate"] / bias, _core.where(norm <= _LEAST, 0.0, rate))
        if self.adapt_lower_bound:
            bound = _core.maximum((barf + product - gamma - 0.5 * rate * norm) / bias, n["lower_bound"])
        return rate, bound, n["learning_rate"] * n["weight_decay"] / decayed


class momo(_MoMo):  # noqa: N801
    """MoMo: momentum with a rate from the averaged loss above a lower bound; `update` needs the loss: value=loss.

    >>> tx = plait.optim.momo()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2), value=plait.tensor(2.0))[0]
    [-0.4  0.8] : f32[2]
    """

    beta: DECAY
    _trees = ("exp_avg",)

    def __init__(self, learning_rate=1.0, beta=0.9, lower_bound=0.0, weight_decay=0.0, adapt_lower_bound=False):
        self.learning_rate, self.beta, self.lower_bound, self.weight_decay = learning_rate, beta, lower_bound, weight_decay
        self.adapt_lower_bound = adapt_lower_bound

    def init(self, params):
        return self._start(params)

    def update(self, updates, state, params=None, value=None, **extra):
        value, n = self._expect_arguments(params, value), self._numbers_at(state.count)
        beta = _core.where(_core.equal(state.count, 0), 0.0, n["beta"])
        barf, gamma = (beta * old + (1.0 - beta) * new for old, new in ((state.barf, value), (state.gamma, _wide_dot(updates, params))))
        mean = self._moment(beta, state.exp_avg, updates)
        rate, bound, decay = self._rate(n, barf, gamma, _wide_dot(mean, params), state.lb, _wide_norm(mean), 1.0)
        made = self._map(lambda mean, weight, decay, rate: -decay * weight - rate * mean, mean, params, numbers=(decay, rate))
        return made, State(count=state.count + 1, exp_avg=mean, barf=barf, gamma=gamma, lb=bound)


class momo_adam(_MoMo):  # noqa: N801
    """MoMo with Adam's preconditioner; `update` needs the loss: value=loss.

    >>> tx = plait.optim.momo_adam(0.1)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2), value=plait.tensor(2.0))[0]
    [-0.1  0.1] : f32[2]
    """

    b1: DECAY
    b2: DECAY
    eps: POSITIVE
    _trees = ("exp_avg", "exp_avg_sq")

    def __init__(self, learning_rate=0.01, b1=0.9, b2=0.999, eps=1e-8, lower_bound=0.0, weight_decay=0.0, adapt_lower_bound=False):
        self.learning_rate, self.b1, self.b2, self.eps, self.lower_bound, self.weight_decay = learning_rate, b1, b2, eps, lower_bound, weight_decay
        self.adapt_lower_bound = adapt_lower_bound

    def init(self, params):
        return self._start(params)

    def update(self, updates, state, params=None, value=None, **extra):
        value = self._expect_arguments(params, value)
        n, t = self._numbers_of(state)
        barf, gamma = (n["b1"] * old + (1.0 - n["b1"]) * new for old, new in ((state.barf, value), (state.gamma, _wide_dot(updates, params))))
        mean = self._moment(n["b1"], state.exp_avg, updates)
        squares = self._moment(n["b2"], state.exp_avg_sq, self._map(lambda each: each * each, updates))
        scaled = self._map(lambda mean, squares, eps, bias: mean / (eps + _core.sqrt(squares / bias)), mean, squares,
                           numbers=(n["eps"], 1.0 - n["b2"] ** t))
        rate, bound, decay = self._rate(n, barf, gamma, _wide_dot(mean, params), state.lb, _wide_dot(mean, scaled), 1.0 - n["b1"] ** t)
        made = self._map(lambda each, weight, decay, rate: -decay * weight - rate * each, scaled, params, numbers=(decay, rate))
        return made, State(count=state.count + 1, exp_avg=mean, exp_avg_sq=squares, barf=barf, gamma=gamma, lb=bound)


class _scale_by_dog(_Learning):  # noqa: N801
    init_value: POSITIVE
    eps: POSITIVE

    def __init__(self, init_step, eps):
        kind, self.init_value = pair("optim.dog: init_step", init_step, "a pair: a name and a number")
        if kind not in ("distance", "heuristic", "learning_rate"):
            raise errors.ValueError(f"optim.dog: init_step begins with {kind!r}, expected 'distance', 'heuristic' or 'learning_rate'")
        self.kind, self.eps = kind, eps

    def init(self, params):
        first = self._numbers_at(zero_steps())["init_value"]
        first = {"distance": first, "heuristic": first * (1.0 + _core.sqrt(_wide_norm(params))), "learning_rate": 0.0 * first}[self.kind]
        return self._begin(params, max_dist=first, sum_sq_norm_grads=0.0).with_(init_params=params)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n = self._numbers_at(state.count)
        distance = _core.sqrt(_wide_norm(self._map(lambda start, weight: start - weight, state.init_params, params)))
        distance, total = _core.maximum(state.max_dist, distance), state.sum_sq_norm_grads + _wide_norm(updates)
        rate = distance / _core.sqrt(total + n["eps"])
        if self.kind == "learning_rate":
            rate = _core.where(_core.equal(state.count, 0), n["init_value"], rate)
        return self._map(lambda each, rate: rate * each, updates, numbers=(rate,)), State(count=state.count + 1, max_dist=distance,
                                                                                         sum_sq_norm_grads=total, init_params=state.init_params)


_scale_by_dog.__name__ = "dog"


def _decayed(weight_decay, mask):
    return identity() if weight_decay is None else add_decayed_weights(weight_decay, mask)


def dog(learning_rate=1.0, init_step=("heuristic", 1e-6), eps=1e-8, weight_decay=None, mask=None):
    """DoG: the rate is the largest distance from the start over the root of the sum of squared gradients.

    >>> tx = plait.optim.dog(init_step=("distance", 0.1))
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.06 -0.08] : f32[2]
    """
    return chain(_decayed(weight_decay, mask), _scale_by_dog(init_step, eps), scale_by_learning_rate(learning_rate))


class _scale_by_dowg(_Learning):  # noqa: N801
    init_estim_sq_dist: OPTIONAL
    eps: POSITIVE

    def __init__(self, init_estim_sq_dist, eps):
        self.init_estim_sq_dist, self.eps = init_estim_sq_dist, eps

    def init(self, params):
        n = self._numbers_at(zero_steps())
        return self._begin(params, weighted_sq_norm_grads=0.0, estim_sq_dist=n.get("init_estim_sq_dist", n["eps"])).with_(init_params=params)

    def update(self, updates, state, params=None, **extra):
        self._expect_params(params)
        n = self._numbers_at(state.count)
        distance = _core.maximum(state.estim_sq_dist, _wide_norm(self._map(lambda start, weight: start - weight, state.init_params, params)))
        total = distance * _wide_norm(updates) + state.weighted_sq_norm_grads
        rate = distance / (_core.sqrt(total) + n["eps"])
        return self._map(lambda each, rate: rate * each, updates, numbers=(rate,)), State(count=state.count + 1, weighted_sq_norm_grads=total,
                                                                                         estim_sq_dist=distance, init_params=state.init_params)


_scale_by_dowg.__name__ = "dowg"


def dowg(learning_rate=1.0, init_estim_sq_dist=None, eps=1e-4, weight_decay=None, mask=None):
    """DoWG: DoG with gradients weighted by the distance.

    >>> tx = plait.optim.dowg()
    >>> tx.update(plait.tensor([3.0, 4.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [-0.00598802 -0.00798403] : f32[2]
    """
    return chain(_decayed(weight_decay, mask), _scale_by_dowg(init_estim_sq_dist, eps), scale_by_learning_rate(learning_rate))
