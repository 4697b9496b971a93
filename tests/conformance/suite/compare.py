"""Compares two arrays: first the class of each number (NaN, infinities, the sign of zero), then the difference in
ulp."""

import numpy as np

# Number of mantissa bits, smallest exponent of a normal number.
FORMATS = {"f64": (52, -1022), "f32": (23, -126), "f16": (10, -14), "bf16": (7, -126),
           "f8e4m3": (3, -6), "f8e5m2": (2, -14), "c64": (23, -126), "c128": (52, -1022)}


def unit(values, name):
    """One unit in the last place at each value."""
    mantissa, least = FORMATS[name]
    values = np.abs(np.asarray(values, np.longdouble if name in ("f64", "c128") else np.float64))
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 1))
    exponent = np.where(values == 0, least, np.maximum(exponent - 1, least))
    return np.ldexp(np.ones((), values.dtype), exponent - mantissa)


def differing(actual, expected, dtype, ulps, scale=None, zero_signs=False):
    """A mask of the elements that are not within `ulps`. `actual` has the dtype, `expected` may be wider."""
    if dtype.kind not in ("floating", "complex"):
        return actual != expected
    if dtype.kind == "complex":
        return _differing_complex(actual, expected, dtype, ulps, scale)
    narrow = _rounded(expected, actual.dtype)
    wide = np.longdouble if dtype.name == "f64" else np.float64
    a, e = actual.astype(wide), np.asarray(expected).astype(wide)
    same = (a == narrow.astype(wide)) | (np.isnan(a) & np.isnan(narrow))
    if zero_signs:
        same &= ~((a == 0) & (np.signbit(a) != np.signbit(narrow.astype(wide))))
    size = unit(e if scale is None else scale, dtype.name)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(a) & np.isfinite(e) & (np.abs(a - e) <= ulps * size)
    if zero_signs:
        near &= ~((a == 0) & (e == 0))
    return ~(same | near)


def _differing_complex(actual, expected, dtype, ulps, scale):
    actual, expected = actual.astype(np.complex128), np.asarray(expected).astype(np.complex128)
    size = np.maximum(np.abs(expected.real), np.abs(expected.imag)) if scale is None else scale
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(actual - expected) <= ulps * unit(size, dtype.name)
    parts = [(a == e) | (np.isnan(a) & np.isnan(e))
             for a, e in ((actual.real, expected.real), (actual.imag, expected.imag))]
    return ~(near | (parts[0] & parts[1]))


def _rounded(values, dtype):
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.asarray(values).astype(dtype)


def report(actual, expected, mask, operands, dtype):
    """A description of the first element that differs."""
    place = tuple(int(i[0]) for i in np.nonzero(mask)) if mask.ndim else ()
    at = [repr(x[place]) for x in operands if x.shape == mask.shape]
    text = f"{int(mask.sum())} of {mask.size} elements differ, first at {list(place)}: Plait {actual[place]!r}, " \
           f"expected {expected[place]!r}"
    if dtype.kind == "floating" and np.isfinite(float(expected[place])) and np.isfinite(float(actual[place])):
        error = abs(np.longdouble(actual[place]) - np.longdouble(expected[place])) / unit(expected[place], dtype.name)
        text += f" ({float(error):.3g} ulp)"
    return text + (f" of {', '.join(at)}" if at else "")
