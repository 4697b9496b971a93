"""Elementwise primitives whose oracle is not one function of NumPy or SciPy, or that need an option. All others have
their cases by their declarations (suite/cases.py)."""

import numpy as np
import plait

from suite.cases import case, numbers

FAMILY = "elementwise"


def add(name, oracle, **options):
    case(name, oracle, family=FAMILY, **options)


def log1p(x):
    """NumPy's log1p loses digits of complex numbers near 0."""
    return np.log1p(x.astype(np.clongdouble)).astype(x.dtype) if np.iscomplexobj(x) else np.log1p(x)


add("reciprocal", lambda x: 1 / x, extended=True)
add("rsqrt", lambda x: 1 / np.sqrt(x), extended=True)
add("log1p", log1p)


# ---- Binary.
def powers(a, b):
    """NumPy refuses negative powers of integers: 1/a^-b, rounded towards 0, and 0 for a = 0 (as in PyTorch)."""
    if a.dtype.kind not in "iu":
        return np.power(a, b)
    of_one = np.where(b % 2 == 0, 1, a)
    inverse = np.where(np.abs(a.astype(np.float64)) == 1, of_one, 0)
    return np.where(b < 0, inverse, np.power(a, np.maximum(b, 0))).astype(a.dtype)


def power_operands(random, shape, dtype, operand):
    if dtype.kind == "integer":
        return numbers(-4, 6)(random, shape, dtype, operand)
    return numbers((0.1, -2.0), (3.0, 2.0))(random, shape, dtype, operand)


def nonzero_whole(random, shape, dtype, operand):
    drawn = numbers(-9.0, 9.0)(random, shape, dtype, operand)
    return np.where(drawn == 0, 1, drawn).astype(drawn.dtype) if operand == 1 else drawn


add("floor_divide", np.floor_divide, draw=nonzero_whole, extended=False)
add("remainder", np.remainder, draw=nonzero_whole)
add("power", powers, draw=power_operands, extended=True)
# NumPy's order of 0 and -0 depends on the instruction set that it finds.
add("maximum", np.maximum, zero_signs=False)
add("minimum", np.minimum, zero_signs=False)


# ---- Ternary.
def with_truth(dtype):
    return [plait.boolean, dtype, dtype]


add("select", np.where, operand_dtypes=with_truth)
add("clamp", lambda low, x, high: np.minimum(np.maximum(x, low), high), zero_signs=False)
