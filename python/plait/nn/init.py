"""Initial weights, as torch.nn.init has them: functions of a shape, which return a new tensor. All take `key` and `dtype`, so that one
may stand for another; without a key, random numbers are drawn from the default stream."""

import math as _math

from plait import _core, errors as _errors
from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.layers.checks import is_number as _is_number
from plait.inside.layers.first_weights import drawn as _drawn, fans as _fans

_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0, "conv_transpose3d": 1.0,
          "sigmoid": 1.0, "tanh": 5 / 3, "relu": _math.sqrt(2), "selu": 0.75}


def zeros(shape, *, key=None, dtype=_core.f32):
    """Zeros.

    >>> plait.nn.init.zeros(3)
    [0. 0. 0.] : f32[3]
    """
    return _core.zeros(shape, dtype=dtype)


def ones(shape, *, key=None, dtype=_core.f32):
    """Ones.

    >>> plait.nn.init.ones(3)
    [1. 1. 1.] : f32[3]
    """
    return _core.ones(shape, dtype=dtype)


def constant(shape, val, *, key=None, dtype=_core.f32):
    """One number everywhere.

    >>> plait.nn.init.constant(3, 0.5)
    [0.5 0.5 0.5] : f32[3]
    """
    return _core.full(shape, val, dtype=dtype)


def eye(shape, *, key=None, dtype=_core.f32):
    """Ones on the diagonal of a matrix: a Linear of it preserves its inputs.

    >>> plait.nn.init.eye((2, 3))
    [[1. 0. 0.]
     [0. 1. 0.]] : f32[2, 3]
    """
    return _core.eye(*_sizes("eye", shape, (2,), "[outputs, inputs]"), dtype=dtype)


