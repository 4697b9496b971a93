"""plait.linalg and plait.fft as users call them, against NumPy and SciPy."""

import unittest

import numpy as np
import plait
import scipy.linalg
from plait import fft, linalg

RANDOM = np.random.default_rng(7)
A = RANDOM.normal(size=(2, 4, 4))
TALL = RANDOM.normal(size=(5, 3))
SPD = A @ A.swapaxes(1, 2) + np.eye(4)
C = RANDOM.normal(size=(3, 6)) + 1j * RANDOM.normal(size=(3, 6))


def same(result, expected, accuracy=1e-10):
    assert isinstance(result, plait.Tensor), type(result)
    np.testing.assert_allclose(result.numpy(), expected, rtol=accuracy, atol=accuracy)
    assert result.shape == np.shape(expected), (result.shape, np.shape(expected))


class Factors(unittest.TestCase):
    def test_cholesky(self):
        same(linalg.cholesky(SPD), np.linalg.cholesky(SPD))
        same(linalg.cholesky(SPD, upper=True), np.linalg.cholesky(SPD).swapaxes(1, 2))
        with self.assertRaises(plait.ValueError):
            linalg.cholesky(-SPD)

    def test_products_of_factors(self):
        p, l, u = linalg.lu(TALL)
        same(p @ l @ u, TALL)
        for mode, columns in (("reduced", 3), ("complete", 5)):
            q, r = linalg.qr(TALL, mode)
            self.assertEqual(q.shape, (5, columns))
            same(q @ r, TALL)
        with self.assertRaisesRegex(plait.ValueError, "mode: 'raw' is not one of"):
            linalg.qr(TALL, mode="raw")
        u, s, vh = linalg.svd(TALL, full_matrices=False)
        same(u * s @ vh, TALL)
        self.assertEqual(linalg.svd(TALL, full_matrices=True).U.shape, (5, 5))
        same(linalg.svdvals(TALL), np.linalg.svd(TALL, compute_uv=False))

    def test_eigenvalues(self):
        values, vectors = linalg.eigh(SPD)
        same(values, np.linalg.eigvalsh(SPD))
        same(linalg.eigvalsh(SPD), np.linalg.eigvalsh(SPD))
        same(SPD @ vectors, (plait.expand_dims(values, 1) * vectors).numpy())
        pairs = linalg.eig(A)
        same(A.astype(complex) @ pairs.eigenvectors, (plait.expand_dims(pairs.eigenvalues, 1) * pairs.eigenvectors).numpy())
        same(plait.sort(plait.real(linalg.eigvals(A))), np.sort(np.linalg.eigvals(A).real))

    def test_schur(self):
        for array, form in ((A, "real"), (A, "complex"), (A + 1j * SPD, "real")):
            t, z = linalg.schur(array, form)
            same(z @ t @ plait.conj(plait.matrix_transpose(z)), array.astype(z.numpy().dtype))
            same(t, np.triu(t.numpy(), -1 if t.dtype == plait.f64 else 0), 0)
            same(plait.sort(plait.absolute(linalg.eigvals(t))), np.sort(np.abs(np.linalg.eigvals(array))))
        with self.assertRaisesRegex(plait.ValueError, "form: 'upper' is not one of"):
            linalg.schur(A, "upper")


