"""Iterations for linear problems, with optax's names: the greatest eigenvalue, and least squares of numbers of 0 or more."""

from numbers import Real

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.optimizers.numbers import is_known
from plait.inside.transforms.control import scan, while_loop
from plait.tree import flatten

_MOST_STEPS = 2**31 - 1


def _steps(what, name, given):
    if isinstance(given, bool) or not isinstance(given, int):
        raise errors.TypeError(f"{what}: {name} is {in_words(given)}, expected an integer")
    if not 0 <= given <= _MOST_STEPS:
        raise errors.ValueError(f"{what}: {name} is {given}, expected 0 to {_MOST_STEPS}")
    return given


def _tensor(what, name, given, *counts):
    if isinstance(given, str) or given is None:
        raise errors.TypeError(f"{what}: {name} is {in_words(given)}, expected a tensor")
    given = asarray(given)
    if given.ndim not in counts:
        raise errors.ShapeError(f"{what}: {name} is {list(given.shape)}, expected {' or '.join(map(str, counts))} dimensions")
    return given if given.dtype.kind in ("floating", "complex") else _core.astype(given, _core.f32)


def power_iteration(matrix, *, v0=None, num_iters=100, error_tolerance=1e-6, key=None):
    """(eigenvalue, eigenvector) of the greatest absolute value, of a matrix [n, n] that has a basis of eigenvectors, by at most num_iters
    products: fewer if the relative error is below error_tolerance. The matrix may be a function of a vector, or of a tree of tensors; then
    v0 is needed, where the iteration begins. Otherwise it begins with uniform random numbers between -1 and 1, by the key, or key(0).

    >>> eigenvalue, eigenvector = plait.optim.power_iteration(plait.tensor([[2.0, 0.0], [0.0, 1.0]]))
    >>> round(eigenvalue.item(), 4), plait.round(plait.abs(eigenvector))
    (2.0, [1. 0.] : f32[2])
    """
    what = "optim.power_iteration"
    num_iters = _steps(what, "num_iters", num_iters)
    _expect_tolerance(what, error_tolerance)
    product = matrix
    if isinstance(matrix, _core.Tensor) or not callable(matrix):
        matrix = _tensor(what, "the matrix", matrix, 2)
        if matrix.shape[0] != matrix.shape[1]:
            raise errors.ShapeError(f"{what}: the matrix is {list(matrix.shape)}, expected a square one")
        if v0 is None:
            v0 = _core.astype(_core.random.uniform(_core.random.key(0) if key is None else key, (matrix.shape[0],), -1.0, 1.0), matrix.dtype)
        product = lambda v: _core.matmul(matrix, v)  # noqa: E731
    elif v0 is None:
        raise errors.TypeError.with_hint(f"{what}: v0 is missing, and the matrix is a function", "v0=plait.tree.map(plait.ones_like, weights), or random numbers")
    leaves, structure = flatten(asarray(v0) if isinstance(v0, float) else v0)
    if not leaves or any(each.dtype.kind not in ("floating", "complex") for each in leaves):
        raise errors.TypeError(f"{what}: v0 is {in_words(v0)}, expected tensors of floating-point numbers")
    if not isinstance(product, _core.Tensor) and product is not matrix and tuple(leaves[0].shape) != (matrix.shape[0],):
        raise errors.ShapeError(f"{what}: v0 is {list(leaves[0].shape)}, expected [{matrix.shape[0]}], of a matrix {list(matrix.shape)}")
    return _iterated(what, product, leaves, structure, num_iters, error_tolerance)


def _expect_tolerance(what, tolerance):
    is_number = isinstance(tolerance, Real) and not isinstance(tolerance, bool) or isinstance(tolerance, _core.Tensor) and not tolerance.ndim
    if not is_number:
        raise errors.TypeError(f"{what}: error_tolerance is {in_words(tolerance)}, expected a number")
    if (not isinstance(tolerance, _core.Tensor) or is_known(tolerance)) and not float(tolerance) >= 0:
        raise errors.ValueError(f"{what}: error_tolerance is {tolerance}, expected 0 or more")


