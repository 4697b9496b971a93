"""Names of the Array API, NumPy, PyTorch and JAX for functions that have another name in Plait."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray, tensor as array  # noqa: F401: NumPy's
from plait.inside.jit.jitting import jit as compile  # noqa: A004,F401: PyTorch's
from plait.inside.transforms.remat import remat as checkpoint  # noqa: F401: JAX's and PyTorch's
from plait.tree import leaves_with_paths

abs = _core.absolute  # noqa: A001
neg = _core.negative
pow = _core.power  # noqa: A001
bitwise_invert = _core.bitwise_not
bitwise_left_shift = _core.left_shift
bitwise_right_shift = _core.right_shift


def positive(x):
    """The numbers unchanged.

    >>> plait.positive(plait.tensor([-1.0, 2.0]))
    [-1.  2.] : f32[2]
    """
    return x


def eval(*trees):  # noqa: A001: MLX's
    """Refuses tensors that are still being recorded; all others are already computed.

    >>> plait.eval({"weight": plait.ones(3) * 2})
    """
    for path, leaf in leaves_with_paths(trees):
        if isinstance(leaf, _core.Tensor) and leaf.is_traced:
            raise errors.ValueError(f"eval: {path} is being recorded, and has no values yet")


def cumulative_sum(x, axis=None, dtype=None, include_initial=False):
    """cumsum; the axis may be omitted for a vector. With include_initial the result begins with a 0.

    >>> plait.cumulative_sum(plait.tensor([1.0, 2.0, 3.0]), include_initial=True)
    [0. 1. 3. 6.] : f32[4]
    """
    return _cumulative(_core.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(x, axis=None, dtype=None, include_initial=False):
    """cumprod; the axis may be omitted for a vector. With include_initial the result begins with a 1.

    >>> plait.cumulative_prod(plait.tensor([1.0, 2.0, 3.0]))
    [1. 2. 6.] : f32[3]
    """
    return _cumulative(_core.cumprod, 1, x, axis, dtype, include_initial)


def _cumulative(scan, first, x, axis, dtype, include_initial):
    x = asarray(x)
    if axis is None and x.ndim != 1:
        raise errors.ValueError(f"{scan.__name__}: {x.ndim} dimensions need an axis")
    axis = 0 if axis is None else axis
    if dtype is not None:
        x = _core.astype(x, dtype)
    result = scan(x, axis)
    if include_initial:
        shape = list(x.shape)
        shape[axis] = 1
        result = _core.concat([_core.full(shape, first, result.dtype), result], axis)
    return result if dtype is None else _core.astype(result, dtype)
