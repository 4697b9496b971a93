"""NumPy's functions that create arrays."""

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from .ufuncs import FUNCTIONS, given, inexact, named, shape_of
from .values import Array, faced, not_here, number, plait_dtype, tensor_of


@named("array")
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    x = tensor_of(object, dtype)
    while x.ndim < ndmin:
        x = plait.expand_dims(x, 0)
    return Array(x._share())


@named("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return a if isinstance(a, Array) and dtype is None else Array(tensor_of(a, dtype))


@named("copy")
def copy_of(a, order="K", subok=False):
    return Array(tensor_of(a)._share())


@named("zeros", "empty")
def zeros(shape, dtype=float, order="C", *, device=None, like=None):
    return Array(plait.zeros(shape_of(shape), plait_dtype(dtype or float)))


@named()
def ones(shape, dtype=None, order="C", *, device=None, like=None):
    return Array(plait.ones(shape_of(shape), plait_dtype(dtype or float)))


@named()
def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    value = tensor_of(fill_value, dtype)
    return Array(plait.broadcast_to(value, shape_of(shape)) if value.ndim else plait.full(shape_of(shape), value, value.dtype))


def like(name):
    function = getattr(plait, name)

    @named(name)
    def call(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
        x = tensor_of(a)
        if shape is not None:
            return Array(getattr(plait, name.removesuffix("_like"))(shape_of(shape), plait_dtype(dtype) if dtype else x.dtype))
        return Array(function(x, plait_dtype(dtype) if dtype else None))


for _name in ("zeros_like", "ones_like", "empty_like"):
    like(_name)


@named()
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    x = tensor_of(a)
    return full(x.shape if shape is None else shape, fill_value, dtype or numpy_dtype(x.dtype))


@named()
def arange(*arguments, dtype=None, device=None, like=None, start=None, stop=None, step=None):
    arguments = list(map(number, arguments))
    if len(arguments) > 3:
        dtype = arguments.pop()
    if start is not None or stop is not None or step is not None:
        bounds = [start if start is not None else 0, stop, step if step is not None else 1]
        bounds = arguments + bounds[len(arguments):] if stop is None or len(arguments) == 0 else [*arguments, stop, bounds[2]]
        arguments = bounds
    if dtype is None:
        dtype = np.result_type(*[np.asarray(seen) for seen in map(np.asarray, arguments)])
    if len(arguments) == 1:
        arguments = [0, *arguments]
    return Array(plait.arange(*[each.item() if isinstance(each, np.generic) else each for each in arguments], dtype=plait_dtype(dtype)))


@named()
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    if retstep or axis:
        not_here("retstep= or axis= of linspace")
    a, b = inexact(tensor_of(start)), inexact(tensor_of(stop))
    if a.ndim or b.ndim:
        not_here("linspace between arrays")
    found = plait_dtype(dtype) if dtype else plait.promote(plait.promote(a.dtype, b.dtype), plait.f64)
    return Array(plait.linspace(a, b, num, dtype=found, endpoint=bool(endpoint)))


@named()
def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    return Array(plait.eye(number(N), number(M), number(k), plait_dtype(dtype)))


@named()
def identity(n, dtype=None, *, like=None):
    return Array(plait.eye(n, dtype=plait_dtype(dtype or float)))


@named()
def tri(N, M=None, k=0, dtype=float, *, like=None):
    return Array(plait.tri(N, N if M is None else M, k, plait_dtype(dtype)))


for _name in ("tril", "triu"):
    FUNCTIONS[_name] = lambda m, k=0, _of=getattr(plait, _name): Array(_of(tensor_of(m), k))


@named()
def tril_indices(n, k=0, m=None):
    return tuple(faced(plait.tril_indices(n, n if m is None else m, k)))


@named()
def triu_indices(n, k=0, m=None):
    return tuple(faced(plait.triu_indices(n, n if m is None else m, k)))


@named()
def diag(v, k=0):
    return Array(plait.diag(tensor_of(v), k))


@named()
def diagonal(a, offset=0, axis1=0, axis2=1):
    x = plait.moveaxis(tensor_of(a), [axis1, axis2], [-2, -1])
    return Array(plait.diagonal(x, offset))


@named()
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    x = plait.moveaxis(tensor_of(a), [axis1, axis2], [-2, -1])
    return given(out, plait.linalg.trace(x, offset, plait_dtype(dtype) if dtype else None))


@named()
def vander(x, N=None, increasing=False):
    return Array(plait.linalg.vander(tensor_of(x), N, increasing))
