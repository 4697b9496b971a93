"""Numbers in jitted functions: sizes, integers and floats among the arguments behave as the int and the float that they
stand for. Everything that those can do is done with and without jit, for several values."""

import ast
import bisect
import collections
import copy
import dataclasses
import datetime
import decimal
import fractions
import functools
import itertools
import json
import math
import operator
import pickle
import statistics
import string
import struct
import unittest
import warnings

import numpy as np
import plait as pl

WHOLE = (2, 3, 4, 1, 3)
REAL = (0.5, 2.0, -1.25, 0.1, -0.0)
MATH = [name for name in dir(math) if callable(getattr(math, name)) and not name.startswith("_")]
UNARY = ["abs", "neg", "pos", "invert", "not_", "truth", "index"]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "eq", "ne", "lt", "le", "gt", "ge"]
BESIDE = [0, 1, 2, 3, -2, 2**62, 2**70, True, 0.0, 0.5, 2.0, 3.0, -1.5, 1e300, math.inf, -math.inf, math.nan, 2j, "a", None, [1], (3,),
          fractions.Fraction(3, 2), decimal.Decimal(3), np.float32(3), np.int64(3), np.float64(2.5), datetime.timedelta(seconds=2)]

BESIDE_POWERS = [each for each in BESIDE if type(each) is not int or each < 2**62]


@dataclasses.dataclass(frozen=True)
class Key:
    n: object


Pair = collections.namedtuple("Pair", "n m")

BUILTINS = {
    "int": int, "float": float, "complex": complex, "bool": bool, "str": str, "repr": repr, "hash": hash, "format": format, "bin": bin, "hex": hex,
    "oct": oct, "chr": chr, "range": lambda n: list(range(n)), "round": round, "round to": lambda n: (round(n, 1), round(n, -1)),
    "divmod": lambda n: (divmod(n, 3), divmod(7, n)), "pow with modulus": lambda n: (pow(n, 2, 3), pow(2, n, 5)), "sum": lambda n: sum([n, 1, n]),
    "max": lambda n: (max(n, 3), min(n, 3), max([1, n]), min(n, 2.5)), "sorted": lambda n: sorted([3, n, 2.5]), "bisect": lambda n: bisect.bisect([1, 3, 5], n),
    "isinstance": lambda n: (isinstance(n, int), isinstance(n, float), isinstance(n, bool), isinstance(n, (int, float))),
    "formats": lambda n: (f"{n}", f"{n:5}", f"{n:.2f}", "%s" % n, "{:>4}".format(n), string.Template("$n").substitute(n=n)),
    "percent": lambda n: ("%d" % n, "%.1f" % n), "conditions": lambda n: ("odd" if n % 2 else "even", n and 1, n or 2, not n),
    "chain": lambda n: 1 < n <= 3, "in": lambda n: (n in (3.0, 5.0), n in [2, 3], n in {2, 3}, n in range(3), n in {3: 1}), "lookup": lambda n: {1: "a", 2: "b", 0.5: "c", 0.1: "d"}.get(n, "none"),
    "lookup by a comparison": lambda n: {True: "long", False: "short"}[n > 2], "is True": lambda n: ((n > 2) is True, (n == 2) is True),
    "match": lambda n: _matched(n), "json": lambda n: json.dumps({"n": n, "of": [n]}), "json key": lambda n: json.dumps({n: 1}), "struct": lambda n: struct.pack("<q", n),
    "struct of a float": lambda n: struct.pack("<d", n), "pickle": lambda n: pickle.loads(pickle.dumps(n)), "copy": lambda n: (copy.copy(n), copy.deepcopy([n])),
    "bytes": bytes, "text times": lambda n: ("ab" * n, [0] * n, n * "ab"), "slice": lambda n: "abcdefgh"[:n], "index": lambda n: "abcdefghij"[n], "literal": lambda n: ast.literal_eval(repr(n)),
    "Fraction": lambda n: fractions.Fraction(n), "Fraction of two": lambda n: fractions.Fraction(n, 3), "Decimal": decimal.Decimal,
    "timedelta": lambda n: datetime.timedelta(seconds=n), "numpy": lambda n: (np.zeros(3) + n, np.float32(n), np.full((2,), n), np.sin(n)),
    "numpy sizes": lambda n: np.zeros((n, 2)), "accumulate": lambda n: list(itertools.accumulate([n, 1, n])), "mean": lambda n: statistics.mean([n, 2 * n]),
    "reduce": lambda n: functools.reduce(operator.mul, [n, 2, n]), "dict key": lambda n: {n: "a", (n, 1): "b"}, "nested keys": lambda n: {((n,), "k"): 1, frozenset([n]): 2, Key(n): 3, Pair(n, 1): 4},
    "set": lambda n: ({n, 1}, frozenset([n, 1])), "named tuple": lambda n: Pair(n, [n]), "dataclass": lambda n: Key(n), "slices": lambda n: (slice(n), slice(0, n, 1)),
    "counted": lambda n: dict(collections.Counter([n, n, 1])), "deque": lambda n: collections.deque([n, 1]),
    "nested": lambda n: [n, {"n": (n, [n, {"m": n + 1}])}], "to_bytes": lambda n: n.to_bytes(2, "big"), "next power": lambda n: 1 << (n - 1).bit_length(),
    "ratio": lambda n: n.as_integer_ratio(), "hex of a float": lambda n: n.hex(), "is_integer": lambda n: n.is_integer(), "real": lambda n: (n.real, n.imag, n.conjugate()),
    "numerator": lambda n: (n.numerator, n.denominator), "sum of squares": lambda n: sum(i * n for i in (1, 2, 3)), "enumerated": lambda n: list(zip("abcdefgh", itertools.repeat(n, 3))),
    "error": lambda n: _raise(n), "average": lambda n: (n + 1) / 2, "half": lambda n: n // 2, "percentage": lambda n: 100 * n / 8,
}


