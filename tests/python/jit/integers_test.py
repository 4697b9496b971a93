"""Integers in tuples, lists and dicts that are arguments of jitted functions: after one has differed, they become symbols."""

import collections
import unittest
import warnings

import numpy as np
import plait as pl

X = pl.arange(40, dtype=pl.f32)
Pair = collections.namedtuple("Pair", "first second")
KEPT = {}


def assigned(t):
    t[1][0] = 5.0
    return X[:t[0]] * t[1][0]


def kept(t):
    KEPT["t"] = t
    return X * t[0]


# Functions, and their argument at the i-th call: recorded three times at most.
SYMBOLS = {
    "a tuple": (lambda t: X[:t[0]] * t[1], lambda i: (i + 2, 3)), "a list": (lambda t: X[:t[0]] * t[1], lambda i: [i + 2, 2.5]),
    "a dict": (lambda t: X[:t["n"]] * t["w"], lambda i: {"n": i + 2, "w": pl.ones(1) * i}),
    "a namedtuple": (lambda t: X[:t.first] * t.second, lambda i: Pair(i + 2, pl.ones(1))), "negative": (lambda t: X[t[0]:] * t[0], lambda i: (-2 - i,)),
    "nested": (lambda t: t["x"][:t["p"][0]] + t["p"][1][0], lambda i: {"x": X, "p": (i + 1, [2 * i + 1])}),
    "a result": (lambda t: (t, t["n"] + 1), lambda i: {"n": i, "a": X}), "a shape": (lambda t: pl.zeros(t) + 1, lambda i: (i + 1, 3)),
    "a derivative": (lambda t: pl.grad(lambda y: pl.sum(y[:t[0]] * t[1]))(X), lambda i: (i + 1, i)), "assigned": (assigned, lambda i: (i + 1, pl.ones(2))),
    "with constants": (lambda t: X[:t[0]] * (t[1] == "a"), lambda i: (i + 1, "a", None, True)),
}
# A record for each of three numbers, or as many as there are guards.
NUMBERS = {
    "range": (lambda t: X * sum(range(t[0])), lambda i: (i % 3,)), "a key": (lambda t: X * {0: 1.0, 1: 2.0, 2: 3.0}[t["k"]], lambda i: {"k": i % 3}),
    "eye": (lambda t: pl.eye(t[0]), lambda i: (i % 3 + 1,)), "a branch": (lambda t: X * 2 if t[0] > 10 else X * t[0], lambda i: (i,)),
    "state": (kept, lambda i: (i % 3,)), "a format": (lambda t: X * len(f"{t[0]}"), lambda i: [10 ** (i % 3)]),
}


def increased(t):
    t["n"] += 1
    return X * t["n"]


def appended(t):
    t["l"].append(t["n"])
    return X * t["n"]


class Model(pl.Module):
    def __init__(self, n):
        self.n = n


# A record for each number, or none.
OTHERS = {
    "increased": (increased, lambda i: {"n": i}), "appended": (appended, lambda i: {"n": i, "l": []}), "a Module": (lambda t: X * t[0].n, lambda i: (Model(i), i)),
    "an array": (lambda t: X[:t[0]] + t[1], lambda i: (i + 1, np.ones(1, np.float32))), "large": (lambda t: X * t[0], lambda i: (2 ** 50 + i,)),
    "of another class": (lambda t: X * t["n"] * (t.__class__ is collections.OrderedDict), lambda i: collections.OrderedDict(n=i)),
    "floats": (lambda t: X[:t[0]] * t[1], lambda i: (i, i + 0.5)), "bools": (lambda t: X[:t[0]] * t[1], lambda i: (i, i % 2 == 0)),
}


class Integers(unittest.TestCase):
    def run_all(self, function, argument, named=False):
        """The function's records and hits in 12 calls, each of which is compared with the function itself, as are changes of the argument."""
        jitted = pl.jit(function)
        for i in range(12):
            ours, theirs = argument(i), argument(i)
            found, expected = pl.tree.leaves(jitted(t=ours) if named else jitted(ours)), pl.tree.leaves(function(theirs))
            self.assertEqual(len(found), len(expected))
            for a, b in zip(found, expected):
                self.assertIs(type(a), type(b))
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
            self.assertEqual(repr(ours), repr(theirs))
        return pl.stats(jitted)

    def test_they_become_symbols(self):
        for name, (function, argument) in SYMBOLS.items():
            for named in False, True:
                with self.subTest(name, named=named), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    stats = self.run_all(function, argument, named)
                    self.assertLessEqual(stats.traces, 3)
                    self.assertGreaterEqual(stats.hits, 9)

    def test_their_numbers_are_guards(self):
        for name, (function, argument) in NUMBERS.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertLessEqual(self.run_all(function, argument).traces, 4)
        self.assertEqual([type(each) for each in KEPT["t"]], [int])

    def test_others_have_the_same_results(self):
        for name, (function, argument) in OTHERS.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", pl.HostStateWarning)
                self.run_all(function, argument)

    def test_beside_other_arguments(self):
        jitted = pl.jit(lambda t, s, n: X[:t[0]] * s + n)
        for i in range(12):
            np.testing.assert_allclose(jitted((i + 1,), i + 0.5, i), np.arange(i + 1) * (i + 0.5) + i, rtol=1e-6)
        self.assertLessEqual(pl.stats(jitted).traces, 4)

    def test_an_argument_of_another_kind(self):
        jitted = pl.jit(lambda t: X * (t if isinstance(t, (int, float)) else t[0]))
        for t, n in ((1,), 1), ((2,), 2), ((3,), 3), (4, 4), (5.5, 5.5), ([6], 6), ((7,), 7), ({0: 8}, 8):
            np.testing.assert_allclose(jitted(t), np.arange(40) * n)

    def test_donated(self):
        jitted = pl.jit(lambda state: {"n": state["n"] + 1, "x": state["x"] * 2}, donate=(0,))
        state = {"n": 0, "x": pl.ones(2)}
        for _ in range(6):
            state = jitted(state)
        self.assertEqual((state["n"], state["x"].tolist()), (6, [64.0, 64.0]))
        self.assertLessEqual(pl.stats(jitted).traces, 3)


if __name__ == "__main__":
    unittest.main()
