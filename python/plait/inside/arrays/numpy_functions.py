"""NumPy's functions in terms of Plait's, with NumPy's parameters, for tensors that are recorded or differentiated
(numpy_protocols.py). Result dtypes are NumPy's."""

import functools
import re

from plait import _core, fft, linalg
from plait.inside.arrays.interop import asarray
from plait.inside.arrays.primitives import ops

_DEFAULT = object()


def _inexact(x):
    """Integers and booleans as f64, the dtype in which NumPy returns means and norms of them."""
    x = asarray(x)
    return x if x.dtype.kind in ("float", "complex") else _core.astype(x, "f64")


def _as_dtype(x, dtype):
    return x if dtype is None else _core.astype(x, dtype)


def _total_dtype(x, dtype):
    """The sum of booleans and small integers is i64 or u64."""
    if dtype is not None or x.dtype.kind not in ("bool", "int", "uint"):
        return dtype
    return "u64" if x.dtype.kind == "uint" else "i64"


def _tensors(sequence):
    return list(_core.unstack(sequence)) if isinstance(sequence, _core.Tensor) else [asarray(each) for each in sequence]


def _sum(a, axis=None, dtype=None, keepdims=False):
    a = asarray(a)
    return _core.sum(a, axis, keepdims, _total_dtype(a, dtype))


def _prod(a, axis=None, dtype=None, keepdims=False):
    a = asarray(a)
    return _core.prod(a, axis, keepdims, _total_dtype(a, dtype))


def _mean(a, axis=None, dtype=None, keepdims=False):
    return _as_dtype(_core.mean(_inexact(a), axis, keepdims), dtype)


def _average(a, axis=None, weights=None, keepdims=False):
    if weights is None:
        return _mean(a, axis, keepdims=keepdims)
    a, weights = _inexact(a), _inexact(weights)
    if weights.ndim == 1 and a.ndim > 1 and isinstance(axis, int):
        weights = _core.reshape(weights, [-1 if i == axis % a.ndim else 1 for i in range(a.ndim)])
    weights = _core.broadcast_to(weights, a.shape)
    return _core.sum(a * weights, axis, keepdims) / _core.sum(weights, axis, keepdims)


def _var(a, axis=None, dtype=None, *, ddof=0, keepdims=False, correction=_DEFAULT):
    return _as_dtype(_core.var(_inexact(a), axis, ddof if correction is _DEFAULT else correction, keepdims), dtype)


def _std(a, axis=None, dtype=None, *, ddof=0, keepdims=False, correction=_DEFAULT):
    return _as_dtype(_core.std(_inexact(a), axis, ddof if correction is _DEFAULT else correction, keepdims), dtype)


def _median(a, axis=None, *, keepdims=False):
    return _quantile(a, 0.5, axis, keepdims=keepdims)


def _quantile(a, q, axis=None, *, keepdims=False):
    return _core.quantile(_inexact(a), q, axis, keepdims)


def _cumulative(scan):
    def cumulative(a, axis=None, dtype=None):
        a = asarray(a)
        a = _as_dtype(a, _total_dtype(a, dtype))
        return scan(_core.flatten(a) if axis is None else a, 0 if axis is None else axis)

    return cumulative


def _norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002: NumPy's
    x = _inexact(x)
    if ord is None:
        return _core.norm(x, 2.0, axis, keepdims)
    if x.ndim == 1 or isinstance(axis, int):
        return linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if axis is None or tuple(i % x.ndim for i in axis) == (x.ndim - 2, x.ndim - 1):
        return linalg.matrix_norm(x, keepdims=keepdims, ord=ord)
    if keepdims:
        raise TypeError("keepdims of matrices that do not lie in the last two dimensions")
    return linalg.matrix_norm(_core.moveaxis(x, tuple(axis), (-2, -1)), ord=ord)


def _clip(a, a_min=None, a_max=None, *, min=None, max=None):  # noqa: A002: NumPy's
    return _core.clip(a, a_min if min is None else min, a_max if max is None else max)


def _where(condition, x=_DEFAULT, y=_DEFAULT):
    condition = asarray(condition)
    return _core.nonzero(condition) if x is _DEFAULT else _core.where(condition != 0, x, y)


