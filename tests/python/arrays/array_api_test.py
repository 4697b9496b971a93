"""Plait's namespace follows the Array API standard 2024.12: every function of array-api-strict exists, has the same
parameters and the same results."""

import copy
import inspect
import math
import operator
import pickle
import unittest
import warnings

import array_api_strict as strict
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import plait

warnings.simplefilter("ignore")
strict.set_array_api_strict_flags(api_version="2024.12")
xps = make_strategies_namespace(strict)
SETTINGS = settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))

NOT_OF_THE_STANDARD = {"Device", "ArrayAPIStrictFlags"}
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
          "complex128")
FLOATS, COMPLEX = DTYPES[9:11], DTYPES[11:]
INTEGERS, NUMBERS = DTYPES[1:9], DTYPES[1:]
EXTENSIONS = ("linalg", "fft")


def functions():
    """All functions of the standard by path, from array-api-strict."""
    found = {}
    for prefix in ("", *EXTENSIONS):
        place = getattr(strict, prefix) if prefix else strict
        for name in getattr(place, "__all__", dir(place)):
            value = getattr(place, name)
            if callable(value) and name not in NOT_OF_THE_STANDARD and "array_api_strict_flags" not in name and not name.startswith("_"):
                if getattr(value, "__module__", "").startswith("array_api_strict"):
                    found[f"{prefix}.{name}" if prefix else name] = value
    for dtype in DTYPES:
        found.pop(dtype, None)
    return found


FUNCTIONS = functions()


def of(namespace, path):
    for part in path.split("."):
        namespace = getattr(namespace, part)
    return namespace


# ---- The same values in both libraries


def ours(value):
    """Converts a value of array-api-strict to Plait's."""
    if isinstance(value, strict._array_object.Array):
        return plait.from_dlpack(value, copy=True)
    if isinstance(value, strict._dtypes.DType):
        return getattr(plait, str(value).removeprefix("array_api_strict."))
    if isinstance(value, (list, tuple)):
        return type(value)(map(ours, value))
    return {name: ours(each) for name, each in value.items()} if isinstance(value, dict) else value


def name_of(dtype):
    return dtype.long_name if isinstance(dtype, plait.DType) else str(dtype).removeprefix("array_api_strict.")


def array_of(x):
    return np.asarray(x._array) if isinstance(x, strict._array_object.Array) else x.numpy()


def same(case, mine, theirs, digits=None):
    if isinstance(theirs, (list, tuple)):
        case.assertIsInstance(mine, (list, tuple))
        case.assertEqual(len(mine), len(theirs))
        if hasattr(theirs, "_fields"):
            case.assertEqual(mine._fields, theirs._fields)
        for a, b in zip(mine, theirs):
            same(case, a, b, digits)
        return
    if not isinstance(theirs, strict._array_object.Array):
        is_dtype = isinstance(theirs, strict._dtypes.DType)
        case.assertEqual(name_of(mine) if is_dtype else mine, name_of(theirs) if is_dtype else theirs)
        return
    case.assertIsInstance(mine, plait.Tensor)
    case.assertEqual((mine.shape, mine.dtype.long_name), (theirs.shape, name_of(theirs.dtype)))
    if digits is None:
        digits = 2e-4 if name_of(theirs.dtype) in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(array_of(mine), array_of(theirs), rtol=digits, atol=digits)


# ---- Arguments of calls


def elements(dtype, least=-20, most=20):
    if dtype == "bool":
        return st.booleans()
    if dtype in INTEGERS:
        return st.integers(max(0, least) if dtype.startswith("u") else least, most)
    floats = st.integers(8 * least, 8 * most).map(lambda x: x / 8)  # exact in every dtype
    return floats if dtype in FLOATS else st.builds(complex, floats, floats)


def arrays(draw, dtype, shape=None, least=-20, most=20):
    shape = draw(xps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)) if shape is None else shape
    return draw(xps.arrays(getattr(strict, dtype), shape, elements=elements(dtype, least, most)))


def some_shape(draw, least_dims=1, least_side=1):
    return draw(xps.array_shapes(min_dims=least_dims, max_dims=3, min_side=least_side, max_side=4))


def pair(draw, dtype, **limits):
    shapes = draw(xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=3)).input_shapes
    return tuple(arrays(draw, dtype, shape, **limits) for shape in shapes)


def accepted(path, count):
    """Dtypes that the other library accepts, each paired with itself."""
    def takes(dtype):
        try:
            FUNCTIONS[path](*[strict.ones((2, 2), dtype=getattr(strict, dtype)) for _ in range(count)])
        except TypeError:
            return False
        return True
    return [dtype for dtype in DTYPES if takes(dtype)]


