"""The projection onto the simplex, of vectors along the last axis."""

from plait import _core


def onto_simplex(x):
    """The nearest vectors of numbers of 0 or more that sum to 1."""
    known = _core.stop_gradient(x)
    falling = -_core.sort(-known, axis=-1)
    sums = _core.cumsum(falling, -1)
    counts = _core.astype(_core.arange(1, x.shape[-1] + 1), x.dtype)
    count = _core.sum(_core.astype((1.0 - sums) / counts + falling > 0, _core.i64), -1, keepdims=True)
    shift = (1.0 - _core.take_along_axis(sums, _core.maximum(count - 1, 0), -1)) / _core.astype(count, x.dtype)
    is_left = known + shift > 0
    kept = _core.where(is_left, x, 0.0)  # only these have a derivative
    size = _core.sum(_core.astype(is_left, x.dtype), -1, keepdims=True)
    return _core.where(is_left, kept + (1.0 - _core.sum(kept, -1, keepdims=True)) / size, 0.0)
