"""Derivatives of linear algebra: every function over shapes, stacks, real and complex numbers, and matrices of
special rank or with special eigenvalues, compared with difference quotients; both modes, second derivatives, vmap
and jit. Gradients also with JAX."""

import itertools
import types
import unittest

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import plait as pl
from plait import linalg

jax.config.update("jax_enable_x64", True)

RANDOM = np.random.default_rng(3)
STEP = 1e-5
ACCURACY = 2e-6  # accuracy of difference quotients, relative to the value
SQUARES = [(3, 3), (1, 1), (2, 3, 3), (2, 2, 3, 3), (2, 0, 3, 3), (0, 0)]
WITH_JAX = [(2, 3, 3), (5, 3), (3, 5)]  # compiled by JAX for each shape
MATRICES = [*SQUARES, (5, 3), (3, 5), (2, 5, 3), (2, 2, 3, 5), (3, 1), (1, 3), (0, 3), (2, 3, 0)]


def noise(shape, kind):
    numbers = RANDOM.normal(size=shape)
    return numbers + 1j * RANDOM.normal(size=shape) if kind is complex else numbers


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


def away_from_singular(shape, kind):
    return noise(shape, kind) + 3 * np.eye(shape[-1])


def definite(shape, kind):
    x = noise(shape, kind)
    return x @ dagger(x) + shape[-1] * np.eye(shape[-1])


def of_rank(rank, shape, kind):
    return noise((*shape[:-1], rank), kind) @ noise((*shape[:-2], rank, shape[-1]), kind)


def with_values(values, shape, kind):
    """A matrix with those singular values; a square one is Hermitian with those eigenvalues."""
    count = len(values)
    right = np.linalg.qr(noise((shape[1], shape[1]), kind))[0][:, :count]
    left = right if shape[0] == shape[1] else np.linalg.qr(noise((shape[0], shape[0]), kind))[0][:, :count]
    return left * np.array(values) @ dagger(right)


def adjoint(xp, x):
    return xp.conj(xp.matrix_transpose(x))


def columns_times(xp, x, numbers):
    return x * xp.expand_dims(numbers, -2)


def counted(xp, count):
    return xp.asarray(np.arange(1.0, count + 1))


def inner(a, b):
    """Re Σ a · b, the pairing of complex numbers with tangents."""
    is_complex = "complex" in (pl.asarray(a).dtype.kind, pl.asarray(b).dtype.kind)
    return pl.sum(pl.real(a * b)) if is_complex else pl.sum(a * b)


class Number:
    """Re Σ w · f(x), a number that depends on all results of f."""

    def __init__(self, function, points):
        self.function = function
        self.points = [pl.asarray(x) for x in points]
        self.every = tuple(range(len(points)))
        self.directions = [pl.asarray(noise(x.shape, complex if x.dtype.kind == "c" else float)) for x in map(np.asarray, points)]
        results = self.results(*self.points)
        self.weights = [pl.asarray(noise(each.shape, complex if each.dtype.kind == "complex" else float)) for each in results]
        self.size = max(1.0, abs(self(*self.points).item()))

    def results(self, *x):
        found = self.function(*x)
        return found if isinstance(found, (list, tuple)) else [found]

    def __call__(self, *x):
        terms = [inner(weight, each) for weight, each in zip(self.weights, self.results(*x))]
        return sum(terms[1:], terms[0])

    def gradient(self, *x):
        return pl.grad(self, argnums=self.every)(*x)

    def slope(self, *x):
        return pl.jvp(self, x, self.directions)[1]

    def along_gradient(self, *x):
        terms = [inner(t, g) for t, g in zip(self.directions, self.gradient(*x))]
        return sum(terms[1:], terms[0])

    def quotients(self, function):
        """Difference quotients along the directions; Richardson extrapolation of two."""
        def at(step):
            found = function(*[x + step * t for x, t in zip(self.points, self.directions)])
            return [each.numpy() for each in (found if isinstance(found, (list, tuple)) else [found])]

        ends = [at(step) for step in (STEP, -STEP, STEP / 2, -STEP / 2)]
        return [(8 * (c - d) - (a - b)) / (6 * STEP) for a, b, c, d in zip(*ends)]


