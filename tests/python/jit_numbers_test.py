"""Numbers in jitted functions: sizes, whole numbers and floats among the arguments behave as the int and the float that they
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
        return type(value), plain(vars(value))
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


if __name__ == "__main__":
    unittest.main()
