"""Branches and loops whose functions change host state: in every transform they do what they do eagerly, or are refused."""

import unittest
import warnings

import numpy as np
import plait as pl


class Counter:
    def __init__(self):
        self.n, self.log = 0, []

    def count(self):
        self.n += 1
        self.log.append(self.n)
        return self.n


def scan(c):
    return lambda x: pl.scan(lambda q, v: (q + v * c.count(), q), pl.tensor(0.0), x)[0]


def reverse_scan(c):
    return lambda x: pl.scan(lambda q, v: (q + v * c.count(), q * c.n), pl.tensor(0.0), x, reverse=True)


def for_loop(c):
    return lambda x: pl.for_loop(0, 3, lambda i, q: q + x[0] * c.count(), pl.tensor(0.0))


def mapped(c):
    return lambda x: pl.map(lambda q: q * c.count(), x)


def nested_scans(c):
    return lambda x: pl.scan(lambda q, v: pl.scan(lambda q, v: (q + v * c.count(), q), q, x), pl.tensor(0.0), x)


def while_loop(c):
    return lambda x: pl.while_loop(lambda q: q < 20, lambda q: q + c.count(), pl.sum(x))


def state_in_the_test(c):
    return lambda x: pl.while_loop(lambda q: q < 10 + c.count(), lambda q: q * 2, pl.sum(x))


def cond(c):
    def rare(x):
        c.n += 10
        return x - c.n

    return lambda x: pl.cond(pl.sum(x) > 2, lambda x: x * c.count(), rare, x)


def switch(c):
    return lambda x: pl.switch(pl.astype(pl.sum(x), pl.i64) % 2, [lambda x: x * c.count(), lambda x: x - c.count() * 3], x)


def cond_in_scan(c):
    return lambda x: pl.scan(lambda q, v: (pl.cond(q > 3, lambda q: q + c.count(), lambda q: q * 2, q + v), v), pl.tensor(0.0), x)[0]


def nonlocal_variable(c):
    def function(x):
        steps = 0

        def body(q, v):
            nonlocal steps
            steps += 1
            c.n += steps
            return q + v * steps, None

        return pl.scan(body, pl.tensor(0.0), x)[0] * steps

    return function


UNROLLED = [scan, reverse_scan, for_loop, mapped, nested_scans, nonlocal_variable]
DECIDED = [while_loop, state_in_the_test, cond, switch, cond_in_scan]  # by values
INPUTS = [pl.tensor(each) for each in ([1.0, 1.0, 1.0], [0.5, 0.5, 0.5], [2.0, 1.0, 3.0], [1.0, 1.0, 1.0], [0.25, 0.5, 0.25])]


def total(function):
    return lambda x: sum(pl.sum(pl.sin(each)) for each in pl.tree.leaves(function(x)))


JITTED = {
    "jit": pl.jit,
    "jit of grad": lambda f: pl.jit(pl.grad(total(f))),
    "grad of jit": lambda f: pl.grad(pl.jit(total(f))),
    "jit of jit": lambda f: pl.jit(lambda x: pl.jit(f)(x)),
    "jit of jvp": lambda f: pl.jit(lambda x: pl.jvp(f, (x,), (x,))),
}
EAGER = {"jit of grad": lambda f: pl.grad(total(f)), "grad of jit": lambda f: pl.grad(total(f)), "jit of jvp": lambda f: lambda x: pl.jvp(f, (x,), (x,))}


def history(form, transform, inputs):
    counter, seen = Counter(), []
    function = transform(form(counter))
    for x in inputs:
        results = [np.asarray(leaf).copy() for leaf in pl.tree.leaves(function(x))]
        seen.append((results, counter.n, list(counter.log)))
    return seen