def size_of(arrays):
    return max(1.0, *(np.abs(np.asarray(each)).max(initial=0) for each in arrays))


class Derivatives(unittest.TestCase):
    place = ()  # the current case, for messages

    def close(self, what, found, wanted, allowed):
        for a, b in zip(found, wanted, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            self.assertEqual(a.shape, b.shape, what)
            worst = np.abs(a - b).max(initial=0)
            self.assertTrue(worst <= allowed, f"{what} {self.place}: off by {worst}, allowed {allowed}")

    def check(self, function, points, second=True):
        f = Number(function, points)
        gradient = f.gradient(*f.points)
        size = max(f.size, size_of([g.numpy() for g in gradient]))
        slope = f.slope(*f.points).item()
        if all(x.size for x in f.points):
            self.close("jvp", [slope], f.quotients(f), ACCURACY * size)
        self.close("vjp", [sum(inner(g, t).item() for g, t in zip(gradient, f.directions))], [slope], 1e-9 * size)
        self.close("jit", [each.numpy() for each in pl.jit(f.gradient)(*f.points)], [g.numpy() for g in gradient], 1e-9 * size)
        moved = [x + 1e-3 * t for x, t in zip(f.points, f.directions)]
        both = pl.vmap(f.gradient)(*[pl.stack(pair) for pair in zip(f.points, moved)])
        for k, points_of_lane in enumerate((f.points, moved)):
            lane = [each.numpy() for each in f.gradient(*points_of_lane)]
            self.close("vmap", [each.numpy()[k] for each in both], lane, 1e-7 * max(size, size_of(lane)))
        if second and all(x.size for x in f.points):
            self.check_second(f, size)
        return f, gradient

    def check_second(self, f, size):
        wanted = f.quotients(f.gradient)
        allowed = 50 * ACCURACY * max(size, size_of(wanted))
        ways = {"forward over reverse": lambda *x: pl.jvp(f.gradient, x, f.directions)[1],
                "reverse over forward": pl.grad(f.slope, argnums=f.every),
                "reverse over reverse": pl.grad(f.along_gradient, argnums=f.every)}
        for name, way in ways.items():
            self.close(name, [each.numpy() for each in way(*f.points)], wanted, allowed)

    def check_with_jax(self, function, points, second=True):
        """A function of (xp, linalg, x…), where xp is plait or jax.numpy."""
        f, gradient = self.check(lambda *x: function(pl, linalg, *x), points, second)
        if points[0].shape not in WITH_JAX:
            return
        results, pull = jax.vjp(lambda *x: function(jnp, JAX, *x), *map(jnp.asarray, points))
        weights = [jnp.asarray(weight.numpy()) for weight in f.weights]
        by_jax = pull(type(results)(weights) if isinstance(results, (list, tuple)) else weights[0])
        self.close("JAX", [g.numpy() for g in gradient], by_jax, 1e-8 * max(f.size, size_of(by_jax)))

    def over(self, shapes, *more):
        for self.place in itertools.product((float, complex), shapes, *more):
            yield self.place


# Other names in jax.numpy.
JAX = types.SimpleNamespace(
    cholesky=jnp.linalg.cholesky, inv=jnp.linalg.inv, det=jnp.linalg.det, slogdet=jnp.linalg.slogdet, eigh=jnp.linalg.eigh,
    solve=lambda a, b: jnp.linalg.solve(a, b), qr=jnp.linalg.qr, pinv=jnp.linalg.pinv, matrix_power=jnp.linalg.matrix_power,
    svd=jnp.linalg.svd, lu=jax.scipy.linalg.lu, eig=jnp.linalg.eig,
    svdvals=lambda a: jnp.linalg.svd(a, compute_uv=False), expm=lambda a: jax.scipy.linalg.expm(a, max_squarings=32))


class Factors(Derivatives):
    def test_cholesky(self):
        for kind, shape in self.over(SQUARES):
            self.check(lambda a: linalg.cholesky(a, upper=True), [definite(shape, kind)], second=False)
            self.check_with_jax(lambda xp, la, a: la.cholesky(a), [definite(shape, kind)])

    def test_qr(self):
        for kind, shape in self.over(MATRICES):
            a = noise(shape, kind)
            self.check(lambda a: list(linalg.qr(a)), [a])
            if shape[-2] >= shape[-1] > 0:  # JAX does not support wide ones
                self.check_with_jax(lambda xp, la, a: list(la.qr(a)), [a], second=False)
            if shape[-2] <= shape[-1]:
                self.check(lambda a: list(linalg.qr(a, "complete")), [a], second=False)

    def test_lu(self):
        for kind, shape in self.over(MATRICES):
            a = noise(shape, kind)
            self.check(lambda a: linalg.lu_factor(a).lu, [a], second=False)
            if len(shape) == 2:  # JAX does not support stacks
                self.check_with_jax(lambda xp, la, a: list(la.lu(a)[1:]), [a])

    def test_eigh(self):
        def of_values_and_vectors(xp, la, a):
            values, vectors = la.eigh((a + adjoint(xp, a)) * 0.5)
            return [values, columns_times(xp, vectors, counted(xp, a.shape[-1])) @ adjoint(xp, vectors)]

        for kind, shape in self.over(SQUARES):
            self.check_with_jax(of_values_and_vectors, [definite(shape, kind)])
            self.check(linalg.eigvalsh, [definite(shape, kind)])

    def test_eig(self):
        def of_values_and_vectors(xp, la, a):
            values, vectors = la.eig(a)
            sizes = xp.square(xp.absolute(vectors)) * xp.expand_dims(xp.real(values * values), -2)
            return [xp.sum(values * values, -1), xp.sum(xp.absolute(values), -1), sizes]

        for kind, shape in self.over(SQUARES):  # real matrices, too, have eigenvalues in pairs
            self.check(lambda a: of_values_and_vectors(pl, linalg, a), [noise(shape, kind)])
            self.check(lambda a: pl.sum(linalg.eigvals(a) ** 3, -1), [noise(shape, kind)])

    def test_svd(self):
        def of_values_and_vectors(xp, la, a):
            u, s, vh = la.svd(a, full_matrices=False)
            return [s, columns_times(xp, u, counted(xp, s.shape[-1])) @ vh]

        for kind, shape in self.over(MATRICES):
            a = noise(shape, kind)
            self.check_with_jax(of_values_and_vectors, [a])
            self.check(linalg.svdvals, [a])

    def test_full_matrices_of_square_ones(self):
        for kind, shape in self.over([(3, 3), (2, 2, 2)]):
            self.check(lambda a: (lambda f: columns_times(pl, f.U, counted(pl, shape[-1])) @ f.Vh)(linalg.svd(a, full_matrices=True)),
                       [noise(shape, kind)])

    def test_values_that_are_alike(self):
        """Functions that treat equal eigenvalues alike are differentiable."""
        for kind, values in self.over([(1.0, 1, 2, 3), (2.0, 2, 2, 2), (0.0, 0, 1, 1)]):
            hermitian, tall = with_values(values, (4, 4), kind), with_values(np.add(values, 1), (6, 4), kind)
            self.check(lambda a: pl.sum(pl.exp(linalg.eigvalsh(a))), [hermitian], second=False)
            self.check(lambda a: pl.sum(linalg.eigh(a).eigenvalues ** 3), [hermitian], second=False)
            for a in (tall, dagger(tall)):
                self.check(lambda a: linalg.matrix_norm(a, "nuc"), [a], second=False)
                self.check(lambda a: pl.sum(linalg.svdvals(a) ** 3), [a], second=False)
                self.check(lambda a: pl.prod(linalg.svdvals(a)), [a], second=False)

    def test_values_that_are_equal(self):
        """A derivative that does not exist there is NaN, never a wrong number; all others are right."""
        spread, direction = np.diag([1.0, 1.0, 3.0]), noise((3, 3), float)
        along = lambda function, a, b: lambda t: function(pl.asarray(a) + t * pl.asarray(b + b.T))  # noqa: E731

        def derivatives(function, a, b=direction):
            f, t = along(function, a, b), pl.tensor(0.0, dtype="f64")
            slope = lambda g: lambda t: pl.jvp(g, (t,), (pl.ones_like(t),))[1]  # noqa: E731
            first = [pl.grad(f)(t).item(), slope(f)(t).item(), pl.jit(pl.grad(f))(t).item()]
            second = [pl.grad(pl.grad(f))(t).item(), slope(slope(f))(t).item(), slope(pl.grad(f))(t).item()]
            return first, second

        def root(a):
            values, vectors = linalg.eigh(a)
            return pl.sum((vectors * pl.sqrt(values)) @ vectors.T * pl.asarray(noise((3, 3), float)))

        def polar(a):
            u, _, vh = linalg.svd(a)
            return pl.sum(u @ vh * pl.asarray(noise((3, 3), float)))

        for function in (root, polar):
            self.assertTrue(np.isnan(derivatives(function, np.eye(3))[0]).all())
        cubes, both = lambda a: pl.sum(linalg.eigvalsh(a) ** 3), direction + direction.T  # noqa: E731
        first, second = derivatives(cubes, spread)
        self.close("first", first, [3 * np.sum(np.diag(spread) ** 2 * np.diag(both))] * 3, 1e-9)
        self.assertTrue(np.isnan(second).all())
        first, second = derivatives(lambda a: linalg.eigvalsh(a)[2], spread)
        self.close("first of one apart", first, [both[2, 2]] * 3, 1e-9)
        self.close("second of one apart", second[:2], [np.sum(both[2, :2] ** 2)] * 2, 1e-9)
        self.assertTrue(np.isnan(second[2]))  # forward over reverse multiplies the NaN of the others by 0
        # A direction that mixes no equal ones.
        first, second = derivatives(cubes, spread, np.diag([0.1, 0.2, 0.3]))
        self.close("second without mixing", second, [6 * np.sum(np.diag(spread) * np.array([0.2, 0.4, 0.6]) ** 2)] * 3, 1e-9)

    def test_schur_has_none(self):
        with self.assertRaisesRegex(pl.errors.Error, "schur"):
            pl.grad(lambda a: pl.sum(linalg.schur(a).t))(noise((3, 3), float))


class Equations(Derivatives):
    def test_solve(self):
        for kind, shape in self.over(SQUARES):
            a = away_from_singular(shape, kind)
            self.check_with_jax(lambda xp, la, a, b: la.solve(a, b), [a, noise((*shape[:-1], 2), kind)])
            self.check(linalg.solve, [a, noise((shape[-1],), kind)])
            self.check(linalg.solve, [away_from_singular(shape[-2:], kind), noise((2, 2, *shape[-2:-1], 3), kind)], second=False)
            self.check(linalg.solve, [a.real, noise((shape[-1],), complex)], second=False)
            self.check_with_jax(lambda xp, la, a: la.inv(a), [a])

    def test_triangles(self):
        for kind, shape, upper, unit in self.over(SQUARES, (False, True), (False, True)):
            self.check(lambda a, b: linalg.solve_triangular(a, b, upper=upper, unit_diagonal=unit),
                       [away_from_singular(shape, kind), noise((*shape[:-1], 2), kind)])

    def test_by_factors(self):
        for kind, shape in self.over(SQUARES):
            a, b = away_from_singular(shape, kind), noise((*shape[:-1], 2), kind)
            self.check(lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b), [a, b])
            for upper in (False, True):
                self.check(lambda a, b: linalg.cholesky_solve(linalg.cholesky(a, upper), b, upper), [definite(shape, kind), b])
                self.check(lambda a: linalg.cholesky_inverse(linalg.cholesky(a, upper), upper), [definite(shape, kind)], second=False)

    def test_pinv_of_long_matrices_makes_no_square_of_their_length(self):
        for shape in ((2, 100_000), (100_000, 2)):
            a, along = noise(shape, float), noise(shape, float)
            factors = pl.asarray(noise(shape[::-1], float))

            def number(x):
                return pl.sum(linalg.pinv(x) * factors)

            slope = np.sum(pl.grad(number)(pl.asarray(a)).numpy() * along)
            difference = (number(pl.asarray(a + STEP * along)).item() - number(pl.asarray(a - STEP * along)).item()) / (2 * STEP)
            self.assertAlmostEqual(slope, difference, delta=1e-4 * max(1, abs(difference)))

    def test_pinv_and_lstsq(self):
        for kind, shape in self.over(MATRICES):
            a, b = noise(shape, kind), noise((*shape[:-1], 2), kind)
            self.check_with_jax(lambda xp, la, a: la.pinv(a), [a])
            self.check(lambda a, b: [linalg.lstsq(a, b).solution, linalg.lstsq(a, b).residuals], [a, b])
            self.check(lambda a, b: linalg.lstsq(a, b).solution, [a, noise((shape[-2],), kind)], second=False)

    def test_lower_rank_that_stays(self):
        for kind, (m, n, rank) in self.over([(4, 4, 2), (5, 3, 1), (3, 5, 2)]):
            x, y, b = noise((2, m, rank), kind), noise((2, rank, n), kind), noise((2, m, 2), kind)
            self.check(lambda x, y: linalg.pinv(x @ y, 1e-9), [x, y])
            self.check(lambda x, y, b: [linalg.lstsq(x @ y, b, 1e-9).solution, linalg.lstsq(x @ y, b, 1e-9).residuals], [x, y, b])

    def test_tensors(self):
        for kind in (float, complex):
            self.check(linalg.tensorsolve, [noise((2, 3, 6), kind), noise((2, 3), kind)])
            self.check(lambda a: linalg.tensorinv(a, 1), [noise((6, 2, 3), kind)])

    def test_a_singular_matrix_is_named(self):
        a = np.stack([np.stack([np.eye(2), np.eye(2)]), np.stack([np.eye(2), np.ones((2, 2))])])
        for function in (linalg.inv, lambda a: linalg.solve(a, np.ones(2)), lambda a: linalg.matrix_power(a, -2)):
            with self.assertRaisesRegex(pl.ValueError, r"matrix \[1, 1\] of the batch is singular"):
                pl.grad(lambda a: pl.sum(function(a)))(a)


