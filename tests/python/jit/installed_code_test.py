"""State in installed code, under site-packages: of packages that use Plait it is the user's own, of others what host code names is compared."""

import importlib
import pathlib
import re
import sys
import sysconfig
import tempfile
import types
import unittest
import warnings

import numpy as np
import plait as pl
from plait.inside.jit import host_effects

FILES = {
    "steady/__init__.py": """
from steady import settings, deeper
FLAG, TABLE, PAIR, NAMES, STEPS = 1.0, {"s": 1.0}, (1.0, [2.0]), {"a"}, 0
def scale(x): return x * FLAG
def scale_by_table(x): return x * TABLE["s"]
def outer(x): return scale(x)
def of_settings(x): return x * settings.RATE
def set_all(value):
    global FLAG, PAIR, NAMES
    FLAG = TABLE["s"] = settings.RATE = deeper.inner.RATE = Layer.s = OPTIONS.rate = value
    PAIR, NAMES = (value, [2.0]), {"a"} | ({str(value)} if value > 1 else set())
def count():
    global STEPS
    STEPS += 1
    return STEPS
class Layer:
    s = 1.0
    def __init__(self): self.w = 1.0
    def __call__(self, x): return x * self.w * self.s
    def scaled(self, x): return x * FLAG
    @staticmethod
    def fixed(x): return x * FLAG
class Options:
    def __init__(self): self.rate = 1.0
OPTIONS = Options()
def held(w): return lambda x: x * w
""",
    "steady/settings.py": "RATE = 1.0\n",
    "steady/deeper/__init__.py": "from steady.deeper import inner\n",
    "steady/deeper/inner.py": "RATE = 1.0\n",
    "large.py": """
import threading
TABLE, LOCK, COUNT = {i: float(i) for i in range(1000)}, threading.Lock(), 1.0
def f(x):
    with LOCK: return x * TABLE[3] * COUNT
""",
    "far/__init__.py": """
import calendar, functools, threading, time
from far import registry
RATE, LOCAL, LOG, BIG = 1.0, threading.local(), [], {i: 1.0 for i in range(1000)}
def first(x): return second(x)
def second(x): return third(x)
def third(x): return fourth(x)
def fourth(x): return x * RATE
def of_many(x): return x * BIG[7]
def of_thread(x): return x * LOCAL.rate
def of_clock(x, asks=False):
    if asks:
        return x * time.time()
    return x
def day(x): return x * (1.0 + calendar.firstweekday())
def log(x): return second_log(x)
def second_log(x): return third_log(x)
def third_log(x):
    LOG.append(1)
    return x
@functools.lru_cache
def cached(): return RATE
class Meta(type):
    @property
    def rate(cls): return cls._rate
class OfMeta(metaclass=Meta): _rate = 1.0
class Node:
    def __init__(self, inner): self.inner = inner
class Leaf:
    __slots__ = ("_rate",)
    def __init__(self): self._rate = 1.0
    @property
    def rate(self): return self._rate
TREE = Node(Node(Node(Leaf())))
def of_tree(x): return x * TREE.inner.inner.inner.rate
class Counter:
    def __init__(self): self.count = 0
    def next(self):
        self.count += 1
        return self.count
COUNTER = Counter()
""",
    "far/registry.py": """
RATE = 2.0
def twice(x): return x * RATE
FUNCTIONS = {"twice": twice, int: float}
def call(name, x): return FUNCTIONS[name](x)
""",
    "modelled/__init__.py": "",
    "modelled/config.py": """
TRAINING, OPTIONS = False, {"rate": 1.0}
class Mode:
    fast = False
def rate(): return OPTIONS["rate"]
""",
    "modelled/model.py": """
import plait as pl
from modelled import config
class Model(pl.Module):
    def __init__(self): self.w = pl.asarray(2.0)
    def __call__(self, x): return x * self.w * config.rate() if config.TRAINING or config.Mode.fast else x
@pl.jit
def forward(model, x): return model(x)
""",
    "later/__init__.py": "",
    "later/config.py": "class Mode:\n    def __init__(self): self.rates = [1.0] * 100\nmode = Mode()\n",
    "later/model.py": "import plait as pl\n",
}


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    root = pathlib.Path(folder.name, "site-packages")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    sys.path.insert(0, str(root))
    unittest.addModuleCleanup(sys.path.remove, str(root))


