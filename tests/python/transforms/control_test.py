"""Branches and loops in Python, compared with every equivalent in JAX; and what JAX does not support."""

import unittest

import numpy as np
import plait as pl


def array(*numbers):
    return pl.asarray(np.array(numbers))


def decay(x):
    """A loop of unknown length."""
    return pl.sum(pl.while_loop(lambda h: pl.sum(h * h) > 0.05, lambda h: h * 0.6 * pl.cos(h * x), x))


def chosen(x):
    return pl.sum(pl.cond(pl.sum(x) > 0.2, lambda y: pl.sin(y) * x, pl.exp, x))


def folded(x):
    def step(state, each):
        h = pl.tanh(state["h"] * each + x)
        return {"h": h, "n": state["n"] + 1}, (h, each)

    last, (all_of, _) = pl.scan(step, {"h": x, "n": pl.asarray(0)}, pl.stack([x, x * x, pl.sin(x)]), unroll=2)
    return pl.sum(last["h"]) + pl.sum(all_of * all_of)


def counted(x):
    return pl.sum(pl.for_loop(1, 4, lambda i, h: pl.sin(h) * i + x, x) * pl.map(lambda each: each * each, x))


@pl.recursive
def shrunk(h, x):
    return pl.cond(pl.sum(h * h) > 0.05, lambda h: pl.sin(shrunk(h * 0.6 * pl.cos(h * x), x)) + h, lambda h: h * x, h)


def nested(x):
    """A recursion whose carry is a tree, with captured tensors."""
    @pl.recursive
    def sums(state, depth):
        def deeper(state, depth):
            below = sums({"h": pl.sin(state["h"]) * x}, depth - 1)
            return {"h": below["h"] + state["h"]}

        return pl.cond(depth > 0, deeper, lambda state, _: state, state, depth)

    return pl.sum(sums({"h": x}, pl.asarray(3))["h"])


@pl.recursive
def is_even(n, h):
    return pl.cond(n == 0, lambda n, h: h, lambda n, h: is_odd(n - 1, h * 1.5), n, h)


@pl.recursive
def is_odd(n, h):
    return pl.cond(n == 0, lambda n, h: -h, lambda n, h: is_even(n - 1, pl.sin(h)), n, h)


def of_one_another(x):
    return pl.sum(is_even(pl.asarray(5), x) * x)


def of_itself(x):
    return pl.sum(shrunk(x, x))


def kept(x):
    """Loops with checkpoints, and cumulative sums."""
    last = pl.while_loop(lambda h: pl.sum(h * h) > 0.01, lambda h: h * 0.7 * pl.cos(h), x, pl.checkpoints(every=2))
    folded = pl.for_loop(0, 7, lambda i, h: pl.sin(h) + x, last, pl.checkpoints())
    products = pl.associative_scan(lambda a, b: a * b, pl.stack([folded, x, last + 1, x]), reverse=True)
    return pl.sum(products)


def long(x):
    return pl.concat([x, x * x, pl.sin(x), pl.cos(x)])


def halved(x):
    """Folds a list, and counts the steps."""
    def fold(state):
        h, n = state
        half = h.shape[0] // 2
        return h[:half] * x[0] + pl.sin(h[half:2 * half]), n + 1

    h, n = pl.while_loop(lambda state: state[0].shape[0] > 1, fold, (long(x), pl.asarray(0)))
    return pl.sum(h) * n


def doubled(x):
    return pl.sum(pl.while_loop(lambda h: h.shape[0] <= 20, lambda h: pl.concat([h, pl.sin(h) + x[1]]), x) ** 2)


