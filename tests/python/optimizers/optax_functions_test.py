"""Functions of optax that are not transformations: diagonals of second derivatives, perturbed functions, power iteration and
least squares of numbers of 0 or more."""

import unittest
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optax
import plait as pl

jax.config.update("jax_enable_x64", True)

RANDOM = np.random.default_rng(8)
optim = pl.optim


def ours_of(tree):
    return {name: pl.asarray(each) for name, each in tree.items()}


def theirs_of(tree):
    return {name: jnp.asarray(each) for name, each in tree.items()}


PARAMS = {"bias": RANDOM.normal(size=3), "weight": RANDOM.normal(size=(3, 4))}  # JAX sorts the names
X, Y = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(5, 3))


def loss_of(tanh, total):
    return lambda params, x, y: total((tanh(x @ params["weight"].T + params["bias"]) - y) ** 2)


class SecondOrder(unittest.TestCase):
    def test_as_in_optax(self):
        loss, theirs = loss_of(pl.tanh, pl.sum), loss_of(jnp.tanh, jnp.sum)
        for name in "hessian_diag", "fisher_diag":
            with warnings.catch_warnings(action="ignore"):  # optax deprecates them
                wanted = getattr(optax.second_order, name)(theirs, theirs_of(PARAMS), jnp.asarray(X), jnp.asarray(Y))
            for way in lambda f: f, pl.jit:
                with self.subTest(name):
                    found = way(lambda params, x, y: getattr(optim, name)(loss, params, x, y))(ours_of(PARAMS), pl.asarray(X), pl.asarray(Y))  # noqa: B023
                    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)

    def test_the_hessian_has_this_diagonal(self):
        loss, params = loss_of(pl.tanh, pl.sum), ours_of(PARAMS)
        vector, x, y = pl.nn.utils.parameters_to_vector(params), pl.asarray(X), pl.asarray(Y)
        hessian = pl.hessian(lambda vector: loss(pl.nn.utils.vector_to_parameters(vector, params), x, y))(vector)
        np.testing.assert_allclose(optim.hessian_diag(loss, params, x, y), np.diag(hessian), rtol=1e-11, atol=1e-12)

    def test_in_transforms(self):
        cubes = lambda params, factor: pl.sum(factor * params ** 3)  # noqa: E731
        x = pl.tensor([1.0, 2.0])
        np.testing.assert_allclose(pl.vmap(lambda x: optim.hessian_diag(cubes, x, 2.0))(pl.stack([x, -x])), [[12, 24], [-12, -24]], rtol=1e-6)
        np.testing.assert_allclose(pl.grad(lambda x: pl.sum(optim.hessian_diag(cubes, x, 2.0)))(x), [12, 12], rtol=1e-6)
        np.testing.assert_allclose(pl.vmap(lambda x: optim.fisher_diag(cubes, x, 1.0))(pl.stack([x, x])), [[9, 144]] * 2, rtol=1e-6)

    def test_of_models(self):
        """Buffers and frozen weights are left out, and a weight at two places counts once."""
        x = pl.asarray(RANDOM.normal(size=(4, 3)))
        model = pl.nn.freeze(pl.nn.BatchNorm1d(3, dtype=pl.f64), "bias").eval()
        found = optim.hessian_diag(lambda model: pl.sum(model(x) ** 2), model)
        np.testing.assert_allclose(found, 2 * np.sum((x / np.sqrt(1 + 1e-5)) ** 2, 0), rtol=1e-10)
        weight = pl.tensor([1.0, 2.0])
        self.assertEqual(optim.fisher_diag(lambda tree: pl.sum(tree["a"] * tree["b"]), {"a": weight, "b": weight}).tolist(), [4.0, 16.0])
        self.assertEqual(optim.hessian_diag(lambda tree: pl.sum(tree), pl.zeros(0)).shape, (0,))
        self.assertEqual(optim.hessian_diag(lambda x: x ** 3, pl.tensor(2.0)).tolist(), [12.0])

    def test_what_is_refused(self):
        for name in "hessian_diag", "fisher_diag":
            function = getattr(optim, name)
            for call, words in ((lambda: function(3, pl.ones(2)), f"optim.{name}: loss is 3, expected a function"),  # noqa: B023
                                (lambda: function(pl.sum, {"n": 2}), f"optim.{name}: there are no weights"),  # noqa: B023
                                (lambda: function(pl.sum, pl.tensor([1j])), "the weights are complex")):  # noqa: B023
                with self.subTest(words), self.assertRaisesRegex(pl.TypeError, words):
                    call()


