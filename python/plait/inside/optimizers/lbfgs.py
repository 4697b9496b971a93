"""L-BFGS: steps by an estimate of the inverse Hessian from the last gradients."""

import copy

from plait import _core, errors
from plait.inside.help.unused import expect_used
from plait.inside.optimizers.base import ModelOptimizer
from plait.inside.optimizers.grouped import narrowed, widened, wide_of
from plait.inside.optimizers.groups import expect_model
from plait.inside.optimizers.line_search import Point, StrongWolfe
from plait.inside.optimizers.numbers import number, number_at
from plait.inside.optimizers.schedule import expect_option
from plait.inside.optimizers.weights import Weights
from plait.inside.transforms.control import cond, while_loop
from plait.inside.transforms.derivatives import value_and_grad
from plait.inside.trees.roles import mark_parameters

_NUMBERS = ("lr", "tolerance_grad", "tolerance_change")


class LBFGS(ModelOptimizer):
    """L-BFGS, for losses without noise. An update makes up to max_iter steps, which evaluate the loss: update(model, loss=function of the
    model). line_search_fn is None, or "strong_wolfe". The state is of all weights together, and `loss` is that before the last update.

    >>> model = plait.tensor([3.0, -2.0])
    >>> optimizer = plait.optim.LBFGS(model, line_search_fn="strong_wolfe")
    >>> model, optimizer = optimizer.update(model, loss=lambda model: plait.sum(plait.tensor([1.0, 10.0]) * (model - 1) ** 2))
    >>> plait.max(plait.abs(model - 1)).item() < 1e-4
    True
    """

    def __init__(self, params, lr=1.0, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None, *, maximize=False):
        expect_option("LBFGS", "line_search_fn", line_search_fn, (None, "strong_wolfe"))
        max_eval = max_iter * 5 // 4 if max_eval is None and isinstance(max_iter, int) else max_eval
        for name, value in {"max_iter": max_iter, "max_eval": max_eval, "history_size": history_size}.items():
            if not isinstance(value, int) or not 1 <= value < 2**31:
                raise errors.ValueError(f"LBFGS: {name} is {value!r}, expected a positive integer")
        self.lr, self.tolerance_grad, self.tolerance_change = lr, tolerance_grad, tolerance_change
        self.max_iter, self.max_eval, self.history_size = max_iter, max_eval, history_size
        self.line_search_fn, self.maximize = line_search_fn, maximize
        expect_model("LBFGS", params)
        flat = _Flat(Weights("LBFGS", params))
        mark_parameters(list(flat.weights.values.values()))
        packed, history = flat.packed(flat.weights.values), (history_size,)
        size = packed.shape
        shapes = {"d": size, "t": (), "old_dirs": history + size, "old_stps": history + size, "ro": history, "H_diag": (), "prev_flat_grad": size,
                  "prev_loss": ()}
        self.state = {name: _core._made_beside(packed, _core.zeros(shape, dtype=flat.dtype)) for name, shape in shapes.items()}
        self.state |= {name: _core.zeros((), dtype=_core.i64) for name in ("num_old", "n_iter", "func_evals")}
        self.loss, self.steps = _core.zeros((), dtype=flat.dtype), _core.zeros((), dtype=_core.i64)

    def __setattr__(self, name, value):
        super().__setattr__(name, number(f"LBFGS: {name}", value) if name in _NUMBERS else value)

    def update(self, model, gradient=None, *, loss=None):
        """The model and the optimizer of the next step. `loss` is a function of the model."""
        if not callable(loss) or gradient is not None:
            raise errors.TypeError.with_hint("LBFGS: update takes the loss function, instead of a gradient",
                                             "model, optimizer = optimizer.update(model, loss=lambda model: loss_of(model, x, y))")
        flat = _Flat(Weights("LBFGS", model))
        run = _Run(self, flat, loss)
        following = copy.copy(self)
        values, following.state, following.loss = run.result()
        following.steps = self.steps + 1
        expect_used("update", "model, optimizer = optimizer.update(model, loss=loss_of)", "the model and the optimizer of the next step")
        return flat.weights.model_with(flat.unpacked(values)), following


class _Flat:
    """The weights as one vector."""

    def __init__(self, weights):
        self.weights = weights
        self.dtype = _core.f64 if any(wide_of(each.dtype) == _core.f64 for each in weights.values.values()) else _core.f32

    def packed(self, values):
        parts = [_core.reshape(widened(values[path], weight.dtype), (-1,)) for path, weight in self.weights.values.items()]
        return _core.concat([_core.astype(each, self.dtype) for each in parts])

    def unpacked(self, flat):
        made, begin = {}, 0
        for path, weight in self.weights.values.items():
            shape = (*weight.shape, 2) if weight.dtype.kind == "complex" else tuple(weight.shape)
            size = 1
            for each in shape:
                size = size * each
            made[path] = narrowed(_core.reshape(flat[begin:begin + size], shape), weight.dtype)
            begin = begin + size
        return made


