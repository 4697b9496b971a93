"""Factorizations of the last two dimensions. Results that are not unique are checked by their defining properties."""

import numpy as np
import scipy.linalg

from suite.cases import Sample, case, numbers

FAMILY = "linalg"
SQUARES = [((3, 3),), ((1, 1),), ((0, 0),), ((2, 4, 4),), ((0, 3, 3),), ((17, 17),)]
ANY = [*SQUARES, ((5, 3),), ((3, 5),), ((2, 4, 2),)]
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}


def dagger(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(what, a, b, like, factor=200):
    """None where a and b agree to the accuracy of a factorisation."""
    a, b = np.asarray(a, np.complex128), np.asarray(b, np.complex128)
    if a.shape != b.shape:
        return f"{what}: {a.shape} and {b.shape}"
    allowed = factor * EPSILON[like.dtype.name] * max(1, like.shape[-1]) * max(1, np.abs(b).max(initial=0))
    worst = np.abs(a - b).max(initial=0)
    return None if worst <= allowed else f"{what}: off by {worst}, allowed {allowed}"


def first(*found):
    return next((each for each in found if each), None)


def eye(count, like):
    return np.broadcast_to(np.eye(count), (*like.shape[:-2], count, count))


def well_conditioned(random, shape, dtype, operand):
    drawn = numbers(-1.0, 1.0)(random, shape, dtype, operand)
    if operand == 0 and shape[-1] == shape[-2]:
        drawn = drawn + 2 * np.eye(shape[-1]).astype(drawn.dtype) * np.arange(1, shape[-1] + 1).astype(drawn.dtype)
    return drawn


def hermitian(random, shape, dtype, operand):
    drawn = well_conditioned(random, shape, dtype, operand)
    return (drawn + dagger(drawn)) / 2


def definite(random, shape, dtype, operand):
    drawn = numbers(-1.0, 1.0)(random, shape, dtype, operand)
    return (drawn @ dagger(drawn) + shape[-1] * np.eye(shape[-1])).astype(drawn.dtype)


def hermitian_direction(random, operand, array):
    drawn = random.uniform(-1, 1, array.shape)
    if array.dtype.kind == "c":
        drawn = drawn + 1j * random.uniform(-1, 1, array.shape)
    return drawn + dagger(drawn)


def projections(values, vectors, np=np):
    """Vectors are unique up to a factor of magnitude 1."""
    return [values, np.einsum("...ik,...jk->...kij", vectors, np.conj(vectors))]


def parts(u, s, vh, np=np):
    count = s.shape[-1]
    return [s, np.einsum("...ik,...kj->...kij", u[..., :count], vh[..., :count, :])]


def add(name, oracle, samples, draw=well_conditioned, **options):
    case(name, oracle, family=FAMILY, samples=samples, draw=draw, large=False, tolerance="factorisation", **options)


def spread(x, *_, **attributes):
    return np.float64(np.abs(x).max(initial=1) * max(1, x.shape[-1]))


add("cholesky", np.linalg.cholesky, SQUARES, definite, direction=hermitian_direction, scale=spread)
PAIRS = [((3, 3), (3, 2)), ((1, 1), (1, 1)), ((2, 4, 4), (2, 4, 3)), ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((17, 17), (17, 5))]
add("solve", np.linalg.solve, PAIRS, scale=spread)


def triangular_solve(a, b, lower=True, unit_diagonal=False):
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        diagonal = np.eye(a.shape[-1])
        triangle = triangle * (1 - diagonal) + diagonal
    return np.linalg.solve(triangle, b)


add("triangular_solve", triangular_solve, [Sample(shapes, {"lower": k % 2 == 0, "unit_diagonal": k % 3 == 2}) for k, shapes in enumerate(PAIRS)],
    scale=lambda a, b, **attributes: np.abs(triangular_solve(a.astype(float), b.astype(float), **attributes)).max(initial=1) * 8)


def check_lu(operands, results, attributes):
    a, (packed, order, sign) = operands[0], results
    least = min(a.shape[-2:])
    lower = np.tril(packed[..., :, :least], -1) + np.eye(a.shape[-2], least)
    rows = np.take_along_axis(a, order[..., None], -2)
    orders = order.reshape(int(np.prod(order.shape[:-1])), a.shape[-2])
    signs = [np.linalg.det(np.eye(a.shape[-2])[each]) for each in orders]
    return first(close("P A = L U", lower @ np.triu(packed[..., :least, :]), rows, a),
                 None if np.array_equal(np.round(signs).reshape(sign.shape), sign) else "the sign of the order",
                 None if np.abs(lower).max(initial=0) <= 1.001 * 2**0.5 else "a pivot that is not the greatest")


add("lu", None, ANY, check=check_lu)


def check_qr(operands, results, attributes):
    a, (q, r) = operands[0], results
    inner = a.shape[-2] if attributes.get("complete") else min(a.shape[-2:])
    return first(close("A = Q R", q @ r, a, a), close("QᴴQ = 1", dagger(q) @ q, eye(inner, a), a),
                 None if np.array_equal(np.triu(r), r) else "R is not a triangle")


add("qr", None, [*ANY, Sample(((5, 3),), {"complete": True}), Sample(((3, 3),), {"complete": True})], check=check_qr)


def check_eigh(operands, results, attributes):
    a, (values, vectors) = operands[0], results
    return first(close("A V = V λ", a @ vectors, vectors * values[..., None, :], a),
                 close("VᴴV = 1", dagger(vectors) @ vectors, eye(a.shape[-1], a), a),
                 close("NumPy's", values, np.linalg.eigvalsh(a), a))


add("eigh", None, SQUARES, hermitian, direction=hermitian_direction, check=check_eigh, invariants=projections)


def check_svd(operands, results, attributes):
    a, (u, s, vh) = operands[0], results
    least = min(a.shape[-2:])
    return first(close("A = U S Vᴴ", u[..., :least] * s[..., None, :] @ vh[..., :least, :], a, a),
                 close("UᴴU = 1", dagger(u) @ u, eye(u.shape[-1], a), a), close("VᴴV = 1", vh @ dagger(vh), eye(vh.shape[-2], a), a),
                 close("NumPy's", s, np.linalg.svd(a, compute_uv=False), a))


add("svd", None, [*ANY, Sample(((5, 3),), {"full": True}), Sample(((3, 5),), {"full": True})], check=check_svd, invariants=parts)


def check_eig(operands, results, attributes):
    a, (values, vectors) = operands[0], results
    lengths = np.sum(np.abs(vectors) ** 2, -2)
    return first(close("A V = V λ", a.astype(np.complex128) @ vectors, vectors * values[..., None, :], a, 2_000),
                 close("lengths", lengths, np.ones(lengths.shape), a),
                 close("NumPy's", np.sort_complex(values.astype(np.complex128)),
                       np.sort_complex(np.linalg.eigvals(a.astype(np.complex128))), a, 2_000) if a.ndim == 2 else None)


add("eig", None, SQUARES, check=check_eig, invariants=projections)
add("pinv", lambda x, tolerance: np.linalg.pinv(x, tolerance) if x.size else np.swapaxes(x, -1, -2),
    [Sample(shape, {"tolerance": 1e-6}) for shape in ANY], scale=lambda x, tolerance: np.float64(max(1, max(x.shape[-2:])) * 16))


def check_schur(operands, results, attributes):
    a, (t, z) = operands[0], results
    below = np.tril(t, -1)
    blocks = np.diagonal(below, -1, -2, -1)
    pairs = blocks[..., 1:] * blocks[..., :-1]
    return first(close("A = Z T Zᴴ", z @ t @ dagger(z), a, a), close("ZᴴZ = 1", dagger(z) @ z, eye(a.shape[-1], a), a),
                 None if not np.tril(t, -2).any() else "T has more than blocks of two",
                 "blocks of two that overlap" if pairs.any() else None,
                 "blocks in a complex triangle" if a.dtype.kind == "c" and below.any() else None)


add("schur", None, SQUARES, check=check_schur, fixed=(0,))


def stacked(function):
    """Applies functions of one matrix, of SciPy and others, to stacks."""

    def of(*operands):
        shape = operands[0].shape
        flat = [x.reshape(-1, *x.shape[-2:]) if x.size else x for x in operands]
        found = [function(*each) for each in zip(*flat)] if operands[0].size else []
        return np.array(found, operands[0].dtype).reshape(shape)

    return of


def small(random, shape, dtype, operand):
    return numbers(-1.0, 1.0)(random, shape, dtype, operand)


def powers(a):
    """The sum of A^k / k!, for matrices of moderate norm."""
    a = a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)
    total = term = np.broadcast_to(np.eye(a.shape[-1]), a.shape).astype(a.dtype)
    for k in range(1, 160):
        term = term @ a / k
        total = total + term
    return total.astype(np.complex128 if total.dtype.kind == "c" else np.float64)