def dirac(shape, groups=1, *, key=None, dtype=_core.f32):
    """Weights [outputs, inputs, …] of a convolution that preserves its channels, those of each group separately.

    >>> plait.nn.init.dirac((2, 2, 3))
    [[[0. 1. 0.]
      [0. 0. 0.]]
    <BLANKLINE>
     [[0. 0. 0.]
      [0. 1. 0.]]] : f32[2, 2, 3]
    """
    shape = _sizes("dirac", shape, (3, 4, 5), "[outputs, inputs, …] of a convolution")
    _expect_numbers("dirac", groups=groups)
    if groups < 1 or shape[0] % groups:
        raise _errors.ValueError(f"nn.init.dirac: {shape[0]} outputs in {groups} groups: expected a multiple of the groups")
    if 0 in shape:
        return _core.zeros(shape, dtype=dtype)
    channels = _core.tile(_core.eye(shape[0] // groups, shape[1], dtype=dtype), (groups, 1))
    space = [(size // 2, size - size // 2 - 1) for size in shape[2:]]
    return _core.pad(_core.reshape(channels, (*shape[:2], *[1] * len(space))), space)


def uniform(shape, a=0.0, b=1.0, *, key=None, dtype=_core.f32):
    """Uniform numbers between a and b.

    >>> plait.max(plait.nn.init.uniform(100, -0.5, 0.5, key=plait.random.key(1))).item() < 0.5
    True
    """
    _expect_numbers("uniform", a=a, b=b)
    if not a <= b:
        raise _errors.ValueError(f"nn.init.uniform: the numbers are from {a} to {b}, expected a range")
    key = _drawn(key)
    return _core.random.uniform(key, shape, a, b, dtype) if a < b else _core.full(shape, a, dtype=dtype)


def normal(shape, mean=0.0, std=1.0, *, key=None, dtype=_core.f32):
    """Normally distributed numbers.

    >>> abs(plait.std(plait.nn.init.normal(1000, std=0.1, key=plait.random.key(1))).item() - 0.1) < 0.01
    True
    """
    _expect_numbers("normal", mean=mean, std=std)
    if not std >= 0:
        raise _errors.ValueError(f"nn.init.normal: std is {std}, expected 0 or more")
    return _core.random.normal(_drawn(key), shape, mean, std, dtype)


def trunc_normal(shape, mean=0.0, std=1.0, a=-2.0, b=2.0, *, key=None, dtype=_core.f32):
    """Normally distributed numbers, of which those outside of [a, b] are drawn again.

    >>> plait.max(plait.nn.init.trunc_normal(1000, std=2.0, key=plait.random.key(1))).item() <= 2
    True
    """
    _expect_numbers("trunc_normal", mean=mean, std=std, a=a, b=b)
    if not std > 0 or not a < b:
        raise _errors.ValueError(f"nn.init.trunc_normal: std is {std} and the bounds are {a} and {b}, expected more than 0 and a range")
    unit = _core.random.truncated_normal(_drawn(key), (a - mean) / std, (b - mean) / std, shape, dtype)
    return _core.clip(unit * std + mean, a, b)


def xavier_uniform(shape, gain=1.0, *, key=None, dtype=_core.f32):
    """Uniform weights [outputs, inputs, …] that preserve the variance in both directions: it is 2 gain² / (fan-in +
    fan-out).

    >>> weight = plait.nn.init.xavier_uniform((100, 100), key=plait.random.key(1))
    >>> abs(plait.std(weight).item() - 0.1) < 0.01
    True
    """
    return _uniform_of_deviation(shape, _xavier("xavier_uniform", shape, gain), key, dtype)


def xavier_normal(shape, gain=1.0, *, key=None, dtype=_core.f32):
    """Like xavier_uniform, from a normal distribution.

    >>> plait.nn.init.xavier_normal((100, 100), key=plait.random.key(1)).shape
    (100, 100)
    """
    return normal(shape, 0.0, _xavier("xavier_normal", shape, gain), key=key, dtype=dtype)


def kaiming_uniform(shape, a=0.0, mode="fan_in", nonlinearity="leaky_relu", *, key=None, dtype=_core.f32):
    """Uniform weights [outputs, inputs, …] for layers with an activation between them: the variance is gain² / fan-in, which
    preserves that of the values, or with mode="fan_out" gain² / fan-out, for the gradients. `a` is the slope of leaky_relu.

    >>> weight = plait.nn.init.kaiming_uniform((50, 200), key=plait.random.key(1))
    >>> abs(plait.std(weight).item() - 0.1) < 0.01
    True
    """
    return _uniform_of_deviation(shape, _kaiming("kaiming_uniform", shape, a, mode, nonlinearity), key, dtype)


def kaiming_normal(shape, a=0.0, mode="fan_in", nonlinearity="leaky_relu", *, key=None, dtype=_core.f32):
    """Like kaiming_uniform, from a normal distribution.

    >>> plait.nn.init.kaiming_normal((50, 200), key=plait.random.key(1)).shape
    (50, 200)
    """
    return normal(shape, 0.0, _kaiming("kaiming_normal", shape, a, mode, nonlinearity), key=key, dtype=dtype)


def orthogonal(shape, gain=1.0, *, key=None, dtype=_core.f32):
    """Weights whose rows [outputs, everything else], or else columns, are orthogonal and of length gain.

    >>> weight = plait.nn.init.orthogonal((3, 5), key=plait.random.key(1))
    >>> plait.allclose(weight @ weight.T, plait.eye(3), atol=1e-6).item()
    True
    """
    _expect_numbers("orthogonal", gain=gain)
    shape = _sizes("orthogonal", shape, range(2, 100), "[outputs, inputs, …]")
    rows, columns = shape[0], _math.prod(shape[1:])
    if not rows * columns:
        return _core.zeros(shape, dtype=dtype)
    exact = _core.f64 if dtype in (_core.f64, "f64") else _core.f32
    q, r = _core.linalg.qr(_core.random.normal(_drawn(key), (max(rows, columns), min(rows, columns)), dtype=exact))
    matrix = q * _core.sign(_core.diagonal(r))  # else it would not be distributed uniformly
    return _core.astype(_core.reshape(gain * (matrix.T if rows < columns else matrix), shape), dtype)


def sparse(shape, sparsity, std=0.01, *, key=None, dtype=_core.f32):
    """Normally distributed weights [outputs, inputs] with a share of zeros in each column.

    >>> plait.sum(plait.nn.init.sparse((10, 3), 0.5, key=plait.random.key(1)) == 0, axis=0)
    [5 5 5] : i64[3]
    """
    shape = _sizes("sparse", shape, (2,), "[outputs, inputs]")
    _expect_numbers("sparse", sparsity=sparsity)
    if not 0 <= sparsity <= 1:
        raise _errors.ValueError(f"nn.init.sparse: sparsity is {sparsity}, expected a share from 0 to 1")
    keys = _core.random.split_key(_drawn(key), 2)
    order = _core.argsort(_core.random.uniform(keys[0], shape), 0)
    is_zero = _core.argsort(order, 0) < _math.ceil(sparsity * shape[0])
    return _core.where(is_zero, 0, normal(shape, 0.0, std, key=keys[1], dtype=dtype))


def calculate_gain(nonlinearity, param=None):
    """The factor of the deviation of weights that makes up for an activation. The parameter is the slope of leaky_relu.

    >>> plait.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise _errors.ValueError(f"nn.init.calculate_gain: the slope of leaky_relu is {slope!r}, expected a number")
        return _math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in tuple(_GAINS):
        raise _errors.ValueError(f"nn.init.calculate_gain: unknown activation {nonlinearity!r}, expected one of {', '.join([*_GAINS, 'leaky_relu'])}")
    return _GAINS[nonlinearity]


def _expect_numbers(name, **given):
    for each, value in given.items():
        if not _is_number(value):
            raise _errors.TypeError(f"nn.init.{name}: {each} is {value!r}, expected a number")


def _sizes(name, shape, dimensions, meaning):
    shape = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if len(shape) not in dimensions:
        raise _errors.ShapeError(f"nn.init.{name}: the shape is {list(shape)}, expected {meaning}")
    return shape


def _deviation(gain, fan):
    return gain / _math.sqrt(fan) if fan else 0.0


def _xavier(name, shape, gain):
    _expect_numbers(name, gain=gain)
    return _deviation(gain, sum(_fans(shape)) / 2)


def _kaiming(name, shape, slope, mode, nonlinearity):
    if mode not in ("fan_in", "fan_out"):
        raise _errors.ValueError(f"nn.init.{name}: the mode is {mode!r}, expected 'fan_in' or 'fan_out'")
    return _deviation(calculate_gain(nonlinearity, slope), _fans(shape)[mode == "fan_out"])


def _uniform_of_deviation(shape, deviation, key, dtype):
    bound = _math.sqrt(3) * deviation
    return uniform(shape, -bound, bound, key=key, dtype=dtype)


__getattr__, __dir__, __all__ = _of_public_module(globals())