def modules_that_assign_globals():
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    for file in sorted([*folder.glob("*.py"), *folder.glob("*/*.py")]):
        module = ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        is_library = module.split(".")[0] in sys.stdlib_module_names
        if is_library and re.search(r"^ +global ", file.read_text(errors="replace"), re.MULTILINE):
            yield module


def is_known(module):
    parents = [module.rsplit(".", i)[0] for i in range(module.count(".") + 1)]
    return module in host_effects._OUTSIDE or module in host_effects._ANYTHING or any(each in host_effects._OUTSIDE_MODULES for each in parents)


def ways_to_read(steady):
    """Functions that multiply by what set_all sets."""
    scale, scaled, options, alias = steady.scale, steady.Layer().scaled, steady.OPTIONS, types.SimpleNamespace(of=steady.settings)
    layer, rate = steady.Layer(), "RA"

    def imported(x):
        from steady import scale_by_table as f
        return f(x)

    return {
        "an attribute": lambda x: x * steady.FLAG, "of a module within": lambda x: x * steady.settings.RATE,
        "deep": lambda x: x * steady.deeper.inner.RATE, "under another name": lambda x: x * alias.of.RATE,
        "computed": lambda x: x * getattr(steady.settings, rate + "TE"), "of a class": lambda x: x * steady.Layer.s,
        "a tuple": lambda x: x * steady.PAIR[0], "a set": lambda x: x * (1.0 if len(steady.NAMES) < 2 else steady.FLAG),
        "a dict": lambda x: x * steady.TABLE["s"], "an object": lambda x: x * steady.OPTIONS.rate,
        "an object by a global": lambda x: x * options.rate, "a function": lambda x: steady.scale(x),
        "a function by a global": lambda x: scale(x), "its table": lambda x: steady.scale_by_table(x),
        "its settings": lambda x: steady.of_settings(x), "what it calls": lambda x: steady.outer(x), "imported within": imported,
        "a method": lambda x: scaled(x), "a static method": lambda x: steady.Layer.fixed(x), "of the class of an object": lambda x: layer(x),
        "a method itself": steady.Layer().scaled, "a function itself": steady.scale,
    }


class Installed(unittest.TestCase):
    def test_what_is_named_is_compared(self):
        import steady

        x = pl.asarray(3.0)
        for name, f in ways_to_read(steady).items():
            steady.set_all(1.0)
            jitted, derived = pl.jit(f), pl.jit(pl.grad(f))
            with warnings.catch_warnings():
                warnings.simplefilter("error", pl.HostStateWarning)
                for value in (1.0, 5.0, 5.0, 7.0, 1.0):
                    steady.set_all(value)
                    with self.subTest(name, value=value):
                        self.assertEqual((jitted(x).item(), derived(x).item()), (3 * value, value))
            with self.subTest(name):
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (3, 2))

    def test_functions_may_be_replaced(self):
        import steady

        steady.set_all(1.0)
        scale, x = steady.scale, pl.asarray(3.0)
        jitted = pl.jit(lambda x: steady.outer(x) + steady.scale(x))
        try:
            self.assertEqual([jitted(x).item() for _ in range(2)], [6, 6])
            steady.scale = steady.held(2.0)
            self.assertEqual([jitted(x).item() for _ in range(2)], [12, 12])
            steady.scale = lambda x: x * 4
            self.assertEqual([jitted(x).item() for _ in range(2)], [24, 24])
            steady.scale = scale
            self.assertEqual((jitted(x).item(), pl.stats(jitted).traces), (6, 3))
        finally:
            steady.scale = scale

    def test_what_a_function_changes_is_changed_again(self):
        import steady

        steady.STEPS = 0
        jitted = pl.jit(lambda x: x * steady.count())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            self.assertEqual([jitted(pl.asarray(1.0)).item() for _ in range(4)], [1, 2, 3, 4])
        self.assertEqual(steady.STEPS, 4)

    def test_a_warning_names_what_cannot_be_compared(self):
        import large

        jitted = pl.jit(lambda x: large.f(x))
        with self.assertWarnsRegex(pl.HostStateWarning, "not compared.*large.f: large.TABLE is a dict .* more than 256 values") as caught:
            for count in (1.0, 1.0, 2.0):
                large.COUNT = count
                self.assertEqual(jitted(pl.asarray(2.0)).item(), 6 * count)
        self.assertEqual(len(caught.warnings), 1)
        self.assertEqual((caught.filename, caught.lineno), (__file__, jitted.__wrapped__.__code__.co_firstlineno))
        self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (2, 1))