LIMITS = {"bitwise_left_shift": (0, 6), "bitwise_right_shift": (0, 6), "pow": (0, 3), "floor_divide": (1, 20), "remainder": (1, 20),
          "exp": (-9, 9), "expm1": (-9, 9), "sinh": (-9, 9), "cosh": (-9, 9), "tan": (-1, 1), "tanh": (-2, 2), "reciprocal": (1, 9)}


def elementwise(path, count):
    dtypes = accepted(path, count)
    least, most = LIMITS.get(path, (-20, 20))

    def drawn(draw):
        dtype = draw(st.sampled_from(dtypes))
        return (arrays(draw, dtype, least=least, most=most),) if count == 1 else pair(draw, dtype, least=least, most=most), {}

    return drawn


def axis_of(draw, x):
    return draw(st.integers(-x.ndim, x.ndim - 1))


def axes_of(draw, x):
    some = st.lists(st.integers(0, x.ndim - 1), unique=True, max_size=x.ndim).map(tuple) if x.ndim else st.just(())
    return draw(st.none() | some)


def reduction(dtypes, least_side=0, more=lambda draw, dtype: {}, axes=axes_of):
    def drawn(draw):
        dtype = draw(st.sampled_from(dtypes))
        x = arrays(draw, dtype, some_shape(draw, 1, least_side), least=-3, most=3)
        return (x,), {"axis": axes(draw, x), "keepdims": draw(st.booleans()), **more(draw, dtype)}
    return drawn


def one(make):
    """x of any dtype, and the arguments made by make(draw, x)."""
    def drawn(draw, dtypes=DTYPES):
        x = arrays(draw, draw(st.sampled_from(dtypes)), some_shape(draw))
        return make(draw, x)
    return drawn


def distinct(draw, shape, dtype):
    """Distinct elements, so that their order is unique."""
    count = math.prod(shape)
    numbers = draw(st.permutations(range(count)))
    return strict.asarray(np.asarray(numbers).reshape(shape), dtype=getattr(strict, dtype))


def matrices(draw, dtypes=FLOATS + COMPLEX, shape=None):
    dtype = draw(st.sampled_from(dtypes))
    side = draw(st.integers(1, 3))
    return arrays(draw, dtype, (*draw(st.sampled_from([(), (2,)])), *((side, side) if shape is None else shape)), -5, 5)


def regular(draw, dtypes=FLOATS + COMPLEX):
    """Well-conditioned matrices."""
    x = matrices(draw, dtypes)
    return x + 30 * strict.eye(x.shape[-1], dtype=x.dtype)


def hermitian(draw, dtypes=FLOATS + COMPLEX):
    x = regular(draw, dtypes)
    conj = strict.conj if strict.isdtype(x.dtype, "complex floating") else strict.positive
    return x + conj(strict.matrix_transpose(x))


def creation(make):
    def drawn(draw):
        dtype = draw(st.sampled_from(DTYPES))
        arguments, named = make(draw, dtype)
        return arguments, {"dtype": getattr(strict, dtype), "device": None, **named}
    return drawn


def transform(is_real=False, is_half=False, several=False):
    def drawn(draw):
        x = arrays(draw, draw(st.sampled_from(FLOATS if is_real else COMPLEX)), some_shape(draw, 1, 2))
        norm = draw(st.sampled_from(("backward", "ortho", "forward")))
        if several:
            axes = draw(st.lists(st.integers(0, x.ndim - 1), unique=True, min_size=1, max_size=x.ndim))
            return (x,), {"axes": tuple(axes), "norm": norm}
        return (x,), {"axis": axis_of(draw, x), "n": draw(st.none() | st.integers(2, 6)), "norm": norm}
    return drawn


def with_shape(draw, x, count):
    """Shapes with the same number of elements."""
    return draw(st.sampled_from([(count,), (1, count), (-1,), (count, 1), x.shape]))


def _tensordot(draw):
    dtype = draw(st.sampled_from(NUMBERS))
    a, b = arrays(draw, dtype, (2, 3, 4), -3, 3), arrays(draw, dtype, (4, 3, 2), -3, 3)
    return (a, b), {"axes": draw(st.sampled_from([0, 1, ((1,), (1,)), ((0, 2), (2, 0))]))}


def _matmul(draw):
    dtype = draw(st.sampled_from(NUMBERS))
    a, b = draw(st.sampled_from([((2, 3), (3, 4)), ((3,), (3,)), ((5, 2, 3), (3,)), ((3,), (3, 1)), ((2, 1, 2, 3), (4, 3, 2))]))
    return (arrays(draw, dtype, a, -3, 3), arrays(draw, dtype, b, -3, 3)), {}


def _searchsorted(draw):
    x = strict.sort(arrays(draw, "float32", (5,)))
    order = draw(st.permutations(range(5)))
    is_sorted = draw(st.booleans())
    shuffled = np.empty(5, np.float32)
    shuffled[list(order)] = np.asarray(x._array)
    named = {} if is_sorted else {"sorter": strict.asarray(np.asarray(order), dtype=strict.int64)}
    return (x if is_sorted else strict.asarray(shuffled), arrays(draw, "float32", (2, 3))), {
        "side": draw(st.sampled_from(("left", "right"))), **named}