def _matched(n):
    match n:
        case 2:
            return "two"
        case 3.0:
            return "three"
        case int():
            return "int"
        case float():
            return "float"


def _raise(n):
    raise KeyError(n, (n, 1))


def operations():
    """(name, function of a number)."""
    yield from BUILTINS.items()
    for name in UNARY:
        yield name, getattr(operator, name)
    for name in BINARY:
        for other in BESIDE if name not in ("pow", "lshift") else BESIDE_POWERS:
            yield f"n {name} {other!r}", lambda n, of=getattr(operator, name), other=other: of(n, other)
            yield f"{other!r} {name} n", lambda n, of=getattr(operator, name), other=other: of(other, n)
        yield f"n {name} n", lambda n, of=getattr(operator, name): of(n, n)
        yield f"n {name} (n + 1)", lambda n, of=getattr(operator, name): of(n, n + 1)
    for name in MATH:
        yield f"math.{name}", getattr(math, name)
        yield f"math.{name} with 2", lambda n, of=getattr(math, name): of(n, 2)
        yield f"math.{name} of [n, 2]", lambda n, of=getattr(math, name): of([n, 2])


def attributes(kind):
    for name in sorted(set(dir(kind)) - {"__class__", "__doc__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__", "__setattr__",
                                         "__delattr__", "__dir__", "__sizeof__", "__reduce__", "__reduce_ex__", "__getstate__", "__getformat__", "fromhex"}):
        if name == "from_bytes":
            yield name, lambda n: n.from_bytes(b"ab", "big")
        elif not callable(getattr(kind, name)):
            yield name, eval(f"lambda n: n.{name}")  # no getattr, for which host code would be run at each call
        else:
            for others in ("", "2", "2.5") if kind is not int else ("", "2", "-1"):  # int's own operators take no floats
                yield f"{name}({others})", eval(f"lambda n: n.{name}({others})")


def plain(value):
    """With classes, and NaN equal to itself."""
    if isinstance(value, (np.ndarray, np.generic)):  # results of jitted functions have tensors in their place
        value = pl.asarray(value)
    if isinstance(value, pl.Tensor):
        return "tensor", value.dtype.name, tuple(value.shape), value.numpy().tobytes()
    if isinstance(value, dict):
        return type(value), [(plain(key), plain(each)) for key, each in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, map(plain, value)))
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value), [plain(each) for each in value]
    if isinstance(value, slice):
        return slice, plain((value.start, value.stop, value.step))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value), plain(value.__dict__)
    return type(value), repr(value)


def outcome(function, *arguments):
    try:
        return plain(function(*arguments))
    except Exception as error:
        return "raises", _kin(error), plain(error.args) if isinstance(error, KeyError) else None


def _kin(error):
    """Python's own class of it."""
    return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")


