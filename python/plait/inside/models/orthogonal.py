"""Orthogonal weights, which are computed from others: PyTorch's parametrizations.orthogonal."""

from plait import _core, errors
from plait.inside.arrays.dtype_info import finfo
from plait.inside.help.names import in_words
from plait.inside.models.parametrizations import matching, parametrized
from plait.inside.transforms.control import scan
from plait.inside.trees.buffers import Buffer
from plait.inside.trees.module import Module


def _tall(matrix):
    """The matrix, transposed if it has more columns than rows."""
    rows, columns = matrix.shape[-2:]
    return _core.matrix_transpose(matrix) if rows < columns else matrix


def _eye(n, k, like):
    return _core.eye(n, k, dtype=like.dtype)


def _diagonal(x):
    return _core.linalg.diagonal(x)


def _adjoint(x):
    return _core.conj(_core.matrix_transpose(x)) if x.dtype.kind == "complex" else _core.matrix_transpose(x)


def _skew(tall):
    """The skew-Hermitian square matrix of the numbers on and below the diagonal; columns that are missing are 0."""
    n, k = tall.shape[-2:]
    lower = _core.pad_zeros(_core.tril(tall), -1, 0, n - k)
    return lower - _adjoint(lower)


def _by_exponential(tall):
    return _core.linalg.expm(_skew(tall))[..., :tall.shape[-1]]


def _by_cayley(tall):
    """(I - A/2)⁻¹ (I + A/2), its first columns."""
    n, k = tall.shape[-2:]
    half = _skew(tall) / 2
    return _core.linalg.solve(_eye(n, n, tall) - half, (_eye(n, n, tall) + half)[..., :k])


def _by_householder(tall):
    """The first columns of the product of the reflections I - 2 v vᵀ / ‖v‖², where v has a 1 on the diagonal and the numbers below it,
    times the signs on the diagonal. The product is I - V T Vᵀ: the inverse of T is the upper triangle of VᵀV, with half of its diagonal."""
    n, k = tall.shape[-2:]
    v = _core.tril(tall, -1) + _eye(n, k, tall)
    squares = _core.matrix_transpose(v) @ v
    inverse = _core.triu(squares, 1) + _eye(k, k, tall) * squares / 2
    product = _eye(n, k, tall) - v @ _core.linalg.solve_triangular(inverse, _core.matrix_transpose(v[..., :k, :]))
    return product * _signs(_core.stop_gradient(_diagonal(tall)))[..., None, :]


def _signs(x):
    """The sign of each number; 1 for 0."""
    return _core.where(x == 0, _core.ones_like(x), _core.sign(x))


def _with_positive_diagonal(tall):
    """The square Q of the factorization QR whose R has no negative numbers on the diagonal; it begins with the columns of an orthogonal matrix."""
    n, k = tall.shape[-2:]
    q, r = _core.linalg.qr(tall, "complete")
    signs = _signs(_diagonal(r))[..., None, :]
    return _core.concat([q[..., :k] * signs, q[..., k:]], -1) if n > k else q * signs


def _reflections(tall):
    """Numbers of which _by_householder computes the orthogonal factor of a matrix: the vectors of its reflections, and signs."""
    n, k = tall.shape[-2:]
    if not k:
        return tall
    rows, columns = _core.reshape(_core.arange(n), (n, 1)), _core.reshape(_core.arange(k), (k, 1))

    def step(rest, i):
        is_first = rows == i
        x = _core.where(rows >= i, rest @ _core.astype(columns == i, rest.dtype), 0.0)
        sign = _signs(_core.sum(_core.where(is_first, x, 0.0), axis=-2, keepdims=True))
        size = _core.sqrt(_core.sum(_core.square(x), axis=-2, keepdims=True))
        v = x + _core.where(is_first, sign * size, 0.0)
        head = _core.sum(_core.where(is_first, v, 0.0), axis=-2, keepdims=True)
        v = _core.where(is_first, _core.ones_like(v), v / _core.where(head == 0, 1.0, head))
        rest = rest - 2 * v * ((_core.matrix_transpose(v) @ rest) / _core.sum(_core.square(v), axis=-2, keepdims=True))
        return rest, (v[..., 0], -sign[..., 0, 0])

    _, (v, signs) = scan(step, tall, _core.arange(k))
    return _core.tril(_core.moveaxis(v, 0, -1), -1) + _core.moveaxis(signs, 0, -1)[..., None, :] * _eye(n, k, tall)


