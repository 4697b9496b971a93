"""Adam and its variants: steps divided by the square root of the mean of squared gradients."""

from plait import _core
from plait.inside.optimizers.grouped import GroupedOptimizer, decayed


class WithMoments(GroupedOptimizer):
    """The first and second moments of the gradient."""

    _numbers, _states = ("lr", "betas", "eps", "weight_decay"), ("exp_avg", "exp_avg_sq")

    def _of_step(self, n, steps):
        """The weights of new gradients in the moments, and the corrections of their bias."""
        n.first, n.second = (1 - beta for beta in n.betas)
        n.first_bias, n.second_bias = (1 - beta**steps for beta in n.betas)
        n.left = 1 - n.lr * n.weight_decay if "weight_decay" in self._numbers else None

    @staticmethod
    def _moments(n, gradient, mean, square):
        return mean + n.first * (gradient - mean), n.betas[1] * square + n.second * _core.square(gradient)

    @staticmethod
    def _with_decay(n, value, gradient, is_decoupled):
        """The weight and the gradient after weight decay of either kind."""
        if is_decoupled:
            return value * n.left, gradient
        return value, decayed(n, value, gradient)


class Adam(WithMoments):
    """Adam; weight_decay times the weight is added to the gradient (L2). The states are `exp_avg` and `exp_avg_sq`, with amsgrad
    `max_exp_avg_sq`, too.

    >>> model = plait.nn.Linear(3, 1)
    >>> optimizer = plait.optim.Adam(model, lr=0.1)
    >>> loss = lambda model, x: plait.mean(model(x) ** 2)
    >>> for _ in range(100):
    ...     model, optimizer = optimizer.update(model, plait.grad(loss)(model, plait.ones((1, 3))))
    >>> loss(model, plait.ones((1, 3))).item() < 1e-2
    True
    """

    _options = ("amsgrad", "maximize", "decoupled_weight_decay")

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *, maximize=False,
                 decoupled_weight_decay=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                    decoupled_weight_decay=decoupled_weight_decay)

    def _states_of(self, n, value):
        return (*self._states, "max_exp_avg_sq") if n.amsgrad else self._states

    def _of_step(self, n, steps):
        super()._of_step(n, steps)
        n.step_size, n.square_scale = n.lr / n.first_bias, _core.rsqrt(n.second_bias)

    def _formula(self, n, value, gradient, mean, square, *greatest):
        value, gradient = self._with_decay(n, value, gradient, n.decoupled_weight_decay)
        mean, square = self._moments(n, gradient, mean, square)
        greatest = [_core.maximum(each, square) for each in greatest]
        scale = _core.sqrt(greatest[0] if greatest else square) * n.square_scale + n.eps
        return [value - n.step_size * mean / scale, mean, square, *greatest]


class AdamW(Adam):
    """Adam with decoupled weight decay: each weight is reduced by lr · weight_decay times itself.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.AdamW(model, lr=0.5, weight_decay=0.1).update(model, plait.tensor([3.0, 4.0]))[0]
    [ 0.45 -2.4 ] : f32[2]
    """


    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, groups=(), **accepted):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True, groups=groups, **accepted)
