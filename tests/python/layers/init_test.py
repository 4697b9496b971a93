"""Initialisers compared with torch.nn.init's."""

import inspect
import itertools
import unittest

import numpy as np
import plait as pl
import torch

RANDOM_CASES = (
    ("uniform", {}), ("uniform", {"a": -2.0, "b": 0.5}), ("normal", {}), ("normal", {"mean": 3.0, "std": 0.2}),
    ("trunc_normal", {}), ("trunc_normal", {"mean": 0.5, "std": 2.0, "a": -1.0, "b": 3.0}), ("trunc_normal", {"std": 0.02}),
    ("xavier_uniform", {}), ("xavier_uniform", {"gain": 1.5}), ("xavier_normal", {}), ("xavier_normal", {"gain": 0.3}),
    *((f"kaiming_{name}", options) for name in ("uniform", "normal") for options in (
        {}, {"a": 0.5}, {"mode": "fan_out"}, {"nonlinearity": "relu"}, {"nonlinearity": "tanh", "mode": "fan_out"}, {"nonlinearity": "selu"})),
    ("orthogonal", {}), ("orthogonal", {"gain": 2.0}))
NAMES = [name for name in dir(torch.nn.init) if name.endswith("_") and not name.startswith("_")]


class Init(unittest.TestCase):
    def test_all_are_here(self):
        for name in NAMES:
            own = [p for p in inspect.signature(getattr(pl.nn.init, name[:-1])).parameters.values()]
            theirs = list(inspect.signature(getattr(torch.nn.init, name)).parameters.values())
            theirs = [(p.name, p.default) for p in theirs[1:] if p.name != "generator"]
            self.assertEqual([(p.name, p.default) for p in own if p.kind is p.POSITIONAL_OR_KEYWORD][1:], theirs, name)
            self.assertEqual([(p.name, p.default) for p in own if p.kind is p.KEYWORD_ONLY], [("key", None), ("dtype", pl.f32)], name)

    def test_distributions(self):
        for name, options in RANDOM_CASES:
            for shape in (100, 90, 3, 2), (60, 500):
                with self.subTest(name, shape=shape, **options):
                    torch.manual_seed(6)
                    wanted = getattr(torch.nn.init, name + "_")(torch.empty(shape, dtype=torch.float64), **options).numpy()
                    found = getattr(pl.nn.init, name)(shape, **options, key=pl.random.key(6), dtype=pl.f64).numpy()
                    self.assertEqual((found.shape, found.dtype), (wanted.shape, wanted.dtype))
                    spread = np.std(wanted)
                    self.assertAlmostEqual(np.mean(found), np.mean(wanted), delta=0.03 * spread)
                    self.assertAlmostEqual(np.std(found), spread, delta=0.02 * spread)
                    share = np.linspace(0.05, 0.95, 19)
                    np.testing.assert_allclose(np.quantile(found, share), np.quantile(wanted, share), atol=8 * spread / found.size**0.5)
                    if "uniform" in name or "b" in options:
                        edge = max(abs(wanted.min()), abs(wanted.max()))
                        self.assertLessEqual(found.max(), wanted.max() + 0.01 * edge)
                        self.assertGreaterEqual(found.min(), wanted.min() - 0.01 * edge)

    def test_exact(self):
        for name, shape, *options in (("zeros", (2, 3)), ("ones", (4,)), ("constant", (2, 3), 0.3), ("eye", (3, 5)), ("eye", (5, 3)), ("eye", (0, 3)),
                                      ("dirac", (3, 2, 4)), ("dirac", (2, 5, 3, 2)), ("dirac", (4, 2, 1, 2, 3)), ("dirac", (6, 2, 3), 3),
                                      ("dirac", (6, 4, 3, 3), 2)):
            with self.subTest(name, shape=shape):
                wanted = getattr(torch.nn.init, name + "_")(torch.empty(shape, dtype=torch.float64), *options).numpy()
                np.testing.assert_array_equal(getattr(pl.nn.init, name)(shape, *options, dtype=pl.f64).numpy(), wanted)

    def test_gains(self):
        for name in ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid", "tanh", "relu",
                     "leaky_relu", "selu"):
            self.assertEqual(pl.nn.init.calculate_gain(name), torch.nn.init.calculate_gain(name))
        self.assertEqual(pl.nn.init.calculate_gain("leaky_relu", 0.2), torch.nn.init.calculate_gain("leaky_relu", 0.2))

    def test_orthogonal(self):
        for shape, gain in itertools.product(((7, 4), (4, 7), (5, 5), (6, 2, 2), (3, 4, 2, 2)), (1.0, 1.5)):
            matrix = pl.nn.init.orthogonal(shape, gain, key=pl.random.key(2), dtype=pl.f64).numpy().reshape(shape[0], -1)
            product = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
            np.testing.assert_allclose(product, gain**2 * np.eye(len(product)), atol=1e-12)
        drawn = pl.vmap(lambda key: pl.nn.init.orthogonal((2, 2), key=key, dtype=pl.f64))(pl.random.split_key(pl.random.key(1), 2000)).numpy()
        np.testing.assert_allclose(drawn.mean(0), np.zeros((2, 2)), atol=0.08)  # all signs
        self.assertAlmostEqual((np.linalg.det(drawn) > 0).mean(), 0.5, delta=0.05)
        self.assertEqual(pl.nn.init.orthogonal((4, 4), dtype=pl.bf16).dtype, pl.bf16)

    def test_sparse(self):
        for shape, sparsity in itertools.product(((50, 20), (7, 300)), (0.0, 0.13, 0.5, 1.0)):
            found = pl.nn.init.sparse(shape, sparsity, std=0.3, key=pl.random.key(3), dtype=pl.f64).numpy()
            wanted = torch.nn.init.sparse_(torch.empty(shape, dtype=torch.float64), sparsity, std=0.3).numpy()
            np.testing.assert_array_equal((found == 0).sum(0), (wanted == 0).sum(0))
            if sparsity < 1:
                self.assertAlmostEqual(found[found != 0].std(), 0.3, delta=0.04)
        zeros = pl.nn.init.sparse((7, 3000), 0.5, key=pl.random.key(3)).numpy() == 0
        np.testing.assert_allclose(zeros.mean(1), 4 / 7, atol=0.05)  # each row as often

    def test_keys_and_dtypes(self):
        for name in {name for name, _ in RANDOM_CASES} | {"sparse"}:
            options = {"sparsity": 0.1} if name == "sparse" else {}
            draw = getattr(pl.nn.init, name)
            a, b, c = (draw((8, 6), **options, key=pl.random.key(seed)) for seed in (1, 1, 2))
            np.testing.assert_array_equal(a, b)
            self.assertFalse(np.array_equal(a, c), name)
            self.assertFalse(np.array_equal(draw((8, 6), **options), draw((8, 6), **options)), name)
            self.assertEqual(draw((8, 6), **options, dtype=pl.f16).dtype, pl.f16)
            np.testing.assert_array_equal(pl.jit(lambda key: draw((8, 6), **options, key=key))(pl.random.key(1)), a)

    def test_nothing(self):
        for name in "kaiming_uniform", "xavier_normal", "orthogonal":
            self.assertEqual(getattr(pl.nn.init, name)((0, 3)).shape, (0, 3))
        self.assertEqual(pl.nn.init.uniform((2, 2), 0.5, 0.5).tolist(), [[0.5, 0.5]] * 2)

    def test_wrong(self):
        init = pl.nn.init
        for make, error, message in (
                (lambda: init.uniform((2,), 1.0, 0.0), pl.ValueError, "nn.init.uniform: the numbers are from 1.0 to 0.0"),
                (lambda: init.normal((2,), std=-1), pl.ValueError, "nn.init.normal: std is -1"),
                (lambda: init.trunc_normal((2,), std=0), pl.ValueError, "nn.init.trunc_normal: std is 0"),
                (lambda: init.eye((2, 3, 4)), pl.ShapeError, r"nn.init.eye: the shape is \[2, 3, 4\], expected \[outputs, inputs\]"),
                (lambda: init.dirac((2, 3)), pl.ShapeError, "nn.init.dirac: the shape"),
                (lambda: init.dirac((4, 3, 2), groups=3), pl.ValueError, "4 outputs in 3 groups"),
                (lambda: init.sparse((4, 3), 1.5), pl.ValueError, "sparsity is 1.5"),
                (lambda: init.orthogonal((4,)), pl.ShapeError, "nn.init.orthogonal: the shape"),
                (lambda: init.kaiming_normal((4, 2), mode="in"), pl.ValueError, "nn.init.kaiming_normal: the mode is 'in'"),
                (lambda: init.kaiming_normal((4, 2), nonlinearity="gelu"), pl.ValueError, "unknown activation 'gelu'"),
                (lambda: init.kaiming_normal((4,)), pl.ShapeError, "two dimensions")):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                make()


if __name__ == "__main__":
    unittest.main()