def _take(draw, x):
    axis = axis_of(draw, x)
    return (x, arrays(draw, "int64", (3,), 0, x.shape[axis] - 1)), {"axis": axis}


def _take_along(draw, x):
    axis = axis_of(draw, x)
    shape = list(x.shape)
    shape[axis] = 2
    return (x, arrays(draw, "int64", tuple(shape), 0, x.shape[axis] - 1)), {"axis": axis}


def _repeat(draw, x):
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    count = math.prod(x.shape) if axis is None else x.shape[axis]
    return (x, draw(st.sampled_from([0, 2, arrays(draw, "int64", (count,), 0, 3)]))), {"axis": axis}


def _stacked(draw, x):
    return ([x, arrays(draw, name_of(x.dtype), x.shape)],), {"axis": axis_of(draw, x)}


def _linspace(draw):
    dtype = draw(st.sampled_from(FLOATS + COMPLEX))
    ends = elements(dtype)
    return (draw(ends), draw(ends), draw(st.integers(0, 7))), {
        "dtype": getattr(strict, dtype), "endpoint": draw(st.booleans())}


def _arange(draw):
    dtype = draw(st.sampled_from(INTEGERS + FLOATS))
    numbers = st.integers(0, 20)
    return (draw(numbers), draw(numbers)), {"step": draw(st.sampled_from([1, 2, 3])), "dtype": getattr(strict, dtype)}


def _order(draw):
    dtype = draw(st.sampled_from(NUMBERS[:-2]))
    x = arrays(draw, dtype, some_shape(draw), -4, 4)
    return (x,), {"axis": axis_of(draw, x), "descending": draw(st.booleans())}


def _clip(draw):
    dtype = draw(st.sampled_from(INTEGERS + FLOATS))
    low, high = sorted([draw(elements(dtype)), draw(elements(dtype))])
    return (arrays(draw, dtype),), {"min": draw(st.sampled_from([None, low])), "max": draw(st.sampled_from([None, high]))}


def _diff(draw, x):
    axis = axis_of(draw, x)
    more = {name: arrays(draw, name_of(x.dtype), x.shape) for name in ("prepend", "append") if draw(st.booleans())}
    return (x,), {"axis": axis, "n": draw(st.integers(1, 2)) if x.shape[axis] > 2 else 1, **more}


def _numbers(make):
    return lambda draw: one(make)(draw, NUMBERS)


def _roll(draw, x):
    axis = draw(st.none() | st.integers(0, x.ndim - 1) | st.just(tuple(range(x.ndim))))
    count = st.integers(-5, 5)
    return (x, tuple(draw(count) for _ in axis) if isinstance(axis, tuple) else draw(count)), {"axis": axis}


def _cumulative(draw):
    dtype = draw(st.sampled_from(NUMBERS))
    x = arrays(draw, dtype, some_shape(draw), -2, 2)
    return (x,), {"axis": axis_of(draw, x), "include_initial": draw(st.booleans())}


def _scalar_or_array(draw, dtype):
    return draw(st.sampled_from([draw(elements(dtype)), arrays(draw, dtype, ())]))


