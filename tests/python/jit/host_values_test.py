"""Functions of libraries that host code reaches as values, not by their names: an attribute, an element, a default, an argument."""

import builtins
import collections
import contextlib
import dataclasses
import datetime
import enum
import fractions
import functools
import importlib
import inspect
import itertools
import math
import operator
import os
import pathlib
import random
import secrets
import sys
import tempfile
import time
import types
import unittest
import unittest.mock
import uuid
import warnings
from datetime import datetime as date

import numpy as np
import plait as pl
import scipy.stats

CLOCK, CLOCKS, BY_NAME = time.perf_counter, [time.perf_counter], {"clock": time.perf_counter}
PARTIAL, RANDOMS, CALLERS = functools.partial(time.perf_counter), random.Random(0), (operator.methodcaller("random"), operator.attrgetter("random"))
NESTED = {"clocks": [(time.perf_counter,)]}
STEP = itertools.count(0.5).__next__
ENVIRONMENT, FOLDERS, STATS = [os.getenv], [os.getcwd, os.listdir], {"stat": os.stat}
MODULES, CLASSES, LOADERS, MAKERS = [time, random], [datetime.datetime, date], [importlib.import_module, __import__], [random.Random, np.random.default_rng]
TOKENS, IDENTITIES = [secrets.randbelow], (uuid.uuid4, id)
RAW = np.random.default_rng(0).bit_generator.random_raw
OWN = types.ModuleType("own")
OWN.value, OWN.clock, OWN.numbers = 1.0, time.perf_counter, random
OWN_MODULES, LIBRARIES, MATHS, SYSTEM = [OWN], [np], [math], [os]
sys.modules["own"] = OWN
FOLDER = tempfile.mkdtemp()
READING, PATHS, OPENING, GETTING = [pathlib.Path(FOLDER, "a").read_text], [pathlib.Path], [open], [os.environ.get]
LOADING, LIMITS, ERRORS = [np.loadtxt], [sys.getrecursionlimit], [np.geterr]
KEPT = [math.sqrt, len, operator.add, np.sqrt, functools.partial(max, 2), operator.neg, os.path.join, float, np.array, fractions.Fraction]
SEEDED, DATES = [functools.partial(random.Random, 3)], [datetime.datetime(2020, 1, 1)]
Pair = collections.namedtuple("Pair", "clock rate")
PAIR, SPACE = Pair(time.perf_counter, 1.0), types.SimpleNamespace(clock=time.perf_counter)
SET = frozenset([time.perf_counter])
SLICE, QUEUE, WORDS = slice(time.perf_counter, None), collections.deque([time.perf_counter]), collections.UserDict(clock=time.perf_counter)
NAME = "perf_counter"


@dataclasses.dataclass
class Timed:
    clock: object = time.perf_counter
    rate: float = 1.0


@dataclasses.dataclass
class Unused(Timed):
    def __call__(self, x):
        return x * self.rate


class Date(datetime.datetime):
    pass


class Drawing(random.Random):
    pass


class Slotted:
    __slots__ = ("clock",)

    def __init__(self):
        self.clock = time.perf_counter


class Clocks(enum.Enum):
    FIRST = (time.perf_counter,)


class Holder:
    clock = time.perf_counter
    static = staticmethod(time.perf_counter)
    now = property(functools.partial(lambda clock, self: clock(), time.perf_counter))

    def __init__(self):
        self.own, self.module, self.stat = time.perf_counter, random, os.stat
        self.rng = random.Random(0)
        self.draw = self.rng.random


class Called:
    __call__ = staticmethod(time.perf_counter)


HOLDER, CALLED, TIMED, SLOTTED = Holder(), Called(), Timed(), Slotted()
DRAWERS = [Drawing]
DISTRIBUTIONS, EVALUATING = [scipy.stats.norm(0, 1).rvs], [eval]
cached = functools.lru_cache(maxsize=0)(time.perf_counter)
BOUND = types.MethodType(time.clock_gettime, time.CLOCK_MONOTONIC)


def by_default(x, clock=time.perf_counter):
    return x * clock()


def by_keyword(x, *, clock=time.perf_counter):
    return x * clock()


def with_cell():
    clocks = [time.perf_counter]
    return lambda x: x * clocks[0]()


def with_alias(x):
    module = time
    return x * module.perf_counter()


