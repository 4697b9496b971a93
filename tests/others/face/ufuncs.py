"""NumPy's elementwise functions: NumPy's names, arguments and dtypes, computed by Plait."""

import functools

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from .values import Array, faced, not_here, number, operand, plait_dtype, tensor_of


FUNCTIONS = {}


def named(*names):
    """Registers functions under these names of NumPy."""
    def keep(function):
        for name in names or (function.__name__,):
            FUNCTIONS[name] = function
        return function

    return keep


def inexact(tensor):
    """NumPy's result dtype of functions with fractional results: f64 for integers."""
    if not isinstance(tensor, plait.Tensor):
        return tensor
    kind = tensor.dtype.kind
    if kind in ("boolean", "integer"):
        return plait.astype(tensor, plait.f64)
    return tensor


def common(a, b):
    """Both operands in NumPy's common dtype; Python numbers are weak."""
    if not isinstance(a, plait.Tensor) and not isinstance(b, plait.Tensor):
        return tensor_of(a), tensor_of(b)
    if not isinstance(a, plait.Tensor) or not isinstance(b, plait.Tensor):
        weak, strong = (a, b) if isinstance(b, plait.Tensor) else (b, a)
        if isinstance(weak, (float, complex)) and strong.dtype.kind in ("integer", "boolean"):
            strong = plait.astype(strong, plait.f64)
        if isinstance(weak, int) and not isinstance(weak, bool) and strong.dtype.kind == "boolean":
            strong = plait.astype(strong, plait.i64)
        return (weak, strong) if isinstance(b, plait.Tensor) else (strong, weak)
    dtype = plait_dtype(np.result_type(numpy_dtype(a.dtype), numpy_dtype(b.dtype)))
    return plait.astype(a, dtype), plait.astype(b, dtype)


def axis_of(axis):
    """One axis or several, as Python integers."""
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        return [axis_of(each) for each in axis]
    if isinstance(axis, Array):
        axis = axis.item()
    return axis.__index__() if hasattr(axis, "__index__") else axis


def shape_of(shape):
    return tuple(map(number, shape)) if isinstance(shape, (tuple, list)) else shape if not isinstance(shape, Array) else shape.tolist()


def seen_list(value):
    if isinstance(value, (Array, np.ndarray)):
        value = value.tolist()
    return list(value) if isinstance(value, (tuple, list)) else value


def common_dtype(tensors, dtype=None):
    tensors = [tensor_of(each) for each in tensors]
    found = plait_dtype(np.result_type(*[numpy_dtype(each.dtype) for each in tensors])) if dtype is None else plait_dtype(dtype)
    return [plait.astype(each, found) for each in tensors]


def given(out, result, exactly=False):
    """The result, written into `out` if it is given, and checked against its shape."""
    result = faced(result)
    if exactly and isinstance(out, Array) and out.shape != result.shape:
        raise ValueError(f"out= is of {out.shape}, not {result.shape}")
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else not_here("several out=")
    if out is None:
        return result
    if isinstance(out, np.ndarray):
        out[...] = np.asarray(result)
        return out
    out.tensor = plait.astype(plait.broadcast_to(result.tensor, out.shape), out.tensor.dtype)
    return out