CASES = {
    "all": reduction(DTYPES), "any": reduction(DTYPES), "count_nonzero": reduction(DTYPES),
    "max": reduction(INTEGERS + FLOATS, 1), "min": reduction(INTEGERS + FLOATS, 1), "mean": reduction(FLOATS + COMPLEX, 1),
    **{name: reduction(NUMBERS, more=lambda draw, dtype: {"dtype": draw(st.sampled_from([None, getattr(strict, dtype)]))})
       for name in ("sum", "prod")},
    **{name: reduction(FLOATS, 3, lambda draw, dtype: {"correction": draw(st.sampled_from([0, 1, 0.5]))}) for name in ("std", "var")},
    **{name: reduction(INTEGERS + FLOATS, 1, axes=lambda draw, x: draw(st.none() | st.integers(-x.ndim, x.ndim - 1)))
       for name in ("argmax", "argmin")},
    "cumulative_sum": _cumulative, "cumulative_prod": _cumulative, "clip": _clip, "diff": _numbers(_diff),
    "zeros": creation(lambda draw, dtype: ((some_shape(draw, 0, 0),), {})),
    "ones": creation(lambda draw, dtype: ((some_shape(draw, 0, 0),), {})),
    "full": creation(lambda draw, dtype: ((some_shape(draw, 0, 0), draw(elements(dtype))), {})),
    "eye": creation(lambda draw, dtype: ((draw(st.integers(0, 4)), draw(st.none() | st.integers(0, 4))), {"k": draw(st.integers(-3, 3))})),
    "zeros_like": creation(lambda draw, dtype: ((arrays(draw, dtype),), {})),
    "ones_like": creation(lambda draw, dtype: ((arrays(draw, dtype),), {})),
    "full_like": creation(lambda draw, dtype: ((arrays(draw, "int8"), draw(elements(dtype))), {})),
    "arange": _arange, "linspace": _linspace,
    "asarray": creation(lambda draw, dtype: ((draw(st.lists(elements(dtype), min_size=1)),), {"copy": draw(st.sampled_from([None, True]))})),
    "astype": one(lambda draw, x: ((x, getattr(strict, draw(st.sampled_from(COMPLEX if "complex" in name_of(x.dtype) else NUMBERS)))), {})),
    "tril": one(lambda draw, x: ((x[..., None],), {"k": draw(st.integers(-3, 3))})),
    "triu": one(lambda draw, x: ((x[..., None],), {"k": draw(st.integers(-3, 3))})),
    "meshgrid": lambda draw: (tuple(arrays(draw, "float64", (n,)) for n in (2, 3)), {"indexing": draw(st.sampled_from(("xy", "ij")))}),
    "broadcast_arrays": lambda draw: (pair(draw, "int16"), {}),
    "broadcast_to": one(lambda draw, x: ((x, (2, *x.shape)), {})),
    "concat": one(_stacked), "stack": one(_stacked), "unstack": one(lambda draw, x: ((x,), {"axis": axis_of(draw, x)})),
    "expand_dims": one(lambda draw, x: ((x,), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))})),
    "squeeze": one(lambda draw, x: ((x[None, ..., None], draw(st.sampled_from([0, -1, (0, -1)]))), {})),
    "flip": one(lambda draw, x: ((x,), {"axis": axes_of(draw, x)})), "roll": one(_roll),
    "permute_dims": one(lambda draw, x: ((x, tuple(draw(st.permutations(range(x.ndim))))), {})),
    "moveaxis": one(lambda draw, x: ((x, axis_of(draw, x), axis_of(draw, x)), {})),
    "matrix_transpose": one(lambda draw, x: ((x[..., None],), {})),
    "reshape": one(lambda draw, x: ((x, with_shape(draw, x, math.prod(x.shape))), {"copy": draw(st.sampled_from([None, True]))})),
    "repeat": one(_repeat), "tile": one(lambda draw, x: ((x, draw(st.sampled_from([(2,), (1, 2), (2, 1, 2, 1)]))), {})),
    "take": one(_take), "take_along_axis": one(_take_along),
    "nonzero": one(lambda draw, x: ((x,), {})), "searchsorted": _searchsorted,
    "where": lambda draw: ((arrays(draw, "bool", (2, 1)), *pair_of(draw, "float32", (2, 3), (1, 3))), {}),
    "sort": _order, "argsort": _order,
    **{f"unique_{kind}": _numbers(lambda draw, x: ((x,), {})) for kind in ("all", "counts", "inverse", "values")},
    "matmul": _matmul, "linalg.matmul": _matmul, "tensordot": _tensordot, "linalg.tensordot": _tensordot,
    **{name: lambda draw: (pair_of(draw, draw(st.sampled_from(NUMBERS)), (2, 3), (2, 3)), {"axis": -1}) for name in ("vecdot", "linalg.vecdot")},
    "can_cast": lambda draw: (tuple(getattr(strict, draw(st.sampled_from(INTEGERS))) for _ in range(2)), {}),
    "isdtype": lambda draw: ((getattr(strict, draw(st.sampled_from(DTYPES))), draw(st.sampled_from(
        ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", ("bool", "integral")]))), {}),
    "result_type": lambda draw: (tuple(getattr(strict, draw(st.sampled_from(DTYPES[1:5]))) for _ in range(2)), {}),
    # linalg
    "linalg.cholesky": lambda draw: ((hermitian(draw),), {"upper": draw(st.booleans())}),
    "linalg.cross": lambda draw: (pair_of(draw, draw(st.sampled_from(NUMBERS[4:])), (2, 3), (2, 3)), {}),
    **{f"linalg.{name}": lambda draw: ((regular(draw),), {}) for name in ("det", "inv", "slogdet")},
    "linalg.eigvalsh": lambda draw: ((hermitian(draw),), {}),
    "linalg.svdvals": lambda draw: ((matrices(draw, shape=(2, 3)),), {}),
    "linalg.solve": lambda draw: (lambda a: ((a, a), {}))(regular(draw)),
    "linalg.matrix_power": lambda draw: ((regular(draw), draw(st.integers(-1, 2))), {}),
    "linalg.matrix_rank": lambda draw: ((regular(draw),), draw(st.sampled_from([{}, {"rtol": 0.01}]))),
    "linalg.pinv": lambda draw: ((regular(draw),), draw(st.sampled_from([{}, {"rtol": 0.01}]))),
    "linalg.matrix_norm": lambda draw: ((regular(draw),), {
        "ord": draw(st.sampled_from(["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])), "keepdims": draw(st.booleans())}),
    "linalg.vector_norm": lambda draw: (lambda x: ((x,), {
        "ord": draw(st.sampled_from([1, 2, 3, 0, math.inf, -math.inf])), "axis": axes_of(draw, x), "keepdims": draw(st.booleans())}))(
            arrays(draw, draw(st.sampled_from(FLOATS + COMPLEX)), some_shape(draw))),
    "linalg.diagonal": lambda draw: ((matrices(draw, DTYPES, (3, 4)),), {"offset": draw(st.integers(-2, 3))}),
    "linalg.trace": lambda draw: ((matrices(draw, NUMBERS, (3, 4)),), {"offset": draw(st.integers(-2, 3))}),
    "linalg.outer": lambda draw: (pair_of(draw, draw(st.sampled_from(NUMBERS)), (2,), (3,), -3, 3), {}),
    "linalg.matrix_transpose": lambda draw: ((matrices(draw, DTYPES, (2, 3)),), {}),
    # fft
    **{f"fft.{name}": transform() for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft.{name}": transform(is_real=True) for name in ("rfft", "ihfft")},
    **{f"fft.{name}": transform(several=True) for name in ("fftn", "ifftn", "irfftn")},
    "fft.rfftn": transform(is_real=True, several=True),
    **{f"fft.{name}": lambda draw: ((draw(st.integers(1, 9)),), {
        "d": draw(st.sampled_from([1.0, 0.5])), "dtype": getattr(strict, draw(st.sampled_from(FLOATS)))}) for name in ("fftfreq", "rfftfreq")},
    **{f"fft.{name}": lambda draw: (lambda x: ((x,), {"axes": axes_of(draw, x)}))(arrays(draw, "float32", some_shape(draw)))
       for name in ("fftshift", "ifftshift")},
}


def pair_of(draw, dtype, a, b, least=-9, most=9):
    return arrays(draw, dtype, a, least, most), arrays(draw, dtype, b, least, most)


# Tested separately: the standard does not determine their results, or these are not arrays.
OTHERS = {"empty", "empty_like", "from_dlpack", "finfo", "iinfo", "linalg.eigh", "linalg.qr", "linalg.svd"}
UNARY = [path for path, function in FUNCTIONS.items() if list(inspect.signature(function).parameters) == ["x"]
         and path not in CASES and path not in OTHERS]
BINARY = [path for path, function in FUNCTIONS.items() if list(inspect.signature(function).parameters) == ["x1", "x2"]
          and path not in CASES and path not in OTHERS]


class Values(unittest.TestCase):
    def compare(self, path, arguments, named):
        theirs = FUNCTIONS[path](*arguments, **named)
        mine = of(plait, path)(*ours(arguments), **ours(named))
        same(self, mine, theirs)

    def test_every_function_is_compared(self):
        self.assertGreater(len(FUNCTIONS), 165)
        self.assertEqual(set(FUNCTIONS) - set(CASES) - set(UNARY) - set(BINARY) - OTHERS, set())
        self.assertEqual(set(CASES) - set(FUNCTIONS), set())

    def run_cases(self, cases):
        for path, drawn in cases.items():
            @SETTINGS
            @given(st.data())
            def run(data):
                arguments, named = drawn(data.draw)
                self.compare(path, arguments, named)

            with self.subTest(path):
                run()

    def test_functions(self):
        self.run_cases(CASES)

    def test_functions_of_one(self):
        self.assertGreater(len(UNARY), 35)
        self.run_cases({path: elementwise(path, 1) for path in UNARY})

    def test_functions_of_two(self):
        self.assertGreater(len(BINARY), 25)
        self.run_cases({path: elementwise(path, 2) for path in BINARY})

    def test_numbers_of_python_beside_arrays(self):
        for path in BINARY:
            least, most = LIMITS.get(path, (-20, 20))
            for dtype in accepted(path, 2):
                x = strict.ones((2,), dtype=getattr(strict, dtype))
                number = True if dtype == "bool" else {"f": 2.0, "c": 2j}.get(dtype[0], 2)
                with self.subTest(path, dtype=dtype):
                    if path.startswith("linalg"):
                        continue
                    self.compare(path, (x, number), {})
                    self.compare(path, (number, x), {})

    def test_factors(self):
        @SETTINGS
        @given(st.data())
        def run(data):
            x = hermitian(data.draw)
            mine, array = ours(x), array_of(x)
            dagger = lambda a: np.conj(np.swapaxes(a, -1, -2))  # noqa: E731
            check = lambda a: np.testing.assert_allclose(a, array, atol=1e-3)  # noqa: E731
            values, vectors = map(array_of, plait.linalg.eigh(mine))
            check(vectors * values[..., None, :] @ dagger(vectors))
            q, r = map(array_of, plait.linalg.qr(mine))
            check(q @ r)
            u, s, vh = map(array_of, plait.linalg.svd(mine))
            check(u * s[..., None, :] @ vh)

        run()
        wide = plait.ones((2, 3))
        for name in ("eigh", "qr", "svd"):
            given_to = wide[:, :2] if name == "eigh" else wide
            theirs = getattr(strict.linalg, name)(strict.ones(given_to.shape, dtype=strict.float32))
            mine = getattr(plait.linalg, name)(given_to)
            self.assertEqual(mine._fields, theirs._fields)
            self.assertEqual([(each.shape, each.dtype.long_name) for each in mine], [(each.shape, name_of(each.dtype)) for each in theirs])

    def test_empty(self):
        for dtype in DTYPES:
            self.assertEqual((plait.empty((2, 3), dtype=dtype).shape, plait.empty(2, dtype=dtype).dtype.long_name), ((2, 3), dtype))
            self.assertEqual(plait.empty_like(plait.zeros(3), dtype=dtype).dtype.long_name, dtype)

    def test_limits(self):
        for dtype in INTEGERS + FLOATS + COMPLEX:
            function = "iinfo" if dtype in INTEGERS else "finfo"
            mine, theirs = (getattr(place, function)(getattr(place, dtype)) for place in (plait, strict))
            fields = ("bits", "max", "min") if dtype in INTEGERS else ("bits", "eps", "max", "min", "smallest_normal")
            self.assertEqual([getattr(mine, field) for field in fields], [getattr(theirs, field) for field in fields], dtype)
            self.assertEqual(name_of(mine.dtype), name_of(theirs.dtype))


class Names(unittest.TestCase):
    def test_functions_are_called_alike(self):
        by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for path, function in FUNCTIONS.items():
            with self.subTest(path):
                mine = list(inspect.signature(of(plait, path)).parameters.values())
                for i, theirs in enumerate(inspect.signature(function).parameters.values()):
                    if theirs.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                        found = next((each for each in mine if each.name == theirs.name), None)
                        self.assertIsNotNone(found, f"{theirs.name} of {path}")
                        self.assertIn(found.kind, by_name, theirs.name)
                        if theirs.default is None or isinstance(theirs.default, (bool, int, float, str)):
                            # Dtypes may also be given by name.
                            equal = theirs.name == "dtype" or found.default == theirs.default
                            self.assertTrue(equal, f"{path}: {found} is not {theirs}")
                    if theirs.kind in by_place:
                        self.assertIn(mine[i].kind, by_place, theirs.name)
                    if theirs.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                        self.assertEqual(mine[i].name, theirs.name)
                    if theirs.kind is inspect.Parameter.VAR_POSITIONAL:
                        self.assertEqual(mine[i].kind, theirs.kind)

    def test_methods(self):
        theirs = strict._array_object.Array
        mine = plait.ones((2, 2))
        names = [name for name in dir(theirs) if not name.startswith("_") or (name.startswith("__") and name not in dir(object))]
        own = {"__module__", "__dict__", "__weakref__", "__annotations__", "__buffer__", "__array_priority__", "__slots__"}
        self.assertGreater(len(names), 60)
        in_place = {name for name in names if name.startswith("__i") and "__" + name[3:] in names}  # Python derives them from the others
        self.assertEqual([name for name in names if not hasattr(mine, name) and name not in own | in_place], [])
        for name in names:
            if callable(getattr(theirs, name)) and name not in own | in_place | {"__array__"}:
                with self.subTest(name):
                    wanted = [p for p in inspect.signature(getattr(theirs, name)).parameters.values()][1:]
                    found = inspect.signature(getattr(mine, name)).parameters
                    for each in wanted:
                        if each.kind is inspect.Parameter.KEYWORD_ONLY:
                            self.assertIn(each.name, found)
                    self.assertGreaterEqual(len(found), len(wanted))

    def test_constants(self):
        for name in ("e", "inf", "pi", "newaxis"):
            self.assertEqual(getattr(plait, name), getattr(strict, name))
        self.assertTrue(math.isnan(plait.nan))
        self.assertEqual(plait.__array_api_version__, "2024.12")
        for dtype in DTYPES:
            self.assertEqual(getattr(plait, dtype), plait.DType(dtype))

    def test_namespace(self):
        x = plait.ones(2)
        self.assertIs(x.__array_namespace__(), plait)
        self.assertIs(x.__array_namespace__(api_version="2024.12"), plait)
        self.assertRaises(ValueError, x.__array_namespace__, api_version="1999.01")

    def test_information(self):
        mine, theirs = plait.__array_namespace_info__(), strict.__array_namespace_info__()
        self.assertEqual(set(mine.capabilities()), set(theirs.capabilities()))
        self.assertEqual(set(mine.default_dtypes()), set(theirs.default_dtypes()))
        self.assertIn(mine.default_device(), mine.devices())
        self.assertEqual(plait.zeros(3).dtype, mine.default_dtypes()["real floating"])
        self.assertEqual(plait.zeros(3).device, mine.default_device())
        self.assertEqual(plait.arange(3).dtype, mine.default_dtypes()["integral"])
        self.assertEqual(plait.argmax(plait.zeros(3)).dtype, mine.default_dtypes()["indexing"])
        self.assertEqual(plait.asarray(1j).dtype, mine.default_dtypes()["complex floating"])
        for kind in (None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric",
                     ("bool", "integral")):
            self.assertEqual(set(mine.dtypes(kind=kind)), set(theirs.dtypes(kind=kind)), kind)

    def test_devices(self):
        x = plait.zeros(3, device="cpu")
        self.assertEqual(plait.zeros(3, device=x.device).device, x.device)
        self.assertIs(x.to_device(x.device), x)
        for call in (lambda: plait.zeros(3, device="tpu"), lambda: x.to_device("gpu:99"), lambda: plait.asarray(1, device="tpu"),
                     lambda: plait.__array_namespace_info__().dtypes(device="tpu")):
            self.assertRaisesRegex(plait.DeviceError, "unknown device", call)
        self.assertRaises(plait.DeviceError, plait.zeros, 3, device="gpu:15")


class Arrays(unittest.TestCase):
    def test_strategies_of_hypothesis(self):
        ours_of = make_strategies_namespace(plait)

        @SETTINGS
        @given(ours_of.arrays(ours_of.scalar_dtypes(), ours_of.array_shapes()))
        def run(x):
            self.assertIsInstance(x, plait.Tensor)
            np.testing.assert_array_equal(plait.asarray(x.numpy()).numpy(), x.numpy())

        run()

    def test_operators(self):
        names = {"add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "truediv": FLOATS + COMPLEX, "floordiv": INTEGERS + FLOATS,
                 "mod": INTEGERS + FLOATS, "pow": NUMBERS, "and_": DTYPES[:9], "or_": DTYPES[:9], "xor": DTYPES[:9],
                 "lshift": INTEGERS, "rshift": INTEGERS, "eq": DTYPES, "ne": DTYPES, "lt": NUMBERS[:-2], "ge": NUMBERS[:-2]}
        for name, dtypes in names.items():
            for dtype in dtypes:
                theirs = strict.asarray([True, False] if dtype == "bool" else [1, 3], dtype=getattr(strict, dtype))
                number = True if dtype == "bool" else {"f": 2.0, "c": 2j}.get(dtype[0], 2)
                function = getattr(operator, name)
                with self.subTest(name, dtype=dtype):
                    same(self, function(ours(theirs), ours(theirs)), function(theirs, theirs))
                    same(self, function(ours(theirs), number), function(theirs, number))
                    same(self, function(number, ours(theirs)), function(number, theirs))
                    if name not in ("eq", "ne", "lt", "ge"):
                        in_place = getattr(operator, "i" + name.rstrip("_"))
                        same(self, in_place(ours(theirs), number), in_place(theirs, number))

    def test_indices(self):
        theirs = strict.reshape(strict.arange(24), (2, 3, 4))
        mask = theirs > 7
        rows = strict.asarray([1, 0, 1])
        for index in ((0, ...), (-1, ...), (1, 2, ...), (1, 2, 3), (..., 0), (slice(None), 1, ...),
                      (slice(None, None, -1), slice(1, 3), slice(0, 4, 2)),
                      (None, 0, ..., None), Ellipsis, mask, (rows, rows, rows), (rows, 1, 2)):
            with self.subTest(str(index)):
                same(self, ours(theirs)[ours(index)], theirs[index])
        self.assertEqual(ours(theirs)[plait.zeros((0, 3, 4), plait.bool)].shape, (0,))
        for index in ((0, 0, 0, 0), 2, (0, 3)):
            self.assertRaises(IndexError, lambda: ours(theirs)[index])
        x = plait.zeros((2, 3))
        x[0] = 1
        x[:, 1] = plait.asarray([5.0, 6.0])
        x[x > 5] = -1
        np.testing.assert_array_equal(x.numpy(), [[1, 5, 1], [0, -1, 0]])

    def test_numbers_of_python(self):
        one = {dtype: plait.ones((), dtype=dtype) for dtype in DTYPES}
        for dtype in DTYPES:
            for convert in (bool, int, float, complex, operator.index):
                theirs = strict.ones((), dtype=getattr(strict, dtype))
                with self.subTest(dtype, convert=convert.__name__):
                    try:
                        wanted = convert(theirs)
                    except TypeError:
                        self.assertRaises(TypeError, convert, one[dtype])
                        continue
                    self.assertEqual((convert(one[dtype]), type(convert(one[dtype]))), (wanted, type(wanted)))
        self.assertEqual(math.copysign(1, complex(plait.tensor(complex(1, -0.0))).imag), -1)
        for convert in (bool, int, float, complex, operator.index):
            self.assertRaises((TypeError, ValueError), convert, plait.ones((2,), dtype=plait.int32))
        self.assertEqual([0, 1, 2][plait.asarray(1)], 1)
        self.assertRaises(OverflowError, int, plait.tensor(math.inf))
        self.assertRaises(ValueError, int, plait.tensor(math.nan))

    def test_sequences(self):
        x = plait.asarray([[1, 2], [3, 4]])
        self.assertEqual(len(x), 2)
        self.assertEqual([[int(each) for each in row] for row in x], [[1, 2], [3, 4]])
        self.assertTrue(3 in x)
        self.assertFalse(7 in x)
        for call in (len, iter, list):
            self.assertRaises(TypeError, call, plait.asarray(1))

    def test_hashes_are_of_the_object(self):
        x, y = plait.ones(2), plait.ones(2)
        self.assertEqual({x: "x", y: "y"}[x], "x")
        self.assertEqual(hash(plait.float32), hash(plait.DType("f32")))
        self.assertEqual({plait.float32: 1}[plait.DType("float32")], 1)

    def test_copies(self):
        for dtype in plait.dtypes:
            keys = plait.random.split_key(plait.random.key(1), 4)
            x = keys if dtype == plait.dtypes[-1] else plait.astype(plait.asarray([[1, 0], [2, 3]]), dtype)

            def same_bytes(y, x=x):
                self.assertEqual((y.numpy().tobytes(), y.shape, y.dtype), (x.numpy().tobytes(), x.shape, x.dtype))

            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with self.subTest(dtype.name, protocol=protocol):
                    same_bytes(pickle.loads(pickle.dumps(x, protocol)))
                    self.assertEqual(pickle.loads(pickle.dumps(dtype, protocol)), dtype)
            same_bytes(copy.copy(x))
            same_bytes(copy.deepcopy(x))
            if x.ndim == 2:
                self.assertEqual(pickle.loads(pickle.dumps(x.T[1:])).numpy().tobytes(), x.T[1:].numpy().tobytes())
        self.assertEqual(pickle.loads(pickle.dumps(plait.zeros((0, 3)))).shape, (0, 3))
        self.assertEqual(copy.deepcopy(plait.float32), plait.float32)

        buffers = []
        data = pickle.dumps(plait.zeros((1000,)), 5, buffer_callback=buffers.append)
        self.assertLess(len(data), 1000)  # the numbers are stored separately
        self.assertEqual(pickle.loads(data, buffers=buffers).shape, (1000,))

        x = plait.zeros(2)
        for y in (copy.copy(x), copy.deepcopy(x)):
            y[0] = 5
            self.assertEqual(x.numpy().tolist(), [0, 0])
        self.assertRaisesRegex(plait.TypeError, "being recorded", lambda: plait.trace(lambda x: pickle.dumps(x))(x))

    def test_functions_are_pickled_by_name(self):
        for function in (plait.softmax, plait.linalg.svd, plait.random.normal):
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertIs(copy.deepcopy(function), function)

    def test_shown_with_their_dtype(self):
        for dtype in DTYPES:
            self.assertIn(plait.DType(dtype).name, repr(plait.zeros(2, dtype=dtype)))
        self.assertEqual(repr(plait.zeros(1).device), "plait.Device('cpu')")

    def test_arrays_of_numpy(self):
        x = plait.asarray([1.5, 2.5])
        self.assertEqual(np.asarray(x).dtype, np.float32)
        self.assertEqual(np.asarray(x, dtype=np.float64).dtype, np.float64)
        self.assertRaises(ValueError, np.asarray, x, dtype=np.float64, copy=False)
        self.assertFalse(np.shares_memory(np.array(x, copy=True), np.asarray(x)))

    def test_copy_as_asked(self):
        array = np.arange(3.0)
        shared, copied = plait.asarray(array, copy=False), plait.asarray(array, copy=True)
        array[0] = 7
        self.assertEqual((float(shared[0]), float(copied[0])), (7, 0))
        x = plait.zeros(3)
        self.assertIs(plait.asarray(x), x)
        self.assertIs(plait.asarray(x, copy=False, dtype=x.dtype), x)
        self.assertIsNot(plait.asarray(x, copy=True), x)
        for call in (lambda: plait.asarray(x, dtype=plait.f64, copy=False), lambda: plait.asarray([1, 2], copy=False)):
            self.assertRaises(ValueError, call)

    def test_what_only_u64_holds(self):
        big = 2**64 - 1
        self.assertEqual(int(plait.full((), big, dtype=plait.uint64)), big)
        self.assertEqual(int(plait.zeros((), dtype=plait.uint64) + big), big)
        self.assertRaises(plait.ValueError, lambda: plait.full((), 2**64))


if __name__ == "__main__":
    unittest.main()
