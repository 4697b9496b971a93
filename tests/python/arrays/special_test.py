"""Special functions composed of others, compared with SciPy at their limits and with JAX where they are
differentiated."""

import itertools
import os
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax.scipy.special as jsp  # noqa: E402
import mpmath  # noqa: E402
import numpy as np  # noqa: E402
import plait  # noqa: E402
import scipy.special  # noqa: E402

jax.config.update("jax_enable_x64", True)
VALUES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -0.3, 1e-300, 1e300, np.inf, -np.inf, np.nan])
PAIRS = [np.array(each) for each in zip(*itertools.product(VALUES, VALUES))]


class LimitsTest(unittest.TestCase):
    def agree(self, name, *arrays):
        with np.errstate(all="ignore"):
            expected = getattr(scipy.special, name)(*arrays)
        actual = getattr(plait, name)(*map(plait.asarray, arrays)).numpy()
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=0, err_msg=name)

    def test_of_one_number(self):
        for name in ("entr", "logit"):
            self.agree(name, VALUES)
        np.testing.assert_allclose(plait.sinc(VALUES[:8]).numpy(), np.sinc(VALUES[:8]), atol=1e-16)

    def test_of_two_numbers(self):
        for name in ("xlogy", "xlog1py", "rel_entr", "kl_div"):
            # Beyond these, SciPy treats overflow, and infinity minus infinity, differently.
            decided = (np.abs(PAIRS[0]) < 1e299) & (np.abs(PAIRS[1]) < 1e299)
            self.agree(name, *(x[decided] for x in PAIRS))
            self.assertTrue(np.isnan(getattr(plait, name)(np.nan, 1.0).item()))

    def test_multigammaln(self):
        a = np.linspace(2.1, 9, 7)
        for order in (1, 2, 5):
            np.testing.assert_allclose(plait.multigammaln(a, order).numpy(), scipy.special.multigammaln(a, order), rtol=1e-14)

    def test_frexp_and_ldexp(self):
        x = np.concatenate([VALUES, [5e-324, -3e-310, 1.7e308]])
        mantissa, exponent = plait.frexp(plait.asarray(x))
        numpy_mantissa, numpy_exponent = np.frexp(x)
        finite = np.isfinite(x)
        np.testing.assert_array_equal(mantissa.numpy(), numpy_mantissa)
        np.testing.assert_array_equal(exponent.numpy()[finite], numpy_exponent[finite])
        np.testing.assert_array_equal(plait.ldexp(mantissa, exponent).numpy(), x)


class DerivativesTest(unittest.TestCase):
    """Where a function is differentiable, although a part of it is not."""

    def agree(self, name, other, *points, rtol=1e-12):
        every = tuple(range(len(points)))
        actual = plait.grad(getattr(plait, name), argnums=every)(*map(np.asarray, points))
        expected = jax.grad(other, argnums=every)(*points)
        np.testing.assert_allclose([x.item() for x in actual], expected, rtol=rtol, atol=1e-15, err_msg=f"{name}{points}")

    def test_against_jax(self):
        for x in (0.0, 1e-3, 0.2, 0.3, 2.0, -3.7):
            self.agree("sinc", jnp.sinc, x, rtol=1e-10)
            self.assertAlmostEqual(plait.grad(plait.grad(plait.sinc))(np.asarray(x)).item(),
                                   float(jax.grad(jax.grad(jnp.sinc))(x)), places=9)
        for x in (0.1, 0.3, 0.7, 0.9):
            self.agree("logit", jsp.logit, x)
        for x in (1e-300, 1e-3, 0.6, 0.7, 2.0, 40.0, 700.0):
            self.agree("log1mexp", jax.nn.log1mexp, x)
            np.testing.assert_allclose(plait.log1mexp(np.asarray(x)).item(), jax.nn.log1mexp(x), rtol=1e-12)
        for pair in ((0.0, 1.0), (0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 0.3), (1e300, 1e-300)):
            self.agree("rel_entr", jsp.rel_entr, *pair)
            if pair != (1.0, 0.0):  # infinite; a constant here
                self.agree("kl_div", jsp.kl_div, *pair)
        for pair in ((2.0, 3.0), (0.0, 3.0), (0.5, -0.5)):
            self.agree("xlog1py", jsp.xlog1py, *pair)
        self.assertEqual(plait.grad(plait.entr)(0.0).item(), np.inf)
        slope = plait.grad(plait.erfcx)
        self.assertAlmostEqual(slope(np.asarray(1.0)).item(), -0.2732120147838986, places=14)
        self.assertEqual(slope(np.asarray(np.inf)).item(), 0)

    def test_far_from_0(self):
        """Where a difference of large numbers loses all digits, or a factor is infinite."""
        def erfcx(x):
            return mpmath.exp(x * x) * mpmath.erfc(x)

        def log_ndtr(x):
            return mpmath.log1p(-mpmath.ncdf(-x)) if x > 0 else mpmath.log(mpmath.ncdf(x))

        mpmath.mp.dps = 60
        for function, exact, points in ((plait.erfcx, erfcx, (-3, 0, 0.5, 9.5, 11, 49, 51, 1e3)),
                                        (plait.log_ndtr, log_ndtr, (-1e3, -90, -60, -9, -0.25, 0.5, 2, 7, 30, 37))):
            for x in points:
                first = plait.grad(function)(np.asarray(float(x))).item()
                np.testing.assert_allclose(first, float(mpmath.diff(exact, x)), rtol=2e-11, err_msg=f"{function} {x}")
                second = plait.grad(plait.grad(function))(np.asarray(float(x))).item()
                np.testing.assert_allclose(second, float(mpmath.diff(exact, x, 2)), rtol=2e-7, err_msg=f"{function} {x}, twice")
                if first < 1e-38:
                    continue
                narrow = plait.grad(function)(np.asarray(x, np.float32)).item()
                np.testing.assert_allclose(narrow, first, rtol=1e-4, err_msg=f"{function} {x}, f32")
        for x in (1e3, 1e200):
            self.assertEqual(plait.grad(plait.grad(plait.grad(plait.log1mexp)))(np.asarray(x)).item(), 0)
            self.assertEqual(plait.grad(plait.grad(plait.grad(plait.log_ndtr)))(np.asarray(x)).item(), 0)
        self.assertAlmostEqual(plait.grad(plait.grad(plait.log_ndtr))(np.asarray(-1e9)).item(), -1, places=12)

    def test_of_the_gamma_distribution(self):
        for a, x in ((0.3, 0.1), (2.0, 3.0), (30.0, 40.0), (200.0, 190.0)):
            self.agree("gammainc", jsp.gammainc, a, x, rtol=1e-6)
            self.agree("gammaincc", jsp.gammaincc, a, x, rtol=1e-6)
            expected = jax.lax.random_gamma_grad(jnp.asarray(a), jnp.asarray(x))
            np.testing.assert_allclose(plait.random_gamma_grad(a, x).item(), expected, rtol=1e-6)

    def test_what_is_not_there_is_said(self):
        twice = plait.grad(plait.grad(plait.gammainc))
        with self.assertRaisesRegex(plait.ValueError, "gammainc_grad_a: has no derivative with respect to a"):
            twice(plait.asarray(2.0), plait.asarray(3.0))
        with self.assertRaisesRegex(plait.ValueError, "zeta: has no derivative with respect to x"):
            plait.grad(plait.zeta)(plait.asarray(2.0), plait.asarray(3.0))
        self.assertLess(plait.grad(plait.zeta, argnums=1)(plait.asarray(2.0), plait.asarray(3.0)).item(), 0)


if __name__ == "__main__":
    unittest.main()
