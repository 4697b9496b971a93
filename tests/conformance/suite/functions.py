"""The functions that users call, compared with NumPy: broadcasting, Python numbers beside tensors, promotion, and
the fast paths that only these functions have."""

import numpy as np
import plait

from suite import compare, oracles
from suite.values import DTYPE_OF

# By name, the functions of NumPy that the declarations of elementwise primitives name.
OF_TABLE = {name: oracles.named_by(primitive) for name, primitive in plait.ops().items()
            if primitive.oracle.startswith("numpy.") and primitive.elementwise != "no" and plait.f32 in primitive.takes
            and hasattr(plait, name)}
OF_TABLE = {name: function for name, function in OF_TABLE.items() if function is not None}
# Those that are not primitives or are called otherwise come last.
UNARY = [*(name for name in OF_TABLE if plait.ops()[name].most_operands == 1),
         "isnan", "isinf", "isfinite", "logical_not", "sinc", "deg2rad", "rad2deg"]
BINARY = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "equal", "not_equal",
          "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "hypot", "atan2",
          "copysign", "logaddexp2", "heaviside", "float_power"]
WHOLE = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
REDUCTIONS = ["sum", "prod", "max", "min", "all", "any", "mean"]
SHAPES = [((), ()), ((3,), ()), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((0, 3), (1,)), ((5,), (5,)), ((1, 1), (2, 3))]
DTYPES = [np.float32, np.float64, np.float16, np.int32, np.uint8, np.int64, np.bool_, np.complex64]
# For integers NumPy returns f64, or f16 for small ones, where Plait returns f32; values agree to f16's accuracy.
ACCURACY = {"f16": 2e-3, "bf16": 2e-2, "f32": 3e-6, "c64": 3e-6, "f64": 1e-14}


def numpy_function(name):
    return OF_TABLE.get(name) or getattr(np, name)


def draw(random, shape, dtype):
    if dtype == np.bool_:
        return np.asarray(random.integers(0, 2, shape), bool)
    if np.dtype(dtype).kind in "iu":
        return np.asarray(random.integers(1, 9, shape), dtype)
    return np.asarray(random.uniform(0.1, 2, shape) * (random.choice([-1, 1], shape) if dtype != np.complex64 else 1), dtype)


def difference(name, actual, expected):
    actual = actual.numpy()
    if actual.shape != np.shape(expected):
        return f"gives the shape {actual.shape}, NumPy {np.shape(expected)}"
    kinds = {"f": "fiu", "c": "c", "b": "b", "i": "i", "u": "u"}
    expected = np.asarray(expected)
    if actual.dtype.kind not in kinds[expected.dtype.kind] and name not in ("max", "min"):
        return f"gives {actual.dtype}, NumPy {expected.dtype}"
    coarser = min((DTYPE_OF[x.dtype].name for x in (actual, expected) if DTYPE_OF[x.dtype].name in ACCURACY),
                  key=lambda n: -ACCURACY[n], default=None)
    if coarser is None:
        return None if np.array_equal(actual, expected) else f"gives {actual}, NumPy {expected}"
    near = np.allclose(actual, expected, rtol=ACCURACY[coarser], atol=ACCURACY[coarser], equal_nan=True)
    return None if near else f"gives {actual}, NumPy {expected}"


def _refusals(name, arrays):
    """Where NumPy refuses, Plait must refuse too; otherwise returns NumPy's result."""
    with np.errstate(all="ignore"):
        return numpy_function(name)(*arrays)


def check_unary(random):
    for name in UNARY:
        for dtype in DTYPES:
            for shape in ((), (0,), (7,), (2, 3)):
                x = draw(random, shape, dtype)
                try:
                    expected = _refusals(name, [x])
                except TypeError:
                    continue
                if x.dtype == np.bool_ and name in ("absolute", "sign", "square", "negative", "round"):
                    continue  # no arithmetic on booleans here
                if np.dtype(dtype).kind in "c" and name not in ("negative", "square", "absolute", "exp", "sin", "cos",
                                                               "tan", "atan", "sinh", "cosh", "tanh", "asinh"):
                    continue
                yield name, f"{x.dtype}{shape}", lambda: difference(name, getattr(plait, name)(x), expected)


