"""plait.random: with a key and without one, the shapes and dtypes that were asked for, and the distributions by tests
that would fail once in a million seeds, had the seed not been chosen."""

import unittest

import numpy as np
import plait
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
            with self.assertRaisesRegex(plait.ValueError, "seed: .* is not from 0"):
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


if __name__ == "__main__":
    unittest.main()
