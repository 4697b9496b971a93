"""Muon: momentum whose matrices are orthogonalised."""

import math

from plait import _core, errors
from plait.inside.optimizers.grouped import GroupedOptimizer, wide_of

# By the shape of a matrix; for one without elements the rate does not matter.
_RATES = {"original": lambda rows, columns: math.sqrt(max(1, rows / max(columns, 1))),
          "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
          "spectral_unclamped": lambda rows, columns: math.sqrt(rows / max(columns, 1))}


class Muon(GroupedOptimizer):
    """Gradient descent with momentum, whose steps are orthogonalised by Newton-Schulz iterations, whose values are rounded to ns_dtype.
    All weights are matrices.

    >>> model = {"w": plait.zeros((2, 3))}
    >>> optimizer = plait.optim.Muon(model, lr=1.0)
    >>> model, optimizer = optimizer.update(model, {"w": plait.tensor([[0.0, 4.0, 0.0], [3.0, 0.0, 0.0]])})
    >>> plait.abs(plait.linalg.svdvals(model["w"]) - 1).max().item() < 0.5
    True
    """

    _numbers = ("lr", "weight_decay", "momentum", "ns_coefficients", "eps")
    _options = ("nesterov", "ns_steps", "adjust_lr_fn", "ns_dtype", "maximize")
    _states, _is_real = ("momentum_buffer",), True

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7,
                 ns_steps=5, adjust_lr_fn=None, *, ns_dtype=_core.bf16, maximize=False, groups=(), **accepted):
        self._begin(params, groups, accepted, lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                    ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn, ns_dtype=ns_dtype, maximize=maximize)

    @classmethod
    def _expect_option(cls, name, value, label):
        if name == "adjust_lr_fn":
            if value not in (None, *_RATES):
                raise errors.ValueError(f"{label} is {value!r}, expected one of {', '.join(_RATES)}")
        elif name == "ns_dtype":
            if value not in (_core.bf16, _core.f16, _core.f32, _core.f64):
                raise errors.ValueError(f"{label} is {value}, expected a floating dtype")
        elif name == "ns_steps":
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 100:
                raise errors.ValueError(f"{label} is {value!r}, expected an integer from 0 to below 100")
        else:
            super()._expect_option(name, value, label)

    def _expect_usable(self, path, value):
        super()._expect_usable(path, value)
        if len(value.shape) != 2:
            raise errors.ShapeError.with_hint(f"Muon: {path or 'the model'} is {list(value.shape)}, expected a matrix",
                                              "train other weights with another optimizer")

    def _of_step(self, n, steps):
        n.new = 1 - n.momentum
        n.left = 1 - n.lr * n.weight_decay

    def _formula(self, n, value, gradient, buffer):
        buffer = buffer + n.new * (gradient - buffer)
        update = gradient + n.momentum * (buffer - gradient) if n.nesterov else buffer
        update = _core.astype(_orthogonalised(update, n), value.dtype)
        return [value * n.left - n.lr * _RATES[n.adjust_lr_fn or "original"](*value.shape) * update, buffer]


def _orthogonalised(matrix, n):
    """Singular values moved towards 1 by an odd polynomial. Each product is summed as f32, and rounded once."""
    wide = wide_of(n.ns_dtype)

    def rounded(x):
        return _core.astype(_core.astype(x, n.ns_dtype), wide)

    is_tall = matrix.shape[0] > matrix.shape[1]
    x = rounded(matrix.T if is_tall else matrix)
    a, b, c = (_core.astype(each, wide) for each in n.ns_coefficients)
    x = rounded(x / _core.maximum(rounded(_core.sqrt(_core.sum(_core.square(x)))), _core.astype(n.eps, wide)))
    for _ in range(n.ns_steps):
        gram = rounded(x @ x.T)
        x = rounded(a * x + rounded(b * gram + c * (gram @ gram)) @ x)
    return x.T if is_tall else x
