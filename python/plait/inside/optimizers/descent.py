"""Gradient descent: with momentum, averaged, and by the signs of gradients."""

from plait import _core, errors
from plait.inside.optimizers.grouped import GroupedOptimizer, decayed, narrowed
from plait.inside.optimizers.groups import is_zero


class SGD(GroupedOptimizer):
    """Gradient descent: update(model, gradient) returns the next model and the next optimizer.

    The state with a momentum is `momentum_buffer`. As in all optimizers, numbers are tensors of the optimizer, and may be set
    (`optimizer.lr = 0.1`) or be functions of the step; `groups` has patterns of paths whose weights have numbers of their own.
    foreach, fused, capturable and differentiable are accepted and have no effect.

    >>> model = {"w": plait.tensor([1.0, 2.0]), "bias": plait.tensor(1.0)}
    >>> optimizer = plait.optim.SGD(model, lr=0.5, groups=[{"params": "*bias", "lr": 0.25}])
    >>> model, optimizer = optimizer.update(model, {"w": plait.tensor([1.0, -1.0]), "bias": plait.tensor(1.0)})
    >>> model
    {'w': [0.5 2.5] : f32[2], 'bias': 0.75 : f32[]}
    """

    _numbers, _options = ("lr", "momentum", "dampening", "weight_decay"), ("nesterov", "maximize")
    _optional = ("momentum",)

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *, maximize=False, groups=(), **accepted):
        if nesterov and is_zero(momentum):
            raise errors.ValueError.with_hint("SGD: nesterov needs a momentum", "pass momentum=0.9")
        if nesterov and not is_zero(dampening):
            raise errors.ValueError.with_hint("SGD: nesterov needs a dampening of 0", "leave out dampening=")
        self._begin(params, groups, accepted, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                    maximize=maximize)

    def _states_of(self, n, value):
        return () if n.momentum is None else ("momentum_buffer",)

    def _of_step(self, n, steps):
        n.kept = _core.where(steps == 1, 1.0, 1 - n.dampening)

    def _formula(self, n, value, gradient, buffer=None):
        gradient = decayed(n, value, gradient)
        if buffer is None:
            return [value - n.lr * gradient]
        buffer = n.momentum * buffer + n.kept * gradient
        return [value - n.lr * (gradient + n.momentum * buffer if n.nesterov else buffer), buffer]


class ASGD(GroupedOptimizer):
    """Averaged gradient descent: `state["ax"]` has the averages of the weights over the steps after t0. The step size is
    lr / (1 + lambd lr steps)^alpha.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.ASGD(model, lr=0.5).update(model, plait.tensor([1.0, 1.0]))[0]
    [ 0.49995 -2.4999 ] : f32[2]
    """

    _numbers = ("lr", "lambd", "alpha", "t0", "weight_decay")
    _states, _scalar_states, _exact = ("eta", "mu", "ax"), ("eta", "mu"), ("first_eta", "growth", "power", "averaged")

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize)

    def _first_state(self, name, n, value):
        one = _core.ones((), dtype=_core.f64)
        return {"eta": n.lr * one, "mu": one}[name] if name != "ax" else _core.zeros_like(value)

    def _of_step(self, n, steps):
        n.first_eta, n.growth, n.power = n.lr, 1 + n.lambd * n.lr * steps, n.alpha
        n.averaged = _core.maximum(steps - n.t0, 1.0)

    def _formula(self, n, value, gradient, eta, mu, ax):
        gradient = decayed(n, value, gradient)
        step_size = _core.astype(eta, value.dtype)
        value = value * (1 - n.lambd * step_size) - step_size * gradient
        ax = _core.where(mu == 1, value, ax + (value - ax) * _core.astype(mu, value.dtype))
        return [value, n.first_eta / n.growth**n.power, 1 / n.averaged, ax]


class Rprop(GroupedOptimizer):
    """Resilient backpropagation: each element has a step size of its own, which grows by etas[1] while its gradient keeps its sign,
    and shrinks by etas[0] when it changes. `lr` is the first step size.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.Rprop(model, lr=0.5).update(model, plait.tensor([3.0, -4.0]))[0]
    [ 0.5 -1.5] : f32[2]
    """

    _numbers, _states = ("lr", "etas", "step_sizes"), ("prev", "step_size")

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize)

    def _first_state(self, name, n, value):
        if name == "prev":
            return _core.zeros_like(value)
        size = _core.astype(n.lr, _core.f64) + _core._made_beside(value, _core.zeros(value.shape, dtype=_core.f64))
        return narrowed(_core.stack([size, size], -1) if value.dtype.kind == "complex" else size, value.dtype)

    def _formula(self, n, value, gradient, prev, step_size):
        product = gradient * prev
        factor = _core.where(product > 0, n.etas[1], _core.where(product < 0, n.etas[0], _core.ones_like(product)))
        step_size = _core.clip(step_size * factor, *n.step_sizes)
        gradient = _core.where(product < 0, _core.zeros_like(gradient), gradient)
        return [value - _core.sign(gradient) * step_size, gradient, step_size]


class Lion(GroupedOptimizer):
    """Lion: steps by the sign of a mean of gradients, with decoupled weight decay.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.Lion(model, lr=0.5).update(model, plait.tensor([3.0, -4.0]))[0]
    [ 0.5 -1.5] : f32[2]
    """

    _numbers, _states = ("lr", "betas", "weight_decay"), ("exp_avg",)

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize)

    def _of_step(self, n, steps):
        n.first, n.second = (1 - beta for beta in n.betas)
        n.left = 1 - n.lr * n.weight_decay

    def _formula(self, n, value, gradient, mean):
        update = _core.sign(mean + n.first * (gradient - mean))
        return [value * n.left - n.lr * update, mean + n.second * (gradient - mean)]