def _iterated(what, product, leaves, structure, num_iters, tolerance):
    def times(vectors):
        made, form = flatten(product(structure.unflatten(vectors)))
        if form.paths != structure.paths or any(tuple(one.shape) != tuple(other.shape) for one, other in zip(made, vectors)):
            raise errors.ShapeError(f"{what}: the matrix maps {_shapes(vectors)} to {_shapes(made)}, expected the same shapes")
        return [_core.astype(one, other.dtype) for one, other in zip(made, vectors)]

    first = _units(leaves, leaves)
    image = times(first)
    count = _core.zeros((), dtype=_core.i64)

    def goes_on(carry):
        vector, image, eigenvalue, count = carry
        error = _norm([one - eigenvalue * other for one, other in zip(image, vector)])
        is_open = error >= tolerance * _core.absolute(eigenvalue)  # false of NaN
        return _core.logical_and(_core.logical_or(count == 0, is_open), count < num_iters)

    def step(carry):
        before, image, _, count = carry
        vector = _units(image, before)
        image = times(vector)
        return vector, image, _product(vector, image), count + 1

    vector, image, eigenvalue, _ = while_loop(goes_on, step, (first, image, _core.zeros_like(_product(first, image)), count))
    return eigenvalue, structure.unflatten(_units(image, vector))


def _shapes(leaves):
    return ", ".join(str(list(each.shape)) for each in leaves)


def _product(xs, ys):
    return sum(_core.sum(_core.conj(x) * y) for x, y in zip(xs, ys))


def _norm(leaves):
    return _core.sqrt(sum(_core.sum(_core.square(_core.absolute(each))) for each in leaves))


def _units(leaves, otherwise):
    """The vectors divided by their norm; others if that is 0."""
    squares = sum(_core.sum(_core.square(_core.absolute(each))) for each in leaves)
    is_zero = squares == 0
    norm = _core.sqrt(_core.where(is_zero, 1.0, squares))
    return [_core.where(is_zero, other, each / norm) for each, other in zip(leaves, otherwise)]


def nnls(A, b, iters, *, unroll=1, L=None):
    """The x of 0 or more whose A x is nearest to b, for A [m, n] and b [m] or [m, k], by `iters` steps of an accelerated projected gradient
    (Polyak). L is a bound of the greatest eigenvalue of AᵀA, of which one is computed otherwise.

    >>> x = plait.optim.nnls(plait.tensor([[1.0, 2.0], [3.0, 4.0]]), plait.tensor([5.0, 6.0]), 1000)
    >>> [round(each, 2) for each in x.tolist()]
    [0.0, 1.7]
    """
    what = "optim.nnls"
    A, b, iters = _tensor(what, "A", A, 2), _tensor(what, "b", b, 1, 2), _steps(what, "iters", iters)
    if A.dtype.kind == "complex" or b.dtype.kind == "complex":
        raise errors.TypeError(f"{what}: A is {A.dtype.name} and b {b.dtype.name}, expected real numbers")
    if A.shape[0] != b.shape[0]:
        raise errors.ShapeError(f"{what}: A is {list(A.shape)} and b {list(b.shape)}, expected as many rows")
    if L is not None and (isinstance(L, bool) or not isinstance(L, (Real, _core.Tensor))):
        raise errors.TypeError(f"{what}: L is {in_words(L)}, expected a number")
    square, target = A.T @ A, A.T @ b
    bound = _bound(square) if L is None else _core.astype(L, square.dtype) if isinstance(L, _core.Tensor) else _core.full((), L, dtype=square.dtype)
    bound = _core.where(bound == 0, 1.0, bound)

    def step(carry, _):
        x, ahead, weight = carry
        following = (1.0 + _core.sqrt(1.0 + 4.0 * weight**2)) / 2.0
        after = _core.maximum(ahead - (square @ ahead - target) / bound, 0.0)
        return (after, after + (weight - 1.0) / following * (after - x), following), ()

    x = _core.zeros_like(target)
    return scan(step, (x, x, _core.zeros((), dtype=target.dtype)), length=iters, unroll=unroll)[0][0]


def _bound(square):
    """The smaller one of two norms, neither of which is below the greatest absolute eigenvalue."""
    if 0 in square.shape:
        return _core.zeros((), dtype=square.dtype)
    return _core.minimum(_core.linalg.matrix_norm(square, "fro"), _core.linalg.matrix_norm(square, 1.0))