def with_local_import(x):
    import time as clocks

    return x * (lambda: clocks.perf_counter())()


def with_dotted_import(x):
    import numpy.random as draws

    return x * draws.rand()


def with_dotted_name(x):
    import os.path

    return x * int.from_bytes(os.urandom(4), "big")


def with_dotted_path(x):
    import os.path as paths

    return x * paths.getsize(FOLDER + "/a")


def with_submodule(x):
    arrays = np
    return x * arrays.random.rand()


def with_context(x):
    with contextlib.nullcontext(time) as clocks:
        return x * clocks.perf_counter()


def with_steady_alias(x):
    numbers = np
    return x * numbers.sqrt(4.0)


def loading(x):
    import loaded

    return x * loaded.value


def helper(module):
    return module.perf_counter()


# Functions of x, which return something else at each call.
VALUES = {
    "a list": lambda x: x * CLOCKS[0](), "a dict": lambda x: x * BY_NAME["clock"](), "a tree": lambda x: x * NESTED["clocks"][0][0](),
    "a partial": lambda x: x * PARTIAL(), "a set": lambda x: x * next(iter(SET))(), "map": lambda x: x * next(map(lambda f: f(), CLOCKS)),
    "reduce": lambda x: x * functools.reduce(lambda total, f: total + f(), CLOCKS, 0.0), "a global": lambda x: x * CLOCK(),
    "a namedtuple": lambda x: x * PAIR.clock(), "a namespace": lambda x: x * SPACE.clock(), "a dataclass": lambda x: x * TIMED.clock(),
    "slots": lambda x: x * SLOTTED.clock(), "an enumeration": lambda x: x * Clocks.FIRST.value[0](), "an attribute": lambda x: x * HOLDER.own(),
    "a class attribute": lambda x: x * Holder.clock(), "staticmethod": lambda x: x * HOLDER.static(),
    "property": lambda x: x * HOLDER.now, "__call__": lambda x: x * CALLED(), "a default": by_default, "a keyword": by_keyword,
    "a bound function": lambda x: x * BOUND(), "a cell": with_cell(), "lru_cache": lambda x: x * cached(),
    "getattr": lambda x: x * getattr(time, "perf_counter")(), "a computed name": lambda x: x * getattr(time, NAME)(),
    "getattr of builtins": lambda x: x * builtins.getattr(time, NAME)(), "vars": lambda x: x * vars(time)["perf_counter"](), "an alias": with_alias,
    "a local import": with_local_import, "a dotted import": with_dotted_import, "a dotted name": with_dotted_name, "a parameter": lambda x: x * helper(time),
    "a module": lambda x: x * MODULES[0].perf_counter(), "a module of an object": lambda x: x * HOLDER.module.random(),
    "a module of a module": lambda x: x * OWN_MODULES[0].numbers.random(), "a function of a module": lambda x: x * OWN_MODULES[0].clock(),
    "a submodule": lambda x: x * LIBRARIES[0].random.rand(), "__import__": lambda x: x * __import__("random").random(),
    "a module's dict": lambda x: x * random.__dict__["random"](), "itemgetter": lambda x: x * operator.itemgetter(NAME)(time.__dict__)(),
    "methodcaller": lambda x: x * operator.methodcaller("random")(random), "attrgetter": lambda x: x * operator.attrgetter("perf_counter")(time)(),
    "a dotted attrgetter": lambda x: x * operator.attrgetter("random.rand")(np)(), "a kept methodcaller": lambda x: x * CALLERS[0](random),
    "a loader": lambda x: x * LOADERS[0]("random").random(), "a kept __import__": lambda x: x * LOADERS[1]("random").random(),
    "now": lambda x: x * date.now().microsecond, "now of a class": lambda x: x * CLASSES[0].now().microsecond,
    "now of a subclass": lambda x: x * Date.now().microsecond, "now of an object": lambda x: x * DATES[0].now().microsecond,
    "a generator's method": lambda x: x * HOLDER.draw(), "an iterator's method": lambda x: x * STEP(), "a bit generator": lambda x: x * (RAW() % 1009),
    "secrets": lambda x: x * TOKENS[0](1 << 20), "uuid4": lambda x: x * (IDENTITIES[0]().int % 100003), "a class": lambda x: x * MAKERS[0]().random(),
    "default_rng": lambda x: x * MAKERS[1]().random(), "a user's class": lambda x: x * DRAWERS[0]().random(),
    "a frozen distribution": lambda x: x * DISTRIBUTIONS[0](), "eval": lambda x: x * builtins.eval("CLOCK()"), "a kept eval": lambda x: x * EVALUATING[0]("CLOCK()"),
    "globals of a function": lambda x: x * helper.__globals__["CLOCK"](), "globals of a frame": lambda x: x * sys._getframe().f_globals["CLOCK"](),
    "a slice": lambda x: x * SLICE.start(), "a deque": lambda x: x * QUEUE[0](), "a UserDict": lambda x: x * WORDS["clock"](),
    "a module by another name": with_submodule, "a conditional module": lambda x: x * (time if len(x) else math).perf_counter(),
    "a module in a context": with_context, "a default module": lambda x, clocks=time: x * clocks.perf_counter(),
    "vmap": lambda x: pl.vmap(lambda y: y * CLOCKS[0]())(x), "grad": lambda x: pl.grad(lambda y: pl.sum(y * CLOCKS[0]()))(x),
    "a frame": lambda x: x * inspect.currentframe().f_globals["CLOCK"](),
}
# Functions of x and of a function or module, which return something else at each call.
ARGUMENTS = {
    "an argument": (lambda x, f: x * f(), time.perf_counter), "a named argument": (lambda x, *, f: x * f(), time.perf_counter),
    "a list": (lambda x, f: x * f[0](), [time.perf_counter]), "a partial": (lambda x, f: x * f(), PARTIAL), "a module": (lambda x, f: x * f.perf_counter(), time),
    "a dict": (lambda x, f: x * f["clock"](), BY_NAME), "an object": (lambda x, f: x * f.own(), HOLDER), "a function of Python": (lambda x, f: x * (f().int % 100003), uuid.uuid4),
}
# Each reads something outside.
OUTSIDE = {
    "getenv": lambda x: x * float(ENVIRONMENT[0]("PLAIT_TEST")), "listdir": lambda x: x * len(FOLDERS[1](FOLDER)), "getcwd": lambda x: x * len(FOLDERS[0]()),
    "stat": lambda x: x * HOLDER.stat(FOLDER + "/a").st_size, "stat of a dict": lambda x: x * STATS["stat"](FOLDER + "/a").st_size,
    "a method of a path": lambda x: x * len(READING[0]()), "a class of paths": lambda x: x * len(PATHS[0](FOLDER, "a").read_text()),
    "open": lambda x: x * len(OPENING[0](FOLDER + "/a").read()), "a module": lambda x: x * float(SYSTEM[0].getenv("PLAIT_TEST")),
    "an environment": lambda x: x * float(SYSTEM[0].environ["PLAIT_TEST"]), "a method of the environment": lambda x: x * float(GETTING[0]("PLAIT_TEST")),
    "NumPy": lambda x: x * float(LOADING[0](FOLDER + "/a")), "the recursion limit": lambda x: x * LIMITS[0](), "errors": lambda x: x * len(ERRORS[0]()["divide"]),
    "a dotted module": with_dotted_path, "a module's value": lambda x: x * __import__("own").value, "a loaded module's value": lambda x: x * LOADERS[0]("own").value,
    "a kept module's value": lambda x: x * OWN_MODULES[0].value,
}
# These may be recorded.
STEADY = {
    "math": lambda x: x * KEPT[0](4.0), "len": lambda x: x * KEPT[1]([1, 2]), "operator": lambda x: KEPT[2](x, 1.0), "a ufunc": lambda x: x * KEPT[3](4.0),
    "a partial": lambda x: x * KEPT[4](3), "a seed": lambda x: x * SEEDED[0]().random(),
    "sorted": lambda x: x * sorted([2, 1], key=KEPT[5])[0], "a module": lambda x: x * LIBRARIES[0].pi, "modules": lambda x: x * MATHS[0].sqrt(4.0),
    "a dataclass": lambda x: x * TIMED.rate, "another": Unused(), "fromtimestamp": lambda x: x * DATES[0].replace(year=2).year,
    "join": lambda x: x * len(KEPT[6]("a", "b")), "a date": lambda x: x * CLASSES[0](2020, 1, 1).year, "an alias": with_steady_alias, "time": lambda x: x * MODULES[0].CLOCK_REALTIME,
    "a class": lambda x: x * KEPT[7](3), "fromiter": lambda x: x * len(KEPT[8]([1, 2])), "Fraction": lambda x: x * float(KEPT[9](1, 2)),
}