class _Run:
    """One update. The carry of its loop is the state, with what the iteration has: values `x`, the loss and its gradient there, counts."""

    def __init__(self, optimizer, flat, loss):
        self._optimizer, self._flat, self._loss = optimizer, flat, loss
        self._lr, self._tolerance_grad, self._tolerance_change = (
            _core.astype(number_at(getattr(optimizer, name), optimizer.steps), flat.dtype) for name in _NUMBERS)

    def result(self):
        """The values, the state, and the loss at the beginning."""
        x = self._flat.packed(self._flat.weights.values)
        loss, gradient = self._evaluated(x)
        begun, one = self._optimizer.state, _core.ones((), dtype=_core.i64)
        if tuple(begun["d"].shape) != tuple(x.shape):
            raise errors.ShapeError.with_hint(f"LBFGS: the model has {x.shape[0]} weights, the state {begun['d'].shape[0]}",
                                              "the optimizer was made for another model: make one for this model")
        carry = {**begun, "x": x, "loss": loss, "gradient": gradient, "iterations": one * 0, "evaluations": one, "is_done": self._is_flat(gradient),
                 "func_evals": begun["func_evals"] + 1}
        carry = while_loop(lambda carry: _core.logical_not(carry["is_done"]), self._iteration, carry)
        return carry["x"], {name: carry[name] for name in begun}, -loss if self._optimizer.maximize else loss

    def _evaluated(self, x):
        weights = self._flat.weights
        loss, gradient = value_and_grad(self._loss)(weights.model_with(self._flat.unpacked(x)))
        loss, gradient = _core.astype(loss, self._flat.dtype), self._flat.packed(weights.of_gradient(gradient))
        return (-loss, -gradient) if self._optimizer.maximize else (loss, gradient)

    def _is_flat(self, gradient):
        return _core.max(_core.absolute(gradient)) <= self._tolerance_grad

    def _iteration(self, carry):
        c = dict(carry)
        c["iterations"], c["n_iter"] = c["iterations"] + 1, c["n_iter"] + 1
        is_first = c["n_iter"] == 1
        self._remember(c, is_first)
        c["d"] = _core.where(is_first, -c["gradient"], self._direction(c))
        c["t"] = _core.where(is_first, _core.minimum(1.0, 1 / _core.sum(_core.absolute(c["gradient"]))) * self._lr, self._lr)
        c["prev_flat_grad"], c["prev_loss"] = c["gradient"], c["loss"]
        slope = _dot(c["gradient"], c["d"])
        return cond(slope > -self._tolerance_change, lambda: {**c, "is_done": _core.ones((), dtype=_core.bool)}, lambda: self._moved(dict(c), slope))

    def _remember(self, c, is_first):
        """Adds the last step and the change of the gradient to the history, unless the curvature is not positive."""
        change, step = c["gradient"] - c["prev_flat_grad"], c["d"] * c["t"]
        curvature = _dot(change, step)
        keeps = _core.logical_and(curvature > 1e-10, _core.logical_not(is_first))
        safe = _core.where(keeps, curvature, _core.ones_like(curvature))
        for name, row in (("old_dirs", change), ("old_stps", step), ("ro", 1 / safe)):
            c[name] = _core.where(keeps, _core.concat([c[name][1:], row[None]]), c[name])
        c["num_old"] = _core.where(keeps, _core.minimum(c["num_old"] + 1, self._optimizer.history_size), c["num_old"])
        c["H_diag"] = _core.where(is_first, 1.0, _core.where(keeps, safe / _core.where(keeps, _dot(change, change), 1.0), c["H_diag"]))

    def _direction(self, c):
        """The inverse Hessian times the negative gradient. The newest pair of the history is its last row."""
        size = self._optimizer.history_size
        changes, steps, ro, oldest = c["old_dirs"], c["old_stps"], c["ro"], size - c["num_old"]

        def backwards(carry):
            i, q, factors = carry
            factor = _dot(steps[i], q) * ro[i]
            return i - 1, q - factor * changes[i], factors.at[i].set(factor)

        def forwards(carry):
            i, r = carry
            return i + 1, r + steps[i] * (factors[i] - _dot(changes[i], r) * ro[i])

        last = _core.full_like(oldest, size - 1)
        _, q, factors = while_loop(lambda carry: carry[0] >= oldest, backwards, (last, -c["gradient"], _core.zeros_like(ro)))
        return while_loop(lambda carry: carry[0] < size, forwards, (oldest, q * c["H_diag"]))[1]

    def _moved(self, c, slope):
        if self._optimizer.line_search_fn is None:
            is_flat, evaluations = self._step_of_length(c)
        else:
            is_flat, evaluations = self._searched_step(c, slope)
        c = {**c, "evaluations": c["evaluations"] + evaluations, "func_evals": c["func_evals"] + evaluations}
        ends = (c["iterations"] >= self._optimizer.max_iter, c["evaluations"] >= self._optimizer.max_eval, is_flat,
                _core.max(_core.absolute(c["d"] * c["t"])) <= self._tolerance_change,
                _core.absolute(c["loss"] - c["prev_loss"]) < self._tolerance_change)
        for each in ends:
            c["is_done"] = _core.logical_or(c["is_done"], each)
        return c

    def _step_of_length(self, c):
        """A step of length t. After the last one the loss is not evaluated."""
        c["x"] = c["x"] + c["t"] * c["d"]
        is_last = c["iterations"] >= self._optimizer.max_iter
        c["loss"], c["gradient"] = cond(is_last, lambda: (c["loss"], c["gradient"]), lambda: self._evaluated(c["x"]))
        return _core.logical_and(_core.logical_not(is_last), self._is_flat(c["gradient"])), _core.astype(_core.logical_not(is_last), _core.i64)

    def _searched_step(self, c, slope):
        def evaluate(t):
            loss, gradient = self._evaluated(c["x"] + t * c["d"])
            return loss, gradient, _dot(gradient, c["d"])

        start = Point(_core.zeros_like(c["t"]), c["loss"], c["gradient"], slope)
        search = StrongWolfe(evaluate, start, (_core.max(_core.absolute(c["d"])), self._tolerance_change),
                             self._optimizer.max_eval - c["evaluations"])
        point, evaluations = search.search(c["t"])
        c["x"] = c["x"] + point.t * c["d"]
        c["t"], c["loss"], c["gradient"] = point.t, point.loss, point.gradient
        return self._is_flat(point.gradient), evaluations


def _dot(a, b):
    return _core.sum(a * b)
