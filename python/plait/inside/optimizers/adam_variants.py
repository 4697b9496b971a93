"""Adam with another norm, another momentum, or a correction for the first steps."""

from plait import _core
from plait.inside.optimizers.adam import WithMoments
from plait.inside.optimizers.grouped import decayed


class Adamax(WithMoments):
    """Adam with the maximum norm of past gradients instead of the mean of their squares.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.Adamax(model, lr=0.5).update(model, plait.tensor([3.0, -4.0]))[0]
    [ 0.5 -1.5] : f32[2]
    """

    _states = ("exp_avg", "exp_inf")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def _of_step(self, n, steps):
        super()._of_step(n, steps)
        n.step_size = n.lr / n.first_bias

    def _formula(self, n, value, gradient, mean, greatest):
        gradient = decayed(n, value, gradient)
        mean = mean + n.first * (gradient - mean)
        greatest = _core.maximum(n.betas[1] * greatest, _core.absolute(gradient) + n.eps)
        return [value - n.step_size * mean / greatest, mean, greatest]


class NAdam(WithMoments):
    """Adam with Nesterov's momentum.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.NAdam(model, lr=0.5, momentum_decay=0.0).update(model, plait.tensor([3.0, -4.0]))[0].shape
    (2,)
    """

    _numbers = (*WithMoments._numbers, "momentum_decay")
    _options = ("maximize", "decoupled_weight_decay")
    _states, _scalar_states = ("exp_avg", "exp_avg_sq", "mu_product"), ("mu_product",)
    _exact = ("mu", "next_mu", "exact_lr")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
                 maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                    decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)

    def _first_state(self, name, n, value):
        return _core.ones((), dtype=_core.f64) if name == "mu_product" else _core.zeros_like(value)

    def _of_step(self, n, steps):
        super()._of_step(n, steps)
        n.mu, n.next_mu = (n.betas[0] * (1 - 0.5 * 0.96 ** (at * n.momentum_decay)) for at in (steps, steps + 1))
        n.exact_lr, n.square_scale = n.lr, _core.rsqrt(n.second_bias)

    def _formula(self, n, value, gradient, mean, square, product):
        value, gradient = self._with_decay(n, value, gradient, n.decoupled_weight_decay)
        mean, square = self._moments(n, gradient, mean, square)
        product = product * n.mu
        of_gradient = _core.astype(n.exact_lr * (1 - n.mu) / (1 - product), value.dtype)
        of_mean = _core.astype(n.exact_lr * n.next_mu / (1 - product * n.next_mu), value.dtype)
        return [value - (of_gradient * gradient + of_mean * mean) / (_core.sqrt(square) * n.square_scale + n.eps), mean, square, product]


class RAdam(WithMoments):
    """Adam whose steps are corrected for the variance of the second moments, and are those of gradient descent with momentum at first.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.RAdam(model, lr=0.5).update(model, plait.tensor([3.0, -4.0]))[0]
    [-0.5  0. ] : f32[2]
    """

    _options = ("maximize", "decoupled_weight_decay")

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled_weight_decay=False, *, maximize=False,
                 groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                    decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)

    def _of_step(self, n, steps):
        super()._of_step(n, steps)
        last = 2 / n.second - 1
        length = last - 2 * steps * n.betas[1] ** steps / n.second_bias
        n.is_corrected = length > 5
        there = _core.where(n.is_corrected, length, 6.0)
        n.correction = _core.sqrt((there - 4) * (there - 2) * last / ((last - 4) * (last - 2) * there) * n.second_bias)
        n.step_size = n.lr / n.first_bias

    def _formula(self, n, value, gradient, mean, square):
        value, gradient = self._with_decay(n, value, gradient, n.decoupled_weight_decay)
        mean, square = self._moments(n, gradient, mean, square)
        factor = _core.where(n.is_corrected, n.correction / (_core.sqrt(square) + n.eps), _core.ones_like(square))
        return [value - n.step_size * mean * factor, mean, square]


class SparseAdam(WithMoments):
    """Adam without weight decay, and with eps added before the correction of the bias. Gradients are dense.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.SparseAdam(model, lr=0.5).update(model, plait.tensor([3.0, -4.0]))[0].round(3)
    [ 0.5 -1.5] : f32[2]
    """

    _numbers = "lr", "betas", "eps"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, eps=eps, maximize=maximize)

    def _of_step(self, n, steps):
        super()._of_step(n, steps)
        n.step_size = n.lr * _core.sqrt(n.second_bias) / n.first_bias

    def _formula(self, n, value, gradient, mean, square):
        mean, square = self._moments(n, gradient, mean, square)
        return [value - n.step_size * mean / (_core.sqrt(square) + n.eps), mean, square]
