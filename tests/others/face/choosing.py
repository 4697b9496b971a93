"""NumPy's functions that select, sort, search and multiply elements, and all others."""

import builtins

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from .making import asarray
from .ufuncs import FUNCTIONS, axis_of, common, common_dtype, given, inexact, named, seen_list
from .values import Array, any_array, faced, not_here, operand, tensor_of


@named()
def where(condition, x=None, y=None):
    condition = tensor_of(condition)
    condition = condition if condition.dtype == plait.boolean else condition != 0
    if x is None and y is None:
        return faced(plait.nonzero(condition))
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return Array(plait.where(condition, *common(operand(x), operand(y))))


@named()
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **options):
    if options:
        not_here("options of clip: " + ", ".join(sorted(options)))
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    x = operand(a)
    low, high = (None if each is None else operand(each) for each in (low, high))
    for bound in (low, high):
        if bound is not None:
            x = common(x, bound)[0]
    return given(out, plait.clip(tensor_of(x), low, high))


@named()
def nonzero(a):
    return faced(plait.nonzero(tensor_of(a)))


@named()
def flatnonzero(a):
    return faced(plait.nonzero(plait.flatten(tensor_of(a)))[0])


@named()
def argwhere(a):
    return faced(plait.argwhere(tensor_of(a)))


@named()
def extract(condition, arr):
    return Array(plait.flatten(tensor_of(arr))[plait.flatten(tensor_of(condition)) != 0])


@named()
def compress(condition, a, axis=None, out=None):
    x, keep = tensor_of(a), tensor_of(condition)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return given(out, plait.take(x, plait.nonzero(keep)[0], axis))


@named()
def take(a, indices, axis=None, out=None, mode="raise"):
    if mode != "raise":
        not_here("take beyond the end (mode=)")
    return given(out, plait.take(tensor_of(a), tensor_of(indices), axis_of(axis)))


@named()
def take_along_axis(arr, indices, axis=-1):
    x, places = tensor_of(arr), tensor_of(indices)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return Array(plait.take_along_axis(x, places, axis))


@named()
def put_along_axis(arr, indices, values, axis):
    arr.tensor = plait.put_along_axis(arr.tensor, tensor_of(indices), plait.astype(tensor_of(values), arr.tensor.dtype), axis)


@named("sort")
def sort_of(a, axis=-1, kind=None, order=None, *, stable=None):
    x = tensor_of(a)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return Array(plait.sort(x, axis))


@named()
def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    x = tensor_of(a)
    if axis is None:
        x, axis = plait.flatten(x), 0
    return Array(plait.argsort(x, axis))


def one_place(name):
    function = getattr(plait, name)

    @named(name)
    def call(a, kth, axis=-1, kind="introselect", order=None):
        if not isinstance(kth, int):
            not_here("partition at several places")
        x = tensor_of(a)
        if axis is None:
            x, axis = plait.flatten(x), 0
        return Array(function(x, kth, axis))


for _name in ("partition", "argpartition"):
    one_place(_name)


@named()
def searchsorted(a, v, side="left", sorter=None):
    a, v = common(tensor_of(a), tensor_of(v))
    return Array(plait.searchsorted(a, v, side, None if sorter is None else tensor_of(sorter)))


@named()
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    x = tensor_of(a)

    def beside(value):
        if value is np._NoValue:
            return None
        value = tensor_of(value, numpy_dtype(x.dtype))
        if value.ndim == 0:
            shape = list(x.shape)
            shape[axis] = 1
            value = plait.broadcast_to(value, shape)
        return value

    return Array(plait.diff(x, n, axis, beside(prepend), beside(append)))


@named("trapezoid")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return Array(plait.trapezoid(inexact(tensor_of(y)), None if x is None else inexact(tensor_of(x)), dx, axis))


@named()
def interp(x, xp, fp, left=None, right=None, period=None):
    if left is not None or right is not None or period is not None:
        not_here("interp with values beyond the ends")
    return Array(plait.interp(*(inexact(tensor_of(each)) for each in (x, xp, fp))))


@named()
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    found = plait.unique(tensor_of(ar), axis_of(axis), equal_nan)
    if return_index:
        not_here("places of first occurrence in unique")
    results = [found.values]
    if return_inverse:
        results.append(found.inverse)
    if return_counts:
        results.append(found.counts)
    return Array(results[0]) if len(results) == 1 else tuple(faced(results))


for _name in ("unique_values", "unique_counts", "unique_inverse", "unique_all"):
    FUNCTIONS[_name] = lambda x, _of=getattr(plait, _name): faced(_of(tensor_of(x)))


@named()
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    if kind not in (None, "sort", "table"):
        raise ValueError("kind")
    return Array(plait.isin(*common(tensor_of(element), tensor_of(test_elements)), invert))


@named()
def bincount(x, /, weights=None, minlength=0):
    x = tensor_of(x)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if x.size == 0:
        x = plait.astype(x, plait.i64)
    length = builtins.max(minlength, int(plait.max(x).item()) + 1 if x.size else 0)
    return Array(plait.bincount(x, length, None if weights is None else inexact(tensor_of(weights))))


@named()
def dot(a, b, out=None):
    return given(out, plait.dot(*common(tensor_of(a), tensor_of(b))), exactly=True)


@named()
def inner(a, b, /):
    return Array(plait.inner(*common(tensor_of(a), tensor_of(b))))


@named()
def outer(a, b, out=None):
    return given(out, plait.outer(*(plait.flatten(each) for each in common(tensor_of(a), tensor_of(b)))))


