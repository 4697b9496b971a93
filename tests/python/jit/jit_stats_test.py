"""pl.stats of a jitted function: the place that differs, and the line of host code that needed a number."""

import inspect
import unittest
import warnings

import plait as pl


class Net(pl.Module):
    def __init__(self, act):
        self.layers = [pl.nn.Linear(2, 2)]
        self.act = act

    def __call__(self, x):
        return self.act(self.layers[0](x))


def first(x):
    return x


def second(x):
    return x + 1


def identity(cache):
    size = cache.shape[0]
    return pl.eye(size - 1)


class Stats(unittest.TestCase):
    def test_a_field_of_a_model_is_named(self):
        f, net = pl.jit(lambda model, x: model(x)), Net(first)
        f(net, pl.ones(1, 2))
        net.act = second
        f(net, pl.ones(1, 2))
        text = str(pl.stats(f))
        self.assertRegex(text, r"arg0\.act: first of \S+jit_stats_test\.py:\d+ ≠ second of \S+:\d+")
        self.assertNotIn("Linear", text)
        self.assertEqual(pl.stats(f).retraces[0][0], text.split("\n")[1].strip())

    def test_an_entry_of_a_tree_is_named(self):
        f = pl.jit(lambda x, options: x * options["a"][1])
        for options in {"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 3, "x" * 200]}:
            f(pl.ones(1), options)
        text = str(pl.stats(f))
        self.assertIn("arg1.a.1: 2 ≠ 3", text)
        self.assertLess(max(map(len, text.split("\n"))), 150)

    def test_a_value_outside_is_named(self):
        scale = 2
        f = pl.jit(lambda x: x * scale)
        f(pl.ones(1))
        scale = 3
        f(pl.ones(1))
        self.assertIn("outside.scale: 2 ≠ 3", str(pl.stats(f)))

    def test_the_line_that_takes_a_size_for_a_number_is_named(self):
        f = pl.jit(lambda cache: identity(cache))
        other = pl.jit(lambda x: x * (x.shape[0] == 3))
        for n in range(1, 6):
            f(pl.ones(n))
            other(pl.ones(n))
        line = inspect.getsourcelines(identity)[1] + 2
        self.assertRegex(str(pl.stats(f)), rf"does not hold for the sizes \(3 times\): read as a number at \S+jit_stats_test.py:{line} in identity")
        self.assertRegex(str(pl.stats(other)), r"arg0.0 != 3 does not hold for the sizes: read as a number at \S+jit_stats_test.py:\d+ in <lambda>")

    def test_integers_have_the_names_of_arguments(self):
        f = pl.jit(lambda x, n, *, by=1: x * sum(range(n)) * by)
        other = pl.jit(lambda t: pl.eye(t["n"]) * t["n"])
        for n in range(1, 6):
            f(pl.ones(1), n, by=n)
            other({"n": n})
        self.assertRegex(str(pl.stats(f)), r"the size n is 2, was 1 before")
        self.assertRegex(str(pl.stats(f)), r" n == \d+ does not hold for the sizes.*: read as a number at \S+jit_stats_test.py:\d+")
        self.assertRegex(str(pl.stats(other)), r" t\.n == \d+ does not hold for the sizes")
        named = pl.jit(lambda x, n: x * n, dynamic=[pl.Dynamic(argument=0, axis=0, name="n")])
        for n in range(2, 6):
            self.assertEqual(named(pl.ones(3), n).tolist(), [n] * 3)
        self.assertEqual(pl.stats(named).traces, 2)

    def test_calls_inside_of_autocast_are_told(self):
        f = pl.jit(lambda x: x * 2)
        with pl.autocast():
            f(pl.ones(1))
            f(pl.ones(1))
        self.assertIn("2 calls ran the host code unrecorded: inside of autocast", str(pl.stats(f)))
        f = pl.jit(lambda x: x * 2)
        f(pl.ones(1))
        f(pl.ones(1))
        self.assertEqual(str(pl.stats(f)), "1 recorded, 1 hits, 0 guards failed, 0 runs of the host code")

    def test_a_type_that_is_no_text_is_refused(self):
        with self.assertRaisesRegex(pl.TypeError, r'not tuple, at jit_stats_test.py:\d+\n  hint: plait.Spec\("f32\[3, 2\]"\)'):
            pl.Spec((3, 2))

    def test_floats_whose_numbers_are_needed_are_told(self):
        f = pl.jit(lambda x, rate: x * {0.5: 1.0, 0.25: 2.0}[rate])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for rate in 0.5, 0.25, 0.5:
                f(pl.ones(1), rate)
        self.assertIn("arg1: 0.5 ≠ 0.25", str(pl.stats(f)))


if __name__ == "__main__":
    unittest.main()
