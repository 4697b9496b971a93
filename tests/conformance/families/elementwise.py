"""Elementwise primitives: each needs one line, `unary(name, oracle, low, high, tolerance)`."""

import numpy as np
import plait
import scipy.special

from suite.cases import case, numbers

FAMILY = "elementwise"


def unary(name, oracle, low=-3.0, high=3.0, tolerance="function", family=FAMILY, **options):
    case(name, oracle, family=family, low=low, high=high, tolerance=tolerance, **options)


binary = unary


def log1p(x):
    """NumPy's log1p loses digits of complex numbers near 0."""
    return np.log1p(x.astype(np.clongdouble)).astype(x.dtype) if np.iscomplexobj(x) else np.log1p(x)


# ---- Unary.
unary("negative", np.negative, tolerance="exact")
unary("absolute", np.absolute, tolerance="twice")
unary("sign", np.sign, tolerance="twice")
unary("square", np.square, tolerance="rounded")
unary("reciprocal", lambda x: 1 / x, tolerance="rounded", extended=True)
unary("sqrt", np.sqrt, 0.0, 9.0, "rounded")
unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.1, 9.0, "twice", extended=True)
unary("exp", np.exp)
unary("exp2", np.exp2)
unary("expm1", np.expm1)
unary("cbrt", np.cbrt, 0.1, 9.0)
unary("log", np.log, 0.1, 9.0)
unary("log2", np.log2, 0.1, 9.0)
unary("log10", np.log10, 0.1, 9.0)
unary("log1p", log1p, -0.9, 9.0)
unary("sin", np.sin)
unary("cos", np.cos)
unary("tan", np.tan, -1.5, 1.5)
unary("asin", np.arcsin, -0.99, 0.99)
unary("acos", np.arccos, -0.99, 0.99)
unary("atan", np.arctan)
unary("sinh", np.sinh)
unary("cosh", np.cosh)
unary("tanh", np.tanh)
unary("asinh", np.arcsinh)
unary("acosh", np.arccosh, 1.1, 9.0)
unary("atanh", np.arctanh, -0.95, 0.95)
unary("sigmoid", scipy.special.expit)
unary("erf", scipy.special.erf, extended=False)
for _name, _oracle in (("floor", np.floor), ("ceil", np.ceil), ("round", np.rint), ("trunc", np.trunc)):
    unary(_name, _oracle, tolerance="exact")
for _name, _oracle in (("is_nan", np.isnan), ("is_infinite", np.isinf), ("is_finite", np.isfinite),
                       ("bitwise_not", np.invert), ("logical_not", np.logical_not)):
    unary(_name, _oracle, tolerance="exact")


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


for _name, _oracle in (("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply)):
    binary(_name, _oracle, tolerance="rounded")
binary("divide", np.divide, tolerance="rounded")
binary("floor_divide", np.floor_divide, draw=nonzero_whole, tolerance="exact", extended=False)
binary("remainder", np.remainder, draw=nonzero_whole, tolerance="rounded")
binary("power", powers, draw=power_operands, tolerance="power", extended=True)
# NumPy's order of 0 and -0 depends on the instruction set that it finds.
binary("maximum", np.maximum, tolerance="exact", zero_signs=False)
binary("minimum", np.minimum, tolerance="exact", zero_signs=False)
binary("copysign", np.copysign, tolerance="exact")
binary("atan2", np.arctan2)
binary("hypot", np.hypot)
for _name in ("equal", "not_equal", "less", "less_equal", "bitwise_and", "bitwise_or", "bitwise_xor"):
    binary(_name, getattr(np, _name), tolerance="exact")
for _name in ("left_shift", "right_shift"):
    binary(_name, getattr(np, _name), 0, 7, tolerance="exact")


# ---- Ternary.
def with_truth(dtype):
    return [plait.boolean, dtype, dtype]


case("select", np.where, family=FAMILY, operand_dtypes=with_truth, low=-9.0, high=9.0)
case("clamp", lambda low, x, high: np.minimum(np.maximum(x, low), high), family=FAMILY, zero_signs=False,
     low=(-2.0, -4.0, 1.0), high=(0.0, 4.0, 2.0))
