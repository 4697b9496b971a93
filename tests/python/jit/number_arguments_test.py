"""Arguments that must be host numbers: their kinds, and tensors of one element in their place; numbers whose type is asked."""

import unittest
import warnings

import numpy as np
import plait as pl

MATRIX = pl.asarray([[1.0, 2.0], [3.0, 4.0]])
LABELS = pl.asarray([[0.0, 1.0], [0.0, 1.0]])

# Functions with an argument that is a number, and not a tensor that could be differentiated.
BY_A_NUMBER = {
    "arange": lambda s: pl.arange(s, 10.0, 1.0),
    "geomspace": lambda s: pl.geomspace(1.0, s, 5),
    "logspace": lambda s: pl.logspace(0.0, s, 5),
    "addmm": lambda s: pl.addmm(MATRIX, MATRIX, MATRIX, alpha=s),
    "baddbmm": lambda s: pl.baddbmm(MATRIX[None], MATRIX[None], MATRIX[None], beta=s),
    "addcmul": lambda s: pl.addcmul(MATRIX, MATRIX, MATRIX, s),
    "addcdiv": lambda s: pl.addcdiv(MATRIX, MATRIX, MATRIX, s),
    "pad": lambda s: pl.pad(MATRIX, [(1, 1), (1, 1)], value=s),
    "index_add": lambda s: pl.index_add(MATRIX, 0, pl.asarray([0]), MATRIX[:1], s),
    "leaky_relu": lambda s: pl.leaky_relu(-MATRIX, s),
    "elu": lambda s: pl.elu(-MATRIX, s),
    "celu": lambda s: pl.celu(-MATRIX, s),
    "softplus": lambda s: pl.softplus(MATRIX, s),
    "softshrink": lambda s: pl.softshrink(MATRIX, s),
    "hardtanh": lambda s: pl.hardtanh(MATRIX, -1.0, s),
    "threshold": lambda s: pl.threshold(-MATRIX, 0.0, s),
    "norm": lambda s: pl.norm(MATRIX, s),
    "vector_norm": lambda s: pl.linalg.vector_norm(MATRIX, s),
    "trapezoid": lambda s: pl.trapezoid(MATRIX, None, s),
    "std": lambda s: pl.std(MATRIX, None, s),
    "cov": lambda s: pl.cov(MATRIX, s),
    "nan_to_num": lambda s: pl.nan_to_num(MATRIX, nan=s),
    "huber_loss": lambda s: pl.huber_loss(MATRIX, -MATRIX, s),
    "focal_loss": lambda s: pl.focal_loss(MATRIX, LABELS, gamma=s),
    "margin_ranking_loss": lambda s: pl.margin_ranking_loss(MATRIX, MATRIX, MATRIX, s),
    "scaled_dot_product_attention": lambda s: pl.scaled_dot_product_attention(MATRIX[None], MATRIX[None], MATRIX[None], scale=s),
    "uniform": lambda s: pl.random.uniform(pl.random.key(0), (3,), 0.0, s),
}

KINDS = {int: 2.0, float: 3.0, bool: 4.0}


def told(n):
    return 2.0 if type(n) is int else 3.0


class Named:
    """A class whose methods ask for a type, but not for that of an argument."""

    def __repr__(self):
        return f"{type(self).__name__}({type(KINDS)})"

    def __call__(self, x, n):
        return x * n if type(self) is Named and isinstance(type(self), type) else x


# Functions of a tensor and a number that ask for the number's type.
BY_TYPE = {
    "is": lambda x, n: x * 2 if type(n) is int else x * 3, "equal": lambda x, n: x * (2 if type(n) == float else 3),  # noqa: E721
    "in": lambda x, n: x * 2 if type(n) in (int, bool) else x * 3, "a key": lambda x, n: x * KINDS[type(n)],
    "a name": lambda x, n: x * len(type(n).__name__), "a helper": lambda x, n: x * told(n), "a result": lambda x, n: (x, type(n)),
    "mapped": lambda x, n: x * [*map(type, (x, n))].count(int), "chosen": lambda x, n: x * (2 if type(n if n else 1) is int else 3),
    "made again": lambda x, n: x * type(n)(n), "within": lambda x, n: [x * told(n) for _ in range(2)][1],
    "branches": lambda x, n: pl.cond(pl.sum(x) > 0, lambda x: x * told(n), lambda x: x, x),
    "a derivative": lambda x, n: pl.grad(lambda x: pl.sum(x * told(n)))(x),
    "of its class": lambda x, n: x * 2 if n.__class__ is int else x * 3,
}


