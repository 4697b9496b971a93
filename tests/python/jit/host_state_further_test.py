"""Host state that is hard to find, and values that are easily mistaken for equal: eagerly and jitted, over calls
with changes in between, so that records are reused."""

import collections
import copy
import enum
import operator
import unittest
import warnings
import weakref

import numpy as np
import plait as pl


def number(*values):
    return pl.asarray(np.array(values if len(values) != 1 else values[0], np.float32))


class Box:
    def __init__(self, **named):
        self.__dict__.update(named)


class Rated(type):
    source = Box(rate=1.0)

    @property
    def rate(cls):
        return Rated.source.rate


class OfRated(metaclass=Rated):
    pass


class UserDict(collections.UserDict):
    pass


class Color(enum.Enum):
    RED = 1


class One:
    def value(self):
        return 1.0


class Two:
    def value(self):
        return 2.0


class Three:
    def value(self):
        return 3.0


RATE = 1.0


class Base(pl.Module):
    def __init__(self):
        self.w = number(1.0)

    def __call__(self, x):
        return x * RATE


class Derived(Base):
    def __call__(self, x):
        return super().__call__(x) * self.w


def set_rate(value):
    global RATE
    RATE = value


def ways():
    """(name, function, change before each call)."""
    table, box, member = {"rate": 1.0}, Box(rate=1.0), Box(rate=1.0)
    get, views, user = table.get, table.values(), UserDict(rate=1.0)
    taker, ask = operator.attrgetter("rate"), getattr
    members, keys, kind, derived = {member}, {member: 1}, One(), Derived()
    Color.RED.rate = 1.0

    def change_table(value):
        table["rate"] = value

    def change(thing):
        return lambda value: setattr(thing, "rate", value)

    return [
        ("metaclass", lambda x: x * OfRated.rate, change(Rated.source)),
        ("UserDict", lambda x: x * user["rate"], lambda value: user.update(rate=value)),
        ("bound builtin", lambda x: x * get("rate"), change_table),
        ("view", lambda x: x * sum(views), change_table),
        ("set", lambda x: x * sum(each.rate for each in members), change(member)),
        ("keys", lambda x: x * sum(each.rate for each in keys), change(member)),
        ("attrgetter", lambda x: x * taker(box), change(box)),
        ("getattr", lambda x: x * ask(box, "ra" + "te"), change(box)),
        ("format", lambda x: x * float("{0.rate}".format(box)), change(box)),
        ("globals", lambda x: x * globals()["RATE"], set_rate),
        ("eval", lambda x: x * eval("RATE"), set_rate),
        ("enum", lambda x: x * Color.RED.rate, change(Color.RED)),
        ("class", lambda x: x * kind.value(), lambda value: setattr(kind, "__class__", [One, Two, Three][int(value) - 1])),
        ("super", lambda x: derived(x), set_rate),
    ]


class Flipped:
    """Two buffers that are swapped."""

    def __init__(self):
        self.a, self.b = Box(w=number(1.0)), Box(w=number(2.0))
        self.current = self.a

    def flip(self, x):
        y = x * self.current.w
        self.current = self.b if self.current is self.a else self.a
        return y


class Equal:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Equal)

    def __hash__(self):
        return 1


class Descriptor:
    def __init__(self):
        self.values = weakref.WeakKeyDictionary()

    def __get__(self, owner, kind):
        return self.values[owner]  # for None, as when read from the class, there is none

    def __set__(self, owner, value):
        self.values[owner] = value


class Described:
    total = Descriptor()