class Values(unittest.TestCase):
    def jitted(self, function, *others, **named):
        """With a warning that names a line of this file at its first call."""
        jitted = pl.jit(function)
        with self.assertWarns(pl.HostStateWarning) as warned:
            jitted(pl.ones(1, dtype=pl.f64), *others, **named)
        self.assertEqual(pathlib.Path(warned.filename).name, "host_values_test.py")
        return jitted

    def test_each_call_runs_them_again(self):
        for name, function in VALUES.items():
            with self.subTest(name):
                jitted = self.jitted(function)
                found = {jitted(pl.ones(1, dtype=pl.f64)).item() for _ in range(4)}
                self.assertGreater(len(found), 1)
                self.assertEqual(pl.stats(jitted).traces, 0)

    def test_of_arguments(self):
        for name, (function, other) in ARGUMENTS.items():
            others, named = ((), {"f": other}) if name == "a named argument" else ((other,), {})
            with self.subTest(name):
                jitted = self.jitted(function, *others, **named)
                self.assertGreater(len({jitted(pl.ones(1, dtype=pl.f64), *others, **named).item() for _ in range(4)}), 1)

    def test_what_is_outside_is_read_at_each_call(self):
        before = os.getcwd(), sys.getrecursionlimit(), np.geterr()
        self.addCleanup(np.seterr, **before[2])
        self.addCleanup(sys.setrecursionlimit, before[1])
        self.addCleanup(os.chdir, before[0])
        for name, function in OUTSIDE.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", pl.HostStateWarning)
                jitted = pl.jit(function)
                for n in 1, 2, 3:
                    change_outside(n)
                    self.assertEqual(jitted(pl.ones(1)).item(), function(pl.ones(1)).item())

    def test_the_warning_names_the_line_that_reads_it(self):
        def f(x):
            y = x + 1
            return y * HOLDER.own()

        with self.assertWarnsRegex(pl.HostStateWarning, r"HOLDER.own \(perf_counter\) returns a different value at each call\n  hint: use plait.random") as warned:
            pl.jit(f)(pl.ones(1))
        self.assertEqual(warned.lineno, inspect.getsourcelines(f)[1] + 2)

    def test_a_module_that_the_first_call_loads(self):
        names = {"loading": "loaded", "relative": "package.inner"}
        folder = pathlib.Path(FOLDER, "package")
        folder.mkdir()
        pathlib.Path(FOLDER, "loaded.py").write_text("value = 1.0")
        (folder / "__init__.py").write_text("from package.outer import relative")
        (folder / "inner.py").write_text("value = 1.0")
        (folder / "outer.py").write_text("def relative(x):\n    from . import inner\n    return x * inner.value\n")
        with unittest.mock.patch("sys.path", [FOLDER, *sys.path]):
            for function in loading, importlib.import_module("package").relative:
                jitted = pl.jit(function)
                for value in 1.0, 2.0, 3.0, 3.0, 3.0:
                    found = jitted(pl.ones(1)).item()
                    module = sys.modules[names[function.__name__]]
                    self.assertEqual(found, module.value)
                    module.value = value
                self.assertGreater(pl.stats(jitted).hits, 0)

    def test_with_fullgraph_it_is_an_error(self):
        for function in VALUES["a list"], OUTSIDE["getenv"], VALUES["__import__"]:
            with self.assertRaisesRegex(pl.ValueError, "fullgraph"):
                pl.jit(function, fullgraph=True)(pl.ones(1))

    def test_others_are_recorded(self):
        for name, function in STEADY.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error")
                jitted = pl.jit(function)
                for _ in range(3):
                    self.assertEqual(jitted(pl.ones(1)).item(), function(pl.ones(1)).item())
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (1, 2))


def change_outside(n):
    os.environ["PLAIT_TEST"] = str(n)
    pathlib.Path(FOLDER, "a").write_text("1" * n)
    folder = pathlib.Path(FOLDER, "b" * n)
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    sys.setrecursionlimit(3000 + n)
    np.seterr(divide=("warn", "ignore", "raise")[n % 3])
    OWN.value = float(n)


if __name__ == "__main__":
    unittest.main()