class Ufunc:
    """An elementwise function with NumPy's options."""

    def __init__(self, name, function, nin, prepare=None):
        self.__name__, self.function, self.nin, self.nargs, self.nout = name, function, nin, nin + 1, 1
        self.prepare = prepare

    def __call__(self, *operands, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True, signature=None,
                 sig=None):
        if len(operands) == self.nin + 1:
            operands, out = operands[:-1], operands[-1]
        if len(operands) != self.nin:
            raise TypeError(f"{self.__name__} takes {self.nin} operands")
        if where is not True or signature is not None or sig is not None:
            not_here("where= or signature= of a ufunc")
        tensors = [operand(each) for each in operands]
        if self.nin == 1:
            tensors = [tensor_of(operands[0])]
        elif self.nin == 2 and not (self.__name__ in _COMPARISONS and all(_is_integers(each) for each in tensors)):
            tensors = list(common(*tensors))
        if dtype is not None:
            tensors = [plait.astype(tensor_of(each), plait_dtype(dtype)) for each in tensors]
        if self.prepare:
            tensors = [self.prepare(each) for each in tensors]
        return given(out, self.function(*tensors))

    def __repr__(self):
        return f"<ufunc {self.__name__!r}>"

    def __getattr__(self, name):
        if name in ("reduce", "accumulate", "outer") and self.__name__ in _REDUCTIONS:
            return functools.partial(getattr(self, "_" + name))
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **named: not_here(f"{name} of ufunc {self.__name__}")

    def _reduce(self, x, axis=0, dtype=None, out=None, keepdims=False, **others):
        return FUNCTIONS[_REDUCTIONS[self.__name__]](x, axis=axis, out=out, keepdims=keepdims, **others)

    def _accumulate(self, x, axis=0, **others):
        if self.__name__ not in ("add", "multiply"):
            not_here(f"accumulate of {self.__name__}")
        return FUNCTIONS["cumsum" if self.__name__ == "add" else "cumprod"](x, axis=axis, **others)

    def _outer(self, a, b, **others):
        a, b = tensor_of(a), tensor_of(b)
        return self(Array(plait.reshape(a, (*a.shape, *[1] * b.ndim))), Array(b), **others)


def of_bools(plain, logical):
    """NumPy adds and multiplies booleans by logical or and and."""
    def call(a, b):
        both = all(each.dtype == plait.boolean if isinstance(each, plait.Tensor) else isinstance(each, bool) for each in (a, b))
        return (logical if both else plain)(a, b)

    return call


def _is_integers(x):
    return isinstance(x, plait.Tensor) and x.dtype.kind == "integer"


_COMPARISONS = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}  # integers are compared by value
_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def ufunc(nin, prepare=None, **names):
    for theirs, ours in names.items():
        function = getattr(plait, ours) if isinstance(ours, str) else ours
        FUNCTIONS[theirs] = Ufunc(theirs, function, nin, prepare)


def alike(*names):
    return {name: name for name in names}


ufunc(1, inexact, **alike("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
                          "tanh", "deg2rad", "rad2deg", "sinc", "i0"),
      arcsin="asin", arccos="acos", arctan="atan", arcsinh="asinh", arccosh="acosh", arctanh="atanh", asin="asin", acos="acos",
      atan="atan", asinh="asinh", acosh="acosh", atanh="atanh", degrees="rad2deg", radians="deg2rad", reciprocal="reciprocal")
ufunc(1, **alike("absolute", "negative", "positive", "sign", "square", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite",
                 "signbit", "conj", "logical_not", "bitwise_not"),
      abs="absolute", conjugate="conj", rint="round", invert="bitwise_not", bitwise_invert="bitwise_not", fabs="absolute")
ufunc(2, add=of_bools(plait.add, plait.logical_or), multiply=of_bools(plait.multiply, plait.logical_and),
      **alike("subtract", "maximum", "minimum", "remainder", "fmod", "floor_divide", "equal", "not_equal",
                 "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and",
                 "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm", "power"), mod="remainder",
      pow="power", bitwise_left_shift="left_shift", bitwise_right_shift="right_shift")
ufunc(2, inexact, **alike("hypot", "copysign", "nextafter", "logaddexp", "logaddexp2", "heaviside", "float_power", "divide"),
      arctan2="atan2", atan2="atan2", true_divide="divide")
ufunc(2, None, matmul="matmul")


@named()
def vecdot(x1, x2, /, out=None, *, axis=-1, **options):
    if set(options) - {"dtype"}:
        not_here("where= or signature= of a ufunc")
    a, b = common(tensor_of(x1, options.get("dtype")), tensor_of(x2, options.get("dtype")))
    return given(out, plait.vecdot(a, b, axis))