class HostStateFurther(unittest.TestCase):
    def setUp(self):
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.simplefilter("ignore", pl.HostStateWarning)

    def tearDown(self):
        self._caught.__exit__(None, None, None)

    def test_read(self):
        for name, f, change in ways():
            jitted = pl.jit(f)
            for value in 1.0, 2.0, 2.0, 3.0, 2.0:
                with self.subTest(name, value=value):
                    change(value)
                    self.assertEqual(jitted(number(1.0)).item(), value)

    def test_which_object_it_is(self):
        flipped = pl.jit(Flipped().flip)
        self.assertEqual([flipped(number(1.0)).item() for _ in range(6)], [1, 2, 1, 2, 1, 2])

        def both(a, b):
            a["k"] = a["k"] + 1
            return b["k"] * 1

        jitted, shared = pl.jit(both), number(1.0)
        for is_one in (False, True, False, True, True, False):
            a = {"k": shared}
            self.assertEqual(jitted(a, a if is_one else {"k": shared}).item(), 2 if is_one else 1)

    def test_tensors_that_are_put_elsewhere_stay_one(self):
        box = Box()

        def share(x):
            box.a = box.b
            return x

        jitted = pl.jit(share)
        for _ in range(4):
            box.a, box.b = number(1.0), number(2.0)
            jitted(number(0.0))
            box.a[...] = 99.0
            self.assertIs(box.a, box.b)

        def exchanged(x):
            box.a, box.b = box.b, box.a
            return box.a * x

        jitted = pl.jit(exchanged)
        box.a, box.b = number(1.0), number(2.0)
        self.assertEqual([jitted(number(1.0)).item() for _ in range(4)], [2, 1, 2, 1])

    def test_static_values_that_equal_others(self):
        jitted = pl.jit(lambda x, s: x * s.value)
        self.assertEqual([jitted(number(1.0), Equal(v)).item() for v in (2.0, 3.0, 2.0, 5.0, 5.0)], [2, 3, 2, 5, 5])
        jitted = pl.jit(lambda x, r: x * r.start)
        self.assertEqual([jitted(number(1.0), range(n, n)).item() for n in (5, 3, 5)], [5, 3, 5])
        jitted = pl.jit(lambda **named: list(named.values())[0] * 1)
        one, two = number(1.0), number(2.0)
        self.assertEqual([jitted(b=one, a=two).item(), jitted(a=two, b=one).item(), jitted(b=one, a=two).item()], [1, 2, 1])

    def test_errors_that_are_caught(self):
        def added(x, y):
            try:
                return x + y
            except Exception:
                return x * 0

        jitted = pl.jit(added)
        for a, b in (2, 2), (3, 3), (2, 3), (4, 4), (5, 5), (3, 2):
            np.testing.assert_array_equal(jitted(pl.ones(a), pl.ones(b)), np.full(a, 2.0 if a == b else 0.0))

    def test_quotients_of_sizes_that_are_given_back(self):
        by_size, by_number = pl.jit(lambda x: (x, 1 / x.shape[0])), pl.jit(lambda x, n: (x, n * 0.5))
        for n in 2, 3, 4, 5, 3:
            found = by_size(pl.ones(n))[1], by_number(pl.ones(2), n)[1]
            self.assertEqual(found, (1 / n, n * 0.5))
            self.assertEqual([type(each) for each in found], [float, float])

    def test_whole_numbers_beside_narrow_dtypes(self):
        x = pl.asarray(np.array([1, 2], np.uint8))
        for f in (lambda x, n: x + n, lambda x, n: n - x, lambda x, n: x < n, lambda x, n: pl.clip(x, 0, n), lambda x, n: pl.minimum(x, n),
                  lambda x, n: pl.full((2,), n, dtype=pl.u8), lambda x, n: pl.asarray(n, dtype=pl.u8)):
            jitted = pl.jit(f)
            for n in 1, 2, 3, -3, -7, 300, 5, 2**40, -1:
                found = []
                for way in f, jitted:
                    try:
                        found.append(np.asarray(way(x, n)).tolist())
                    except pl.ValueError:
                        found.append("refused")
                self.assertEqual(found[0], found[1])

    def test_donated_under_a_derivative(self):
        added = pl.jit(lambda s: s + 1, donate=(0,))
        value, gradient = pl.value_and_grad(lambda x: pl.sum(added(x) * x))(number(1.0, 2.0))
        self.assertEqual((value.item(), gradient.tolist()), (8.0, [3.0, 5.0]))

    def test_descriptors_are_not_asked_for_the_class(self):
        described = Described()
        described.total = number(0.0)

        def added(x):
            described.total = described.total + x
            return described.total

        jitted = pl.jit(added)
        self.assertEqual([jitted(number(1.0)).item() for _ in range(4)], [1, 2, 3, 4])

    def test_copies(self):
        class Model(pl.Module):
            def __init__(self):
                self.w = number(2.0)
                self.run = pl.jit(self.go)

            def go(self, x):
                return x * self.w

        model = Model()
        model.run(number(1.0))
        other = copy.deepcopy(model)
        other.w = number(5.0)
        self.assertEqual((other.run(number(1.0)).item(), model.run(number(1.0)).item()), (5.0, 2.0))


def counting_classes():
    """Functions that give a class, or an object of it, an attribute that it inherits or does not have, and read it."""
    class Base:
        count = 0

        def counted(self, x):
            type(self).count += 1
            return x * self.count

        @classmethod
        def of_class(cls, x):
            cls.count += 1
            return x * cls.count

    class Own(Base):
        pass

    class Empty:
        pass

    thing = Own()

    def of_subclass(x):
        Own.count += 1
        return x * Own.count

    def of_instance(x):
        thing.count += 1
        return x * thing.count

    def of_new(x):
        Empty.count = getattr(Empty, "count", 0) + 1
        return x * Empty.count

    def by_name(x):
        setattr(Empty, "key" + str(sum(name.startswith("key") for name in vars(Empty))), 1)
        return x * sum(name.startswith("key") for name in vars(Empty))

    return [of_subclass, of_instance, of_new, by_name, thing.counted, Own.of_class]


class NewAttributes(unittest.TestCase):
    def test_of_classes_and_objects(self):
        wraps = {"jit": pl.jit, "jit of jit": lambda f: pl.jit(pl.jit(f)), "grad of jit": lambda f: lambda x: pl.jvp(pl.jit(f), (x,), (x,))[0],
                 "jit of remat of jit": lambda f: pl.jit(pl.remat(pl.jit(f)))}
        for name, wrap in wraps.items():
            for i in range(len(counting_classes())):
                eager = counting_classes()[i]
                with self.subTest(name, function=eager.__name__), warnings.catch_warnings():
                    warnings.simplefilter("ignore", pl.errors.HostStateWarning)
                    jitted = wrap(counting_classes()[i])
                    self.assertEqual([jitted(number(1, 2)).tolist() for _ in range(4)], [eager(number(1, 2)).tolist() for _ in range(4)])


if __name__ == "__main__":
    unittest.main()
