"""Prints, checks and callbacks from Python: eagerly, traced, jitted, differentiated, under vmap."""

import unittest

import numpy as np
import plait as pl


class EffectsTest(unittest.TestCase):
    def test_check(self):
        pl.check(pl.asarray(np.array([1., 2.])) > 0)
        with self.assertRaisesRegex(pl.CheckError, r"positive: 1 of 2 are false, the first at \[1\]"):
            pl.check(pl.asarray(np.array([1., -2.])) > 0, "positive")
        with self.assertRaises(pl.TypeError):
            pl.check(pl.asarray(np.array([1., 2.])))

        @pl.jit
        def f(x):
            pl.check(x > 0, "positive")
            return x * 2

        self.assertEqual(float(f(pl.asarray(1.))), 2)
        for _ in range(2):
            with self.assertRaisesRegex(pl.CheckError, "positive"):
                f(pl.asarray(-1.))
        self.assertEqual(float(f(pl.asarray(3.))), 6)

    def test_callback(self):
        seen = []

        def note(x):
            seen.append(x.numpy().tolist())

        def sorted_by_host(x):
            return np.sort(x.numpy())

        x = pl.asarray(np.array([3., 1., 2.]))

        def f(x):
            pl.callback(note, x)
            return pl.callback(sorted_by_host, x, results=x) * 2

        self.assertEqual(f(x).numpy().tolist(), [2, 4, 6])
        program = pl.trace(f)(x)
        self.assertEqual(len(seen), 1)
        for _ in range(2):
            self.assertEqual(program(x).numpy().tolist(), [2, 4, 6])
        jitted = pl.jit(f)
        for _ in range(3):
            self.assertEqual(jitted(x).numpy().tolist(), [2, 4, 6])
        self.assertEqual(seen, [[3, 1, 2]] * 6)
        self.assertEqual(pl.vmap(f)(pl.asarray(np.array([[2., 1.], [5., 6.]]))).numpy().tolist(), [[2, 4], [10, 12]])
        self.assertEqual(seen[-2:], [[2, 1], [5, 6]])
        several = pl.callback(lambda a: (a + 1, a > 0), x, results=["f64[3]", pl.Spec("bool[3]")])
        self.assertEqual([each.numpy().tolist() for each in several], [[4, 2, 3], [True] * 3])

    def test_refusals(self):
        x = pl.asarray(np.array([3., 1., 2.]))
        for results, error in ((["f64[2]"], pl.ShapeError), ("f64[3]", None), (["f64[3]", "f64[3]"], pl.Error)):
            call = lambda: pl.callback(lambda a: a if results == "f64[3]" else [a], x, results=results)  # noqa: E731
            if error is None:
                call()
            else:
                self.assertRaises(error, call)
        with self.assertRaises(pl.TypeError):
            pl.callback(3, x)
        with self.assertRaises(ZeroDivisionError):
            pl.callback(lambda a: 1 / 0, x)
        with self.assertRaises(pl.TypeError):
            pl.grad(lambda a: pl.sum(pl.callback(lambda b: b * 2, a, results=a)))(x)

    def test_functions_of_one_call_are_let_go(self):
        import gc
        import weakref

        class Function:
            def __call__(self, x):
                return x

        function = Function()
        watch = weakref.ref(function)
        pl.callback(function, pl.asarray(1.), results="f32[]")
        del function
        gc.collect()
        self.assertIsNone(watch())


if __name__ == "__main__":
    unittest.main()
