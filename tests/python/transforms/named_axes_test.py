"""Named axes of vmap, compared with JAX. Derivatives are those of the whole computation, so they are compared with
JAX's of all samples together."""

import unittest

import jax
import numpy as np
import plait as pl
from jax import lax, numpy as jnp

jax.config.update("jax_enable_x64", True)

X = np.random.default_rng(0).normal(size=(5, 3))
Y = np.random.default_rng(1).normal(size=(2, 5, 3))
W = np.random.default_rng(2).normal(size=(3,))


def close(test, found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-10, atol=1e-12)


class AgainstJax(unittest.TestCase):
    """The same function, written with each library's operations, over one axis or two."""

    def agrees(self, ours, theirs):
        found = pl.vmap(ours, axis_name="i")(pl.asarray(X))
        expected = jax.vmap(theirs, axis_name="i")(X)
        close(self, found, expected)
        program = pl.trace(pl.vmap(ours, axis_name="i"))(pl.asarray(X))
        close(self, program(pl.asarray(X)), expected)

    def agree_in_two(self, ours, theirs):
        found = pl.vmap(pl.vmap(ours, axis_name="j"), axis_name="i")(pl.asarray(Y))
        expected = jax.vmap(jax.vmap(theirs, axis_name="j"), axis_name="i")(Y)
        close(self, found, expected)

    def test_reductions(self):
        self.agrees(lambda x: x - pl.all_reduce_sum(x, "i"), lambda x: x - lax.psum(x, "i"))
        self.agrees(lambda x: x - pl.all_reduce_mean(x, "i"), lambda x: x - lax.pmean(x, "i"))
        self.agrees(lambda x: x * pl.all_reduce_max(x, "i"), lambda x: x * lax.pmax(x, "i"))
        self.agrees(lambda x: x * pl.all_reduce_min(x, "i"), lambda x: x * lax.pmin(x, "i"))
        self.agrees(lambda x: pl.all_reduce_sum(pl.ones_like(x), "i"), lambda x: lax.psum(jnp.ones_like(x), "i"))
        self.agrees(lambda x: x + pl.all_reduce_mean(pl.asarray(2.0), "i"), lambda x: x + lax.pmean(2.0, "i"))

    def test_places(self):
        self.agrees(lambda x: x * pl.axis_index("i"), lambda x: x * lax.axis_index("i"))
        self.agrees(lambda x: x * pl.axis_size("i"), lambda x: x * lax.axis_size("i"))
        for axis in range(2):
            self.agrees(lambda x: pl.all_gather(x, "i", axis), lambda x: lax.all_gather(x, "i", axis=axis))
        around = [(i, (i + 2) % 5) for i in range(5)]
        self.agrees(lambda x: pl.axis_shift(x, "i", 2), lambda x: lax.ppermute(x, "i", around))

    def test_two_axes(self):
        for name in ("i", "j", ("i", "j")):
            self.agree_in_two(lambda x: x - pl.all_reduce_sum(x, name), lambda x: x - lax.psum(x, name))
            self.agree_in_two(lambda x: x - pl.all_reduce_max(x, name), lambda x: x - lax.pmax(x, name))
        self.agree_in_two(lambda x: pl.all_gather(x, "i") * pl.axis_index("j") + pl.axis_index("i"),
                          lambda x: lax.all_gather(x, "i") * lax.axis_index("j") + lax.axis_index("i"))

    def test_control_flow(self):
        self.agrees(
            lambda x: pl.cond(pl.all_reduce_sum(pl.sum(x), "i") > 0, lambda y: y - pl.all_reduce_mean(y, "i"),
                              lambda y: y * pl.all_reduce_max(y, "i"), x),
            lambda x: lax.cond(lax.psum(x.sum(), "i") > 0, lambda y: y - lax.pmean(y, "i"),
                               lambda y: y * lax.pmax(y, "i"), x))
        self.agrees(
            lambda x: pl.while_loop(lambda h: pl.all_reduce_max(pl.sum(h * h), "i") > 0.1,
                                    lambda h: h * 0.5 + 0.1 * pl.all_reduce_mean(h, "i"), x),
            lambda x: lax.while_loop(lambda h: lax.pmax((h * h).sum(), "i") > 0.1,
                                     lambda h: h * 0.5 + 0.1 * lax.pmean(h, "i"), x))
        self.agrees(
            lambda x: pl.scan(lambda h, s: (h * 0.5 + pl.all_reduce_sum(s * h, "i"), h), pl.sum(x) * 0.1, x)[0],
            lambda x: lax.scan(lambda h, s: (h * 0.5 + lax.psum(s * h, "i"), h), x.sum() * 0.1, x)[0])

    def test_forward_mode(self):
        def ours(x):
            return pl.jvp(lambda y: y * pl.all_reduce_mean(y * y, "i"), (x,), (x + 1,))[1]

        def theirs(x):
            return jax.jvp(lambda y: y * lax.pmean(y * y, "i"), (x,), (x + 1,))[1]

        self.agrees(ours, theirs)


