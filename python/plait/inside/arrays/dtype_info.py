"""Information on dtypes and shapes, with the Array API's names."""

import dataclasses
import functools

from plait import _core, errors
from plait._core import DType, Tensor
from plait.inside.arrays.items import Item

_KINDS = {
    "bool": lambda dtype: dtype.kind == "boolean",
    "signed integer": lambda dtype: dtype.kind == "integer" and dtype.is_signed,
    "unsigned integer": lambda dtype: dtype.kind == "integer" and not dtype.is_signed,
    "integral": lambda dtype: dtype.kind == "integer",
    "real floating": lambda dtype: dtype.kind == "floating",
    "complex floating": lambda dtype: dtype.kind == "complex",
    "numeric": lambda dtype: dtype.kind in ("integer", "floating", "complex"),
}


@dataclasses.dataclass(frozen=True)
class FloatInfo:
    dtype: DType  # dtype of the real and imaginary parts, for a complex dtype
    bits: int
    eps: float  # the distance from 1 to the next number
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float


@dataclasses.dataclass(frozen=True)
class IntegerInfo:
    dtype: DType
    bits: int
    max: int
    min: int


def finfo(of, /):
    """The limits of a floating or complex dtype, or of that of a tensor.

    >>> plait.finfo(plait.f16).max
    65504.0
    """
    dtype = _dtype_of(of)
    if dtype.kind not in ("floating", "complex"):
        raise errors.TypeError(f"finfo: {dtype} is not a floating-point dtype")
    bits, eps, most, normal, subnormal = _core._limits(dtype)
    parts = {"c64": _core.f32, "c128": _core.f64}.get(dtype.name, dtype)
    return FloatInfo(parts, bits, eps, most, -most, normal, subnormal)


def iinfo(of, /):
    """The limits of an integer dtype, or of that of a tensor.

    >>> plait.iinfo(plait.i16).min
    -32768
    """
    dtype = _dtype_of(of)
    if dtype.kind != "integer":
        raise errors.TypeError(f"iinfo: {dtype} is not an integer dtype")
    bits, least, most = _core._limits(dtype)
    return IntegerInfo(dtype, bits, most, least)


def isdtype(dtype, kind):
    """True if the dtype is the given dtype, of the given kind (such as "integral" or "real floating"), or matches one
    of a tuple of them.

    >>> plait.isdtype(plait.bf16, "real floating"), plait.isdtype(plait.u8, ("signed integer", "bool"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind](DType(dtype))
    try:
        return DType(dtype) == DType(kind)
    except errors.TypeError:
        raise errors.ValueError(f"isdtype: {kind!r} is not a dtype, and not one of {', '.join(map(repr, _KINDS))}") from None


def can_cast(given, to, /):
    """True if numbers of a dtype, or of a tensor's dtype, promote to the dtype.

    >>> plait.can_cast(plait.i32, plait.f64), plait.can_cast(plait.f64, plait.i32)
    (True, False)
    """
    given, to = _dtype_of(given), DType(to)
    try:
        return given == to or _core.promote(given, to) == to
    except errors.TypeError:
        return False


def result_type(*given):
    """The dtype to which tensors, dtypes and Python numbers promote together.

    >>> plait.result_type(plait.i32, plait.f16, 1.5)
    plait.f16
    """
    return _core._promoted([type(each) if type(each) in (bool, int, float, complex) else _dtype_of(each) for each in given])


def broadcast_shapes(*shapes):
    """The shape to which all of them broadcast.

    >>> plait.broadcast_shapes((4, 1), (3,))
    (4, 3)
    """
    return functools.reduce(_stretched, shapes, ())


def _stretched(a, b):
    """Tensors of one repeated element (strides of 0), which take no memory."""
    one = _core.zeros(())
    return _core.broadcast_arrays(_core.broadcast_to(one, tuple(a)), _core.broadcast_to(one, tuple(b)))[0].shape


def _dtype_of(given):
    if isinstance(given, Tensor):
        return given.dtype
    return given._default_dtype if isinstance(given, Item) else DType(given)