def _round(a, decimals=0):
    return _core.round(a) if decimals == 0 else _core.round(a * 10.0**decimals) / 10.0**decimals


def _split(ary, indices_or_sections, axis=0):
    if isinstance(indices_or_sections, int):
        return _core.split(ary, indices_or_sections, axis)
    return _core.split_at(ary, list(indices_or_sections), axis)


def _squeeze(a, axis=None):
    return _core.squeeze(a, tuple(i for i, size in enumerate(a.shape) if size == 1) if axis is None else axis)


def _transpose(a, axes=None):
    return _core.permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def _repeat(a, repeats, axis=None):
    return _core.repeat(a, repeats, axis)


def _pad(array, pad_width, mode="constant", *, constant_values=0):
    widths = pad_width
    if isinstance(widths, int):
        widths = (widths, widths)
    if isinstance(widths[0], int):
        widths = [(widths[0], widths[-1])] * array.ndim
    return _core.pad(array, [tuple(each) for each in widths] * (array.ndim if len(widths) == 1 else 1), mode, constant_values)


def _diff(a, n=1, axis=-1, prepend=None, append=None):
    return _core.diff(a, n, axis, prepend, append)


def _trace(a, offset=0, axis1=0, axis2=1):
    return _core.sum(_diagonal(a, offset, axis1, axis2), -1)