class NumberArguments(unittest.TestCase):
    def test_types_are_those_of_numbers(self):
        x = pl.asarray([1.0, 2.0])
        for name, function in BY_TYPE.items():
            jitted = pl.jit(function)
            for n in (3, 4, 5.5, 4, 2.5, 0, -1, -7, 1e300, True, 5):
                with self.subTest(name, n=n), warnings.catch_warnings():
                    warnings.filterwarnings("error" if name == "of its class" else "ignore", category=pl.HostStateWarning)
                    found, wanted = (pl.tree.map(lambda leaf: leaf.tolist(), f(x, n)) for f in (jitted, function))
                    self.assertEqual(found, wanted)
        jitted = pl.jit(lambda x, t: x * told(t["n"]) * told(t["p"][0]))
        for n in 3, 4, 5, 6.5, 7, 8:
            self.assertEqual(jitted(x, {"n": n, "p": (n, 1)}).tolist(), (x * told(n) ** 2).tolist())
        named = pl.jit(lambda x, *, n=0: x * told(n))
        self.assertEqual([named(x, n=n).tolist() for n in (1, 2, 2.5, 3)], [[2, 4], [2, 4], [3, 6], [2, 4]])

    def test_each_number_has_a_record_only_there(self):
        x = pl.asarray([1.0, 2.0])
        for function, traces in (BY_TYPE["is"], 6), (lambda x, n: x * n, 2), (Named(), 2), (lambda x, n: x * n * len(repr(Named())), 2):
            jitted = pl.jit(function)
            for n in (3, 4, 5, 6, 7, 8, 7, 3):
                jitted(x, n)
            with self.subTest(traces=traces):
                self.assertEqual((pl.stats(jitted).traces, pl.stats(jitted).host_runs), (traces, 0))
        jitted = pl.jit(BY_TYPE["is"])
        with self.assertWarnsRegex(pl.HostStateWarning, "(?s)8 times for different values of arg1.*isinstance"):
            for n in range(9):
                jitted(x, n)

    def test_a_number_that_a_derivative_is_taken_by_is_refused(self):
        x = pl.asarray(0.5)
        for name, function in BY_A_NUMBER.items():
            with self.subTest(name):
                function(x)  # accepted like other numbers
                for transformed in (pl.grad(lambda s: pl.sum(function(s))), pl.jit(pl.grad(lambda s: pl.sum(function(s)))),
                                    lambda s: pl.jvp(function, (s,), (s,))):
                    with self.assertRaisesRegex(pl.TypeError, f"{name}: .*expected a number, not f32"):
                        transformed(x)

    def test_a_constant_is_taken(self):
        slope = pl.grad(lambda s: pl.sum(pl.leaky_relu(-MATRIX * s, s.item())))(pl.asarray(0.5))
        self.assertAlmostEqual(slope.item(), -5.0, places=5)
        self.assertEqual(pl.grad(lambda s: pl.sum(pl.elu(MATRIX * s, pl.stop_gradient(s))))(pl.asarray(0.5)).item(), 10.0)

    def test_linspace_between_whole_numbers(self):
        for start, stop in ((0, 10), (-1, 3), (-1.0, 3), (0, 2.5), (False, True)):
            with self.subTest((start, stop)):
                for endpoint in (True, False):
                    found = pl.linspace(start, stop, 7, dtype=pl.f64, endpoint=endpoint).numpy()
                    np.testing.assert_allclose(found, np.linspace(start, stop, 7, endpoint=endpoint), rtol=1e-12)
        np.testing.assert_allclose(pl.linspace(1, 1 + 2j, 3).numpy(), np.linspace(1, 1 + 2j, 3), rtol=1e-6)
        self.assertEqual(pl.linspace(0, 8, 3, dtype=pl.i64).numpy().tolist(), [0, 4, 8])


if __name__ == "__main__":
    unittest.main()
