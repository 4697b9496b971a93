"""plait.random: with and without a key, shapes and dtypes, and the distributions by statistical tests with a false
alarm in one of a million seeds (the seed is fixed)."""

import unittest

import jax
import numpy as np
import plait
import scipy.special
import scipy.stats
from plait import random

KEY = random.key(11)
COUNT = 20000
DISTRIBUTIONS = {
    "uniform": ((), {"low": -1.0, "high": 3}, scipy.stats.uniform(-1, 4)),
    "normal": ((), {"mean": 2, "deviation": 0.5}, scipy.stats.norm(2, 0.5)),
    "exponential": ((), {}, scipy.stats.expon()), "laplace": ((), {}, scipy.stats.laplace()),
    "gumbel": ((), {}, scipy.stats.gumbel_r()),
    "truncated_normal": ((0.5, 2.0), {}, scipy.stats.truncnorm(0.5, 2)),
}


class Keys(unittest.TestCase):
    def test_are_made_of_seeds(self):
        self.assertEqual(random.key(2**64 - 1).dtype, plait.key)
        self.assertEqual(random.key(3).shape, ())
        many = random.key(plait.asarray([3, 4]))
        self.assertEqual(many.shape, (2,))
        self.assertEqual(many[0].numpy(), random.key(3).numpy())
        for seed in (-1, 2**64):
            with self.assertRaisesRegex(plait.ValueError, "seed: .* is out of the range from 0"):
                random.key(seed)
        with self.assertRaises(plait.TypeError):
            random.key("seed")

    def test_give_others(self):
        keys = random.split_key(KEY, 3)
        self.assertEqual(keys.shape, (3,))
        self.assertEqual(len({key.numpy().tobytes() for key in keys} | {KEY.numpy().tobytes()}), 4)
        self.assertNotEqual(random.fold_in(KEY, 1).numpy(), random.fold_in(KEY, 2).numpy())
        self.assertEqual(random.fold_in(KEY, plait.arange(4)).shape, (4,))
        self.assertEqual(random.bits(keys, 5).shape, (3, 5))
        both = plait.concat([keys, keys[:1]])
        self.assertEqual([both.shape, plait.stack([KEY, KEY]).shape, plait.asarray([KEY, keys[0]]).dtype], [(4,), (2,), plait.key])
        self.assertEqual(both[3].numpy(), keys[0].numpy())
        with self.assertRaisesRegex(plait.TypeError, "keys do not support arithmetic"):
            plait.concat([keys, plait.arange(3)])

    def test_the_default_stream_begins_again(self):
        random.seed(5)
        first = random.uniform(3).numpy(), random.draw_key().numpy()
        random.seed(5)
        second = random.uniform(3).numpy(), random.draw_key().numpy()
        for one, other in zip(first, second):
            np.testing.assert_array_equal(one, other)
        self.assertFalse(np.array_equal(first[0], random.uniform(3).numpy()))


