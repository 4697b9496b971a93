"""All that host code can reach: objects that are looked into or make it run at each call, and those that count as constant."""

import array
import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import ipaddress
import math
import operator
import pathlib
import re
import string
import struct
import threading
import types
import typing
import unittest
import unittest.mock
import uuid
import warnings

import numpy as np
import plait as pl


def number(value):
    return pl.tensor(float(value))


class Layer(pl.Module):
    def __init__(self):
        self.w = number(1)

    def __call__(self, x):
        return x * self.w


class Box:
    def __init__(self, **named):
        self.__dict__.update(named)


class Queue(collections.deque):
    pass


class Partial(functools.partial):
    pass


class Words(dict):
    rate = 1.0


class Members(set):
    rate = 1.0


class Rated(np.ndarray):
    rate = 1.0


RATES = [1.0]


class Strange:
    scale = 1.0

    def scaled(self, by, x):
        return x * by * self.scale

    part = functools.partialmethod(scaled, 1.0)

    @functools.singledispatchmethod
    def dispatched(self, x):
        return x * RATES[0]

    def __class_getitem__(cls, item):
        return lambda x: x * RATES[0]


class Made:
    def __new__(cls, x):
        return x * RATES[0]


class Held:
    layer = Layer()
    f = staticmethod(layer)


@functools.singledispatch
def dispatched(x):
    return x * RATES[0]


@functools.lru_cache
def kept():
    return RATES[0]


@functools.lru_cache
def power(n, base=2.0):
    return math.pow(base, n)


def change_rates(value):
    RATES[0] = value
    kept.cache_clear()


def change_w(layer):
    return lambda value: setattr(layer, "w", number(value))


def ways_to_hold_a_module():
    """(name, function, what changes before each call)."""
    m = Layer()
    jitted, partial, cached, own_partial = pl.jit(m), functools.partial(m), functools.lru_cache(maxsize=0)(m), Partial(m)
    queue, members, keys, pairs, error = Queue([m]), frozenset([m]), {m: 1}, {(m, 1)}, Exception(m)
    objects = np.array([m, None], dtype=object)
    default = collections.defaultdict(lambda: m)
    change = change_w(m)
    return [
        ("jit", lambda x: jitted(x), change), ("partial", lambda x: partial(x), change), ("lru_cache", lambda x: cached(x), change),
        ("staticmethod", lambda x: Held.f(x), change_w(Held.layer)), ("subclass of partial", lambda x: own_partial(x), change),
        ("subclass of deque", lambda x: queue[0](x), change), ("frozenset", lambda x: next(iter(members))(x), change),
        ("keys", lambda x: next(iter(keys))(x), change), ("tuples in a set", lambda x: next(iter(pairs))[0](x), change),
        ("exception", lambda x: error.args[0](x), change), ("array of objects", lambda x: objects[0](x), change),
        ("defaultdict", lambda x: default.default_factory()(x), change)]


def ways_of_libraries():
    event, lock, context, mock = threading.Event(), threading.Lock(), contextlib.nullcontext(number(1)), unittest.mock.Mock(return_value=1.0)
    masked, rated = np.ma.array([1.0, 1.0, 1.0], mask=[0, 1, 1]), np.ones(2).view(Rated)
    vectorized, ufunc = np.vectorize(lambda q: q * RATES[0]), np.frompyfunc(lambda q: q * RATES[0], 1, 1)
    buffer, raw, chain = array.array("d", [1.0]), bytearray([1]), collections.ChainMap({}, {"rate": 1.0})
    words, members, precision = Words(), Members(), decimal.Context(prec=1)
    strange = Strange()

    def within(x):
        with context as value:
            return x * value

    def hold(value):
        if value > 1:
            lock.acquire(blocking=False)
        elif lock.locked():
            lock.release()

    def mask(value):
        masked.mask = [0, int(value) < 2, int(value) < 3]

    def change(thing, name):
        return lambda value: setattr(thing, name, value)

    def set_event(value):
        (event.set if value > 1 else event.clear)()

    return [
        ("Event", lambda x: x * (2.0 if event.is_set() else 1.0), set_event), ("Lock", lambda x: x * (2.0 if lock.locked() else 1.0), hold),
        ("nullcontext", within, lambda value: setattr(context, "enter_result", number(value))),
        ("Mock", lambda x: x * mock(), change(mock, "return_value")), ("mask", lambda x: x * float(masked.sum()), mask),
        ("subclass of ndarray", lambda x: x * rated.rate, change(rated, "rate")), ("vectorize", lambda x: x * float(vectorized(1.0)), change_rates),
        ("frompyfunc", lambda x: x * ufunc(1.0), change_rates), ("array", lambda x: x * buffer[0], lambda value: buffer.__setitem__(0, value)),
        ("bytearray", lambda x: x * raw[0], lambda value: raw.__setitem__(0, int(value))),
        ("ChainMap", lambda x: x * chain["rate"], lambda value: chain.maps[1].update(rate=value)),
        ("subclass of dict", lambda x: x * words.rate, change(words, "rate")), ("subclass of set", lambda x: x * members.rate, change(members, "rate")),
        ("decimal.Context", lambda x: x * precision.prec, lambda value: setattr(precision, "prec", int(value))),
        ("partialmethod", lambda x: strange.part(x), change(strange, "scale")), ("singledispatchmethod", lambda x: strange.dispatched(x), change_rates),
        ("singledispatch", lambda x: dispatched(x), change_rates), ("__class_getitem__", lambda x: Strange[0](x), change_rates),
        ("__new__", lambda x: Made(x), change_rates), ("lru_cache that is cleared", lambda x: x * kept(), change_rates)]


