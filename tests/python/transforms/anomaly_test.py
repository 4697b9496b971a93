"""detect_anomaly and check_finite: the first NaN or infinity is reported with a name and a line, wherever it
appears."""

import inspect
import os
import subprocess
import sys
import threading
import unittest

import numpy as np
import plait as pl


def roots(x):
    return pl.sum(pl.sqrt(x))


LINE_OF_ROOTS = inspect.getsourcelines(roots)[1] + 1
GOOD, BAD = pl.tensor([4.0, 1.0]), pl.tensor([4.0, 0.0])


class DetectAnomaly(unittest.TestCase):
    def test_the_hint_of_check_finite_speaks_python(self):
        with self.assertRaisesRegex(pl.errors.CheckError, r"hint: within plait.detect_anomaly\(\), the operation"):
            pl.check_finite(pl.tensor([1.0, float("nan")]))

    def refused(self, pattern, function, *arguments, **options):
        with self.assertRaisesRegex(pl.CheckError, pattern) as caught, pl.detect_anomaly(**options):
            function(*arguments)
        return caught.exception

    def test_eager(self):
        pl.log(BAD)
        error = self.refused(r"log.*: returned 1 inf among 2 elements, the first at \[1\], for 0", pl.log, BAD)
        self.assertRegex(error.location, r"anomaly_test.py:\d+")
        self.assertIn("check_finite", error.hint)
        pl.log(BAD)

    def test_a_backward_pass_names_both_lines(self):
        def slope():
            return pl.grad(roots)(BAD)

        error = self.refused("divide.*: returned 1 inf .* in the backward pass of sqrt", slope)
        self.assertEqual(error.location, f"anomaly_test.py:{LINE_OF_ROOTS}")
        self.assertIn(f"run at anomaly_test.py:{inspect.getsourcelines(slope)[1] + 1}", str(error))

    def test_the_tape(self):
        def slope():
            x = BAD.requires_grad()
            roots(x).backward()

        error = self.refused("in the backward pass of sqrt", slope)
        self.assertEqual(error.location, f"anomaly_test.py:{LINE_OF_ROOTS}")

    def test_custom_rules_have_lines_too(self):
        @pl.custom_vjp
        def odd(x):
            return x * 2

        odd.defvjp(lambda x: (x * 2, x), lambda x, cotangent: (cotangent / x,))
        error = self.refused("in the backward pass", pl.grad(lambda x: pl.sum(odd(x))), BAD)
        self.assertRegex(error.location, "anomaly_test.py")

    def test_jit(self):
        for f, bad in ((pl.jit(pl.grad(roots)), BAD), (pl.jit(roots), pl.tensor([4.0, -1.0]))):
            before = f(GOOD)
            for _ in range(2):
                error = self.refused("returned 1 (inf|nan) among 2 elements", f, bad)
                self.assertEqual(error.location, f"anomaly_test.py:{LINE_OF_ROOTS}")
            with pl.detect_anomaly():
                np.testing.assert_allclose(f(GOOD), before)
            f(bad)
        new = pl.jit(pl.grad(roots))
        self.refused("in the backward pass of sqrt", new, BAD)
        np.testing.assert_allclose(new(GOOD), [0.25, 0.5])
        # Host code that reads numbers runs piece by piece.
        self.refused("log.*: returned 1 inf", pl.jit(lambda x: pl.log(x * float(pl.sum(x)))), BAD)

    def test_donated_arguments(self):
        step = pl.jit(lambda w, x: w / x, donate=(0,))
        step(pl.ones(2), GOOD)
        self.refused("divide.*: returned 1 inf", lambda: step(pl.ones(2), BAD))

    def test_samples_branches_and_loops(self):
        self.refused(r"sqrt.*: returned 1 nan among 2 elements, the first at \[1\]", pl.vmap(pl.sqrt), pl.tensor([1.0, -1.0]))
        branch = pl.vmap(lambda x: pl.cond(x > 0, pl.sqrt, lambda x: -x, x))
        with pl.detect_anomaly():
            np.testing.assert_allclose(branch(pl.tensor([4.0, -1.0])), [2.0, 1.0])  # no sample takes the wrong branch
        self.refused("log.*: returned 1 inf", pl.jit(lambda x: pl.scan(lambda c, x: (c, pl.log(x)), x, pl.tensor([1.0, 0.0]))), GOOD)
        self.refused("log.*: returned 1 nan", pl.jit(lambda x: pl.while_loop(lambda y: y > -2, lambda y: y - 1 + 0 * pl.log(y - 0.5), x)),
                     pl.tensor(1.0))
        error = self.refused("in the backward pass of sqrt", pl.grad(pl.remat(roots)), BAD)
        self.assertEqual(error.location, f"anomaly_test.py:{LINE_OF_ROOTS}")

    def test_what_is_given_is_no_anomaly(self):
        with pl.detect_anomaly():
            mask = pl.where(pl.tensor([True, False]), 0.0, -pl.inf)
            np.testing.assert_allclose(pl.softmax(pl.ones(2) + mask, -1), [1, 0])
            pl.full((2,), pl.nan) + 1
            pl.exp(pl.tensor([pl.inf]))
        with pl.detect_anomaly(inf=False):
            pl.log(BAD)
        self.refused("subtract.*: returned 1 nan", lambda: pl.tensor(pl.inf) - pl.tensor(pl.inf), inf=False)
        with pl.detect_anomaly(), pl.detect_anomaly(False):
            pl.log(BAD)

    def test_it_is_of_the_thread(self):
        outcomes = []
        with pl.detect_anomaly():
            other = threading.Thread(target=lambda: outcomes.append(pl.log(BAD)))
            other.start()
            other.join()
        self.assertEqual(len(outcomes), 1)

    def test_it_is_no_part_of_a_record(self):
        @pl.jit
        def f(x):
            with pl.detect_anomaly():
                return x * 2

        with self.assertRaisesRegex(pl.TypeError, "put it around the call"):
            f(GOOD)

    def test_the_environment(self):
        for value, fails in (("on", True), ("off", False)):
            done = subprocess.run([sys.executable, "-c", "import plait as pl; pl.log(pl.zeros(1))"], capture_output=True, text=True,
                                  env={**os.environ, "PLAIT_DETECT_ANOMALY": value})
            self.assertEqual("log of f32[1]: returned 1 inf" in done.stderr, fails, done.stderr)

    def test_training_of_layers_has_none(self):
        model = pl.nn.Sequential(pl.nn.Linear(6, 8), pl.gelu, pl.nn.LayerNorm(8), pl.nn.Attention(8, 2, is_causal=True), pl.nn.Linear(8, 3))
        optimizer = pl.optim.AdamW(model)
        x, y = pl.random.normal(pl.random.key(0), (2, 5, 6)), pl.zeros((2, 5), dtype=pl.i64)

        def step(model, optimizer):
            loss, gradient = pl.value_and_grad(lambda model: pl.nn.cross_entropy(model(x), y, axis=-1))(model)
            return optimizer.update(model, pl.check_finite(gradient, "gradient"))

        with pl.detect_anomaly():
            for f in (step, pl.jit(step)):
                for _ in range(2):
                    model, optimizer = f(model, optimizer)


