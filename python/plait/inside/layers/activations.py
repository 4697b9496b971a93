"""Activations, elementwise: Modules of the functions of the same names. `inplace` is accepted for PyTorch's sake: nothing is changed in place."""

from plait import _core, errors
from plait.inside.layers.checks import name_of, number, one_of, positive, whole
from plait.inside.layers.on_device import on_device
from plait.inside.trees.module import Module


class _Elementwise(Module):
    """An activation without options."""

    _function = None

    def __init__(self, inplace=False):
        pass

    def __call__(self, input):
        return type(self)._function(input)


class ReLU(_Elementwise):
    """max(x, 0).

    >>> plait.nn.ReLU()(plait.tensor([-2.0, 0.0, 2.0]))
    [0. 0. 2.] : f32[3]
    """

    _function = staticmethod(_core.relu)


class ReLU6(_Elementwise):
    """min(max(x, 0), 6).

    >>> plait.nn.ReLU6()(plait.tensor([-2.0, 0.0, 2.0]))
    [0. 0. 2.] : f32[3]
    """

    _function = staticmethod(_core.relu6)


class SELU(_Elementwise):
    """The scaled exponential linear unit, by which activations keep mean 0 and variance 1.

    >>> plait.nn.SELU()(plait.tensor([-2.0, 0.0, 2.0]))
    [-1.5201665  0.         2.101402 ] : f32[3]
    """

    _function = staticmethod(_core.selu)


class SiLU(_Elementwise):
    """x · sigmoid(x), also called swish.

    >>> plait.nn.SiLU()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.23840584  0.          1.7615942 ] : f32[3]
    """

    _function = staticmethod(_core.silu)


class Mish(_Elementwise):
    """x · tanh(softplus(x)).

    >>> plait.nn.Mish()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.2525015  0.         1.943959 ] : f32[3]
    """

    _function = staticmethod(_core.mish)


class Sigmoid(_Elementwise):
    """1 / (1 + exp(-x)).

    >>> plait.nn.Sigmoid()(plait.tensor([-2.0, 0.0, 2.0]))
    [0.11920292 0.5        0.8807971 ] : f32[3]
    """

    _function = staticmethod(_core.sigmoid)


class LogSigmoid(_Elementwise):
    """log(sigmoid(x)).

    >>> plait.nn.LogSigmoid()(plait.tensor([-2.0, 0.0, 2.0]))
    [-2.126928   -0.6931472  -0.12692802] : f32[3]
    """

    _function = staticmethod(_core.logsigmoid)


class Tanh(_Elementwise):
    """The hyperbolic tangent.

    >>> plait.nn.Tanh()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.9640276  0.         0.9640276] : f32[3]
    """

    _function = staticmethod(_core.tanh)


class Softsign(_Elementwise):
    """x / (1 + |x|).

    >>> plait.nn.Softsign()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.6666667  0.         0.6666667] : f32[3]
    """

    _function = staticmethod(_core.softsign)


class Hardswish(_Elementwise):
    """x · min(max(x + 3, 0), 6) / 6.

    >>> plait.nn.Hardswish()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.33333334  0.          1.6666666 ] : f32[3]
    """

    _function = staticmethod(_core.hardswish)


class Hardsigmoid(_Elementwise):
    """min(max(x + 3, 0), 6) / 6.

    >>> plait.nn.Hardsigmoid()(plait.tensor([-2.0, 0.0, 2.0]))
    [0.16666667 0.5        0.8333333 ] : f32[3]
    """

    _function = staticmethod(_core.hardsigmoid)


class Tanhshrink(_Elementwise):
    """x - tanh(x).

    >>> plait.nn.Tanhshrink()(plait.tensor([-2.0, 0.0, 2.0]))
    [-1.0359724  0.         1.0359724] : f32[3]
    """

    _function = staticmethod(_core.tanhshrink)


class LeakyReLU(Module):
    """x where it is positive, else negative_slope · x.

    >>> plait.nn.LeakyReLU(0.1)(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.2  0.   2. ] : f32[3]
    """

    def __init__(self, negative_slope=0.01, inplace=False):
        self.negative_slope = number(self, "negative_slope", negative_slope)

    def __call__(self, input):
        return _core.leaky_relu(input, self.negative_slope)


class ELU(Module):
    """x where it is positive, else alpha · (exp(x) - 1).

    >>> plait.nn.ELU()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.86466473  0.          2.        ] : f32[3]
    """

    def __init__(self, alpha=1.0, inplace=False):
        self.alpha = number(self, "alpha", alpha)

    def __call__(self, input):
        return _core.elu(input, self.alpha)