@named()
def vdot(a, b, /):
    a, b = (plait.flatten(each) for each in common(tensor_of(a), tensor_of(b)))
    return Array(plait.vecdot(a, b))


@named()
def tensordot(a, b, axes=2):
    axes = axes if isinstance(axes, int) else tuple(axis_of(seen_list(each)) for each in axes)
    return Array(plait.tensordot(*common(tensor_of(a), tensor_of(b)), axes))


@named()
def kron(a, b):
    return Array(plait.linalg.kron(*common(tensor_of(a), tensor_of(b))))


@named()
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = common(tensor_of(a), tensor_of(b))
    a, b = plait.moveaxis(a, axisa, -1), plait.moveaxis(b, axisb, -1)
    if a.shape[-1] == 2 or b.shape[-1] == 2:
        not_here("cross product of vectors of two")
    return Array(plait.moveaxis(plait.linalg.cross(a, b), -1, axisc))


@named()
def einsum(*operands, out=None, optimize=False, dtype=None, **options):
    if set(options) - {"order", "casting"}:
        raise TypeError("einsum: unknown option")
    if not isinstance(operands[0], str):
        not_here("einsum by lists of numbers")
    tensors = common_dtype(operands[1:], dtype)
    return given(out, plait.einsum(operands[0], *tensors))


@named()
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if sparse:
        not_here("sparse meshgrid")
    return tuple(faced(plait.meshgrid(*map(tensor_of, xi), indexing=indexing)))


for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    def _atleast(*arys, _of=getattr(plait, _name)):
        found = [Array(_of(tensor_of(each))) for each in arys]
        return found[0] if len(found) == 1 else tuple(found)

    FUNCTIONS[_name] = _atleast


@named()
def real(val):
    return asarray(val).real


@named()
def imag(val):
    return asarray(val).imag


@named()
def angle(z, deg=False):
    result = plait.angle(inexact(tensor_of(z)))
    return Array(plait.rad2deg(result) if deg else result)


@named("round", "around", "round_")
def round_of(a, decimals=0, out=None):
    x = tensor_of(a)
    if decimals == 0:
        return given(out, plait.round(x) if x.dtype.kind != "boolean" else x)
    not_here("round to decimals")


@named()
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return Array(plait.nan_to_num(tensor_of(x), nan=nan, positive_infinity=posinf, negative_infinity=neginf))


@named()
def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return bool(plait.allclose(*common(tensor_of(a), tensor_of(b)), relative=rtol, absolute=atol, equal_nan=equal_nan))


@named()
def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    if not all(isinstance(each, (int, float)) for each in (rtol, atol)):
        not_here("isclose within tensors")
    return Array(plait.isclose(*map(tensor_of, common(operand(a), operand(b))), relative=rtol, absolute=atol, equal_nan=equal_nan))


@named()
def array_equal(a1, a2, equal_nan=False):
    try:
        a, b = common(tensor_of(a1), tensor_of(a2))
    except ValueError:
        return False
    if equal_nan and a.shape == b.shape:
        return bool(plait.all((a == b) | ((a != a) & (b != b))))
    return bool(plait.array_equal(a, b))


@named()
def unravel_index(indices, shape, order="C"):
    if order != "C":
        not_here("order of elements other than C")
    return tuple(faced(plait.unravel_index(tensor_of(indices), shape)))


@named()
def modf(x, *rest, **options):
    if rest or options:
        not_here("several out=")
    x = inexact(tensor_of(x))
    return Array(plait.frac(x)), Array(plait.trunc(x))


@named()
def frexp(x, *rest, **options):
    if rest or options:
        not_here("several out=")
    found = plait.frexp(inexact(tensor_of(x)))
    return Array(found[0]), Array(found[1])


@named()
def ldexp(x, exponent, out=None, **options):
    if options:
        not_here("where= or signature= of a ufunc")
    return given(out, plait.ldexp(inexact(tensor_of(x)), tensor_of(exponent)))


@named()
def divmod(a, b):
    a, b = common(operand(a), operand(b))
    return Array(plait.floor_divide(a, b)), Array(plait.remainder(a, b))


@named()
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if y is not None or not rowvar or fweights is not None or aweights is not None:
        not_here("cov of two arrays, columns or weights")
    return Array(plait.cov(inexact(tensor_of(m, dtype)), float(ddof if ddof is not None else 0 if bias else 1)))


@named()
def corrcoef(x, y=None, rowvar=True, bias=np._NoValue, ddof=np._NoValue, *, dtype=None):
    if y is not None or not rowvar or bias is not np._NoValue or ddof is not np._NoValue:
        not_here("corrcoef of two arrays or columns")
    return Array(plait.corrcoef(inexact(tensor_of(x, dtype))))


FUNCTIONS["shape"] = lambda a: a.shape if isinstance(a, Array) else np.shape(a) if not any_array(a) else tensor_of(a).shape
FUNCTIONS["ndim"] = lambda a: len(FUNCTIONS["shape"](a))
FUNCTIONS["size"] = lambda a, axis=None: (int(np.prod(FUNCTIONS["shape"](a))) if axis is None else FUNCTIONS["shape"](a)[axis])
FUNCTIONS["iscomplexobj"] = lambda x: asarray(x).dtype.kind == "c"
FUNCTIONS["isrealobj"] = lambda x: asarray(x).dtype.kind != "c"
FUNCTIONS["result_type"] = lambda *given: np.result_type(*[each.dtype if isinstance(each, Array) else each for each in given])
FUNCTIONS["copyto"] = lambda dst, src, casting="same_kind", where=True: dst.__setitem__(
    ... if where is True else tensor_of(where), src)