class Numbers(unittest.TestCase):
    def test_are_of_their_distributions(self):
        for name, (arguments, options, distribution) in DISTRIBUTIONS.items():
            for dtype in (plait.f32, plait.f64):
                with self.subTest(name=name, dtype=dtype):
                    draw = getattr(random, name)
                    x = draw(KEY, *arguments, (COUNT, 2), dtype=dtype, **options)
                    self.assertEqual((x.dtype, x.shape), (dtype, (COUNT, 2)))
                    self.assertGreater(scipy.stats.kstest(x.numpy().ravel(), distribution.cdf).pvalue, 1e-6)
                    again = draw(key=KEY, **dict(zip(("low", "high"), arguments)), shape=(COUNT, 2), dtype=dtype, **options)
                    np.testing.assert_array_equal(x.numpy(), again.numpy())
                    random.seed(3)
                    free = draw(*arguments, (COUNT,), dtype=dtype, **options)
                    self.assertGreater(scipy.stats.kstest(free.numpy(), distribution.cdf).pvalue, 1e-6)

    def test_defaults(self):
        for name in ("uniform", "normal", "exponential", "laplace", "gumbel"):
            self.assertEqual(getattr(random, name)(KEY, 3).dtype, plait.f32)
            self.assertEqual(getattr(random, name)((2, 0), dtype=None).dtype, plait.f32)
        self.assertEqual(random.bits(3).dtype, plait.u32)
        self.assertEqual(random.bits(KEY, (), plait.u8).dtype, plait.u8)
        self.assertEqual(random.normal(KEY, 3, plait.zeros(3, plait.f64)).shape, (3,))

    def test_integers(self):
        x = random.randint(KEY, COUNT, -2, 3).numpy()
        self.assertEqual(x.dtype, np.int64)
        self.assertGreater(scipy.stats.chisquare(np.bincount(x + 2, minlength=5)).pvalue, 1e-6)
        self.assertEqual(random.randint((2, 2), 0, 10, plait.u8).dtype, plait.u8)
        with self.assertRaises(plait.ValueError):
            random.randint(KEY, 3, 5, 5)

    def test_choices(self):
        p = np.array([0.1, 0.5, 0.9])
        x = random.bernoulli(KEY, p, (COUNT, 3)).numpy()
        np.testing.assert_allclose(x.mean(0), p, atol=0.03)
        self.assertEqual(random.bernoulli(plait.asarray(p)).shape, (3,))
        self.assertEqual(random.bernoulli(0.5, shape=4).shape, (4,))
        logits = np.log(np.array([[0.2, 0.3, 0.5]]))
        x = random.categorical(KEY, np.broadcast_to(logits, (COUNT, 3))).numpy()
        np.testing.assert_allclose(np.bincount(x) / COUNT, [0.2, 0.3, 0.5], atol=0.03)
        self.assertEqual(random.categorical(plait.asarray(logits), axis=0).shape, (3,))

    def test_orders(self):
        self.assertEqual(sorted(random.permutation(KEY, 50).numpy()), list(range(50)))
        self.assertEqual(sorted(random.permutation(7).numpy()), list(range(7)))
        x = np.arange(40).reshape(4, 10)
        shuffled = random.shuffle(KEY, x, 1).numpy()
        np.testing.assert_array_equal(np.sort(shuffled, 1), x)
        np.testing.assert_array_equal(shuffled - shuffled[:1], x - x[:1])
        self.assertEqual(sorted(random.shuffle(plait.asarray(x)).numpy()[:, 0]), [0, 10, 20, 30])

    def test_refusals(self):
        for kind, action in ((plait.TypeError, lambda: random.uniform((2,), "b")), (TypeError, lambda: random.uniform()),
                             (plait.TypeError, lambda: random.split_key(plait.arange(3))),
                             (plait.ValueError, lambda: random.seed(-1)),
                             (plait.TypeError, lambda: random.bits(KEY, 3, plait.f32)),
                             (plait.ValueError, lambda: random.bernoulli(KEY, 2.0)),
                             (plait.TypeError, lambda: random.normal(3, dtype=plait.i32))):
            with self.assertRaises(kind):
                action()

    def test_in_a_trace(self):
        program = plait.trace(lambda key, x: x + random.normal(key, x.shape))(KEY, plait.Spec("f32[n]"))
        x = np.ones(5, np.float32)
        np.testing.assert_array_equal(program(KEY, x).numpy(), (x + random.normal(KEY, 5)).numpy())


STRETCHED = (COUNT, 3)


def of_parameters(**parameters):
    """Three values of each parameter, as f64."""
    return {name: np.array(each, np.float64) for name, each in parameters.items()}