class Control(unittest.TestCase):
    def test_every_way_gives_the_same(self):
        samples = np.array([[0.5, -0.3, 0.8], [-0.4, 0.2, -0.9], [1.1, 0.7, -0.2]])
        for f in decay, chosen, folded, counted, of_itself, nested, of_one_another, kept, halved, doubled:
            ways = {"value": f, "gradient": pl.grad(f), "second": pl.grad(lambda x: pl.sum(pl.grad(f)(x) ** 2)),
                    "tangent": lambda x: pl.jvp(f, (x,), (x * x,))[1]}
            for name, way in ways.items():
                program = pl.trace(way)(pl.asarray(samples[0]))
                eager = [way(pl.asarray(sample)).numpy() for sample in samples]
                for sample, wanted in zip(samples, eager):
                    np.testing.assert_allclose(program(pl.asarray(sample)), wanted, rtol=1e-11, atol=1e-12,
                                               err_msg=f"{f.__name__}: {name}")
                np.testing.assert_allclose(pl.vmap(way)(pl.asarray(samples)), eager, rtol=1e-11, atol=1e-12,
                                           err_msg=f"{f.__name__}: vmap of {name}")

    def test_bounds_that_are_tensors(self):
        def product(first, end, x):
            return pl.for_loop(first, end, lambda i, h: h * i + x, x)

        first, x = pl.tensor(1), array(0.5, 2.0)
        wanted = [product(1, end, x).numpy() for end in (4, 1, 6, 0)]
        ends = [pl.tensor(end) for end in (4, 1, 6, 0)]
        f, g = pl.jit(product), pl.jit(pl.grad(lambda x, end: pl.sum(product(2, end, x))))
        for end, value in zip(ends, wanted):
            np.testing.assert_allclose(product(first, end, x), value)
            np.testing.assert_allclose(f(first, end, x), value)
            np.testing.assert_allclose(g(x, end), pl.grad(lambda x: pl.sum(product(2, end.item(), x)))(x))
        self.assertEqual(pl.stats(f).traces, 1)
        np.testing.assert_allclose(pl.vmap(product, in_axes=(None, 0, None))(first, pl.stack(ends), x), wanted)
        self.assertRaises(pl.TypeError, pl.jit(lambda end: product(0, end, x)), pl.tensor(2.5))

    def test_numbers_of_steps_and_samples_that_are_none(self):
        x = array(0.5, 2.0)
        for number in (-1, -(2**61), -(2**63), 2**63 - 1, 2**64, 2**62, 1.5, "3", (), float("nan")):
            for f in (lambda x: pl.scan(lambda c, s: (c, c), x, length=number), lambda x: pl.scan(lambda c, s: (c, ()), x, length=number),
                      lambda x: pl.vmap(lambda: x, size=number)(), lambda x: pl.scan(lambda c, s: (c, ()), x, x, unroll=number),
                      lambda x: pl.for_loop(0, 3, lambda i, c: c, x, pl.checkpoints(every=number)),
                      lambda x: pl.while_loop(lambda c: pl.sum(c) < 0, lambda c: c, x, pl.checkpoints(memory=number)),
                      lambda x: pl.associative_scan(pl.add, x, axis=number), lambda x: pl.vmap(pl.sin, in_axes=number)(x),
                      lambda x: pl.vmap(pl.sin, out_axes=number)(x)):
                for way in (f, pl.jit(f), pl.grad(lambda x: pl.sum(pl.tree.leaves(f(x))[0]))):
                    try:
                        way(x)
                    except (pl.Error, TypeError):
                        pass

    def test_none_is_a_tree_without_leaves(self):
        """As in JAX: what is stacked, or the carry, may be None."""
        x = pl.tensor(2.0)
        for way in (lambda f: f), pl.jit:
            last, all_of = way(lambda x: pl.scan(lambda carry, none: (carry * 2, carry), x, None, length=3))(x)
            np.testing.assert_array_equal((last, *all_of), [16, 2, 4, 8])
            last, all_of = way(lambda x: pl.scan(lambda none, each: (None, each * x), None, pl.arange(3)))(x)
            self.assertIsNone(last)
            np.testing.assert_array_equal(all_of, [0, 2, 4])
            self.assertIsNone(way(lambda n: pl.for_loop(0, n, lambda i, none: None, None))(pl.tensor(3)))
            self.assertIsNone(way(lambda: pl.while_loop(lambda none: False, lambda none: None, None))())
            np.testing.assert_array_equal(way(lambda x: pl.cond(x > 1, lambda none: x, lambda none: -x, None))(x), 2)
            for begin, end in (None, x), ((), x), ({"a": x, "b": x}, {"b": x, "a": x}), ((x, x), [x, x]):
                with self.subTest(end), self.assertRaisesRegex(pl.TypeError, "the carry is the tree .* after a step"):
                    way(lambda: pl.scan(lambda none, each: (end, each), begin, pl.arange(3)))()

    def test_sizes_change(self):
        def primes(x):
            """The sieve of Eratosthenes, with a carry that becomes shorter."""
            def sieve(state):
                left, found, count = state
                rest = left[pl.remainder(left, left[0]) != 0]
                return rest, pl.concat([found, left[:1]]), count + 1

            left, found, _ = pl.while_loop(lambda state: state[0].shape[0] > 0, sieve, (x, x[:0], pl.asarray(0)))
            return found

        numbers = pl.arange(2, 30)
        expected = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
        np.testing.assert_array_equal(primes(numbers), expected)
        program = pl.trace(primes)(numbers)
        np.testing.assert_array_equal(program(numbers), expected)
        parsed = pl.Program.parse(program.text())
        np.testing.assert_array_equal(parsed(numbers, *program.hidden_inputs)[0], expected)

        def mean(x):
            """The mean by recursive halving, for a number of elements that is a power of two."""
            return pl.while_loop(lambda h: h.shape[0] > 1, lambda h: (h[0::2] + h[1::2]) / 2, x)[0]

        x = np.random.default_rng(1).normal(size=64)
        for way in (mean, pl.trace(mean)(pl.asarray(x))):
            np.testing.assert_allclose(way(pl.asarray(x)), x.mean(), rtol=1e-13)
        for way in (pl.grad(mean), pl.trace(pl.grad(mean))(pl.asarray(x))):
            np.testing.assert_allclose(way(pl.asarray(x)), np.full(64, 1 / 64), rtol=1e-13)

    def test_refuses_sizes_that_differ(self):
        def by_sum(x):
            return pl.sum(pl.while_loop(lambda h: pl.sum(h) > 1, lambda h: h[:h.shape[0] // 2], x))

        with self.assertRaisesRegex(TypeError, "differ from sample to sample"):
            pl.vmap(by_sum)(pl.asarray(np.array([[1.0, 2.0, 3.0, 4.0], [0.1, 0.1, 0.1, 0.1]])))
        with self.assertRaisesRegex(TypeError, "f64.*f32"):
            pl.trace(lambda x: pl.while_loop(lambda h: h.shape[0] > 1, lambda h: pl.astype(h[1:], pl.f32), x))(array(1.0, 2.0))
        with self.assertRaisesRegex(ValueError, "always true"):
            pl.trace(lambda x: pl.while_loop(lambda h: h.shape[0] != 1, lambda h: h[1:], x))(array(1.0, 2.0, 3.0))

    def test_against_jax(self):
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def jax_decay(x):
            return jnp.sum(jax.lax.while_loop(lambda h: jnp.sum(h * h) > 0.05, lambda h: h * 0.6 * jnp.cos(h * x), x))

        x, v = np.array([0.5, -0.3, 0.8]), np.array([1.0, 2.0, -1.0])
        value, tangent = jax.jvp(jax_decay, (x,), (v,))
        found = pl.jvp(decay, (pl.asarray(x),), (pl.asarray(v),))
        np.testing.assert_allclose(found[0], value, rtol=1e-12)
        np.testing.assert_allclose(found[1], tangent, rtol=1e-12)
        with self.assertRaises(ValueError):  # JAX has no reverse mode of loops of unknown length
            jax.grad(jax_decay)(x)
        np.testing.assert_allclose(pl.sum(pl.grad(decay)(pl.asarray(x)) * pl.asarray(v)), tangent, rtol=1e-12)

    def test_lanes_that_are_not_there_do_nothing(self):
        def safe_log(x):
            return pl.cond(x > 0, pl.log, lambda y: y * 0, x)

        x = array(1.0, 0.0, -2.0)
        for f in pl.vmap(safe_log), lambda y: pl.trace(pl.vmap(safe_log))(y)(y):
            np.testing.assert_array_equal(f(x), [0, 0, 0])
        by_lane = pl.vmap(pl.grad(safe_log))
        for f in by_lane, lambda y: pl.trace(by_lane)(y)(y):
            np.testing.assert_array_equal(f(x), [1, 0, 0])

    def test_keys_of_each_sample(self):
        """Carries, results and operands of branches, loops and recursion whose samples take different ways."""
        keys, counts = pl.random.split_key(pl.random.key(3)), pl.asarray([1, 3])

        @pl.recursive
        def drawn(n, x, key):
            return pl.cond(n <= 0, lambda n, x, key: x * pl.random.uniform(key, ()), lambda n, x, key: drawn(n - 1, 0.5 * x, key), n, x, key)

        def folded(n, x, key):
            return pl.while_loop(lambda each: each[0] < n, lambda each: (each[0] + 1, pl.random.fold_in(each[1], each[0])), (pl.asarray(0), key))[1]

        def branch(n, x, key):
            return pl.cond(n > 1, lambda key: pl.random.fold_in(key, 1), lambda key: key, key)

        def chain(n, x, key):
            return pl.scan(lambda key, x: (pl.random.fold_in(key, 1), key), key, pl.ones(3))[1]

        for f in (drawn, folded, branch, chain):
            wanted = [f(n, 2.0, key) for n, key in zip(counts, keys)]
            for form in (pl.vmap(f), pl.jit(pl.vmap(f))):
                found = form(counts, pl.full((2,), 2.0), keys)
                self.assertEqual([each.numpy().tobytes() for each in found], [each.numpy().tobytes() for each in wanted], f.__name__)
            self.assertEqual(pl.vmap(f)(counts[:0], pl.zeros(0), keys[:0]).shape[0], 0)
        last, stacked = pl.scan(lambda key, x: (key, key), keys[0], pl.ones(0))
        self.assertEqual((last.dtype, stacked.shape, stacked.dtype), (pl.key, (0,), pl.key))

    def test_deep_nests(self):
        """The bodies of nested loops are recorded a few times, not exponentially often."""
        depth = 40

        def conditions(n, x):
            return x if n == depth else pl.cond(x > n, lambda x: conditions(n + 1, x) + 1, lambda x: x * 2, x)

        def loops(n, x):
            return x * 2 if n == depth else pl.while_loop(lambda x: x < n, lambda x: loops(n + 1, x), x)

        def scans(n, x):
            return x * 2 if n == depth else pl.scan(lambda x, _: (scans(n + 1, x), ()), x, length=1)[0]

        for function, x in (conditions, 17.5), (loops, 0.25), (scans, 0.5):
            program = pl.trace(lambda x, function=function: function(0, x))(pl.asarray(x))
            np.testing.assert_allclose(program(pl.asarray(x)), function(0, pl.asarray(x)), rtol=1e-6)

    def test_refuses(self):
        x = array(1.0, 2.0)
        with self.assertRaisesRegex(TypeError, "bool"):
            pl.cond(pl.asarray(1.0), pl.sin, pl.cos, x)
        with self.assertRaisesRegex(IndexError, "5 is out of range for 2"):
            pl.switch(pl.asarray(5), [pl.sin, pl.cos], x)
        with self.assertRaisesRegex(TypeError, "one branch .*another"):
            pl.trace(lambda a: pl.cond(pl.sum(a) > 0, lambda b: b, lambda b: pl.sum(b), a))(x)
        with self.assertRaisesRegex(TypeError, "after a step"):
            pl.while_loop(lambda h: pl.sum(h) < 9, lambda h: pl.stack([h, h]), x)
        @pl.recursive
        def forever(a):
            return forever(a + 1)

        with self.assertRaisesRegex(TypeError, "forever calls itself on every path"):
            pl.trace(forever)(x)
        with self.assertRaisesRegex(ValueError, "number of steps"):
            pl.scan(lambda h, _: (h, ()), x)
        with self.assertRaisesRegex(TypeError, "different trees"):
            pl.trace(lambda a: pl.cond(pl.sum(a) > 0, lambda b: (b, b), lambda b: [b, b], a))(x)


if __name__ == "__main__":
    unittest.main()