class FarFromHostCode(unittest.TestCase):
    """State that host code does not name: it is compared, or a warning names it."""

    def test_it_is_compared(self):
        import calendar

        import far

        self.addCleanup(calendar.setfirstweekday, calendar.firstweekday())

        def set_rate(value):
            far.RATE = value
            far.cached.cache_clear()

        leaf = far.TREE.inner.inner.inner
        cases = {"calls": (lambda x: far.first(x), set_rate), "a memoised function": (lambda x: x * far.cached(), set_rate),
                 "a property of a metaclass": (lambda x: x * far.OfMeta.rate, lambda value: setattr(far.OfMeta, "_rate", value)),
                 "objects in objects": (lambda x: far.of_tree(x), lambda value: setattr(leaf, "_rate", value)),
                 "slots": (lambda x: x * far.TREE.inner.inner.inner.rate, lambda value: setattr(leaf, "_rate", value)),
                 "a registry": (lambda x: far.registry.call("twice", x), lambda value: setattr(far.registry, "RATE", value)),
                 "a setting of a library": (lambda x: x * calendar.firstweekday(), lambda value: calendar.setfirstweekday(int(value)))}
        x = pl.asarray(3.0)
        for name, (f, change) in cases.items():
            jitted = pl.jit(f)
            with warnings.catch_warnings():
                warnings.simplefilter("error", pl.HostStateWarning)
                for value in (1.0, 5.0, 5.0, 3.0, 1.0):
                    change(value)
                    with self.subTest(name, value=value):
                        self.assertEqual(jitted(x).item(), 3 * value)
            with self.subTest(name):
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (3, 2))

    def test_or_named(self):
        import far

        far.LOCAL.rate = 1.0
        cases = {"far.of_many: far.BIG is a dict": lambda x: far.of_many(x), "far.of_thread: far.LOCAL is a _local": lambda x: far.of_thread(x),
                 "far.of_clock: time.time\\(\\) in far.of_clock": lambda x: far.of_clock(x, True)}
        for message, f in cases.items():
            with self.subTest(message), self.assertWarnsRegex(pl.HostStateWarning, message):
                pl.jit(f)(pl.asarray(1.0))

    def test_code_that_does_not_run_is_not_named(self):
        import far

        inner = pl.jit(lambda x: far.of_clock(x) * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pl.HostStateWarning)
            self.assertEqual(pl.jit(lambda x: far.of_clock(inner(x)))(pl.asarray(1.0)).item(), 2)

    def test_what_far_code_changes_is_changed_again(self):
        import far

        x = pl.asarray(1.0)
        logged, counted = pl.jit(lambda x: far.log(x)), pl.jit(lambda x: x * far.COUNTER.next())
        with self.assertWarnsRegex(pl.HostStateWarning, "far.LOG is changed in place"):
            for _ in range(3):
                logged(x)
        self.assertEqual((len(far.LOG), [counted(x).item() for _ in range(3)], far.COUNTER.count), (3, [1, 2, 3], 3))