class State(pl.Module):
    def __init__(self):
        self.w, self.children = number(1), []


def circles():
    root, child, table, words = State(), State(), {"w": number(1)}, [number(1)]
    child.parent = root
    root.children.append(child)
    table["self"] = table
    words.append(words)
    return [("modules", lambda x: x * root.children[0].w, change_w(child)), ("dict", lambda x: x * table["self"]["w"], lambda value: table.update(w=number(value))),
            ("list", lambda x: x * words[1][0], lambda value: words.__setitem__(0, number(value)))]


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 1


class Pair(typing.NamedTuple):
    first: object
    second: int = 2

    def total(self):
        return self.first + self.second


class Abstract(typing.Generic[typing.TypeVar("T")]):
    kind: typing.ClassVar[type] = int

    def __repr__(self):
        return f"{type(self).__name__}()"


def wrapped(f):
    @functools.wraps(f)
    def inner(*arguments):
        return f(*arguments)

    return inner


@wrapped
def doubled(x):
    return x * 2


def generic(x: "T") -> "T":
    return x


# Values that ordinary programs hold: nothing is said of them, and records are used again.
ORDINARY = {
    "numbers and text": (1, 1.5, True, None, "a", b"a", 2j, ..., NotImplemented), "ranges": (range(3), slice(1, 2)), "sets": (frozenset({"a", "b"}), {1, 2}),
    "enum": (Color.RED, Level.LOW, re.IGNORECASE), "types": (int, dict, Color, Config, np.float32, pl.Tensor), "dtypes": (pl.f32, np.dtype("f4"), np.dtype([("a", "f4")])),
    "expressions": (re.compile("a"), re.compile("a").match, string.Template("$a"), struct.Struct("d")),
    "functions of NumPy": (np.sin, np.add, np.sum, np.add.reduce, np.linalg.norm, np.finfo(np.float32), np.iinfo(np.int32)),
    "functions": (math.sqrt, len, operator.itemgetter(0), operator.add, doubled, functools.partial(doubled), str.upper, "a".join, dict.fromkeys, power),
    "functions of plait": (pl.sin, pl.nn.relu if hasattr(pl.nn, "relu") else pl.tanh, pl.grad(lambda x: x * x), pl.vmap(doubled), pl.jit(doubled), pl.script(doubled)),
    "typing": (typing.Any, typing.Optional[int], list[int], int | None, typing.TypeVar("T")),
    "dates": (datetime.date(2020, 1, 1), datetime.timedelta(1), datetime.timezone.utc, datetime.datetime(2020, 1, 1)),
    "numbers of libraries": (decimal.Decimal("1.5"), fractions.Fraction(1, 2), np.float32(1), np.int64(3)),
    "identifiers": (uuid.UUID(int=1), ipaddress.ip_address("127.0.0.1"), pathlib.PurePosixPath("a/b"), pathlib.Path("a")),
    "tuples": (Pair(1), Pair, Pair.first, Abstract(), Abstract[int]), "objects": (Config(), Box(rate=1.0, name="a"), types.SimpleNamespace(a=1), object(), dataclasses.MISSING, collections.OrderedDict(a=1), collections.Counter("aab"),
                collections.deque([1, 2]), collections.defaultdict(list, a=[1])),
    "modules": (math, np, pl, collections), "arrays": (np.ones(3), np.float64(2), np.zeros((0, 2)), np.array(["a"]), np.matrix([[1.0]])),
}


