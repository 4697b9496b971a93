"""Steps divided by a norm of past gradients, for each element, or for rows and columns."""

from plait import _core
from plait.inside.arrays.dtype_info import finfo
from plait.inside.optimizers.grouped import GroupedOptimizer, decayed, narrowed


class Adagrad(GroupedOptimizer):
    """Steps divided by the root of the sum of all squared gradients, `state["sum"]`.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.Adagrad(model, lr=0.5).update(model, plait.tensor([3.0, -4.0]))[0]
    [ 0.5 -1.5] : f32[2]
    """

    _numbers, _states = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"), ("sum",)

    def __init__(self, params, lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, *, maximize=False, groups=(),
                 **accepted):
        self._begin(params, groups, accepted, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
                    initial_accumulator_value=initial_accumulator_value, eps=eps, maximize=maximize)

    def _first_state(self, name, n, value):
        begun = n.initial_accumulator_value + _core._made_beside(value, _core.zeros(value.shape, dtype=_core.f64))
        return narrowed(_core.stack([begun, begun], -1) if value.dtype.kind == "complex" else begun, value.dtype)

    def _of_step(self, n, steps):
        n.step_size = n.lr / (1 + (steps - 1) * n.lr_decay)

    def _formula(self, n, value, gradient, total):
        gradient = decayed(n, value, gradient)
        total = total + _core.square(gradient)
        return [value - n.step_size * gradient / (_core.sqrt(total) + n.eps), total]


class Adadelta(GroupedOptimizer):
    """Steps with the ratio of the root mean squares of past steps and of past gradients.

    >>> model = plait.tensor([1.0, -2.0])
    >>> optimizer = plait.optim.Adadelta(model)
    >>> plait.all(optimizer.update(model, plait.tensor([3.0, 4.0]))[0] < model).item()
    True
    """

    _numbers, _states = ("lr", "rho", "eps", "weight_decay"), ("square_avg", "acc_delta")

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def _of_step(self, n, steps):
        n.new = 1 - n.rho

    def _formula(self, n, value, gradient, square, deltas):
        gradient = decayed(n, value, gradient)
        square = n.rho * square + n.new * _core.square(gradient)
        delta = _core.sqrt(deltas + n.eps) / _core.sqrt(square + n.eps) * gradient
        return [value - n.lr * delta, square, n.rho * deltas + n.new * _core.square(delta)]


class RMSprop(GroupedOptimizer):
    """Steps divided by the root of the mean of squared gradients; with centered=True by their standard deviation.

    >>> model = plait.tensor([1.0, -2.0])
    >>> plait.optim.RMSprop(model, lr=0.5, alpha=0.75).update(model, plait.tensor([3.0, -4.0]))[0]
    [ 0. -1.] : f32[2]
    """

    _numbers, _options = ("lr", "alpha", "eps", "weight_decay", "momentum"), ("centered", "maximize")
    _optional = ("momentum",)

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, *, maximize=False, groups=(),
                 **accepted):
        self._begin(params, groups, accepted, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered,
                    maximize=maximize)

    def _states_of(self, n, value):
        return ("square_avg", *(("grad_avg",) if n.centered else ()), *(("momentum_buffer",) if n.momentum is not None else ()))

    def _of_step(self, n, steps):
        n.new = 1 - n.alpha

    def _formula(self, n, value, gradient, square, *others):
        gradient = decayed(n, value, gradient)
        square, others, made = n.alpha * square + n.new * _core.square(gradient), list(others), []
        variance = square
        if n.centered:
            mean = others.pop(0)
            made.append(mean + n.new * (gradient - mean))
            variance = square - _core.square(made[0])
        update = gradient / (_core.sqrt(variance) + n.eps)
        if n.momentum is not None:
            update = n.momentum * others.pop() + update
            made.append(update)
        return [value - n.lr * update, square, *made]


class Adafactor(GroupedOptimizer):
    """Steps divided by an estimate of the root mean squares of gradients that takes one number for each row and each column of a matrix:
    `row_var` and `col_var`; vectors have `variance`. Steps are relative to the size of the weight.

    >>> model = {"w": plait.ones((3, 4)), "b": plait.ones(4)}
    >>> optimizer = plait.optim.Adafactor(model)
    >>> optimizer.state["row_var"]["w"].shape, optimizer.state["col_var"]["w"].shape, list(optimizer.state["variance"])
    ((3, 1), (1, 4), ['b'])
    """

    _numbers, _is_real = ("lr", "beta2_decay", "eps", "d", "weight_decay"), True
    _lengths = {"eps": 2}

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, maximize=maximize)

    def _states_of(self, n, value):
        return ("row_var", "col_var") if len(value.shape) > 1 else ("variance",)

    def _state_shape(self, name, value):
        *others, rows, columns = value.shape if name != "variance" else (0, 0)
        return {"row_var": (*others, rows, 1), "col_var": (*others, 1, columns), "variance": tuple(value.shape)}[name]

    def _first_state(self, name, n, value):
        return _core._made_beside(value, _core.zeros(self._state_shape(name, value), dtype=value.dtype))

    def _stepped(self, n, names, value, gradient, states):
        n.least = finfo(value.dtype).eps if n.eps[0] is None else n.eps[0]
        return super()._stepped(n, names, value, gradient, states)

    def _of_step(self, n, steps):
        n.new = steps**n.beta2_decay
        n.rate = _core.minimum(n.lr, 1 / _core.sqrt(steps))
        n.left = 1 - n.lr * n.weight_decay

    def _formula(self, n, value, gradient, *states):
        step_size = n.rate * _core.maximum(_root_mean_square(value), n.eps[1])
        value = value * n.left
        squares = _core.square(gradient)
        seen = [squares] if len(states) == 1 else [_core.mean(squares, axis=axis, keepdims=True) for axis in (-1, -2)]
        states = [state + n.new * (each - state) for state, each in zip(states, seen)]
        variance = states[0]
        if len(states) == 2:
            rows, columns = states
            variance = rows * columns / _core.maximum(_core.mean(rows, axis=-2, keepdims=True), n.least)
        update = gradient * _core.rsqrt(_core.maximum(variance, n.least * n.least))
        return [value - step_size / _core.maximum(_root_mean_square(update) / n.d, 1.0) * update, *states]


def _root_mean_square(x):
    return _core.sqrt(_core.mean(_core.square(x)))