class Numbers(unittest.TestCase):
    def check(self, make, values, each):
        """make(function) gives a function of x and a value, that hands the number over."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            for name, function in each:
                eager = make(function)
                jitted = pl.jit(eager)
                for value in values:
                    with self.subTest(name, value=value):
                        wanted = outcome(eager, *value) if isinstance(value, tuple) else outcome(eager, value)
                        self.assertEqual(outcome(jitted, *value) if isinstance(value, tuple) else outcome(jitted, value), wanted)

    def test_sizes(self):
        self.check(lambda f: lambda x: f(x.shape[0]), [pl.ones(n) for n in WHOLE], itertools.chain(operations(), attributes(int)))

    def test_whole_numbers(self):
        self.check(lambda f: lambda n: f(n), (2, 3, 5, 0, -3), itertools.chain(operations(), attributes(int)))

    def test_floats(self):
        self.check(lambda f: lambda s: f(s), REAL, itertools.chain(operations(), attributes(float)))

    def test_floats_that_were_computed(self):
        self.check(lambda f: lambda s: f((s + 1.5) * 3), REAL, itertools.chain(operations(), attributes(float)))

    def test_complex_numbers(self):
        self.check(lambda f: lambda s: f(s), (1j, 2 + 0.5j, 0.1 + 0j, 1j), itertools.chain(operations(), attributes(complex)))


# ---- Beside tensors.

DTYPES = (pl.f16, pl.bf16, pl.f32, pl.f64, pl.c64, pl.c128, pl.i8, pl.i32, pl.i64, pl.u8, pl.boolean)
SCALES = (0.1, 1e-10, 2.0, -3.7, 1e300, math.inf, math.nan, -0.0)
ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "pow": operator.pow,
              "floordiv": operator.floordiv, "mod": operator.mod, "eq": operator.eq, "lt": operator.lt, "ge": operator.ge}


def beside(dtype):
    numbers = np.asarray([1, 0, 2, 1]) if dtype == pl.boolean else np.asarray([1, 3, 2, 7])
    return pl.astype(pl.asarray(numbers), dtype)


class BesideTensors(unittest.TestCase):
    def expect_same(self, function, x, values, traces=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jitted = pl.jit(function)
            for value in values:
                with self.subTest(x=x, value=value):
                    self.assertEqual(outcome(jitted, x, value), outcome(function, x, value))
        if traces is not None:
            self.assertEqual(pl.stats(jitted).traces, traces)

    def test_floats_take_the_dtype_of_tensors(self):
        for name, of in ARITHMETIC.items():
            for dtype in DTYPES:
                with self.subTest(name, dtype=dtype.name):
                    x = beside(dtype)
                    traces = None if outcome(of, x, 0.5)[0] == "raises" else 1
                    self.expect_same(lambda x, s, of=of: of(x, s), x, SCALES, traces)
                    self.expect_same(lambda x, s, of=of: of(s, x), x, SCALES, traces)
                    self.expect_same(lambda x, s, of=of: of(x, (s + 1.0) * 0.5 / 3), x, SCALES, traces)

    def test_complex_numbers_take_the_dtype_of_tensors(self):
        for dtype in DTYPES:
            for name in "add", "sub", "mul":
                self.expect_same(lambda x, s, of=ARITHMETIC[name]: (of(x, s), of(s, x)), beside(dtype), (1j, 0.1 + 1e-10j, 2 + 0j), 1)

    def test_with_names_and_nested(self):
        def f(x, *, s):
            return {"scaled": x * s, "s": s, "twice": [s, s * 2.0]}

        jitted = pl.jit(f)
        for s in 0.1, 0.2, 3.0:
            self.assertEqual(plain(jitted(pl.ones(2), s=s)), plain(f(pl.ones(2), s=s)))
        self.assertEqual(pl.stats(jitted).traces, 1)
        inner = pl.jit(lambda x, s: x * s)
        outer = pl.jit(lambda x, s: inner(x, s + 1.0) + inner(x, 0.1))
        for s in 0.1, 0.2, 3.0:
            for x in pl.ones(2, dtype=pl.f16), pl.ones(2, dtype=pl.f64):
                self.assertEqual(plain(outer(x, s)), plain(x * (s + 1.0) + x * 0.1))
        self.assertEqual(pl.stats(outer).traces, 2)

    def test_conditions_have_a_path_each(self):
        def f(x, s):
            return x * s if s > 0.5 else x / s

        self.expect_same(f, pl.ones(2, dtype=pl.f16), (0.1, 0.7, 0.2, 0.6), 2)

    def test_derivatives(self):
        for dtype in pl.f32, pl.f64:
            x = pl.ones(3, dtype=dtype)
            for s in 0.1, 0.3:
                wanted = plain(pl.grad(lambda x: pl.sum(x * x * s))(x))
                self.assertEqual(plain(pl.grad(lambda x: pl.jit(lambda x, s: pl.sum(x * x * s))(x, s))(x)), wanted)
                self.assertEqual(plain(pl.jit(pl.grad(lambda x, s: pl.sum(x * x * s)))(x, s)), wanted)
        for transform in (lambda f: pl.grad(f), lambda f: pl.value_and_grad(f), lambda f: lambda s: pl.jvp(f, (s,), (pl.tensor(1.0),)),
                          lambda f: lambda s: pl.vjp(f, s)[0]):
            for f in lambda s: s * s * 3.0, lambda s: pl.sum(pl.ones(2) * s):
                jitted = pl.jit(transform(f))
                for s in 2.0, 3.0, 0.1:
                    self.assertEqual(plain(jitted(s)), plain(transform(f)(s)))
                self.assertEqual(pl.stats(jitted).traces, 1)

    def test_functions_of_floats(self):
        x = pl.tensor([0.5, 2.0])
        for name, f in {"sin": lambda x, s: pl.sin(s) * x, "maximum": lambda x, s: pl.maximum(x, s), "where": lambda x, s: pl.where(x > 1, x, s),
                        "clip": lambda x, s: pl.clip(x, 0.0, s), "full": lambda x, s: pl.full((2,), s), "asarray": lambda x, s: pl.asarray(s) + x,
                        "tensor": lambda x, s: pl.tensor([s, 1.0]), "cond": lambda x, s: pl.cond(x[0] > 0, lambda a, s: a * s, lambda a, s: a - s, x, s),
                        "scan": lambda x, s: pl.scan(lambda c, e: (c + e, c), pl.asarray(s), x), "leaky_relu": lambda x, s: pl.leaky_relu(-x, s),
                        "method": lambda x, s: x.clip(s, 1.0), "set": lambda x, s: x.at[0].set(s), "stack": lambda x, s: pl.stack([x[0], s])}.items():
            for dtype in pl.f16, pl.f32, pl.f64:
                with self.subTest(name, dtype=dtype.name):
                    self.expect_same(f, pl.astype(x, dtype), (0.1, 0.7, 1.5))

    def test_many_values_that_are_needed_are_warned_of(self):
        f = pl.jit(lambda x, s: x * math.exp(s))
        with self.assertWarnsRegex(pl.HostStateWarning, "arg1"):
            for i in range(20):
                self.assertEqual(plain(f(pl.ones(1), i / 7)), plain(pl.ones(1) * math.exp(i / 7)))
        self.assertLess(pl.stats(f).traces, 12)

    def test_an_effect_before_a_number_is_needed_is_taken_back(self):
        state = {"count": pl.tensor(0.0)}

        def f(x, s):
            state["count"] = state["count"] + 1.0
            return x * {0.5: 2.0, 0.25: 4.0}[s]

        jitted = pl.jit(f)
        for s in 0.5, 0.25, 0.5:
            jitted(pl.ones(1), s)
        self.assertEqual(state["count"].item(), 3.0)
        self.assertRaises(KeyError, jitted, pl.ones(1), 0.75)


# ---- What is left behind.

class Left(unittest.TestCase):
    def check(self, f, calls, seen):
        """The same with and without jit, of a state that `seen` creates again."""
        outcomes = []
        for wrap in (lambda f: f), pl.jit:
            state = seen()
            g = wrap(functools.partial(f, state))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pl.HostStateWarning)
                outcomes.append([(plain(g(*each)), plain(vars(state) if isinstance(state, Box) else state)) for each in calls])
        self.assertEqual(outcomes[1], outcomes[0])

    def test_in_state(self):
        tensors, floats = [(pl.ones(n),) for n in (2, 3, 4, 2, 5)], [(0.5,), (1.5,), (0.5,), (0.25,)]
        ways = {
            "dict": lambda state, n: state.update(n=n), "key": lambda state, n: state.__setitem__(n, 1), "key of a tuple": lambda state, n: state.__setitem__((n, "a"), [n]),
            "nested": lambda state, n: state.__setitem__("deep", {"a": [(n, {n: n})]}), "object": lambda state, n: state.__setitem__("box", Box(n=n, of=[n])),
            "set": lambda state, n: state.setdefault("set", set()).add(n), "list": lambda state, n: state.setdefault("list", []).append((n,)),
            "key object": lambda state, n: state.__setitem__(Key(n), Pair(n, n)), "slice": lambda state, n: state.__setitem__("slice", slice(0, n)),
            "computed": lambda state, n: state.__setitem__("half", n / 2), "closure": lambda state, n: state.__setitem__("f", Call(lambda: n)),
        }
        for name, way in ways.items():
            def of_size(state, x, way=way):
                way(state, x.shape[0])
                return x

            def of_float(state, s, way=way):
                way(state, s)

            with self.subTest(name):
                self.check(of_size, tensors, dict)
                self.check(of_float, floats, dict)

    def test_in_attributes(self):
        def f(state, x):
            state.n = x.shape[0]
            state.shape = x.shape
            setattr(state, "number" + "s", [x.shape[0] * 2, {x.shape: x.shape[0]}])
            return x

        self.check(f, [(pl.ones(n),) for n in (2, 3, 4)], lambda: Box(n=0))

    def test_caches(self):
        cache, calls = {}, []

        @functools.lru_cache
        def squares(n):
            calls.append(n)
            return n * n

        @pl.jit
        def f(x):
            if x.shape not in cache:
                cache[x.shape] = pl.arange(float(x.shape[0]))
            return x * cache[x.shape]

        @pl.jit
        def g(x):
            return squares(x.shape[0])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            for n in 2, 3, 4, 2, 5:
                self.assertEqual(f(pl.ones(n)).numpy().tolist(), list(range(n)))
                self.assertEqual(plain(g(pl.ones(n))), plain(n * n))
        self.assertEqual([plain(key) for key in cache], [plain((n,)) for n in (2, 3, 4, 5)])

    def test_objects_in_results(self):
        ways = {"object": lambda x: Box(n=x.shape[0], sum=x.sum(), of=(x.shape, {x.shape: x.shape[0]})), "partial": lambda x: Call(functools.partial(pl.add, x)),
                "closure": lambda x: Call(lambda y: x * y), "list of objects": lambda x: [Box(x=x), Box(n=1)], "method": lambda x: Call(Box(x=x).scaled),
                "default": lambda x: Call(lambda y, x=x: x * y), "iterator": lambda x: Call(lambda y, i=iter(range(x.shape[0])): pl.tensor(list(i)))}
        for name, f in ways.items():
            jitted = pl.jit(f)
            with self.subTest(name), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                for x in pl.ones(2), pl.ones(2) * 3, pl.ones(3), pl.ones(4) * 2:
                    self.assertEqual(_told(jitted(x)), _told(f(x)))
                is_made_again = name in ("object", "partial", "list of objects")
                self.assertEqual([each.category for each in warned], [] if is_made_again else [pl.HostStateWarning])
        constants = (int, "a", Key, pl.f32, frozenset([1]), fractions.Fraction(1, 2), Box(n=1), math.sin, _raise)
        jitted = pl.jit(lambda x: (x, *constants))
        for _ in range(3):
            self.assertIs(jitted(pl.ones(2))[7], constants[6])
        self.assertEqual(pl.stats(jitted).hits, 2)

    def test_an_object_that_is_given_is_given_back(self):
        box, jitted = Box(n=1), pl.jit(lambda x, box: (x + box.n, box))
        for _ in range(3):
            self.assertIs(jitted(pl.ones(1), box)[1], box)
        self.assertEqual(pl.stats(jitted).hits, 2)


class Box:
    def __init__(self, **named):
        self.__dict__.update(named)

    def __repr__(self):
        return f"Box({[(name, plain(each)) for name, each in self.__dict__.items()]})"

    def scaled(self, y):
        return self.x * y


class Call:
    """A function, told by what it gives."""

    def __init__(self, function):
        self.function = function

    def __repr__(self):
        return repr(plain(self.function()))


def _told(value):
    return plain(value.function(pl.tensor(2.0))) if isinstance(value, Call) else plain(value)


if __name__ == "__main__":
    unittest.main()