# By name: parameters, and SciPy's name of the distribution.
PARAMETRIC = {
    "gamma": (of_parameters(a=[0.2, 1.5, 300]), scipy.stats.gamma),
    "beta": (of_parameters(a=[0.3, 2, 500], b=[0.6, 1, 300]), scipy.stats.beta),
    "chisquare": (of_parameters(degrees=[0.5, 3, 40]), scipy.stats.chi2),
    "f": (of_parameters(degrees_above=[1, 3, 40], degrees_below=[2, 5, 100]), scipy.stats.f),
    "student_t": (of_parameters(degrees=[0.5, 3, 1e6]), scipy.stats.t),
    "generalized_normal": (of_parameters(p=[0.7, 2, 5]), scipy.stats.gennorm),
    "lognormal": (of_parameters(mean=[0, 1, -1], deviation=[1, 0.3, 2]), lambda mean, deviation: scipy.stats.lognorm(deviation, scale=np.exp(mean))),
    "rayleigh": (of_parameters(scale=[0.5, 1, 3]), lambda scale: scipy.stats.rayleigh(scale=scale)),
    "weibull": (of_parameters(scale=[1, 2, 3], concentration=[0.5, 1, 4]), lambda scale, c: scipy.stats.weibull_min(c, scale=scale)),
    "pareto": (of_parameters(b=[0.7, 2, 9]), scipy.stats.pareto),
    "triangular": (of_parameters(low=[0, -1, 2], mode=[0, 0.5, 4], high=[1, 2, 4]),
                   lambda low, mode, high: scipy.stats.triang((mode - low) / (high - low), low, high - low)),
    "wald": (of_parameters(mean=[0.2, 1, 30], scale=[1, 3, 0.5]), lambda mean, scale: scipy.stats.invgauss(mean / scale, scale=scale)),
    "double_sided_maxwell": (of_parameters(location=[0, 1, 2], scale=[1, 2, 3]), None),
}
COUNTED = {
    "poisson": (of_parameters(rate=[0.5, 9.5, 10.5]), scipy.stats.poisson),
    "negative_binomial": (of_parameters(count=[0.5, 3, 20], p=[0.3, 0.1, 0.8]), scipy.stats.nbinom),
    "geometric": (of_parameters(p=[0.02, 0.5, 0.9]), scipy.stats.geom),
}
STANDARD = {"cauchy": scipy.stats.cauchy, "logistic": scipy.stats.logistic, "maxwell": scipy.stats.maxwell}


def fit_of_counts(drawn, distribution):
    """The probability of counts that fit the distribution as badly or worse."""
    edges = np.unique(distribution.ppf(np.linspace(0.02, 0.98, 25)))
    shares = np.diff(np.concatenate([[0], distribution.cdf(edges), [1]]))
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(shares))
    kept = shares * len(drawn) > 5
    return scipy.stats.chisquare(seen[kept], shares[kept] / shares[kept].sum() * seen[kept].sum()).pvalue