def _diagonal(a, offset=0, axis1=0, axis2=1):
    return linalg.diagonal(_core.moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def _dot(a, b):
    a, b = asarray(a), asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return _core.tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


def _solve(a, b):
    a, b = _inexact(a), _inexact(b)
    return linalg.solve(a, b)


def _numbers(function):
    """For floating-point numbers, under NumPy's name for the operand."""
    return lambda a: function(_inexact(a))


def _transform(function):
    def of(a, n=None, axis=-1, norm="backward"):
        return function(_inexact(a), n=n, axis=axis, norm="backward" if norm is None else norm)

    return of


def _extreme(function):
    return lambda a, axis=None, keepdims=False: function(a, axis, keepdims)


def _stacked(function):
    return lambda tup: function(_tensors(tup))


def _each(function):
    def of_each(*arys):
        results = tuple(map(function, arys))
        return results[0] if len(results) == 1 else results

    return of_each


FUNCTIONS = {
    "sum": _sum, "prod": _prod, "mean": _mean, "average": _average, "var": _var, "std": _std, "median": _median,
    "quantile": _quantile, "percentile": lambda a, q, axis=None, *, keepdims=False: _quantile(
        a, q / 100 if isinstance(q, (int, float)) else _inexact(q) / 100, axis, keepdims=keepdims),
    "max": _extreme(_core.max), "amax": _extreme(_core.max), "min": _extreme(_core.min), "amin": _extreme(_core.min),
    "ptp": lambda a, axis=None, keepdims=False: _core.max(a, axis, keepdims) - _core.min(a, axis, keepdims),
    "all": _extreme(_core.all), "any": _extreme(_core.any),
    "argmax": lambda a, axis=None, *, keepdims=False: _core.argmax(a, axis, keepdims),
    "argmin": lambda a, axis=None, *, keepdims=False: _core.argmin(a, axis, keepdims),
    "count_nonzero": lambda a, axis=None, *, keepdims=False: _core.count_nonzero(a, axis, keepdims),
    "nansum": _extreme(_core.nansum), "nanmean": lambda a, axis=None, *, keepdims=False: _core.nanmean(_inexact(a), axis, keepdims),
    "nanmax": _extreme(_core.nanmax), "nanmin": _extreme(_core.nanmin),
    "cumsum": _cumulative(_core.cumsum), "cumprod": _cumulative(_core.cumprod), "diff": _diff,
    "concatenate": lambda arrays, axis=0, *, dtype=None: _as_dtype(_core.concat(_tensors(arrays), axis), dtype),
    "stack": lambda arrays, axis=0, *, dtype=None: _as_dtype(_core.stack(_tensors(arrays), axis), dtype),
    "hstack": _stacked(_core.hstack), "vstack": _stacked(_core.vstack), "dstack": _stacked(_core.dstack),
    "column_stack": _stacked(_core.column_stack),
    "split": _split, "reshape": lambda a, shape: _core.reshape(a, shape), "ravel": lambda a: _core.flatten(a),
    "transpose": _transpose, "permute_dims": _transpose, "matrix_transpose": lambda x: _core.matrix_transpose(x),
    "moveaxis": lambda a, source, destination: _core.moveaxis(a, source, destination),
    "swapaxes": lambda a, axis1, axis2: _core.swapaxes(a, axis1, axis2), "squeeze": _squeeze,
    "expand_dims": lambda a, axis: _core.expand_dims(a, axis) if isinstance(axis, int) else _expanded(a, axis),
    "broadcast_to": lambda array, shape: _core.broadcast_to(array, shape),
    "broadcast_arrays": lambda *args: tuple(_core.broadcast_arrays(*args)),
    "atleast_1d": _each(_core.atleast_1d), "atleast_2d": _each(_core.atleast_2d), "atleast_3d": _each(_core.atleast_3d),
    "flip": lambda m, axis=None: _core.flip(m, axis), "fliplr": lambda m: _core.flip(m, 1), "flipud": lambda m: _core.flip(m, 0),
    "roll": lambda a, shift, axis=None: _core.roll(a, shift, axis),
    "rot90": lambda m, k=1, axes=(0, 1): _core.rot90(m, k, *axes),
    "tile": lambda A, reps: _core.tile(A, reps), "repeat": _repeat, "pad": _pad,
    "take": lambda a, indices, axis=None: _core.take(a, asarray(indices), axis),
    "take_along_axis": lambda arr, indices, axis=-1: _core.take_along_axis(arr, indices, axis),
    "diag": lambda v, k=0: _core.diag(v, k), "diagonal": _diagonal, "trace": _trace,
    "tril": lambda m, k=0: _core.tril(m, k), "triu": lambda m, k=0: _core.triu(m, k),
    "where": _where, "nonzero": lambda a: _core.nonzero(a), "clip": _clip, "round": _round, "around": _round,
    "sort": lambda a, axis=-1: _core.sort(_core.flatten(a) if axis is None else a, 0 if axis is None else axis),
    "argsort": lambda a, axis=-1: _core.argsort(_core.flatten(a) if axis is None else a, 0 if axis is None else axis),
    "dot": _dot, "vdot": lambda a, b: _core.dot(_core.conj(_core.flatten(a)), _core.flatten(b)), "inner": lambda a, b: _core.inner(a, b),
    "outer": lambda a, b: _core.outer(_core.flatten(a), _core.flatten(b)), "kron": lambda a, b: linalg.kron(a, b),
    "tensordot": lambda a, b, axes=2: _core.tensordot(a, b, axes),
    "einsum": lambda equation, *operands, optimize=False: _core.einsum(equation, *operands),
    "interp": lambda x, xp, fp: _core.interp(x, xp, fp),
    "trapezoid": lambda y, x=None, dx=1.0, axis=-1: _core.trapezoid(y, x, dx, axis),
    "real": lambda val: _core.real(val), "imag": lambda val: _core.imag(val), "angle": lambda z: _core.angle(z),
    "sinc": lambda x: _core.sinc(_inexact(x)), "i0": lambda x: _core.i0(_inexact(x)),
    "isclose": lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: _core.isclose(
        a, b, relative=rtol, absolute=atol, equal_nan=equal_nan),
    "allclose": lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: _core.allclose(
        a, b, relative=rtol, absolute=atol, equal_nan=equal_nan),
    "array_equal": lambda a1, a2: _core.array_equal(a1, a2),
    "nan_to_num": lambda x, nan=0.0, posinf=None, neginf=None: _core.nan_to_num(
        x, nan=nan, positive_infinity=posinf, negative_infinity=neginf),
    "zeros_like": lambda a, dtype=None: _core.zeros_like(a, dtype), "ones_like": lambda a, dtype=None: _core.ones_like(a, dtype),
    "full_like": lambda a, fill_value, dtype=None: _core.full_like(a, fill_value, dtype),
    "copy": lambda a: asarray(a), "shape": lambda a: a.shape, "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: x.dtype.kind == "complex", "isrealobj": lambda x: x.dtype.kind != "complex",
    "cov": lambda m, ddof=1: _core.cov(_inexact(m), ddof), "corrcoef": lambda x: _core.corrcoef(_inexact(x)),
    "linalg.norm": _norm, "linalg.solve": _solve, "linalg.det": _numbers(linalg.det), "linalg.inv": _numbers(linalg.inv),
    "linalg.slogdet": _numbers(linalg.slogdet), "linalg.cholesky": _numbers(linalg.cholesky), "linalg.pinv": _numbers(linalg.pinv),
    "linalg.eigh": _numbers(linalg.eigh), "linalg.eigvalsh": _numbers(linalg.eigvalsh), "linalg.eig": _numbers(linalg.eig),
    "linalg.eigvals": _numbers(linalg.eigvals), "linalg.qr": lambda a, mode="reduced": linalg.qr(_inexact(a), mode=mode),
    "linalg.svd": lambda a, full_matrices=True: linalg.svd(_inexact(a), full_matrices=full_matrices),
    "linalg.svdvals": lambda x: linalg.svdvals(_inexact(x)),
    "linalg.vector_norm": lambda x, *, axis=None, keepdims=False, ord=2: linalg.vector_norm(
        _inexact(x), axis=axis, keepdims=keepdims, ord=ord),
    "linalg.matrix_norm": lambda x, *, keepdims=False, ord="fro": linalg.matrix_norm(_inexact(x), keepdims=keepdims, ord=ord),
    "linalg.matrix_power": lambda a, n: linalg.matrix_power(a, n), "linalg.multi_dot": lambda arrays: linalg.multi_dot(_tensors(arrays)),
    "linalg.trace": lambda x, *, offset=0: linalg.trace(x, offset=offset), "linalg.outer": lambda x1, x2: linalg.outer(x1, x2),
    "linalg.diagonal": lambda x, *, offset=0: linalg.diagonal(x, offset=offset),
    "linalg.cross": lambda x1, x2, *, axis=-1: linalg.cross(x1, x2, axis=axis),
    "linalg.matmul": lambda x1, x2: linalg.matmul(x1, x2),
} | {f"fft.{name}": _transform(getattr(fft, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}


def _expanded(a, axes):
    rank = a.ndim + len(axes)
    for axis in sorted(i % rank for i in axes):
        a = _core.expand_dims(a, axis)
    return a


# Elementwise functions of NumPy and SciPy that are not primitives or have more than one meaning; `ufuncs` adds those that the
# table of primitives names as oracles.
_UFUNCS = {
    "conjugate": _core.conj, "fabs": _core.absolute, "degrees": _core.rad2deg, "radians": _core.deg2rad, "psi": _core.digamma,
    "log_expit": _core.logsigmoid, "positive": lambda x: x,
    "divmod": lambda a, b: (_core.floor_divide(a, b), _core.remainder(a, b)),
} | {name: getattr(_core, name) for name in (
    "power float_power reciprocal rad2deg deg2rad greater greater_equal logical_and logical_or logical_xor isfinite isinf "
    "isnan signbit heaviside matmul vecdot erfcx logit ndtr log_ndtr xlogy xlog1py rel_entr kl_div betainc betaln gammainc "
    "gammaincc").split()}


@functools.cache
def ufuncs():
    """Plait's functions, by the names of NumPy's and SciPy's elementwise ones."""
    found = {}
    for name, primitive in ops().items():
        of = re.fullmatch(r"(?:numpy|scipy\.special)\.(\w+)", primitive.oracle)
        is_ufunc = primitive.elementwise != "no" and any(dtype.kind != "complex" for dtype in primitive.takes)
        if of and is_ufunc and hasattr(_core, name):
            found[of[1]] = getattr(_core, name)
    return found | _UFUNCS


# ufunc.reduce(x, axis) and ufunc.accumulate(x, axis).
REDUCTIONS = {"add": _sum, "multiply": _prod, "maximum": _extreme(_core.max), "minimum": _extreme(_core.min),
              "logical_and": _extreme(_core.all), "logical_or": _extreme(_core.any)}
RUNNING = {"add": _cumulative(_core.cumsum), "multiply": _cumulative(_core.cumprod)}
