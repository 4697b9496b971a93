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

    def test_products_and_booleans(self):
        self.agrees(lambda x: x * pl.all_reduce_prod(x, "i"), lambda x: x * jnp.prod(lax.all_gather(x, "i"), 0))
        for ours, theirs in ((pl.all_reduce_and, jnp.all), (pl.all_reduce_or, jnp.any)):
            self.agrees(lambda x: x * ours(x > 0.5, "i"), lambda x: x * theirs(lax.all_gather(x > 0.5, "i"), 0))

    def test_parts(self):
        """Each sample has parts for all: of 5 samples 5, or 10 that are divided."""
        for rest in ((), (3,), (10,)):
            x = np.random.default_rng(4).normal(size=(5, 10, *rest))
            y = x[:, :5]
            for axis in range(1 + len(rest)):
                along = np.moveaxis(y, 1, axis + 1)
                self.compare(along, lambda x: pl.reduce_scatter(x, "i", axis), lambda x: lax.psum_scatter(x, "i", scatter_dimension=axis))
                along = np.moveaxis(x, 1, axis + 1)
                self.compare(along, lambda x: pl.reduce_scatter(x, "i", axis, tiled=True),
                             lambda x: lax.psum_scatter(x, "i", scatter_dimension=axis, tiled=True))
                self.compare(along, lambda x: pl.all_gather(x, "i", axis, tiled=True), lambda x: lax.all_gather(x, "i", axis=axis, tiled=True))
                for to in range(1 + len(rest)):
                    self.compare(np.moveaxis(y, 1, axis + 1), lambda x: pl.all_to_all(x, "i", axis, to), lambda x: lax.all_to_all(x, "i", axis, to))
                    self.compare(along, lambda x: pl.all_to_all(x, "i", axis, to, tiled=True), lambda x: lax.all_to_all(x, "i", axis, to, tiled=True))

    def test_pairs(self):
        for pairs in ([(i, (i * 2) % 5) for i in range(5)], [(0, 3), (4, 0)], [], [(2, 2)]):
            expected = np.zeros_like(X)
            for start, end in pairs:
                expected[end] = X[start]
            close(self, pl.vmap(lambda x: pl.axis_permute(x, "i", pairs), axis_name="i")(X), expected)
        for source in range(5):
            found = pl.vmap(lambda x: x * pl.axis_broadcast(x, "i", source), axis_name="i")(X)
            close(self, found, X * X[source])

    def test_one_sample_and_none(self):
        x = np.ones((1, 1, 2))
        for f in (lambda x: pl.reduce_scatter(x, "i"), lambda x: pl.all_to_all(x, "i", 0, 1), lambda x: pl.all_gather(x, "i", tiled=True)):
            found = pl.vmap(f, axis_name="i")(x)
            close(self, found, np.ones(found.shape))
        empty = np.ones((0, 0, 2))
        self.assertEqual(pl.vmap(lambda x: pl.reduce_scatter(x, "i"), axis_name="i")(empty).shape, (0, 2))
        self.assertEqual(pl.vmap(lambda x: pl.all_to_all(x, "i", 0, 1), axis_name="i")(empty).shape, (0, 2, 0))

    def test_symbolic_numbers_of_samples(self):
        """Recorded once; the number of samples is a symbol."""
        functions = [lambda x: pl.reduce_scatter(x, "i"), lambda x: pl.all_to_all(x, "i", 0, 1), lambda x: pl.all_gather(x, "i", tiled=True),
                     lambda x: pl.axis_permute(x, "i", [(0, 1)]), lambda x: pl.axis_broadcast(x, "i", 1), lambda x: pl.all_reduce_prod(x, "i")]
        for i, f in enumerate(functions):
            jitted = pl.jit(pl.vmap(f, axis_name="i"))
            for n in (2, 3, 5, 4):
                x = np.random.default_rng(n).normal(size=(n, n, 3))
                with self.subTest(i, n=n):
                    close(self, jitted(pl.asarray(x)), pl.vmap(f, axis_name="i")(pl.asarray(x)))
            self.assertLessEqual(pl.stats(jitted).traces, 2)

    def test_refusals(self):
        def refused(error, message, f, x=X):
            with self.assertRaisesRegex(error, message):
                pl.vmap(f, axis_name="i")(pl.asarray(x))

        refused(pl.ShapeError, "dimension 0 of f64\\[3\\].* must have the size 5", lambda x: pl.reduce_scatter(x, "i"))
        refused(pl.ShapeError, "must be divisible by 5", lambda x: pl.all_to_all(x, "i", 0, 0, tiled=True))
        refused(pl.IndexError, "place 5 is out of range", lambda x: pl.axis_broadcast(x, "i", 5))
        refused(pl.IndexError, "place -1 is out of range", lambda x: pl.axis_permute(x, "i", [(0, -1)]))
        refused(pl.ValueError, "place 1 is a target twice", lambda x: pl.axis_permute(x, "i", [(0, 1), (2, 1)]))
        refused(pl.TypeError, "expected a pair", lambda x: pl.axis_permute(x, "i", [0, 1]))
        refused(pl.TypeError, "takes booleans, not f64", lambda x: pl.all_reduce_and(x, "i"))
        refused(pl.KeyError, "`j`", lambda x: pl.reduce_scatter(x, "j"))

    def compare(self, x, ours, theirs):
        close(self, pl.vmap(ours, axis_name="i")(pl.asarray(x)), jax.vmap(theirs, axis_name="i")(x))

    def test_several_axes_as_one(self):
        x = np.random.default_rng(5).normal(size=(2, 3, 6, 4))
        flat = x.reshape(6, 6, 4)
        whole = {"gather": (lambda x: pl.all_gather(x, ("i", "j")), lambda x: lax.all_gather(x, "k")),
                 "joined": (lambda x: pl.all_gather(x, ("i", "j"), 1, tiled=True), lambda x: lax.all_gather(x, "k", axis=1, tiled=True)),
                 "scatter": (lambda x: pl.reduce_scatter(x, ("i", "j")), lambda x: lax.psum_scatter(x, "k")),
                 "divided": (lambda x: pl.reduce_scatter(x, ("i", "j"), tiled=True), lambda x: lax.psum_scatter(x, "k", tiled=True)),
                 "product": (lambda x: x * pl.all_reduce_prod(x, ["i", "j"]), lambda x: x * jnp.prod(lax.all_gather(x, "k"), 0))}
        for name, (ours, theirs) in whole.items():
            with self.subTest(name):
                found = np.asarray(pl.vmap(pl.vmap(ours, axis_name="j"), axis_name="i")(pl.asarray(x)))
                expected = np.asarray(jax.vmap(theirs, axis_name="k")(flat))
                close(self, found.reshape(expected.shape), expected)

    def test_derivatives_of_parts(self):
        """Derivatives of the whole, in both modes and twice, compared with JAX's; beside a batch that has no name."""
        x = np.random.default_rng(6).normal(size=(4, 4, 3))
        x[1, 2] = 0  # in a product
        pairs = [(0, 2), (3, 1)]

        def permuted(all):
            return jnp.zeros_like(all).at[jnp.array([2, 1])].set(all[jnp.array([0, 3])])

        cases = {"scatter": (lambda x: pl.reduce_scatter(x, "i"), lambda a: jnp.sum(a, 0)),
                 "gather": (lambda x: pl.all_gather(x, "i", tiled=True), lambda a: jnp.broadcast_to(a.reshape(16, 3), (4, 16, 3))),
                 "exchange": (lambda x: pl.all_to_all(x, "i", 0, 1), lambda a: jnp.moveaxis(jnp.swapaxes(a, 0, 1), 1, 2)),
                 "permute": (lambda x: pl.axis_permute(x, "i", pairs), permuted),
                 "broadcast": (lambda x: pl.axis_broadcast(x, "i", 2), lambda a: jnp.broadcast_to(a[2], a.shape)),
                 "product": (lambda x: pl.all_reduce_prod(x, "i"), lambda a: jnp.broadcast_to(jnp.prod(a, 0), a.shape))}
        for name, (f, whole) in cases.items():
            weights = np.cos(np.arange(np.prod(whole(x).shape))).reshape(whole(x).shape)

            def ours(x):
                found = pl.vmap(f, axis_name="i")(x)
                return pl.sum(pl.sin(found) * pl.asarray(weights))

            def theirs(x):
                return jnp.sum(jnp.sin(whole(x)) * weights)

            tangent = np.sin(x + 1)
            with self.subTest(name):
                close(self, ours(pl.asarray(x)), theirs(x))
                close(self, pl.grad(ours)(pl.asarray(x)), jax.grad(theirs)(x))
                close(self, pl.jit(pl.grad(ours))(pl.asarray(x)), jax.grad(theirs)(x))
                close(self, pl.jvp(ours, (pl.asarray(x),), (pl.asarray(tangent),))[1], jax.jvp(theirs, (x,), (tangent,))[1])
                close(self, pl.grad(lambda x: pl.sum(pl.grad(ours)(x) * pl.asarray(tangent)))(pl.asarray(x)),
                      jax.grad(lambda x: jnp.sum(jax.grad(theirs)(x) * tangent))(x))

                def within(x, weights):
                    return pl.grad(lambda x: pl.all_reduce_sum(pl.sum(pl.sin(f(x)) * weights), "i"))(x)

                def twice_within(x, weights, tangent):
                    return pl.grad(lambda x: pl.all_reduce_sum(pl.sum(within(x, weights) * tangent), "i"))(x)

                given = pl.asarray(x), pl.asarray(weights), pl.asarray(tangent)
                close(self, pl.vmap(within, axis_name="i")(*given[:2]), jax.grad(theirs)(x))
                close(self, pl.jit(pl.vmap(twice_within, axis_name="i"))(*given), jax.grad(lambda x: jnp.sum(jax.grad(theirs)(x) * tangent))(x))
                close(self, pl.vmap(lambda x, t: pl.jvp(f, (x,), (t,))[1], axis_name="i")(given[0], given[2]), jax.jvp(whole, (x,), (tangent,))[1])
                batch = np.stack([x, x * 2, x - 1])
                close(self, pl.vmap(pl.grad(ours))(pl.asarray(batch)), jax.vmap(jax.grad(theirs))(batch))
                close(self, pl.vmap(pl.vmap(f, axis_name="i"), in_axes=1, out_axes=1)(pl.asarray(np.moveaxis(batch, 0, 1))),
                      np.stack([whole(each) for each in batch], 1))

    def test_parts_within_derivatives(self):
        """The loss is within the axis: weights that are gathered from parts have the gradient of the whole."""
        w, x = np.random.default_rng(7).normal(size=(4, 2, 3)), np.random.default_rng(8).normal(size=(4, 5, 8))

        def step(w, x):
            return pl.grad(lambda w: pl.all_reduce_sum(pl.sum(pl.tanh(x @ pl.all_gather(w, "i", tiled=True))), "i"))(w)

        found = pl.vmap(step, axis_name="i")(pl.asarray(w), pl.asarray(x))
        expected = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w.reshape(8, 3))))(w)
        close(self, found, expected)
        close(self, pl.jit(pl.vmap(step, axis_name="i"))(pl.asarray(w), pl.asarray(x)), expected)

        def scattered(w, x):
            both = pl.grad(lambda w: pl.sum(pl.sin(pl.reduce_scatter(x @ w, "i", 1, tiled=True))))(pl.all_gather(w, "i", tiled=True))
            return both

        found = pl.vmap(scattered, axis_name="i", out_axes=None)(pl.asarray(w[..., :1] * np.ones(4)), pl.asarray(x))
        whole = (w[..., :1] * np.ones(4)).reshape(8, 4)
        expected = jax.grad(lambda w: jnp.sum(jnp.sin(jnp.sum(x @ w, 0))))(whole)
        close(self, found, expected)

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
