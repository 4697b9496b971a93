"""User classes that are registered as trees, in transforms and optimizers."""

import builtins
import pickle
import unittest

import numpy as np
import plait as pl


@pl.tree.register
class Affine:
    """Its attributes are its children."""

    def __init__(self, weight, bias, name):
        self.weight, self.bias, self.name = weight, bias, name

    def __call__(self, x):
        return x @ self.weight + self.bias


class Interval:
    """A class whose attributes and constructor are unknown to trees."""

    __slots__ = ("_low", "_high", "_unit")

    def __init__(self, low, high, *, unit):
        self._low, self._high, self._unit = low, high, unit


pl.tree.register(Interval, lambda x: ({"low": x._low, "high": x._high}, x._unit), lambda unit, ends: Interval(**ends, unit=unit))


class Pair:
    def __init__(self, first, second):
        self.both = first, second


pl.tree.register(Pair, lambda pair: (list(pair.both), None), lambda _, children: Pair(*children))


def affine(scale=1.0, name="a"):
    return Affine(pl.ones((3, 2)) * scale, pl.zeros(2), name)


def interval(low=1.0, high=3.0, unit="s"):
    return Interval(pl.tensor(low), pl.tensor(high), unit=unit)


def width(ends):
    return (ends._high - ends._low) ** 2


class Registered(unittest.TestCase):
    def test_leaves_and_paths(self):
        tree = {"line": affine(), "ends": [interval()], "pair": Pair(pl.tensor(5.0), affine())}
        self.assertEqual([path for path, _ in pl.tree.leaves_with_paths(tree)],
                         ["line.weight", "line.bias", "ends.0.low", "ends.0.high", "pair.0", "pair.1.weight", "pair.1.bias"])
        twice = pl.tree.map(lambda x: 2 * x, tree)
        self.assertIsInstance(twice["ends"][0], Interval)
        self.assertEqual((twice["ends"][0]._high.item(), twice["ends"][0]._unit, twice["line"].name), (6, "s", "a"))
        self.assertIn("Interval(static='s', low=*, high=*)", repr(pl.tree.structure(interval())))

    def test_what_is_static_is_part_of_the_structure(self):
        one, other = pl.tree.structure(interval()), pl.tree.structure(interval(unit="min"))
        self.assertEqual(one, pl.tree.structure(interval(5.0)))
        self.assertEqual(hash(one), hash(pl.tree.structure(interval(5.0))))
        self.assertNotEqual(one, other)
        self.assertRaises(pl.ValueError, lambda: pl.tree.map(pl.add, interval(), interval(unit="min")))

    def test_derivatives(self):
        slope = pl.grad(width)(interval())
        self.assertIsInstance(slope, Interval)
        self.assertEqual((slope._low.item(), slope._high.item(), slope._unit), (-4, 4, "s"))
        value, tangent = pl.jvp(width, (interval(),), (interval(1.0, 0.0),))
        self.assertEqual((value.item(), tangent.item()), (4, -4))

    def test_jit_records_once_for_each_static_part(self):
        run = pl.jit(lambda ends: (width(ends), ends))
        for unit in ("s", "min", "s", "min"):
            value, ends = run(interval(1.0, 4.0, unit))
            self.assertEqual((value.item(), ends._unit), (9, unit))
        self.assertEqual(pl.stats(run).traces, 2)

    def test_vmap(self):
        many = Interval(pl.tensor([0.0, 1.0]), pl.tensor([1.0, 4.0]), unit="s")
        np.testing.assert_array_equal(pl.vmap(width)(many).numpy(), [1, 9])
        moved = pl.vmap(lambda ends: Interval(ends._low + 1, ends._high, unit="h"))(many)
        self.assertEqual((moved._low.tolist(), moved._unit), ([1, 2], "h"))

    def test_loops_and_remat(self):
        body = lambda ends, _: (Interval(ends._low + 1, ends._high * 2, unit="s"), ends._low)  # noqa: E731
        last, _ = pl.scan(body, interval(0.0, 1.0), pl.arange(3))
        self.assertEqual((last._low.item(), last._high.item()), (3, 8))
        self.assertEqual(pl.grad(pl.remat(width))(interval())._high.item(), 4)
        self.assertEqual(pl.trace(width)(interval())(interval(0.0, 5.0)).item(), 25)

    def test_optimizers(self):
        model, x = affine(0.1), pl.random.normal(pl.random.key(1), (8, 3))
        optimizer = pl.optim.AdamW(model, lr=0.1)

        @pl.jit
        def step(model, optimizer):
            value, slope = pl.value_and_grad(lambda model: pl.mean((model(x) - 1) ** 2))(model)
            return value, *optimizer.update(model, slope)

        first = last = None
        for _ in range(50):
            last, model, optimizer = step(model, optimizer)
            first = last if first is None else first
        self.assertLess(last.item(), 0.2 * first.item())
        self.assertIsInstance(model, Affine)
        self.assertEqual(list(optimizer.state["exp_avg"]), [path for path, _ in pl.tree.leaves_with_paths(model)])

    def test_refusals(self):
        self.assertRaisesRegex(pl.TypeError, "expected a class", lambda: pl.tree.register(3))
        self.assertRaisesRegex(pl.TypeError, "must be passed together", lambda: pl.tree.register(Registered, lambda x: x))
        self.assertRaisesRegex(pl.ValueError, "is registered already", lambda: pl.tree.register(builtins.dict))
        self.assertRaisesRegex(pl.TypeError, "has slots", lambda: pl.tree.register(type("Slots", (), {"__slots__": ("a",)})))
        wrong = pl.tree.register(type("Wrong", (), {}), lambda x: 3, lambda *_: 3)
        self.assertRaisesRegex(pl.TypeError, r"expected \(children, static\)", lambda: pl.tree.leaves(wrong()))

    def test_subclasses_are_on_their_own(self):
        class Other(Interval):
            pass

        self.assertEqual(pl.tree.leaves(Other(pl.tensor(1.0), pl.tensor(2.0), unit="s")), [])

    def test_they_pickle(self):
        self.assertEqual(pickle.loads(pickle.dumps(affine())).name, "a")


if __name__ == "__main__":
    unittest.main()