class Parametric(unittest.TestCase):
    def test_are_of_their_distributions(self):
        for name, (parameters, distribution) in PARAMETRIC.items():
            for dtype in (plait.f32, plait.f64):
                with self.subTest(name=name, dtype=dtype):
                    draw = getattr(random, name)
                    x = draw(KEY, **parameters, shape=STRETCHED, dtype=dtype)
                    self.assertEqual((x.dtype, x.shape), (dtype, STRETCHED))
                    if distribution is None:
                        continue
                    for i in range(3):
                        one = distribution(*[each[i] for each in parameters.values()])
                        self.assertGreater(scipy.stats.kstest(x.numpy()[:, i].astype(np.float64), one.cdf).pvalue, 1e-6, i)
            self.assertEqual(draw(**parameters).shape, (3,))
            self.assertEqual(draw(KEY, **parameters).dtype, plait.f64)
        for name, distribution in STANDARD.items():
            for dtype in (plait.f32, plait.f64):
                x = getattr(random, name)(KEY, COUNT, dtype)
                self.assertEqual(x.dtype, dtype)
                self.assertGreater(scipy.stats.kstest(x.numpy(), distribution.cdf).pvalue, 1e-6, name)
            self.assertEqual(getattr(random, name)(3).dtype, plait.f32)

    def test_logarithms_of_what_is_too_small(self):
        x = random.loggamma(KEY, 1e-4, (COUNT,)).numpy()
        self.assertTrue(np.isfinite(x).all() and x.min() < -1e4)
        self.assertGreater(scipy.stats.kstest(-x * 1e-4, scipy.stats.expon.cdf).pvalue, 1e-6)
        np.testing.assert_allclose(random.loggamma(KEY, 3.0, (50,)).numpy(), np.log(random.gamma(KEY, 3.0, (50,)).numpy()), rtol=1e-5)

    def test_counts(self):
        for name, (parameters, distribution) in COUNTED.items():
            with self.subTest(name=name):
                x = getattr(random, name)(KEY, **parameters, shape=STRETCHED)
                self.assertEqual((x.dtype, x.shape), (plait.i64, STRETCHED))
                for i in range(3):
                    one = distribution(*[each[i] for each in parameters.values()])
                    self.assertGreater(fit_of_counts(x.numpy()[:, i], one), 1e-6, i)
                self.assertEqual(getattr(random, name)(**parameters, dtype=plait.i32).dtype, plait.i32)
        for count, p in ((7, 0.3), (200, 0.02), (50, 0.75), (10**6, 0.4), (10**15, 1e-12)):
            x = random.binomial(KEY, count, p, (COUNT,)).numpy()
            self.assertGreater(fit_of_counts(x, scipy.stats.binom(count, np.float32(p).astype(float))), 1e-6, (count, p))
        for rate in (1e3, 1e6, 1e12):
            self.assertGreater(fit_of_counts(random.poisson(KEY, rate, (COUNT,)).numpy(), scipy.stats.poisson(rate)), 1e-6, rate)
        x = random.multinomial(KEY, 40, np.array([1.0, 2, 5]), (COUNT,)).numpy()
        np.testing.assert_array_equal(x.sum(-1), 40)
        for i, share in enumerate((1 / 8, 2 / 8, 5 / 8)):
            self.assertGreater(fit_of_counts(x[:, i], scipy.stats.binom(40, share)), 1e-6)
        self.assertAlmostEqual(np.cov(x.T)[0, 1], -40 * 2 / 64, delta=0.15)
        x = random.rademacher(KEY, COUNT).numpy()
        self.assertEqual(set(x), {-1, 1})
        self.assertAlmostEqual(x.mean(), 0, delta=0.04)

    def test_vectors(self):
        concentration = np.array([0.5, 2, 5])
        x = random.dirichlet(KEY, concentration, (COUNT,)).numpy()
        np.testing.assert_allclose(x.sum(-1), 1, rtol=1e-12)
        for i in range(3):
            one = scipy.stats.beta(concentration[i], concentration.sum() - concentration[i])
            self.assertGreater(scipy.stats.kstest(x[:, i], one.cdf).pvalue, 1e-6)
        covariance = np.array([[2, 0.6], [0.6, 0.5]])
        for root in ("cholesky", "eigen"):
            x = random.multivariate_normal(KEY, np.array([1.0, -1]), covariance, (COUNT,), root).numpy()
            np.testing.assert_allclose(np.cov(x.T), covariance, atol=0.1)
            np.testing.assert_allclose(x.mean(0), [1, -1], atol=0.05)
        for p in (1, 2, 5):
            x = random.ball(KEY, 3, p, (COUNT,), plait.f64).numpy()
            size = (np.abs(x) ** p).sum(-1) ** (1 / p)
            self.assertGreater(scipy.stats.kstest(size, scipy.stats.beta(3, 1).cdf).pvalue, 1e-6)
        q = random.orthogonal(KEY, 2, (COUNT,), plait.f64).numpy()
        angle = np.arctan2(q[:, 1, 0], q[:, 0, 0])
        self.assertGreater(scipy.stats.kstest(angle, scipy.stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue, 1e-6)
        self.assertAlmostEqual(np.linalg.det(q).mean(), 0, delta=0.04)

    def test_choice(self):
        p = np.array([0.1, 0.2, 0.7])
        x = random.choice(KEY, 3, (COUNT,), p=p).numpy()
        self.assertGreater(scipy.stats.chisquare(np.bincount(x), COUNT * p).pvalue, 1e-6)
        x = random.choice(KEY, 5, COUNT).numpy()
        self.assertGreater(scipy.stats.chisquare(np.bincount(x)).pvalue, 1e-6)
        keys = random.split_key(KEY, 4000)
        x = random.choice(keys, 3, (2,), replace=False, p=p).numpy()
        self.assertTrue((x[:, 0] != x[:, 1]).all())
        pairs = {(a, b): p[a] * p[b] / (1 - p[a]) for a in range(3) for b in range(3) if a != b}
        seen = [(x == pair).all(-1).sum() for pair in pairs]
        self.assertGreater(scipy.stats.chisquare(seen, 4000 * np.array(list(pairs.values()))).pvalue, 1e-6)
        things = np.arange(12.0).reshape(3, 4)
        x = random.choice(KEY, things, (4,), replace=False, axis=1).numpy()
        np.testing.assert_array_equal(np.sort(x, 1), things)
        self.assertEqual(random.choice(things).shape, (4,))
        self.assertEqual(random.choice(keys[:2], things, (5,), axis=1).shape, (2, 3, 5))
        with self.assertRaises(plait.TypeError):
            random.choice(KEY, 2.5)

    def test_with_vmap_and_jit(self):
        keys = random.split_key(KEY, 3)
        rates = plait.asarray(np.array([0.5, 3, 40]))
        for name, draw in {"gamma": lambda key, a: random.gamma(key, a, (4,)), "poisson": lambda key, a: random.poisson(key, a, (4,)),
                           "binomial": lambda key, a: random.binomial(key, 9, a / 50, (4,)), "beta": lambda key, a: random.beta(key, a, 2.0, (4,)),
                           "multinomial": lambda key, a: random.multinomial(key, 9, plait.stack([a, a * a])),
                           "choice": lambda key, a: random.choice(key, 9, (3,), replace=False) + a}.items():
            with self.subTest(name=name):
                loop = np.stack([draw(keys[i], rates[i]).numpy() for i in range(3)])
                np.testing.assert_array_equal(plait.vmap(draw)(keys, rates).numpy(), loop)
                np.testing.assert_array_equal(plait.vmap(plait.jit(draw))(keys, rates).numpy(), loop)
                one_key = np.stack([draw(KEY, rates[i]).numpy() for i in range(3)])
                np.testing.assert_array_equal(plait.vmap(lambda a: draw(KEY, a))(rates).numpy(), one_key)
                jitted = plait.jit(draw)
                for _ in range(2):
                    np.testing.assert_array_equal(jitted(keys[0], rates[0]).numpy(), loop[0])
        program = plait.trace(lambda key, a: random.gamma(key, a))(KEY, plait.Spec("f32[n]"))
        a = np.array([0.5, 2, 3], np.float32)
        np.testing.assert_array_equal(program(KEY, a).numpy(), random.gamma(KEY, a).numpy())

    def test_derivative_of_gamma(self):
        a = np.concatenate([np.geomspace(1e-3, 1e4, 60), np.full(60, 0.3)])
        x = random.gamma(KEY, a).numpy()
        found = plait.grad(lambda a: plait.sum(random.gamma(KEY, a)))(a).numpy()
        low, high = scipy.special.gammainc(a, x), scipy.special.gammaincc(a, x)

        def quantile(a):
            return np.where(low < 0.5, scipy.special.gammaincinv(a, low), scipy.special.gammainccinv(a, high))

        kept = (x > 1e-250) & (np.abs(quantile(a) - x) < 1e-9 * x)
        self.assertGreater(kept.sum(), 80)
        step = 1e-4 * a
        quotient = (8 * (quantile(a + step) - quantile(a - step)) - quantile(a + 2 * step) + quantile(a - 2 * step)) / (12 * step)
        np.testing.assert_allclose(found[kept], quotient[kept], rtol=1e-6)
        logs = plait.grad(lambda a: plait.sum(random.loggamma(KEY, a)))(a).numpy()
        np.testing.assert_allclose((logs * x)[kept], found[kept], rtol=1e-9)
        with jax.enable_x64(True):
            by_jax = np.asarray(jax.lax.random_gamma_grad(a, x))
        np.testing.assert_allclose(found[kept], by_jax[kept], rtol=1e-5)
        # Where the result underflows, it underflows for all nearby parameters.
        self.assertEqual(plait.grad(lambda a: random.gamma(KEY, a))(1e-30).item(), 0)
        with self.assertRaisesRegex(plait.ValueError, "no derivative itself"):
            plait.grad(plait.grad(lambda a: random.gamma(KEY, a)))(2.0)

    def test_derivatives_of_what_is_made_of_it(self):
        """The mean of the derivative is the derivative of the mean."""
        count = 100_000
        for name, parameters, mean in (
                ("beta", (2.0, 3.0), lambda a, b: a / (a + b)), ("chisquare", (3.0,), lambda n: n),
                ("f", (5.0, 12.0), lambda n, m: m / (m - 2)), ("weibull", (2.0, 1.5), lambda s, c: s * scipy.special.gamma(1 + 1 / c)),
                ("pareto", (6.0,), lambda b: b / (b - 1)), ("triangular", (0.0, 1.0, 3.0), lambda a, c, b: (a + b + c) / 3),
                ("lognormal", (0.5, 0.4), lambda m, s: np.exp(m + s * s / 2)), ("rayleigh", (2.0,), lambda s: s * np.sqrt(np.pi / 2))):
            draw = getattr(random, name)
            every = tuple(range(len(parameters)))
            found = plait.grad(lambda *p: plait.mean(draw(KEY, *p, shape=(count,), dtype=plait.f64)), argnums=every)(*parameters)
            for i, each in enumerate(found):
                ahead, behind = ([p + (i == k) * step for k, p in enumerate(parameters)] for step in (1e-5, -1e-5))
                self.assertAlmostEqual(each.item(), (mean(*ahead) - mean(*behind)) / 2e-5, delta=0.03, msg=f"{name} by {i}")
        variance = plait.grad(lambda n: plait.mean(random.student_t(KEY, n, (count,), plait.f64) ** 2))(9.0).item()
        self.assertAlmostEqual(variance, -2 / 49, delta=0.02)
        shares = plait.jacrev(lambda c: plait.mean(random.dirichlet(KEY, c, (count,)), 0))(np.array([1.0, 2, 3])).numpy()
        np.testing.assert_allclose(shares, (np.eye(3) * 6 - np.array([[1.0], [2], [3]])) / 36, atol=0.005)

    def test_refusals(self):
        for kind, action in ((plait.ValueError, lambda: random.gamma(KEY, -1.0)), (plait.ShapeError, lambda: random.gamma(KEY, np.ones(3), (2,))),
                             (plait.TypeError, lambda: random.poisson(KEY, 2.0, dtype=plait.f32)), (plait.TypeError, lambda: random.gamma(KEY, 1j)),
                             (plait.ValueError, lambda: random.poisson(KEY, np.array([1.0, -1]))), (TypeError, lambda: random.gamma())):
            with self.assertRaises(kind):
                action()


if __name__ == "__main__":
    unittest.main()