def check_binary(random):
    for name in BINARY + WHOLE:
        for dtype in DTYPES:
            whole = np.dtype(dtype).kind in "iu"
            if name in WHOLE and not whole:
                continue
            for shapes in SHAPES:
                operands = [draw(random, shape, dtype) for shape in shapes]
                try:
                    expected = _refusals(name, operands)
                except TypeError:
                    continue
                if dtype == np.bool_ and name in ("add", "multiply", "subtract", "floor_divide", "remainder", "heaviside"):
                    continue
                if dtype == np.complex64 and name in ("maximum", "minimum", "less", "less_equal", "greater", "greater_equal"):
                    continue
                yield name, f"{operands[0].dtype} {shapes}", lambda: difference(
                    name, getattr(plait, name)(*operands), expected)
            if dtype != np.bool_ and name in BINARY[:4]:
                x = draw(random, (5,), dtype)
                for number in (2, 2.5) if not whole else (2,):
                    for pair in ((x, number), (number, x)):
                        yield name, f"{pair[0]!r}, {pair[1]!r}", lambda: difference(
                            name, getattr(plait, name)(*pair), _refusals(name, pair))


def check_reductions(random):
    for name in REDUCTIONS:
        for dtype in DTYPES[:-1]:
            if dtype == np.bool_ and name in ("max", "min"):
                continue
            x = draw(random, (3, 4, 2), dtype)
            for axis in (None, 0, -1, (0, 2)):
                for keepdims in (False, True):
                    expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                    yield name, f"{x.dtype} axis={axis} keepdims={keepdims}", lambda: difference(
                        name, getattr(plait, name)(x, axis, keepdims), expected)


def check_shapes(random):
    x = draw(random, (2, 3, 4), np.float32)
    same = [("reshape", ([4, -1],)), ("reshape", ([-1],)), ("flip", (1,)), ("swapaxes", (0, -1)), ("moveaxis", (0, 2)),
            ("expand_dims", (-1,)), ("expand_dims", (0,)), ("broadcast_to", ((5, 2, 3, 4),)), ("matrix_transpose", ()),
            ("permute_dims", ((2, 0, 1),))]
    for name, arguments in same:
        expected = getattr(np, name)(x, *arguments)
        yield name, str(arguments), lambda: difference(name, getattr(plait, name)(x, *arguments), expected)
    parts = [x, x + 1, x + 2]
    for axis in (0, 1, -1):
        yield "concat", f"axis={axis}", lambda: difference("concat", plait.concat(parts, axis), np.concatenate(parts, axis))
        yield "stack", f"axis={axis}", lambda: difference("stack", plait.stack(parts, axis), np.stack(parts, axis))
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2))):
        operands = draw(random, a, np.float64), draw(random, b, np.float64)
        yield "matmul", f"{a} {b}", lambda: difference("matmul", plait.matmul(*operands), np.matmul(*operands))


def check_creation(random):
    for arguments in ((5,), (2, 9), (9, 2, -3), (0.0, 1.0, 0.25), (3, 3)):
        yield "arange", str(arguments), lambda: difference("arange", plait.arange(*arguments), np.arange(*arguments))
    for arguments in ((0.0, 1.0, 5), (2.0, 2.0, 1), (1.0, -1.0, 4), (0.0, 1.0, 0)):
        yield "linspace", str(arguments), lambda: difference("linspace", plait.linspace(*arguments), np.linspace(*arguments))
    for rows, columns in ((3, None), (2, 4), (4, 2), (0, 0)):
        yield "eye", f"{rows}, {columns}", lambda: difference("eye", plait.eye(rows, columns), np.eye(rows, columns))
    yield "zeros", "", lambda: difference("zeros", plait.zeros((2, 3)), np.zeros((2, 3)))
    yield "ones", "", lambda: difference("ones", plait.ones(4, plait.i32), np.ones(4, np.int32))
    yield "full", "", lambda: difference("full", plait.full((2,), 7), np.full((2,), 7))


def check():
    """The number of comparisons, and the differences."""
    count, failures = 0, []
    random = np.random.default_rng(8)
    for group in (check_unary, check_binary, check_reductions, check_shapes, check_creation):
        for name, what, compare_now in group(random):
            count += 1
            try:
                wrong = compare_now()
            except Exception as error:  # refused although NumPy has a result
                wrong = f"{type(error).__name__}: {error}"
            if wrong:
                failures.append(f"{name}: function: {what}: {wrong}")
    return count, failures
