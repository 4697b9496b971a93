"""Optimizers whose step of each weight tensor is in proportion to its norm."""

from plait import _core
from plait.inside.optimizers.adam import WithMoments
from plait.inside.optimizers.grouped import GroupedOptimizer, decayed


def _ratio(value, update, coefficient=1.0, eps=0.0):
    """coefficient |value| / (|update| + eps), and 1 where a norm is 0."""
    ours, others = (_core.sqrt(_core.sum(_core.square(each))) for each in (value, update))
    is_zero = _core.logical_or(ours == 0, others == 0)
    return _core.where(is_zero, _core.ones_like(ours), coefficient * ours / _core.where(is_zero, _core.ones_like(ours), others + eps))


class LAMB(WithMoments):
    """Adam with decoupled weight decay, whose steps have the norm of the weight tensor times lr.

    >>> model = plait.tensor([3.0, -4.0])
    >>> plait.optim.LAMB(model, lr=0.5, weight_decay=0.0).update(model, plait.tensor([2.0, -2.0]))[0].round(3)
    [ 1.232 -2.232] : f32[2]
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=1e-2, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def _formula(self, n, value, gradient, mean, square):
        mean, square = self._moments(n, gradient, mean, square)
        update = decayed(n, value, mean / n.first_bias / (_core.sqrt(square / n.second_bias) + n.eps))
        return [value - n.lr * _ratio(value, update) * update, mean, square]


class LARS(GroupedOptimizer):
    """Gradient descent with momentum, whose steps have the norm of the weight tensor times lr · trust_coefficient.

    >>> model = plait.tensor([3.0, -4.0])
    >>> plait.optim.LARS(model, lr=10.0, trust_coefficient=0.01).update(model, plait.tensor([2.0, 0.0]))[0]
    [ 2.5 -4. ] : f32[2]
    """

    _numbers, _options = ("lr", "momentum", "weight_decay", "trust_coefficient", "eps"), ("nesterov", "maximize")
    _states = ("momentum_buffer",)

    def __init__(self, params, lr=1e-3, momentum=0.9, weight_decay=0.0, trust_coefficient=1e-3, eps=0.0, nesterov=False, *, maximize=False,
                 groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, momentum=momentum, weight_decay=weight_decay, trust_coefficient=trust_coefficient, eps=eps,
                    nesterov=nesterov, maximize=maximize)

    def _formula(self, n, value, gradient, buffer):
        update = decayed(n, value, gradient)
        update = n.lr * _ratio(value, update, n.trust_coefficient, n.eps) * update
        buffer = n.momentum * buffer + update
        return [value - (update + n.momentum * buffer if n.nesterov else buffer), buffer]