class ChangingBodies(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", pl.errors.HostStateWarning)

    def expect_same(self, one, two):
        for (results, *state), (others, *other_state) in zip(one, two, strict=True):
            self.assertEqual(state, other_state)
            for result, other in zip(results, others, strict=True):
                np.testing.assert_allclose(result, other, rtol=1e-5)

    def test_jitted_as_eager(self):
        for form in UNROLLED + DECIDED:
            for name, transform in JITTED.items():
                with self.subTest(form.__name__, transform=name):
                    self.expect_same(history(form, transform, INPUTS), history(form, EAGER.get(name, lambda f: f), INPUTS))

    def test_for_many_samples(self):
        for form in UNROLLED:
            for transform in (pl.vmap, lambda f: pl.jit(pl.vmap(f)), lambda f: pl.vmap(pl.jit(f))):
                with self.subTest(form.__name__):
                    found = history(form, transform, [pl.stack([x]) for x in INPUTS])
                    self.expect_same([([each[0] for each in results], *state) for results, *state in found], history(form, lambda f: f, INPUTS))

    def test_unknown_values_are_refused(self):
        for form in DECIDED:
            for transform in (pl.vmap, lambda f: pl.jit(pl.vmap(f)), lambda f: lambda x: pl.trace(f)(x[0])):
                with self.subTest(form.__name__):
                    with self.assertRaisesRegex(pl.errors.TypeError, r"changes [\w.]+, state outside of it, which cannot be recorded here"):
                        transform(form(Counter()))(pl.stack(INPUTS[:2]))

    def test_the_warning_names_it(self):
        with self.assertWarnsRegex(pl.errors.HostStateWarning, r"scan runs step by step, as Python code, because its function changes .*\bn\b"):
            history(lambda c: lambda x: pl.scan(lambda q, v: (q + c.count(), None), pl.tensor(0.0), x)[0], pl.jit, INPUTS[:1])

    def test_errors_of_the_function_itself(self):
        def failing(c):
            def body(q, v):
                if c.count() == 2:
                    raise pl.errors.ValueError("mine")
                return q + v, None

            return lambda x: pl.scan(body, pl.tensor(0.0), x)[0]

        for transform in (lambda f: f), pl.jit:
            with self.assertRaisesRegex(pl.errors.ValueError, "^mine"):
                history(failing, transform, INPUTS[:1])

    def test_draws_outside_of_it_are_the_same(self):
        def drawing(c):
            return lambda x: pl.random.normal((2,)) + scan(c)(x) + pl.random.normal((2,))

        pl.random.seed(3)
        eager = history(drawing, lambda f: f, INPUTS)
        pl.random.seed(3)
        self.expect_same(history(drawing, pl.jit, INPUTS), eager)

    def test_later_calls_draw_once_a_step(self):
        def drawing(c):
            def body(q, v):
                c.n = 1 - c.n  # after two steps as before: the state of the first call comes again
                return q + v * pl.random.normal(()), None

            return lambda x: pl.scan(body, pl.tensor(0.0), x[:2])[0]

        eager, jitted = drawing(Counter()), pl.jit(drawing(Counter()))
        jitted(INPUTS[0])  # the first call finds that the body changes state when it has been recorded
        for seed, x in enumerate(INPUTS):
            pl.random.seed(seed)
            expected = float(eager(x))
            pl.random.seed(seed)
            self.assertAlmostEqual(float(jitted(x)), expected, places=5)

    def test_state_that_is_not_visible_is_warned_of(self):
        def numbered(x):
            items = iter(range(10))
            return pl.scan(lambda q, v: (q + v * next(items), None), pl.tensor(0.0), x)[0]

        with self.assertWarnsRegex(pl.errors.HostStateWarning, "scan runs its function once, while it is recorded.* is an iterator"):
            pl.jit(numbered)(INPUTS[0])

    def test_custom_rules_say_so(self):
        counter = Counter()

        @pl.custom_vjp
        def ruled(x):
            return x * counter.count()

        ruled.defvjp(lambda x: (ruled(x), ()), lambda kept, cotangent: (cotangent,))
        with self.assertWarnsRegex(pl.errors.HostStateWarning, "ruled changes .* whenever it is recorded"):
            pl.jit(ruled)(pl.tensor(1.0))


if __name__ == "__main__":
    unittest.main()