class Reach(unittest.TestCase):
    def test_what_changes_is_seen(self):
        for name, f, change in [*ways_to_hold_a_module(), *ways_of_libraries(), *circles()]:
            jitted = pl.jit(f)
            for value in 1.0, 2.0, 2.0, 1.0, 2.0:
                with self.subTest(name, value=value), warnings.catch_warnings():
                    warnings.simplefilter("ignore", pl.HostStateWarning)
                    change(value)
                    self.assertEqual(np.asarray(jitted(number(1))).tolist(), value)

    def test_results_that_a_function_keeps(self):
        """Another one is seen when they are forgotten, and not before."""
        f = lambda x: x * kept() * power(2)
        for jitted in f, pl.jit(f):
            kept.cache_clear()
            found = []
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pl.HostStateWarning)
                for value, clears in ((1.0, False), (5.0, False), (5.0, True), (2.0, False), (5.0, False), (2.0, True), (2.0, False)):
                    RATES[0] = value
                    if clears:
                        kept.cache_clear()
                    found.append(jitted(number(1)).item() / 4)
            self.assertEqual(found, [1, 1, 5, 5, 5, 2, 2])
        pure = pl.jit(lambda x: x * power(3))
        with warnings.catch_warnings():
            warnings.simplefilter("error", pl.HostStateWarning)
            self.assertEqual([pure(number(1)).item() for _ in range(3)], [8] * 3)
        with self.assertWarnsRegex(pl.HostStateWarning, "cache_info"):
            pl.jit(lambda x: x * power(3) * power.cache_info().hits)(number(1))

    def test_it_is_said_what_nobody_can_see(self):
        lock, torch_like = threading.Lock(), np.ma.array([1.0])
        for held, text in ((lock, "lock is a lock, whose state is not visible"), (torch_like, "MaskedArray, whose mask may change"),
                           (Queue(), "whose contents are not visible as a deque"), (np.array([[1.0], None], dtype=object), "array of objects")):
            def f(x, held=held):
                return x * 2 if held is not None else x

            lock = held
            for g in f, lambda x: x * 2 if lock is not None else x:
                with self.assertWarnsRegex(pl.HostStateWarning, text.removeprefix("lock ")) as warned:
                    pl.jit(g)(number(1))
                self.assertEqual(warned.filename, __file__)
                with self.assertRaisesRegex(ValueError, "fullgraph"):
                    pl.jit(g, fullgraph=True)(number(1))

    def test_arguments_that_hold_themselves(self):
        table = {"w": number(2)}
        table["self"] = table
        f = pl.jit(lambda x, table: x * table["self"]["w"])
        with self.assertWarnsRegex(pl.HostStateWarning, "arg1 holds itself"):
            self.assertEqual(f(number(3), table).item(), 6)
        table["w"] = number(5)
        self.assertEqual((f(number(3), table).item(), pl.grad(f)(number(3), table).item()), (15, 5))
        deep = lambda x: deep(x)
        with self.assertRaises(RecursionError):
            pl.jit(deep)(number(1))

    def test_nothing_is_said_of_what_stays_as_it_is(self):
        for name, values in ORDINARY.items():
            for value in values:
                held, box = value, Box(held=value)
                for f in (lambda x: (x * 2, held is None), lambda x: x * 2 if box.held is not None else x):
                    with self.subTest(name, value=repr(value)[:60]), warnings.catch_warnings():
                        warnings.simplefilter("error", pl.HostStateWarning)
                        jitted = pl.jit(f)
                        for _ in range(3):
                            jitted(number(1))
                        self.assertEqual((jitted.stats().traces, jitted.stats().hits), (1, 2))


class ArgumentsOfOtherLibraries(unittest.TestCase):
    def test_a_call_that_fails_leaves_later_ones_alone(self):
        import torch

        total = pl.jit(lambda w, x: pl.sum(w * x))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(pl.TypeError, "not torch.Tensor"):
                total(pl.ones(3), torch.ones(3))
        for _ in range(3):
            self.assertEqual(total(pl.ones(3), pl.ones(3)).item(), 3)
        self.assertEqual((pl.stats(total).traces, pl.stats(total).hits), (1, 2))

    def test_arrays_that_cannot_be_compared(self):
        import torch

        total = pl.jit(lambda w, x: pl.sum(w * pl.asarray(x)))
        with self.assertWarnsRegex(pl.HostStateWarning, "arg1 is a torch.Tensor, whose state is not visible"):
            found = [total(pl.ones(3), torch.full((3,), float(i))).item() for i in range(3)]
        self.assertEqual(found, [0, 3, 6])


if __name__ == "__main__":
    unittest.main()
