"""State in installed code, under site-packages: of packages that use Plait it is the user's own, of others what host code names is compared."""

import importlib
import pathlib
import sys
import tempfile
import types
import unittest
import warnings

import plait as pl

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

    def test_what_cannot_be_compared_is_constant(self):
        import large

        jitted = pl.jit(lambda x: large.f(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error", pl.HostStateWarning)
            for count in (1.0, 1.0, 2.0):
                large.COUNT = count
                self.assertEqual(jitted(pl.asarray(2.0)).item(), 6 * count)
        self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).hits), (2, 1))


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
