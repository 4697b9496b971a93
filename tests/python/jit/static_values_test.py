"""Static arguments of jitted functions: a different value needs another record, an equal one does not."""

import argparse
import collections
import types
import unittest
import weakref

import numpy as np
import plait as pl

NAN = float("nan")
# Different values for a function, each of which occurs twice, as separate objects.
CASES = {
    "slice": (lambda x, s: x[s], [lambda: slice(1, 3), lambda: slice(1, 4), lambda: slice(None, None, 2), lambda: slice(1, None)]),
    "slices": (lambda x, s: x[s[0]] + s[1], [lambda: (slice(0, 2), 1.0), lambda: (slice(0, 2), 2.0)]),
    "deque": (lambda x, s: x * len(s) + s[0], [lambda: collections.deque([1, 2]), lambda: collections.deque([2, 2]),
                                              lambda: collections.deque([1, 2, 3])]),
    "bounded deque": (lambda x, s: x * (s.maxlen or 7), [lambda: collections.deque([1], 2), lambda: collections.deque([1], 3),
                                                        lambda: collections.deque([1])]),
    "SimpleNamespace": (lambda x, s: x + s.n, [lambda: types.SimpleNamespace(n=1), lambda: types.SimpleNamespace(n=2)]),
    "Namespace": (lambda x, s: x + s.rate * s.sizes[0], [lambda: argparse.Namespace(rate=1, sizes=[2]), lambda: argparse.Namespace(rate=1, sizes=[3])]),
    "zeros": (lambda x, s: 1 / (x * 0 + pl.ones(()) * s["z"]), [lambda: {"z": 0.0}, lambda: {"z": -0.0}]),
    "copysign": (lambda x, s: pl.copysign(x + 1, s[0]), [lambda: [0.0], lambda: [-0.0]]),
    "zeros of complex": (lambda x, s: pl.imag(x * s[0]), [lambda: [complex(0, 0.0)], lambda: [complex(0, -0.0)]]),
    "NaN": (lambda x, s: x + s[0], [lambda: [NAN], lambda: [float("-nan")], lambda: [1.0]]),
    "numbers of several classes": (lambda x, s: x * s[0], [lambda: [1], lambda: [1.0], lambda: [True]]),
    "sets": (lambda x, s: x + len(s), [lambda: {1, 2}, lambda: {1, 2, 3}]),
}


class Static(unittest.TestCase):
    def test_each(self):
        x = pl.asarray(np.arange(5.0, dtype=np.float32))
        for name, (function, makers) in CASES.items():
            with self.subTest(name):
                f = pl.jit(function)
                for _ in range(3):
                    for make in makers:
                        wanted, found = function(x, make()).numpy(), f(x, make()).numpy()
                        self.assertEqual(found.dtype, wanted.dtype)
                        np.testing.assert_array_equal(found, wanted)
                        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
                self.assertEqual(pl.stats(f).traces, len(makers))

    def test_tensors_in_them_are_leaves(self):
        one, two = pl.ones(2), pl.ones(2) * 2
        for make in (lambda *each: collections.deque(each, 5), lambda *each: types.SimpleNamespace(a=each[0], b=each[1]),
                     lambda *each: argparse.Namespace(a=each[0], b=[each[1], "fixed"])):
            tree = make(one, two)
            self.assertEqual(len(pl.tree.leaves(tree)), 2)
            doubled = pl.tree.map(lambda leaf: leaf * 2, tree)
            self.assertIs(type(doubled), type(tree))
            self.assertEqual([leaf.numpy().tolist() for leaf in pl.tree.leaves(doubled)], [[2, 2], [4, 4]])
            gradient = pl.grad(lambda tree: pl.sum(pl.tree.leaves(tree)[0] * pl.tree.leaves(tree)[1]))(tree)
            self.assertEqual([leaf.numpy().tolist() for leaf in pl.tree.leaves(gradient)], [[2, 2], [1, 1]])
            f = pl.jit(lambda tree: pl.tree.map(lambda leaf: leaf + 1, tree))
            self.assertEqual(repr(pl.tree.structure(f(make(one, two)))), repr(pl.tree.structure(f(make(two, one)))))
            self.assertEqual(pl.stats(f).traces, 1)
        self.assertEqual(pl.tree.map(lambda leaf: leaf, collections.deque([one], 5)).maxlen, 5)


class WeakReferences(unittest.TestCase):
    def test_objects_of_the_library(self):
        made = [lambda: pl.ones(3), lambda: pl.nn.Linear(2, 2), lambda: pl.jit(lambda x: x), lambda: pl.grad(lambda x: x),
                lambda: pl.trace(lambda x: x)(pl.ones(2)), lambda: pl.optim.SGD(pl.ones(2))]
        for make in made:
            thing = make()
            with self.subTest(type(thing).__name__):
                ended = []
                reference = weakref.ref(thing, ended.append)
                self.assertIs(reference(), thing)
                del thing
                self.assertEqual((reference(), len(ended)), (None, 1))
        self.assertIs(weakref.ref(pl.sin)(), pl.sin)

    def test_as_keys(self):
        x, y = pl.ones(3), pl.ones(3)
        names = weakref.WeakKeyDictionary()
        values = weakref.WeakValueDictionary(x=x, y=y)
        self.assertEqual(sorted(values), ["x", "y"])
        del y
        self.assertEqual(sorted(values), ["x"])
        names[pl.nn.Linear(2, 2)] = 1
        self.assertEqual(len(names), 0)


if __name__ == "__main__":
    unittest.main()
