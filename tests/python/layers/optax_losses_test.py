"""Losses with optax's names, compared with optax's: values, gradients, jitted, and under vmap."""

import functools
import unittest

import jax
import numpy as np
import optax
import plait as pl

jax.config.update("jax_enable_x64", True)

RANDOM = np.random.default_rng(8)
SCORES, SHARES = 2.0 * RANDOM.normal(size=(6, 4)), RANDOM.dirichlet(np.ones(4), size=6)
LABELS, BITS, SIGNS = RANDOM.integers(0, 4, 6), RANDOM.integers(0, 2, (6, 4)), np.where(RANDOM.random((6, 4)) < 0.5, -1.0, 1.0)
SOME = RANDOM.random((6, 4)) < 0.6
SOME[:, 0], NONE = True, SOME.copy()
NONE[2] = False
ONE_HOT = np.eye(4)[RANDOM.integers(0, 4, (2, 3, 5))]
IMAGES = RANDOM.normal(size=(2, 3, 5, 4))
SPARSE = SHARES * (SHARES > 0.2)

CASES = [
    ("sparsemax_loss", SCORES, (BITS,), {}), ("multiclass_sparsemax_loss", SCORES, (LABELS,), {}), ("perceptron_loss", SCORES, (SIGNS,), {}),
    ("multiclass_perceptron_loss", SCORES, (LABELS,), {}), ("poly_loss_cross_entropy", SCORES, (SHARES,), {}),
    ("poly_loss_cross_entropy", SCORES, (SHARES,), {"epsilon": -0.5, "axis": 0}), ("poly_loss_cross_entropy", SCORES, (SHARES,), {"where": SOME}),
    ("ranking_softmax_loss", SCORES, (SHARES,), {}), ("ranking_softmax_loss", SCORES, (BITS,), {"where": NONE}),
    ("ranking_softmax_loss", SCORES, (SHARES,), {"where": SOME, "weights": SHARES[::-1]}),
    ("ranking_softmax_loss", SCORES, (SHARES,), {"reduction": "sum", "where": NONE}), ("ranking_softmax_loss", SCORES, (SHARES,), {"reduction": "none"}),
    ("generalized_kl_divergence", SCORES, (SPARSE,), {}), ("generalized_kl_divergence", SCORES, (SHARES,), {"axis": None, "where": SOME}),
    ("convex_kl_divergence", SCORES, (SPARSE,), {"axis": 0}), ("multiclass_generalized_dice_loss", IMAGES, (ONE_HOT,), {}),
    ("multiclass_generalized_dice_loss", IMAGES, (ONE_HOT,), {"smooth": 0.1, "ignore_background": True}),
    ("multiclass_generalized_dice_loss", SHARES[None], (np.eye(4)[LABELS][None],), {"apply_softmax": False}),
]
REDUCTIONS = {"mean": jax.numpy.mean, "sum": jax.numpy.sum, "none": None}


def as_optax(name, named):
    named = {("reduce_fn" if key == "reduction" else key): REDUCTIONS.get(value, value) if key == "reduction" else value for key, value in named.items()}
    function = getattr(optax.losses, "generalized_kl_divergence" if name == "convex_kl_divergence" else name)
    return lambda x, *others: function(x, *map(jax.numpy.asarray, others), **named)


class AsOptax(unittest.TestCase):
    def expect_alike(self, ours, theirs, x, others):
        own = [pl.asarray(each) for each in others]
        wanted = np.asarray(theirs(jax.numpy.asarray(x), *others))
        cotangent = RANDOM.normal(size=wanted.shape)
        slope = jax.grad(lambda x: (theirs(x, *others) * cotangent).sum())(jax.numpy.asarray(x))
        for way in lambda f: f, pl.jit:
            found = way(lambda x: ours(x, *own))(pl.asarray(x))
            self.assertEqual(found.dtype, pl.f64)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
            made = way(pl.grad(lambda x: pl.sum(ours(x, *own) * pl.asarray(cotangent))))(pl.asarray(x))
            np.testing.assert_allclose(made, slope, rtol=1e-10, atol=1e-11)

    def test_values_and_gradients(self):
        for name, x, others, named in CASES:
            with self.subTest(name, **{key: str(value)[:20] for key, value in named.items()}):
                self.expect_alike(functools.partial(getattr(pl.nn, name), **named), as_optax(name, named), x, others)

    def test_fenchel_young(self):
        ours = pl.nn.make_fenchel_young_loss(lambda row, factor=1.0: pl.logsumexp(row * factor, axis=-1))
        theirs = optax.losses.make_fenchel_young_loss(lambda row: jax.scipy.special.logsumexp(row, axis=-1))
        self.expect_alike(ours, theirs, SCORES, (SHARES,))
        np.testing.assert_allclose(ours(SCORES, SHARES, factor=1.0), theirs(SCORES, SHARES), rtol=1e-12)

    def test_rows_alone(self):
        for name, of in (("multiclass_sparsemax_loss", LABELS), ("multiclass_perceptron_loss", LABELS), ("sparsemax_loss", BITS)):
            loss = getattr(pl.nn, name)
            np.testing.assert_allclose(pl.vmap(loss)(pl.asarray(SCORES), pl.asarray(of)), loss(SCORES, of), rtol=1e-12)

    def test_wrong(self):
        for call, error, text in (
                (lambda: pl.nn.perceptron_loss(pl.ones(3), pl.ones(2)), pl.ShapeError, r"nn.perceptron_loss: the arguments are \[3\] and \[2\]"),
                (lambda: pl.nn.make_fenchel_young_loss(1.0), pl.TypeError, "max_fun is 1.0, expected a function"),
                (lambda: pl.nn.ranking_softmax_loss(pl.ones(3), pl.ones(3), reduction="max"), pl.ValueError, "the reduction is 'max'")):
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
