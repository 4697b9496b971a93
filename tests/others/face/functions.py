"""All functions of NumPy that Plait has, by name, and the operators and methods of Array based on them."""

import numpy as np
import plait

from . import reductions  # noqa: F401: it adds its functions to the table
from .arranging import reshape, transpose
from .choosing import compress, sort_of
from .ufuncs import FUNCTIONS
from .values import Array, not_here, tensor_of


def put_methods():
    """Adds operators and methods to Array."""
    operators = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
                 "mod": "remainder", "pow": "power", "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and",
                 "or": "bitwise_or", "xor": "bitwise_xor", "matmul": "matmul", "divmod": "divmod"}
    for short, name in operators.items():
        of = FUNCTIONS[name]
        setattr(Array, f"__{short}__", lambda a, b, _of=of: _of(a, b) if takes(b) else NotImplemented)
        setattr(Array, f"__r{short}__", lambda a, b, _of=of: _of(b, a) if takes(b) else NotImplemented)
        if short != "divmod":
            setattr(Array, f"__i{short}__", lambda a, b, _of=of: in_place(a, _of(a, b)))
    for short, name in {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                        "ge": "greater_equal"}.items():
        setattr(Array, f"__{short}__", lambda a, b, _of=FUNCTIONS[name]: _of(a, b) if takes(b) else NotImplemented)
    for short, name in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
        setattr(Array, f"__{short}__", lambda a, _of=FUNCTIONS[name]: _of(a))
    for name in ("sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin", "cumsum", "cumprod", "ravel",
                 "squeeze", "swapaxes", "repeat", "take", "clip", "round", "dot", "trace", "diagonal", "nonzero", "argsort", "conj",
                 "conjugate", "ptp", "searchsorted", "compress", "choose", "put"):
        of = FUNCTIONS.get(name) or (lambda *given, _name=name, **options: not_here(f"function {_name}"))
        setattr(Array, name, lambda a, *rest, _of=of, **options: _of(a, *rest, **options))
    Array.compress = lambda a, condition, axis=None, out=None: compress(condition, a, axis, out)
    Array.flatten = Array.ravel
    Array.reshape = lambda a, *shape, **options: reshape(a, shape[0] if len(shape) == 1 else shape, **options)
    Array.transpose = lambda a, *axes: transpose(a, None if not axes else axes[0] if len(axes) == 1 else axes)

    def sort(a, axis=-1, kind=None, order=None, *, stable=None):
        a.tensor = sort_of(a, axis).tensor

    def partition(a, kth, axis=-1, kind="introselect", order=None):
        a.tensor = FUNCTIONS["partition"](a, kth, axis).tensor

    Array.sort, Array.partition = sort, partition
    Array.argpartition = FUNCTIONS["argpartition"]


def takes(value):
    return isinstance(value, (Array, plait.Tensor, np.ndarray, np.generic, list, tuple, bool, int, float, complex))


def of_ufunc(self, ufunc, method, *operands, **options):
    """Handles NumPy's own ufuncs on Arrays."""
    if method != "__call__" or ufunc.__name__ not in FUNCTIONS:
        not_here(f"ufunc {ufunc.__name__} {method}")
    return FUNCTIONS[ufunc.__name__](*operands, **options)


Array.__array_ufunc__ = of_ufunc


def in_place(a, result):
    """NumPy writes into the array, which keeps its shape and dtype."""
    if result.shape != a.shape:
        raise ValueError("non-broadcastable output operand")
    if not np.can_cast(result.dtype, a.dtype, "same_kind"):
        raise TypeError("Cannot cast output")
    a.tensor = plait.astype(result.tensor, a.tensor.dtype)
    return a


def drawn(value):
    """The functions of numpy.random, returning Arrays."""
    if isinstance(value, np.ndarray):
        return Array(tensor_of(value))
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return Draws(value)
    return value


class Draws:
    """numpy.random, or one of its generators."""

    def __init__(self, source):
        self._source = source

    def __getattr__(self, name):
        found = getattr(self._source, name)
        return (lambda *given, **options: drawn(found(*given, **options))) if callable(found) else found


put_methods()