class Fixed:
    """Noise that is the same in both libraries, whatever the key."""

    def __init__(self, values, log_prob):
        self.values, self.log_prob = values, log_prob

    def sample(self, key, shape, dtype):
        return self.values.reshape(shape)


LOG_PROBS = {"gumbel": lambda exp: lambda z: -z - exp(-z), "normal": lambda exp: lambda z: -0.5 * z ** 2}


class Perturbed(unittest.TestCase):
    def test_one_sample_as_in_optax(self):
        """Values, and derivatives of the first and second order, of a function without useful ones."""
        x, z, c = RANDOM.normal(size=4), RANDOM.normal(size=4), RANDOM.normal(size=4)
        for name, log_prob in LOG_PROBS.items():
            for use_baseline in True, False:
                ours = optim.make_perturbed_fun(lambda x: pl.sum(pl.round(3 * x) * c), 1, 0.3, Fixed(pl.asarray(z), log_prob(pl.exp)), use_baseline)
                theirs = optax.perturbations.make_perturbed_fun(lambda x: jnp.sum(jnp.round(3 * x) * c), 1, 0.3, Fixed(jnp.asarray(z), log_prob(jnp.exp)), use_baseline)
                key, their_key = pl.random.key(1), jax.random.key(1)
                wanted = [theirs(their_key, jnp.asarray(x)), jax.grad(theirs, 1)(their_key, x), jax.hessian(theirs, 1)(their_key, x)]
                for way in lambda f: f, pl.jit:
                    with self.subTest(name, use_baseline=use_baseline):
                        found = [way(each)(pl.asarray(x)) for each in (
                            lambda x: ours(key, x), pl.grad(lambda x: ours(key, x)), pl.hessian(lambda x: ours(key, x)))]  # noqa: B023
                        for one, other in zip(found, wanted):
                            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)

    def test_trees_as_in_optax(self):
        x, z = {"a": RANDOM.normal(size=2), "b": RANDOM.normal(size=2)}, RANDOM.normal(size=2)
        of = lambda where: lambda x: {"y": where(x["a"] > x["b"], 1.0, 0.0), "n": (x["a"] > 0)}  # noqa: E731
        ours = optim.make_perturbed_fun(of(pl.where), 1, 0.5, Fixed(pl.asarray(z), LOG_PROBS["normal"](pl.exp)))
        theirs = optax.perturbations.make_perturbed_fun(of(jnp.where), 1, 0.5, Fixed(jnp.asarray(z), LOG_PROBS["normal"](jnp.exp)))
        found, wanted = ours(pl.random.key(0), ours_of(x)), theirs(jax.random.key(0), theirs_of(x))
        slope = pl.grad(lambda x: pl.sum(ours(pl.random.key(0), x)["y"]))(ours_of(x))
        their_slope = jax.grad(lambda x: jnp.sum(theirs(jax.random.key(0), x)["y"]))(theirs_of(x))
        for name in "y", "n":
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-10)
        for name in "a", "b":
            np.testing.assert_allclose(slope[name], their_slope[name], rtol=1e-10, atol=1e-12)

    def test_the_perturbed_maximum_is_logsumexp(self):
        x, sigma = pl.tensor([0.3, -0.5, 0.1], dtype=pl.f64), 0.7
        for use_baseline in True, False:
            smooth = optim.make_perturbed_fun(lambda x: pl.max(x), 200_000, sigma, use_baseline=use_baseline)
            value, slope = pl.jit(pl.value_and_grad(lambda x: smooth(pl.random.key(3), x)))(x)
            self.assertAlmostEqual(value.item(), (sigma * (pl.logsumexp(x / sigma, axis=-1) + np.euler_gamma)).item(), 2)
            np.testing.assert_allclose(slope, pl.softmax(x / sigma, axis=-1), atol=0.02)

    def test_normal_noise(self):
        """The step function becomes the distribution function of the noise, and its slope the density."""
        x = pl.tensor(0.4, dtype=pl.f64)
        smooth = optim.make_perturbed_fun(lambda x: pl.astype(x > 0, pl.f64), 200_000, 0.5, "normal")
        value, slope = pl.value_and_grad(lambda x: smooth(pl.random.key(3), x))(x)
        self.assertAlmostEqual(value.item(), pl.ndtr(x / 0.5).item(), 2)
        self.assertAlmostEqual(slope.item(), np.exp(-0.5 * 0.8 ** 2) / np.sqrt(2 * np.pi) / 0.5, 1)

    def test_samples_have_keys_of_their_own(self):
        drawn = optim.make_perturbed_fun(lambda x: x, 3, 1.0, "normal")
        key, x = pl.random.key(5), {"a": pl.zeros(2), "b": pl.zeros(2)}
        found = drawn(key, x)
        self.assertFalse(np.allclose(found["a"], found["b"]))
        keys = [pl.random.split_key(each, 2) for each in pl.random.split_key(key, 3)]
        np.testing.assert_allclose(found["a"], np.mean([pl.random.normal(each[0], 2).numpy() for each in keys], 0), rtol=1e-5, atol=1e-7)
        many = pl.vmap(drawn, in_axes=(0, None))(pl.random.split_key(key, 4), x)
        self.assertEqual(len(set(many["a"][:, 0].tolist())), 4)
        self.assertEqual(pl.vmap(drawn, in_axes=(None, 0))(key, {"a": pl.zeros((4, 2)), "b": pl.zeros((4, 2))})["a"].shape, (4, 2))

    def test_what_is_refused(self):
        make, key = optim.make_perturbed_fun, pl.random.key(0)
        for call, error, words in (
                (lambda: make(3), pl.TypeError, "optim.make_perturbed_fun: fun is 3, expected a function"),
                (lambda: make(pl.max, 0), pl.ValueError, "num_samples is 0, expected 1 to"),
                (lambda: make(pl.max, 1.5), pl.TypeError, "num_samples is 1.5, expected an integer"),
                (lambda: make(pl.max, 2, 0.0), pl.ValueError, "sigma is 0.0, expected a number above 0"),
                (lambda: make(pl.max, 2, "wide"), pl.TypeError, "sigma is 'wide'"),
                (lambda: make(pl.max, 2, 1.0, "cauchy"), pl.TypeError, "noise is 'cauchy', expected 'gumbel', 'normal', or an object with sample"),
                (lambda: make(pl.max, 2, 1.0, "normal", 1), pl.TypeError, "use_baseline is 1"),
                (lambda: make(pl.max)(key, pl.tensor([1, 2])), pl.TypeError, "x is i64, expected real floating-point numbers"),
                (lambda: make(pl.max)(key, {"a": pl.tensor([1j])}), pl.TypeError, "x.a is c64"),
                (lambda: make(pl.max)(key, {}), pl.TypeError, "expected a tree of tensors")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


SYMMETRIC = (lambda a: a @ a.T + np.diag(np.arange(6.0)))(RANDOM.normal(size=(6, 6)))


class PowerIteration(unittest.TestCase):
    def test_as_in_optax(self):
        start = RANDOM.normal(size=6)
        for options in {}, {"num_iters": 3}, {"num_iters": 0}, {"error_tolerance": 0.1}, {"error_tolerance": 0.0, "num_iters": 20}:
            for matrix in SYMMETRIC, -SYMMETRIC, np.diag([1.0, -3.0, 2.0, 0.5, 0.0, 1.0]):
                wanted = optax.power_iteration(jnp.asarray(matrix), v0=jnp.asarray(start), **options)
                for way in lambda f: f, pl.jit:
                    with self.subTest(options=options):
                        found = way(lambda matrix: optim.power_iteration(matrix, v0=pl.asarray(start), **options))(pl.asarray(matrix))  # noqa: B023
                        for one, other in zip(found, wanted):
                            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)

    def test_functions_of_trees(self):
        matrix = SYMMETRIC[:5, :5]
        product = lambda concat: lambda tree: (lambda y: {"a": y[:2], "b": y[2:]})(matrix @ concat([tree["a"], tree["b"]]))  # noqa: E731
        start = {"a": np.ones(2), "b": np.ones(3)}
        wanted = optax.power_iteration(product(jnp.concatenate), v0=theirs_of(start))
        ours = lambda tree: (lambda y: {"a": y[:2], "b": y[2:]})(pl.asarray(matrix) @ pl.concat([tree["a"], tree["b"]]))  # noqa: E731
        value, vector = optim.power_iteration(ours, v0=ours_of(start))
        np.testing.assert_allclose(value, wanted[0], rtol=1e-10)
        for name in start:
            np.testing.assert_allclose(vector[name], wanted[1][name], rtol=1e-9)

    def test_of_a_hessian(self):
        x = pl.tensor([1.0, 2.0, 3.0], dtype=pl.f64)
        value, _ = optim.power_iteration(lambda v: pl.hvp(lambda x: pl.sum(x ** 3), x, v), v0=pl.ones_like(x), num_iters=200)
        self.assertAlmostEqual(value.item(), 18.0, 4)

    def test_transforms(self):
        matrices = pl.asarray(np.stack([SYMMETRIC, 2 * SYMMETRIC, np.eye(6)]))
        values, vectors = pl.vmap(optim.power_iteration)(matrices)
        for i in range(3):
            value, vector = optim.power_iteration(matrices[i])
            np.testing.assert_allclose(values[i], value, rtol=1e-10)
            np.testing.assert_allclose(vectors[i], vector, rtol=1e-10, atol=1e-12)
        options = {"num_iters": 500, "error_tolerance": 1e-12}
        slope = pl.grad(lambda matrix: optim.power_iteration(matrix, **options)[0])(matrices[0]).numpy()
        vector = optim.power_iteration(matrices[0], **options)[1].numpy()
        np.testing.assert_allclose(slope, np.outer(vector, vector), atol=1e-5)

    def test_special_matrices(self):
        value, vector = optim.power_iteration(pl.zeros((3, 3)))
        self.assertEqual(value.item(), 0.0)
        self.assertAlmostEqual(pl.norm(vector).item(), 1.0, 6)
        self.assertEqual([each.tolist() for each in optim.power_iteration(pl.tensor([[-2.0]]))], [-2.0, [1.0]])
        self.assertEqual(optim.power_iteration(pl.zeros((0, 0)))[1].shape, (0,))
        value, _ = optim.power_iteration(pl.tensor([[2.0, 1j], [-1j, 2.0]]), num_iters=200)
        np.testing.assert_allclose(value.item(), 3.0, atol=1e-4)
        self.assertNotEqual(optim.power_iteration(pl.eye(2), key=pl.random.key(1))[1].tolist(), optim.power_iteration(pl.eye(2))[1].tolist())

    def test_what_is_refused(self):
        iterate = optim.power_iteration
        for call, error, words in (
                (lambda: iterate(pl.ones((2, 3))), pl.ShapeError, r"the matrix is \[2, 3\], expected a square one"),
                (lambda: iterate(pl.ones(3)), pl.ShapeError, r"the matrix is \[3\], expected 2 dimensions"),
                (lambda: iterate("nonsense"), pl.TypeError, "the matrix is 'nonsense', expected a tensor"),
                (lambda: iterate(lambda v: v), pl.TypeError, r"v0 is missing, and the matrix is a function[\s\S]*plait.tree.map"),
                (lambda: iterate(pl.eye(3), v0=pl.ones(2)), pl.ShapeError, r"v0 is \[2\], expected \[3\], of a matrix \[3, 3\]"),
                (lambda: iterate(lambda v: v[:1], v0=pl.ones(2)), pl.ShapeError, r"the matrix maps \[2\] to \[1\]"),
                (lambda: iterate(pl.eye(3), v0=pl.tensor([1, 2, 3])), pl.TypeError, "expected tensors of floating-point numbers"),
                (lambda: iterate(pl.eye(3), num_iters=-1), pl.ValueError, "num_iters is -1, expected 0 to"),
                (lambda: iterate(pl.eye(3), num_iters=1.5), pl.TypeError, "num_iters is 1.5"),
                (lambda: iterate(pl.eye(3), error_tolerance=-1.0), pl.ValueError, "error_tolerance is -1.0"),
                (lambda: iterate(pl.eye(3), error_tolerance="small"), pl.TypeError, "error_tolerance is 'small'")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


class LeastSquares(unittest.TestCase):
    def test_as_in_optax(self):
        for shape in ((6, 4), (4, 6), (1, 1), (3, 1)):
            A = RANDOM.normal(size=shape)
            for b in RANDOM.normal(size=shape[0]), RANDOM.normal(size=(shape[0], 3)):
                for options in {}, {"L": 40.0}:
                    with self.subTest(shape, options=options):
                        theirs = lambda A, b: optax.nnls(A, b, 50, **options)  # noqa: B023, E731
                        ours = lambda A, b: optim.nnls(A, b, 50, **options)  # noqa: B023, E731
                        np.testing.assert_allclose(ours(pl.asarray(A), pl.asarray(b)), theirs(jnp.asarray(A), jnp.asarray(b)), rtol=1e-10, atol=1e-12)
                        found = pl.jit(pl.grad(lambda A, b: pl.sum(ours(A, b) ** 2), argnums=(0, 1)))(pl.asarray(A), pl.asarray(b))  # noqa: B023
                        wanted = jax.grad(lambda A, b: (theirs(A, b) ** 2).sum(), argnums=(0, 1))(jnp.asarray(A), jnp.asarray(b))  # noqa: B023
                        for one, other in zip(found, wanted):
                            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)

    def test_the_least_is_found(self):
        A, b = np.abs(RANDOM.normal(size=(8, 3))), RANDOM.normal(size=8)
        x = optim.nnls(pl.asarray(A), pl.asarray(b), 5000).numpy()
        slope = A.T @ (A @ x - b)
        self.assertTrue((x >= 0).all() and (slope > -1e-8).all() and abs(x @ slope) < 1e-8)

    def test_many_together_and_empty_ones(self):
        A, b = RANDOM.normal(size=(4, 5, 3)), RANDOM.normal(size=(4, 5))
        solve = lambda A, b: optim.nnls(A, b, 30, unroll=2)  # noqa: E731
        for way in pl.vmap(solve), pl.jit(pl.vmap(solve)):
            np.testing.assert_allclose(way(pl.asarray(A), pl.asarray(b))[2], optax.nnls(jnp.asarray(A[2]), jnp.asarray(b[2]), 30), rtol=1e-10, atol=1e-12)
        self.assertEqual(optim.nnls(pl.ones((3, 0)), pl.ones(3), 5).shape, (0,))
        self.assertEqual(optim.nnls(pl.ones((0, 3)), pl.ones(0), 5).tolist(), [0.0] * 3)
        self.assertEqual(optim.nnls(pl.ones((2, 3)), pl.ones(2), 0).tolist(), [0.0] * 3)
        self.assertEqual(optim.nnls(pl.zeros((2, 2)), pl.ones(2), 5).tolist(), [0.0] * 2)

    def test_what_is_refused(self):
        A, b = pl.ones((3, 2)), pl.ones(3)
        for call, error, words in (
                (lambda: optim.nnls(b, b, 5), pl.ShapeError, r"optim.nnls: A is \[3\], expected 2 dimensions"),
                (lambda: optim.nnls(A, pl.ones(2), 5), pl.ShapeError, r"A is \[3, 2\] and b \[2\], expected as many rows"),
                (lambda: optim.nnls(A, pl.ones((3, 1, 1)), 5), pl.ShapeError, r"b is \[3, 1, 1\], expected 1 or 2 dimensions"),
                (lambda: optim.nnls(A, b, -1), pl.ValueError, "iters is -1"),
                (lambda: optim.nnls(A, b, 2.5), pl.TypeError, "iters is 2.5, expected an integer"),
                (lambda: optim.nnls(A, b, 5, L="large"), pl.TypeError, "L is 'large'"),
                (lambda: optim.nnls(A * 1j, b, 5), pl.TypeError, "A is c64 and b f32, expected real numbers")):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


if __name__ == "__main__":
    unittest.main()