_MAPS = {"matrix_exp": _by_exponential, "cayley": _by_cayley, "householder": _by_householder}


class _Orthogonal(Module):
    """A matrix with orthogonal columns, or rows if it has more columns, as a function of any matrix."""

    def __init__(self, orthogonal_map, shape):
        self.orthogonal_map, self.shape = orthogonal_map, shape

    def __call__(self, original):
        found = _MAPS[self.orthogonal_map](_tall(original))
        return self._placed(found) if original.shape[-2] >= original.shape[-1] else _core.matrix_transpose(self._placed(found))

    def _placed(self, columns):
        return columns

    def _expect(self, weight):
        if tuple(weight.shape) != self.shape:
            raise errors.ShapeError(f"nn.orthogonal: the weight is {list(weight.shape)}, expected {list(self.shape)}")


class _Householder(_Orthogonal):
    def right_inverse(self, weight):
        self._expect(weight)
        found = _reflections(_tall(_core.stop_gradient(weight)))
        return found if weight.shape[-2] >= weight.shape[-1] else _core.matrix_transpose(found)


class _Trivialized(_Orthogonal):
    """The matrix of the map times `base`, a buffer: an original that the map takes to the identity has the value base."""

    def _placed(self, columns):
        return self.base @ columns

    def right_inverse(self, weight):
        self._expect(weight)
        tall = _tall(_core.stop_gradient(weight))
        made, (n, k) = _with_positive_diagonal(tall), tall.shape[-2:]
        if n == k:
            limit = 10 * n * finfo(tall.dtype).eps
            distance = _core.absolute(_adjoint(tall) @ tall - _eye(k, k, tall))
            made = _core.where(_core.all(distance <= limit), tall, made)
        self.base = Buffer(made)
        return _core.broadcast_to(-_eye(*weight.shape[-2:], weight), weight.shape)


def orthogonal(model, pattern="weight", orthogonal_map=None, *, use_trivialization=True):
    """The model whose weights with names that match the pattern have orthogonal columns, or rows if they have more columns than rows: the
    last two dimensions are a matrix. Complex ones are unitary. The map from the original to the matrix is "matrix_exp", "cayley" or
    "householder"; by default matrix_exp for square and complex matrices, otherwise householder. The weight begins as the orthogonal factor of
    what it was; with use_trivialization=False only by householder.

    >>> layer = plait.nn.orthogonal(plait.nn.Linear(2, 4))
    >>> gram = layer.weight.T @ layer.weight
    >>> plait.allclose(gram, plait.eye(2), atol=1e-6).item()
    True
    >>> list(plait.nn.state(layer))
    ['bias', 'parametrizations.weight.original', 'parametrizations.weight.0.base']
    """
    if orthogonal_map is not None and not (isinstance(orthogonal_map, str) and orthogonal_map in _MAPS):
        raise errors.ValueError(f"nn.orthogonal: orthogonal_map is {in_words(orthogonal_map)}, expected one of {', '.join(_MAPS)}")
    if not isinstance(use_trivialization, bool):
        raise errors.TypeError(f"nn.orthogonal: use_trivialization is {in_words(use_trivialization)}, expected True or False")
    for path, leaf in matching("orthogonal", model, pattern):
        if leaf.ndim < 2:
            raise errors.ShapeError(f"nn.orthogonal: {path or 'the weight'} is {list(leaf.shape)}, expected a matrix, or several: [..., rows, columns]")
        if orthogonal_map == "householder" and leaf.dtype.kind == "complex":
            raise errors.TypeError.with_hint(f"nn.orthogonal: {path or 'the weight'} is {leaf.dtype.name}, and the map householder is for real numbers",
                                             "orthogonal_map='matrix_exp'")

    def of(owner, name, value):
        is_square = value.shape[-2] == value.shape[-1]
        by = orthogonal_map or ("matrix_exp" if is_square or value.dtype.kind == "complex" else "householder")
        cls = _Trivialized if use_trivialization else _Householder if by == "householder" else _Orthogonal
        return cls(by, tuple(value.shape))

    return parametrized("orthogonal", model, pattern, of)