class Derivatives(unittest.TestCase):
    def test_batch_normalisation(self):
        def normalized(x, mean):
            apart = x - mean(x)
            return apart / (mean(apart * apart) + 1e-5) ** 0.5

        def ours(w, x):
            return pl.sum(pl.sin(normalized(x, lambda y: pl.all_reduce_mean(y, "i")) * w))

        def whole(w, x):
            return jnp.sum(jnp.sin(normalized(x, lambda y: jnp.mean(y, 0)) * w))

        w, x = pl.asarray(W), pl.asarray(X)
        by_w, by_x = jax.grad(whole, (0, 1))(W, X)
        total = lambda w, x: pl.sum(pl.vmap(ours, in_axes=(None, 0), axis_name="i")(w, x))
        for found, expected in zip(pl.grad(total, (0, 1))(w, x), (by_w, by_x)):
            close(self, found, expected)
        close(self, pl.vmap(pl.grad(ours), in_axes=(None, 0), out_axes=None, axis_name="i")(w, x), by_w)
        close(self, pl.vmap(pl.grad(ours, 1), in_axes=(None, 0), axis_name="i")(w, x), by_x)

    def test_of_each_sample_after_vary(self):
        def loss(w, x):
            return pl.sum(w * x * x)

        def own(w, x):
            return pl.grad(loss)(pl.vary(w, "i"), x)

        close(self, pl.vmap(own, in_axes=(None, 0), axis_name="i")(pl.asarray(W), pl.asarray(X)), X * X)

    def test_a_loss_that_all_share_counts_once(self):
        found = pl.vmap(pl.grad(lambda x: pl.sum(pl.all_reduce_sum(x * x, "i"))), axis_name="i")(pl.asarray(X))
        close(self, found, 2 * X)

    def test_where_each_has_a_loss_as_jax(self):
        found = pl.vmap(pl.grad(lambda x: pl.sum(x * pl.all_reduce_sum(x * x, "i"))), axis_name="i")(pl.asarray(X))
        expected = jax.vmap(jax.grad(lambda x: jnp.sum(x * lax.psum(x * x, "i"))), axis_name="i")(X)
        close(self, found, expected)

    def test_rules_of_ones_own(self):
        @pl.custom_vjp
        def scaled(w, x):
            return w * x

        scaled.defvjp(lambda w, x: (w * x, (w, x)), lambda kept, c: (3 * c * kept[1], 5 * c * kept[0]))
        by_w = pl.vmap(pl.grad(lambda w, x: pl.sum(scaled(w, x))), in_axes=(None, 0), out_axes=None, axis_name="i")
        close(self, by_w(pl.asarray(W), pl.asarray(X)), 3 * X.sum(0))


class Refusals(unittest.TestCase):
    def test_axes_that_are_not_open(self):
        with self.assertRaisesRegex(pl.KeyError, "all_reduce_sum.*`i`.*no axis is open"):
            pl.all_reduce_sum(pl.asarray(X), "i")
        with self.assertRaisesRegex(pl.KeyError, "`j`.*the open axes are i"):
            pl.vmap(lambda x: pl.all_gather(x, "j"), axis_name="i")(pl.asarray(X))
        with self.assertRaisesRegex(pl.ValueError, "not a valid name of an axis"):
            pl.vmap(lambda x: x, axis_name="not a name")(pl.asarray(X))
        with self.assertRaisesRegex(pl.TypeError, "axis_name"):
            pl.vmap(lambda x: x, axis_name=3)(pl.asarray(X))

    def test_what_would_wait_for_others(self):
        def lonely(x):
            return pl.cond(pl.sum(x) > 0, lambda y: pl.all_reduce_sum(y, "i"), lambda y: y, x)

        with self.assertRaisesRegex(pl.TypeError, "(?s)all_reduce_sum.*the condition that decides.*named_axes_test.py"):
            pl.vmap(lonely, axis_name="i")(pl.asarray(X))


if __name__ == "__main__":
    unittest.main()