class OfLargeLibraries(unittest.TestCase):
    """Settings that Python's own modules and the libraries of the tests have: compared, or the host code runs at each call."""

    def test_values_of_modules_are_compared(self):
        import PIL.Image
        import reprlib
        import torch

        cases = [(lambda x: x * PIL.Image.MAX_IMAGE_PIXELS, PIL.Image, "MAX_IMAGE_PIXELS", (1, 2, 2)),
                 (lambda x: x * (1 + torch.backends.cudnn.benchmark), torch.backends.cudnn, "benchmark", (False, True, True)),
                 (lambda x: x * len(reprlib.repr([5] * 9)), reprlib.aRepr, "maxlist", (2, 3, 3))]
        for f, holder, name, values in cases:
            before, jitted = getattr(holder, name), pl.jit(f)
            try:
                for value in values:
                    setattr(holder, name, value)
                    with self.subTest(name, value=value):
                        self.assertEqual(jitted(pl.asarray(1.0)).item(), f(pl.asarray(1.0)).item())
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (2, 1))
            finally:
                setattr(holder, name, before)

    def test_functions_that_read_settings_run_at_each_call(self):
        import inspect
        import mimetypes
        import sysconfig

        import jax
        import sklearn

        cases = [lambda x: x * len(mimetypes.guess_type("a.txt")), lambda x: x * len(sysconfig.get_config_vars()), lambda x: x * jax.config.jax_enable_x64,
                 lambda x: x * sklearn.get_config()["working_memory"], lambda x: x * len(np.array2string(np.arange(3))),
                 lambda x: x * inspect.currentframe().f_back.f_lineno]
        for i, f in enumerate(cases):
            with self.subTest(i), self.assertWarns(pl.HostStateWarning):
                jitted = pl.jit(f)
                jitted(pl.asarray(1.0))
            self.assertEqual(pl.stats(jitted).traces, 0)

    def test_functions_of_python_that_assign_state_are_known(self):
        """Each module of Python's library whose functions assign its globals is in the table of effects, or the state is a cache."""
        caches = {"_osx_support", "_pyio", "_strptime", "base64", "pkgutil", "ftplib", "ipaddress", "urllib.parse", "zipfile", "uuid"}
        tools = {"antigravity", "bdb", "cgi", "cProfile", "doctest", "idlelib", "pdb", "pydoc", "smtpd", "tabnanny", "test", "tkinter", "trace",
                 "turtle", "turtledemo", "unittest", "venv", "lib2to3", "ensurepip", "site", "distutils", "enum", "http", "importlib", "symtable", "zipimport"}
        unknown = [module for module in modules_that_assign_globals() if module.split(".")[0] not in tools and module not in caches
                   and not is_known(module)]
        self.assertEqual(unknown, [])


class OfPackagesThatUsePlait(unittest.TestCase):
    def test_all_their_modules_are_the_users(self):
        from modelled import config, model

        made, x, found = model.Model(), pl.asarray(3.0), []
        for change in (lambda: None, lambda: setattr(config, "TRAINING", True), lambda: config.OPTIONS.update(rate=4.0),
                       lambda: setattr(config, "TRAINING", False), lambda: setattr(config.Mode, "fast", True)):
            change()
            found.append(model.forward(made, x).item())
            self.assertEqual(made(x).item(), found[-1])
        self.assertEqual(found, [3, 6, 24, 3, 24])

    def test_one_that_is_imported_later(self):
        from later import config

        jitted = pl.jit(lambda x: x * config.mode.rates[70])
        self.assertEqual(jitted(pl.asarray(1.0)).item(), 1)
        importlib.import_module("later.model")
        other = pl.jit(lambda x: x * config.mode.rates[70])
        for value in (1.0, 3.0, 3.0, 5.0):
            config.mode.rates[70] = value
            self.assertEqual(other(pl.asarray(1.0)).item(), value)


if __name__ == "__main__":
    unittest.main()