NUMBERS = [pl.tensor([0.0, 0.5, 1.0, -0.5, 2.0, -1.0, 3.0]), pl.tensor([0.25, 0.5, 0.75, 0.1, 0.9, 0.3, 0.6]), pl.zeros(7)]
MATRICES = [pl.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]]), pl.zeros((3, 3)), pl.ones((3, 3))]
ARGUMENTS = [*((x,) for x in NUMBERS + MATRICES), *((x, y) for x in NUMBERS for y in NUMBERS), (MATRICES[0], MATRICES[1]), (NUMBERS[0], 0)]


def is_finite(result):
    """True if all floats of a tree are finite."""
    floats = [leaf for leaf in pl.tree.leaves(result) if leaf.dtype.kind in ("floating", "complex")]
    return floats != [] and all(pl.all(pl.isfinite(leaf)).item() for leaf in floats)


def gradient(function):
    def total(*arguments):
        return sum((pl.sum(leaf) for leaf in pl.tree.leaves(function(*arguments)) if leaf.dtype.kind == "floating"), pl.tensor(0.0))

    return lambda *arguments: pl.grad(total, argnums=tuple(i for i, x in enumerate(arguments) if isinstance(x, pl.Tensor)))(*arguments)


class NothingHidden(unittest.TestCase):
    def setUp(self):
        former = pl.set_print_sink(lambda text: None)
        self.addCleanup(pl.set_print_sink, former)

    def finite(self, function, arguments):
        try:
            return is_finite(function(*arguments))
        except Exception:  # noqa: BLE001: it needs other arguments
            return False

    def test_functions_whose_results_and_gradients_are_finite(self):
        """A function with finite results must not compute an infinity that is then discarded: operands are selected,
        not results."""
        tried = 0
        for place in (pl, pl.linalg, pl.fft):
            for name in dir(place):
                function = getattr(place, name)
                if name.startswith("_") or not callable(function) or isinstance(function, type):
                    continue
                for arguments in ARGUMENTS:
                    forward = self.finite(function, arguments)
                    for work in (function, gradient(function)) if forward else ():
                        if work is function or self.finite(work, arguments):
                            tried += 1
                            with self.subTest(f"{place.__name__}.{name}", arguments=arguments), pl.detect_anomaly():
                                work(*arguments)
        self.assertGreater(tried, 2000)