def along(a, e):
    """The derivative of e^A in the direction of e, from a block of a larger matrix exponential."""
    n = a.shape[-1]
    whole = np.zeros((2 * n, 2 * n), np.result_type(a, np.float64))
    whole[:n, :n] = whole[n:, n:] = a
    whole[:n, n:] = e
    return scipy.linalg.expm(whole)[:n, n:]


def cofactors(a):
    """The minors of the transposed matrix, one by one."""
    n = a.shape[-1]
    at = lambda i, j: (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, j, -2), i, -1))  # noqa: E731
    return np.array([[at(i, j) for j in range(n)] for i in range(n)])


SMALL = [((3, 3),), ((1, 1),), ((0, 0),), ((2, 4, 4),), ((0, 3, 3),), ((9, 9),)]
add("expm", powers, SMALL, small, scale=lambda a: np.exp(np.abs(a).sum(-1).max(initial=1)))
add("expm_derivative", stacked(along), [(shape, shape) for (shape,) in SMALL], small,
    scale=lambda a, e: np.exp(np.abs(a).sum(-1).max(initial=1)) * max(1, e.shape[-1]))


def with_some_zeros(random, shape, dtype, operand):
    """No number of the second operand, which divides, is near 0."""
    drawn = numbers(0.5, 2.0)(random, shape, dtype, operand)
    return np.where(random.random(shape) < 0.3, 0 if operand == 0 else -1, drawn).astype(drawn.dtype)


add("quotient_or_zero", np.divide, [(shape, shape) for (shape,) in ANY], with_some_zeros)
add("determinant", np.linalg.det, SMALL, small, scale=lambda a: np.float64(max(1, a.shape[-1]) ** 4))
add("adjugate", stacked(cofactors), SMALL, small, scale=lambda a: np.float64(max(1, a.shape[-1]) ** 4))