class Numbers(Derivatives):
    def test_determinants(self):
        for kind, shape in self.over(SQUARES):
            a = noise(shape, kind)
            self.check_with_jax(lambda xp, la, a: la.det(a), [a])
            self.check_with_jax(lambda xp, la, a: list(la.slogdet(a)), [a])

    def test_determinants_of_any_rank(self):
        for kind, (n, rank) in self.over([(1, 0), (2, 1), (2, 0), (3, 2), (3, 1), (3, 0), (4, 3), (4, 2), (5, 1)]):
            a = of_rank(rank, (n, n), kind)
            self.check(linalg.det, [a])
            self.check(linalg.det, [np.stack([a, noise((n, n), kind)])])
            nearly = a + 1e-9 * noise((n, n), kind)
            self.check(linalg.det, [nearly])
            cofactors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)]
            if kind is float:
                self.close("cofactors", [pl.grad(linalg.det)(a).numpy()], [cofactors], 1e-12 * size_of(cofactors))

    def test_third_derivatives_of_determinants(self):
        for n, rank in ((3, 3), (3, 2), (4, 3)):
            a, t = of_rank(rank, (n, n), float), pl.asarray(noise((n, n), float))
            slope = linalg.det
            for _ in range(3):
                slope = (lambda f: lambda x: pl.jvp(f, (x,), (t,))[1])(slope)
            # det(a + x t) is a polynomial of x.
            places = np.arange(-3.0, 4)
            polynomial = np.polynomial.Polynomial.fit(places, [np.linalg.det(a + x * t.numpy()) for x in places], n)
            self.close("third", [slope(pl.asarray(a)).item()], [polynomial.deriv(3)(0)], 1e-8)

    def test_powers(self):
        for kind, shape, exponent in self.over(SQUARES, (-3, -1, 0, 1, 2, 3, 7)):
            self.check_with_jax(lambda xp, la, a: la.matrix_power(a, exponent), [away_from_singular(shape, kind) / 3], second=exponent > -3)
        for kind in (float, complex):
            self.check(lambda a: linalg.matrix_power(a, 33), [noise((3, 3), kind) * 0.3])
            self.check(lambda a: linalg.matrix_power(a, 5), [of_rank(1, (3, 3), kind)])

    def test_exponentials(self):
        for kind, shape, size in self.over(SQUARES, (0, 1e-3, 0.1, 0.5, 1, 4)):
            a = noise(shape, kind) * size
            self.check(linalg.expm, [a])
            if size == 1:
                self.check_with_jax(lambda xp, la, a: la.expm(a), [a], second=False)
        for kind in (float, complex):
            self.check(linalg.expm, [np.triu(noise((4, 4), kind), 1)])
            self.check(linalg.expm, [np.diag([1.0, 1, 2, 2]).astype(kind)])
        third = [linalg.expm]
        a, t = noise((3, 3), float), pl.asarray(noise((3, 3), float))
        for _ in range(3):
            third.append((lambda f: lambda x: pl.jvp(f, (x,), (t,))[1])(third[-1]))
        step = 1e-4
        quotient = (third[2](pl.asarray(a + step * t.numpy())) - third[2](pl.asarray(a - step * t.numpy()))) / (2 * step)
        self.close("third", [third[3](pl.asarray(a)).numpy()], [quotient.numpy()], 1e-5 * size_of([quotient.numpy()]))

    def test_norms(self):
        for kind, shape in self.over([(3, 3), (2, 5, 3), (2, 2, 3, 5), (3, 1), (1, 3)]):
            a = noise(shape, kind)
            for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
                self.check(lambda a: linalg.matrix_norm(a, order), [a], second=order in ("fro", "nuc", 2))
            for order in (0.5, 1, 2, 3, np.inf, -np.inf, -2):
                self.check(lambda a: linalg.vector_norm(a, order, -1), [a], second=order in (2, 3))
            self.check(linalg.cond, [a])
        for kind, order in self.over([2, -2, "fro", "nuc", 1]):
            self.check(lambda a: linalg.cond(a, order), [away_from_singular((2, 3, 3), kind)], second=False)

    def test_products(self):
        for kind in (float, complex):
            self.check(linalg.cross, [noise((2, 3), kind), noise((3,), kind)])
            self.check(linalg.kron, [noise((2, 3), kind), noise((3,), kind)])
            self.check(lambda a: linalg.trace(a, 1), [noise((2, 3, 4), kind)])
            self.check(lambda *x: linalg.multi_dot(x), [noise((2,), kind), noise((2, 3), kind), noise((3, 4), kind)])
            self.check(linalg.vander, [noise((2, 3), kind)])
            self.check(linalg.vander, [np.zeros(3, kind)])
            self.check(linalg.toeplitz, [noise((3,), kind), noise((2,), kind)])
            self.check(lambda *x: linalg.block_diag(x), [noise((2, 3), kind), noise((2,), kind), noise((), kind)])


if __name__ == "__main__":
    unittest.main()