class CheckFinite(unittest.TestCase):
    def test_what_it_says(self):
        x = pl.tensor([1.0, pl.nan, pl.inf, -pl.inf])
        with self.assertRaisesRegex(pl.CheckError, r"loss has 1 nan and 2 inf among 4 elements, the first at \[1\], at anomaly_test.py"):
            pl.check_finite(x, "loss")
        for good in (GOOD, pl.arange(3), {"a": [GOOD, None, "text"]}, 1.0, 3, np.ones(2)):
            self.assertIs(pl.check_finite(good, "x"), good)
        for bad, path in (({"a": [GOOD, x]}, "x.a.1"), (float("nan"), "x"), (np.array([np.inf]), "x"), (pl.nn.Linear(2, 2), None)):
            if path is None:
                bad.bias, path = bad.bias * pl.inf, "x.bias"
            with self.assertRaisesRegex(pl.CheckError, f"{path} has"):
                pl.check_finite(bad, "x")
        for dtype in (pl.f16, pl.bf16, pl.f64, pl.c64):
            with self.assertRaisesRegex(pl.CheckError, "x has 1 inf"):
                pl.check_finite(pl.astype(pl.tensor([pl.inf, 1.0]), dtype))
        with self.assertRaises(pl.TypeError):
            pl.check_finite(GOOD, 3)

    def test_where_it_is_recorded(self):
        f = pl.jit(lambda x: pl.check_finite(pl.log(x), "log") * 2)
        f(GOOD)
        for _ in range(2):
            with self.assertRaisesRegex(pl.CheckError, r"log has 1 inf among 2 elements, the first at \[1\], at anomaly_test.py"):
                f(BAD)
        with self.assertRaisesRegex(pl.CheckError, r"log \(sample 1\) has 1 inf"):
            pl.vmap(lambda x: pl.check_finite(pl.log(x), "log"))(BAD)
        np.testing.assert_allclose(pl.grad(lambda x: pl.sum(pl.check_finite(x * x)))(GOOD), [8, 2])
        np.testing.assert_allclose(pl.jit(pl.vmap(pl.grad(lambda x: pl.check_finite(x * x))))(GOOD), [8, 2])


if __name__ == "__main__":
    unittest.main()
