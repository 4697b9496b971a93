"""Attributes with computed names in jitted functions: found as eager code finds them, and recorded where they can be."""

import collections
import dataclasses
import enum
import sys
import types
import unittest
import warnings

import numpy as np

import plait as pl

Pair = collections.namedtuple("Pair", "c0 c1")


def classes():
    class Base:
        c0, c1 = 1.0, 2.0

    class Derived(Base):
        pass

    return Base, Derived


class Slots:
    __slots__ = ("c0", "c1", "c2")


class WithProperty:
    def __init__(self):
        self.inner = 1.0

    @property
    def c0(self):
        return self.inner


@dataclasses.dataclass
class Data:
    c0: float = 1.0
    c1: float = 2.0


class Kind(enum.Enum):
    c0 = 1.0


class Layers(pl.Module):
    def __init__(self):
        self.layer0, self.layer1 = pl.full((2,), 2.0), pl.full((2,), 3.0)

    def __call__(self, x):
        for i in range(2):
            x = x * getattr(self, f"layer{i}")
        return x


def module():
    made = types.ModuleType("names_of_users")
    made.c0, made.c1, made.held = 1.0, 2.0, type("Held", (), {"c0": 1.0})
    sys.modules[made.__name__] = made
    return made


def function(x):
    return x


def sum_of(holder):
    return sum(getattr(holder, f"c{i}", 10.0) for i in range(3))


def setting(holder, name, value):
    return lambda: setattr(holder, name, value)


def removing(holder, name):
    return lambda: delattr(holder, name)


def ways():
    """{name: (function, changes)}."""
    base, derived = classes()
    own, one, slots, layers, names = module(), derived(), Slots(), Layers(), ["c0"]
    data = Data()
    with_property = WithProperty()
    slots.c0 = slots.c1 = 1.0
    others = {"value": "c0"}
    return {
        "class": (lambda x: x * sum_of(base), [setting(base, "c1", 5.0), setting(base, "c2", 7.0), removing(base, "c2")]),
        "derived class": (lambda x: x * sum_of(derived), [setting(base, "c1", 6.0), setting(derived, "c1", 7.0), removing(derived, "c1"), setting(base, "c2", 3.0)]),
        "instance": (lambda x: x * sum_of(one), [setting(base, "c1", 8.0), setting(derived, "c2", 7.0), setting(one, "c1", 1.0), removing(one, "c1")]),
        "module": (lambda x: x * sum_of(own), [setting(own, "c1", 5.0), setting(own, "c2", 7.0), removing(own, "c2")]),
        "class in a module": (lambda x: x * getattr(getattr(own, "he" + "ld"), "c" + "0"), [setting(own.held, "c0", 4.0), setting(own, "held", derived)]),
        "function": (lambda x: x * sum_of(function), [setting(function, "c0", 5.0), setting(function, "c1", 7.0), removing(function, "c1")]),
        "property": (lambda x: x * getattr(with_property, f"c{0}"), [setting(with_property, "inner", 5.0)]),
        "slots": (lambda x: x * sum_of(slots), [setting(slots, "c1", 5.0), setting(slots, "c2", 7.0), removing(slots, "c2")]),
        "dataclass": (lambda x: x * sum_of(data), [setting(data, "c1", 5.0), setting(data, "c2", 7.0), removing(data, "c2")]),
        "names in a list": (lambda x: x * getattr(own, names[0]), [lambda: names.__setitem__(0, "c1"), setting(own, "c1", 11.0)]),
        "names in a dict": (lambda x: x * getattr(own, others["value"]), [lambda: others.update(value="c1"), setting(own, "c1", 12.0)]),
        "hasattr of a class": (lambda x: x * (2.0 if hasattr(base, "q" + "9") else 1.0), [setting(base, "q9", 1.0), removing(base, "q9")]),
        "hasattr of a module": (lambda x: x * (2.0 if hasattr(own, "q" + "9") else 1.0), [setting(own, "q9", 1.0), removing(own, "q9")]),
        "vars of a class": (lambda x: x * len(vars(base)), [setting(base, "q8", 1.0)]),
        "vars of a module": (lambda x: x * len(vars(own)), [setting(own, "q8", 1.0)]),
        "vars of an instance": (lambda x: x * len(vars(one)), [setting(one, "q8", 1.0)]),
        "layers": (layers, [setting(layers, "layer1", pl.full((2,), 5.0))]),
    }


def imports(x):
    import names_of_users
    return x * getattr(names_of_users, "c" + "0")


class ComputedNames(unittest.TestCase):
    def check(self, function, changes):
        """Compares with eager code after each change. Returns the statistics."""
        jitted = pl.jit(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for change in (lambda: None, *changes):
                change()
                for _ in range(2):
                    np.testing.assert_array_equal(np.asarray(jitted(pl.ones(2))), np.asarray(function(pl.ones(2))))
        return pl.stats(jitted)

    def test_recorded(self):
        for name, (function, changes) in ways().items():
            with self.subTest(name):
                stats = self.check(function, changes)
                self.assertGreater(stats.hits, len(changes))
                self.assertIn("0 runs of the host code", str(stats))

    def test_constants(self):
        pair = Pair(1.0, 2.0)
        for name, function in (("named tuple", lambda x: x * sum_of(pair)), ("enumeration", lambda x: x * getattr(Kind, "c" + "0").value)):
            with self.subTest(name):
                self.assertGreater(self.check(function, []).hits, 0)

    def test_an_import_in_the_body(self):
        own = module()
        self.check(imports, [setting(own, "c0", 13.0), setting(own, "c0", 14.0)])

    def test_not_recorded(self):
        own, data = module(), Data()
        jitted = pl.jit(lambda x, data: x * sum_of(data))
        with self.assertWarnsRegex(pl.HostStateWarning, "looks up computed names, and arg1 may have attributes"):
            jitted(pl.ones(2), data)
        data.c2 = 7.0
        self.assertEqual(jitted(pl.ones(2), data)[0].item(), 10.0)
        argv = list(sys.argv)
        self.addCleanup(lambda: sys.argv.__setitem__(slice(None), argv))
        self.check(lambda x: x * len(getattr(sys, "arg" + "v")), [lambda: sys.argv.append("a")])
        self.check(lambda x: x * getattr(__import__("names_of_users"), "c" + "0"), [setting(own, "c0", 3.0)])
        self.check(lambda x: x * getattr(sys.modules["names_of_users"], "c" + "0"), [setting(own, "c0", 4.0)])
        self.check(lambda x: x * list(map(getattr, [own], ["c0"]))[0], [setting(own, "c0", 5.0)])


if __name__ == "__main__":
    unittest.main()
