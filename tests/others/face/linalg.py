"""NumPy's linalg and fft, implemented by Plait's."""

import plait

from .functions import FUNCTIONS
from .ufuncs import axis_of, common, common_dtype, given, inexact
from .values import Array, faced, not_here, tensor_of

LINALG, FFT = {}, {}


def _of(name, *fields):
    function = getattr(plait.linalg, name)

    def call(*arguments, **options):
        return faced(function(*[inexact(tensor_of(each)) if not isinstance(each, (int, float, str, bool)) else each
                                for each in arguments], **options))

    return call


for _name in ("det", "inv", "slogdet"):
    LINALG[_name] = _of(_name)


def real_where_it_is(like, *tensors):
    """NumPy returns real eigenvalues if all of them are real."""
    if like.dtype.kind != "complex" and not like.is_traced and not plait.any(plait.imag(tensors[0]) != 0):
        return [plait.real(each) for each in tensors]
    return tensors


def eigvals(a):
    x = inexact(tensor_of(a))
    return Array(real_where_it_is(x, plait.linalg.eigvals(x))[0])


def eig(a):
    x = inexact(tensor_of(a))
    found = plait.linalg.eig(x)
    return type(found)(*map(Array, real_where_it_is(x, *found)))


def cholesky(a, /, *, upper=False):
    return faced(plait.linalg.cholesky(inexact(tensor_of(a)), upper))


def hermitian(name):
    function = getattr(plait.linalg, name)

    def call(a, UPLO="L"):
        x = inexact(tensor_of(a))
        if UPLO.upper() not in ("L", "U"):
            raise ValueError("UPLO argument must be 'L' or 'U'")
        # Plait uses the Hermitian part, NumPy one triangle.
        half = plait.tril(x, -1) if UPLO.upper() == "L" else plait.triu(x, 1)
        diagonal = plait.diag_embed(plait.astype(plait.real(plait.diagonal(x)), x.dtype))
        return faced(function(half + plait.conj(plait.matrix_transpose(half)) + diagonal))

    return call


def solve(a, b):
    a, b = common(inexact(tensor_of(a)), inexact(tensor_of(b)))
    return Array(plait.linalg.solve(a, b))


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    x = inexact(tensor_of(a))
    if hermitian:
        not_here("hermitian= of svd")
    return faced(plait.linalg.svd(x, full_matrices)) if compute_uv else Array(plait.linalg.svdvals(x))


def qr(a, mode="reduced"):
    if mode not in ("reduced", "complete"):
        not_here(f"qr of mode {mode}")
    return faced(plait.linalg.qr(inexact(tensor_of(a)), mode))


def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    if hermitian:
        not_here("hermitian= of pinv")
    tolerance = rtol if rcond is None else rcond
    return Array(plait.linalg.pinv(inexact(tensor_of(a)), None if tolerance is None else inexact(tensor_of(tolerance))))


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    if hermitian or tol is not None:
        not_here("hermitian= or tol= of matrix_rank")
    x = inexact(tensor_of(A))
    if x.ndim < 2:
        return Array(plait.astype(plait.any(x != 0), plait.i64))
    return Array(plait.linalg.matrix_rank(x, None if rtol is None else inexact(tensor_of(rtol))))


def lstsq(a, b, rcond=None):
    a, b = common(inexact(tensor_of(a)), inexact(tensor_of(b)))
    return faced(tuple(plait.linalg.lstsq(a, b, -1.0 if rcond is None else rcond)))


def norm(x, ord=None, axis=None, keepdims=False):
    x = inexact(tensor_of(x))
    axis = axis_of(axis)
    if ord is None and axis is None:
        flat = plait.linalg.vector_norm(plait.flatten(x))
        return Array(plait.reshape(flat, [1] * x.ndim) if keepdims else flat)
    axes = list(range(x.ndim)) if axis is None else axis if isinstance(axis, list) else [axis]
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return Array(plait.linalg.vector_norm(x, 2.0 if ord is None else float(ord), axes, keepdims))
    if len(axes) != 2 or len({each % x.ndim for each in axes}) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    moved = plait.moveaxis(x, axes, [-2, -1])
    result = plait.linalg.matrix_norm(moved, "fro" if ord is None else ord, keepdims)
    return Array(plait.moveaxis(result, [-2, -1], axes) if keepdims else result)


def cond(x, p=None):
    return Array(plait.linalg.cond(inexact(tensor_of(x)), 2.0 if p is None else p))


def matrix_power(a, n):
    return Array(plait.linalg.matrix_power(tensor_of(a), n))


def multi_dot(arrays, *, out=None):
    return given(out, plait.linalg.multi_dot(common_dtype(arrays)))


def tensorsolve(a, b, axes=None):
    return Array(plait.linalg.tensorsolve(*common(inexact(tensor_of(a)), inexact(tensor_of(b))), axis_of(axes)))


def tensorinv(a, ind=2):
    return Array(plait.linalg.tensorinv(inexact(tensor_of(a)), ind))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    return Array(plait.linalg.vector_norm(inexact(tensor_of(x)), float(ord), axis_of(axis), keepdims))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return Array(plait.linalg.matrix_norm(inexact(tensor_of(x)), ord, keepdims))


def cross(x1, x2, /, *, axis=-1):
    return Array(plait.linalg.cross(*common(tensor_of(x1), tensor_of(x2)), axis))


def diagonal(x, /, *, offset=0):
    return Array(plait.linalg.diagonal(tensor_of(x), offset))


def trace(x, /, *, offset=0, dtype=None):
    return Array(plait.linalg.trace(tensor_of(x, dtype), offset))


def svdvals(x, /):
    return Array(plait.linalg.svdvals(inexact(tensor_of(x))))


LINALG |= {each.__name__: each for each in (eig, eigvals, cholesky, solve, svd, qr, pinv, matrix_rank, lstsq, norm, cond, matrix_power, multi_dot,
                                            tensorsolve, tensorinv, vector_norm, matrix_norm, cross, diagonal, trace, svdvals)}
LINALG |= {"eigh": hermitian("eigh"), "eigvalsh": hermitian("eigvalsh")}
LINALG |= {name: FUNCTIONS[name] for name in ("matmul", "outer", "tensordot", "vecdot", "matrix_transpose")}


def transform(name):
    function = getattr(plait.fft, name)

    def call(a, n=None, axis=-1, norm=None, out=None):
        if out is not None:
            not_here("out= of fft")
        return Array(function(inexact(tensor_of(a)), n, axis, norm or "backward"))

    return call


def transform_of_many(name):
    function = getattr(plait.fft, name)

    def call(a, s=None, axes=(-2, -1) if name.endswith("2") else None, norm=None, out=None):
        if out is not None:
            not_here("out= of fft")
        return Array(function(inexact(tensor_of(a)), None if s is None else list(s), None if axes is None else list(axes),
                              norm or "backward"))

    return call


FFT |= {name: transform(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")}
FFT |= {name: transform_of_many(name) for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")}
FFT |= {name: lambda x, axes=None, _of=getattr(plait.fft, name): Array(_of(tensor_of(x), axis_of(axes)))
        for name in ("fftshift", "ifftshift")}
FFT |= {name: lambda n, d=1.0, device=None, _of=getattr(plait.fft, name): Array(_of(n, d, plait.f64)) for name in ("fftfreq", "rfftfreq")}
