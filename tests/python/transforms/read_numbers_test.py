"""Numbers that host code reads from tensors which are being differentiated, where this cuts a derivative."""

import inspect
import math
import statistics
import unittest
import unittest.mock
import warnings

import numpy as np
import plait as pl


def written(x):
    z = np.zeros(3)
    z[0] = x[0]
    return pl.sum(pl.asarray(z) * x)


# Functions of a vector that read a number by float() or complex(), as NumPy and math do.
CUT = {
    "float": lambda x: float(x[0]) * x[1], "math": lambda x: math.exp(x[0]) * x[1], "fromiter": lambda x: pl.sum(np.fromiter(x, float) * x),
    "float64": lambda x: np.float64(x[0]) * x[1], "an element of an array": written, "a library in Python": lambda x: statistics.fmean(x) * x[0],
    "complex": lambda x: pl.real(complex(x[0]) * x[1]),
}
# These say that they cut a derivative, or have none.
NOT_CUT = {
    "item": lambda x: x[0].item() * x[1], "tolist": lambda x: x.tolist()[0] * x[1], "truth": lambda x: x[0] if x[1] > 0 else x[1],
    "detach": lambda x: float(x[0].detach()) * x[1], "stop_gradient": lambda x: math.exp(pl.stop_gradient(x[0])) * x[1], "int": lambda x: int(x[0]) * x[1],
    "text": lambda x: (f"{x[0]:.2f} {x}", x[1])[1], "an integer": lambda x: float(pl.argmax(x)) * x[1], "round": lambda x: round(x[0]) * x[1],
    "arguments of functions": lambda x: pl.sum(pl.full((2,), x[0])) + pl.sum(pl.linspace(x[0], x[1], 3)),
}


class Numbers(unittest.TestCase):
    """float() and complex() of tensors that are differentiated: a warning, once for each line."""

    WAYS = {
        "grad": pl.grad, "jvp": lambda f: lambda x: pl.jvp(f, (x,), (x,)), "vjp": lambda f: lambda x: pl.vjp(f, x), "jacfwd": pl.jacfwd,
        "linearize": lambda f: lambda x: pl.linearize(f, x), "jit of grad": lambda f: pl.jit(pl.grad(f)), "grad of jit": lambda f: pl.grad(pl.jit(f)),
    }

    def setUp(self):
        self.x = pl.asarray(np.array([1.0, 2.0, 3.0]))
        said = unittest.mock.patch("plait.inside.help.warning._said", set())
        said.start()
        self.addCleanup(said.stop)

    def warned(self, function, *arguments):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function(*arguments)
        return [each for each in found if each.category is pl.UnconnectedWarning and "cuts the derivative" in str(each.message)]

    def test_the_warning_names_the_line(self):
        for name, function in CUT.items():
            for way, transform in self.WAYS.items():
                with self.subTest(name, way=way):
                    self.setUp()
                    found = self.warned(transform(function), self.x)
                    self.assertEqual([each.filename for each in found], [__file__])
                    self.assertRegex(str(found[0].message), r"returns a constant.*\n  hint: .*plait.exp instead of math.exp; x.item\(\) or x.detach\(\)")
                    self.doCleanups()
        self.assertEqual(self.warned(pl.grad(written), self.x)[0].lineno, inspect.getsourcelines(written)[1] + 2)

    def test_once_for_each_line(self):
        gradient = pl.grad(lambda x: float(x[0]) * x[1] + math.sin(x[2]))
        self.assertEqual([len(self.warned(gradient, self.x)) for _ in range(3)], [1, 0, 0])

    def test_what_does_not_warn(self):
        for name, function in NOT_CUT.items():
            for way, transform in self.WAYS.items():
                with self.subTest(name, way=way):
                    self.assertEqual(self.warned(transform(function), self.x), [])
        for function in CUT.values():
            self.assertEqual(self.warned(function, self.x) + self.warned(pl.jit(function), self.x), [])

    def test_losses_outside_of_the_function(self):
        def steps():
            loss, _ = pl.value_and_grad(lambda x: pl.sum(x * x))(self.x)
            w = self.x.requires_grad()
            by_tape = pl.sum(w * w)
            values = [float(loss), float(by_tape)]
            by_tape.backward()
            with pl.Tape() as tape:
                watched = tape.watch(self.x)
                result = pl.sum(watched * watched)
            return [*values, float(by_tape), float(w[0]), float(result)]

        self.assertEqual(self.warned(steps), [])


if __name__ == "__main__":
    unittest.main()