class CELU(Module):
    """x where it is positive, else alpha · (exp(x / alpha) - 1).

    >>> plait.nn.CELU()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.86466473  0.          2.        ] : f32[3]
    """

    def __init__(self, alpha=1.0, inplace=False):
        self.alpha = positive(self, "alpha", alpha)

    def __call__(self, input):
        return _core.celu(input, self.alpha)


class GELU(Module):
    """x · Φ(x), where Φ is the normal distribution function, exact, or approximated: "tanh", or "fast", x · sigmoid(1.702 x).

    >>> plait.nn.GELU()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.04550028  0.          1.9544997 ] : f32[3]
    """

    def __init__(self, approximate="none"):
        self.approximate = one_of(self, "approximate", approximate, ("none", "tanh", "fast"))

    def __call__(self, input):
        return _core.gelu(input, self.approximate)


class Softplus(Module):
    """log(1 + exp(beta · x)) / beta, and x where beta · x is above the threshold.

    >>> plait.nn.Softplus()(plait.tensor([-2.0, 0.0, 2.0]))
    [0.12692802 0.6931472  2.126928  ] : f32[3]
    """

    def __init__(self, beta=1.0, threshold=20.0):
        self.beta, self.threshold = positive(self, "beta", beta), number(self, "threshold", threshold)

    def __call__(self, input):
        return _core.where(input * self.beta > self.threshold, input, _core.softplus(input, self.beta))


class Softshrink(Module):
    """x moved towards 0 by lambd, and 0 within it.

    >>> plait.nn.Softshrink()(plait.tensor([-2.0, 0.0, 2.0]))
    [-1.5  0.   1.5] : f32[3]
    """

    def __init__(self, lambd=0.5):
        self.lambd = number(self, "lambd", lambd, 0)

    def __call__(self, input):
        return _core.softshrink(input, self.lambd)


class Hardshrink(Module):
    """x, and 0 from -lambd to lambd.

    >>> plait.nn.Hardshrink()(plait.tensor([-2.0, 0.0, 2.0]))
    [-2.  0.  2.] : f32[3]
    """

    def __init__(self, lambd=0.5):
        self.lambd = number(self, "lambd", lambd)

    def __call__(self, input):
        return _core.hardshrink(input, self.lambd)


class Hardtanh(Module):
    """x clipped to min_val and max_val.

    >>> plait.nn.Hardtanh()(plait.tensor([-2.0, 0.0, 2.0]))
    [-1.  0.  1.] : f32[3]
    """

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        min_val, max_val = (own if other is None else other for own, other in ((min_val, min_value), (max_val, max_value)))  # PyTorch's older names
        self.min_val, self.max_val = number(self, "min_val", min_val), number(self, "max_val", max_val)
        if not min_val < max_val:
            raise errors.ValueError(f"{name_of(self)}: min_val is {min_val} and max_val {max_val}, expected min_val below max_val")

    def __call__(self, input):
        return _core.hardtanh(input, self.min_val, self.max_val)


class Threshold(Module):
    """x where it is above the threshold, else the value.

    >>> plait.nn.Threshold(0.5, 9.0)(plait.tensor([-2.0, 0.0, 2.0]))
    [9. 9. 2.] : f32[3]
    """

    def __init__(self, threshold, value, inplace=False):
        self.threshold, self.value = number(self, "threshold", threshold), number(self, "value", value)

    def __call__(self, input):
        return _core.threshold(input, self.threshold, self.value)


class PReLU(Module):
    """x where it is positive, else weight · x: one learned slope, or one for each channel, along axis 1.

    >>> plait.nn.PReLU()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.5  0.   2. ] : f32[3]
    """

    @on_device
    def __init__(self, num_parameters=1, init=0.25, *, dtype=_core.f32):
        self.num_parameters, self.init = whole(self, "num_parameters", num_parameters, 1), number(self, "init", init)
        self.weight = _core.full((num_parameters,), init, dtype=dtype)

    def __call__(self, input):
        return _core.prelu(input, self.weight)


class RReLU(Module):
    """x where it is positive, else a slope times x: in training one drawn for each element from lower to upper, else their mean.

    >>> plait.nn.RReLU(0.1, 0.3).eval()(plait.tensor([-2.0, 0.0, 2.0]))
    [-0.4  0.   2. ] : f32[3]
    """

    def __init__(self, lower=1 / 8, upper=1 / 3, inplace=False):
        self.lower, self.upper = number(self, "lower", lower), number(self, "upper", upper)
        if lower > upper:
            raise errors.ValueError(f"{name_of(self)}: lower is {lower} and upper {upper}, expected lower up to upper")

    def __call__(self, input, key=None):
        """The output; key draws the slopes in training."""
        return _core.rrelu(input, self.lower, self.upper, training=self.training, key=key)