class Equations(unittest.TestCase):
    def test_solutions(self):
        b = RANDOM.normal(size=(2, 4, 3))
        same(linalg.solve(A, b), np.linalg.solve(A, b))
        same(linalg.solve_triangular(A, b), np.linalg.solve(np.triu(A), b))
        lower = np.tril(A, -1) + np.eye(4)
        same(linalg.solve_triangular(A, b, upper=False, unit_diagonal=True), np.linalg.solve(lower, b))
        same(linalg.inv(A), np.linalg.inv(A))
        same(linalg.pinv(TALL), np.linalg.pinv(TALL))
        right = RANDOM.normal(size=(5, 2))
        found, expected = linalg.lstsq(TALL, right), np.linalg.lstsq(TALL, right)
        same(found.solution, expected[0])
        same(found.residuals, expected[1])
        self.assertEqual(found.rank.item(), expected[2])
        same(found.singular_values, expected[3])

    def test_by_factors(self):
        b = RANDOM.normal(size=(2, 4, 3))
        lu, order = linalg.lu_factor(A)
        packed, pivots = scipy.linalg.lu_factor(A[0])
        same(lu[0], packed)
        rows = np.arange(4)
        for i, pivot in enumerate(pivots):
            rows[[i, pivot]] = rows[[pivot, i]]
        np.testing.assert_array_equal(order[0].numpy(), rows)
        same(linalg.lu_solve(lu, order, b), np.linalg.solve(A, b))
        same(linalg.lu_solve(lu, order, b[0, :, 0]), np.linalg.solve(A, b[0, :, :1])[..., 0])
        for upper in (False, True):
            factor = linalg.cholesky(SPD, upper)
            same(linalg.cholesky_solve(factor, b, upper=upper), np.linalg.solve(SPD, b))
            same(linalg.cholesky_inverse(factor, upper=upper), np.linalg.inv(SPD))

    def test_tensors(self):
        a, b = RANDOM.normal(size=(2, 3, 6)), RANDOM.normal(size=(2, 3))
        same(linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))
        same(linalg.tensorsolve(a.transpose(0, 2, 1), b, axes=(1,)), np.linalg.tensorsolve(a.transpose(0, 2, 1), b, axes=(1,)))
        a = RANDOM.normal(size=(2, 6, 3, 4))
        same(linalg.tensorsolve(a, b=RANDOM.normal(size=(3, 4)) * 0, axes=[0, 1]), np.zeros((2, 6)))
        same(linalg.tensorinv(a), np.linalg.tensorinv(a))
        same(linalg.tensorinv(a.reshape(12, 3, 4), 1), np.linalg.tensorinv(a.reshape(12, 3, 4), 1))

    def test_exponentials(self):
        for array in (A, SPD * 10, A * 100, C[:, :3], np.triu(A, 1) * 1e8, A * 1e-8, np.zeros((2, 3, 3)), np.diag([-800.0, 1]),
                      1000.0 ** np.subtract.outer(np.arange(6), np.arange(6)).T):
            expected = scipy.linalg.expm(array)
            size = np.abs(expected).max(initial=1)
            same(linalg.expm(array) / size, expected / size, 1e-12 * max(1, np.abs(array).max()))
        same(linalg.expm(A.astype(np.float32)), scipy.linalg.expm(A.astype(np.float64)), 1e-6)
        program = plait.trace(linalg.expm)(plait.Spec("f64[k, n, n]"))
        same(program(A), scipy.linalg.expm(A))
        with self.assertRaisesRegex(plait.ValueError, r"matrix \[1\] of the batch contains NaN"):
            linalg.expm(np.stack([np.eye(2), np.full((2, 2), np.inf)]))

    def test_conditions(self):
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            same(linalg.cond(A, order), np.linalg.cond(A, order))
        same(linalg.cond(TALL), np.linalg.cond(TALL))
        self.assertEqual(linalg.cond(np.zeros((2, 2))).item(), np.inf)

    def test_made_of_others(self):
        factors = [RANDOM.normal(size=shape) for shape in ((3, 7), (7, 2), (2, 9), (9,))]
        same(linalg.multi_dot(factors), np.linalg.multi_dot(factors))
        same(linalg.multi_dot([factors[0][0], *factors[1:3]]), np.linalg.multi_dot([factors[0][0], *factors[1:3]]))
        x = RANDOM.normal(size=4)
        for count in (None, 0, 1, 6):
            same(linalg.vander(x, count), np.vander(x, count, increasing=True))
            same(linalg.vander(x, count, increasing=False), np.vander(x, count))
        same(linalg.toeplitz(x), scipy.linalg.toeplitz(x))
        same(linalg.toeplitz(C[0], x), scipy.linalg.toeplitz(C[0], x))
        same(linalg.toeplitz(C[0]), scipy.linalg.toeplitz(C[0]))
        same(linalg.block_diag([A[0], x, C, 2.0]), scipy.linalg.block_diag(A[0], x, C, 2.0))

    def test_names_of_the_array_api(self):
        for name in ("diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "vecdot"):
            self.assertIs(getattr(linalg, name), getattr(plait, name))

    def test_numbers(self):
        same(linalg.det(A), np.linalg.det(A))
        for ours, theirs in zip(linalg.slogdet(A), np.linalg.slogdet(A)):
            same(ours, theirs)
        low = TALL[:, :1] @ TALL[:1]
        self.assertEqual(linalg.matrix_rank(low).item(), 1)
        self.assertEqual(linalg.matrix_rank(np.diag([1, 0.1, 0.01]), rtol=0.05).item(), 2)
        same(linalg.trace(A, 1), np.trace(A, 1, 1, 2))
        same(linalg.matrix_power(A, -3), np.linalg.matrix_power(A, -3), 1e-8)
        same(linalg.cross(TALL, TALL[::-1]), np.cross(TALL, TALL[::-1]))
        same(linalg.kron(A[0], TALL), np.kron(A[0], TALL))

    def test_norms(self):
        for order in (2, 1, np.inf, -np.inf, 0, 3):
            same(linalg.vector_norm(A, order, (0, 2)), np.linalg.vector_norm(A, ord=order, axis=(0, 2)))
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            same(linalg.matrix_norm(A, order, keepdims=True), np.linalg.matrix_norm(A, ord=order, keepdims=True))
        same(linalg.norm(A), np.linalg.norm(A))
        same(linalg.norm(A, 1, 2), np.linalg.norm(A, 1, 2))
        same(linalg.norm(A, 2, axis=[1, 2]), np.linalg.norm(A, 2, (1, 2)))
        for order in (3, "frobenius", None):
            with self.assertRaises((ValueError, TypeError)):
                linalg.matrix_norm(A, order)

    def test_refusals(self):
        for kind, action in ((plait.ShapeError, lambda: linalg.solve(TALL, TALL)), (plait.ShapeError, lambda: linalg.inv(TALL)),
                             (plait.TypeError, lambda: linalg.qr(TALL, 1)), (TypeError, lambda: linalg.svd(TALL, "full")),
                             (plait.ValueError, lambda: linalg.inv(np.zeros((2, 2)))),
                             (plait.ShapeError, lambda: linalg.det(A[0, 0]))):
            with self.assertRaises(kind):
                action()


class Fourier(unittest.TestCase):
    def test_along_an_axis(self):
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
            x = C.real if name in ("rfft", "ihfft") else C
            for options in ({}, {"n": 8}, {"n": 5, "axis": 0}, {"norm": "ortho"}, {"norm": "forward", "axis": -1}):
                with self.subTest(name=name, options=options):
                    same(getattr(fft, name)(x, **options), getattr(np.fft, name)(x, **options))

    def test_along_several(self):
        x = np.stack([C, C + 1, C * 2])
        for name in ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"):
            array = x.real if name.startswith("r") else x
            same(getattr(fft, name)(array), getattr(np.fft, name)(array))
            same(getattr(fft, name)(array, (4, 8), [0, 2], "ortho"), getattr(np.fft, name)(array, (4, 8), (0, 2), "ortho"))
            same(getattr(fft, name)(array, axes=(0, 1)), getattr(np.fft, name)(array, axes=(0, 1)))

    def test_derivatives(self):
        """The transforms are linear: the tangent is the transform of the tangent, and the cotangent satisfies the
        dot product test."""
        def numbers(like, is_real):
            drawn = RANDOM.normal(size=like)
            return drawn if is_real else drawn + 1j * RANDOM.normal(size=like)

        def check(name, shape, is_real, *arguments):
            transform = lambda x: getattr(fft, name)(x, *arguments)  # noqa: E731
            x, t = numbers(shape, is_real), numbers(shape, is_real)
            with self.subTest(name=name, shape=shape, real=is_real, arguments=arguments):
                y, tangent = plait.jvp(transform, (x,), (t,))
                same(y, getattr(np.fft, name)(x, *arguments))
                same(tangent, getattr(np.fft, name)(t, *arguments))
                c = numbers(y.shape, y.dtype == plait.f64)
                (cotangent,) = plait.vjp(transform, plait.asarray(x))[1](plait.asarray(c))
                np.testing.assert_allclose(np.sum(c * tangent.numpy()).real, np.sum(cotangent.numpy() * t).real, rtol=1e-10)
                self.assertEqual(cotangent.dtype, plait.f64 if is_real else plait.c128)
                power = lambda x: plait.sum(plait.square(plait.absolute(transform(x))))  # noqa: E731
                both = plait.vmap(plait.grad(power))(np.stack([t, x]))[1]
                same(both, plait.jit(plait.grad(power))(x).numpy())
                same(plait.jvp(plait.grad(power), (plait.asarray(x),), (plait.asarray(t),))[1], plait.grad(power)(t).numpy())

        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
            for is_real in (True, False)[:1 if name in ("rfft", "ihfft") else 2]:
                for length in (1, 2, 3, 4, 5, 7, 8, 12, 13, 37, 64, 97):
                    if length > 1 or name not in ("irfft", "hfft"):  # for one number the result is constant
                        check(name, (2, length), is_real)
                for norm in ("backward", "ortho", "forward"):
                    for length in (None, 1, 2, 5, 6, 9):
                        check(name, (6, 2), is_real, length, 0, norm)
        for name in ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"):
            for is_real in (True, False)[:1 if name.startswith("r") else 2]:
                for lengths in (None, (4, 5), (7, 2)):
                    for axes in ((-2, -1), (2, 0)):
                        check(name, (3, 4, 5), is_real, lengths, axes, "ortho")
                if name.endswith("n"):
                    check(name, (3, 4, 5), is_real)
        for name in ("fftshift", "ifftshift"):
            for is_real in (True, False):
                check(name, (3, 4), is_real)
                check(name, (3, 4), is_real, (1,))

    def test_frequencies(self):
        same(fft.fftfreq(7, 0.5, plait.f64), np.fft.fftfreq(7, 0.5))
        same(fft.rfftfreq(8), np.fft.rfftfreq(8), 1e-6)
        self.assertEqual(fft.fftfreq(4).dtype, plait.f32)
        same(fft.fftshift(C), np.fft.fftshift(C))
        same(fft.ifftshift(C, 1), np.fft.ifftshift(C, 1))

    def test_there_and_back(self):
        same(fft.irfft(fft.rfft(C.real, axis=0), 3, 0), C.real)
        same(fft.ifftn(fft.fftn(C)), C)

    def test_refusals(self):
        for kind, action in ((plait.ValueError, lambda: fft.fft(C, norm="unit")), (plait.IndexError, lambda: fft.fft(C, axis=2)),
                             (plait.ValueError, lambda: fft.fft(C, 0)), (plait.TypeError, lambda: fft.rfft(C)),
                             (plait.TypeError, lambda: fft.fft(C, "4"))):
            with self.assertRaises(kind):
                action()

    def test_in_a_trace(self):
        program = plait.trace(lambda x: fft.irfft(fft.rfft(x) * 2))(plait.Spec("f64[n, 6]"))
        same(program(C.real), 2 * C.real)


class Modules(unittest.TestCase):
    def test_are_imported_like_any_other(self):
        import plait.fft
        import plait.linalg
        import plait.random

        self.assertIs(plait.linalg.solve, linalg.solve)
        self.assertIsNot(scipy.linalg.solve, linalg.solve)
        self.assertTrue(callable(plait.random.key))


if __name__ == "__main__":
    unittest.main()
