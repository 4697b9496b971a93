"""Diagonals of matrices of second derivatives, as vectors: optax's second_order."""

from plait import _core, errors
from plait.inside.optimizers.flat_weights import FlatWeights
from plait.inside.transformations.transformation import expect_function
from plait.inside.transforms.batching import vmap
from plait.inside.transforms.derivatives import grad, jvp


def _of_vector(what, loss, params, arguments):
    """The weights as a vector, and the loss as a function of it."""
    expect_function(f"{what}: loss", loss)
    weights = FlatWeights(what, params)
    if weights.is_complex:
        raise errors.TypeError(f"{what}: the weights are complex, expected real ones")
    return weights.flat(), lambda vector: loss(weights.of_flat(vector), *arguments)


def hessian_diag(loss, params, *arguments):
    """The diagonal of the Hessian of loss(params, *arguments) by the weights, as a vector in the order of
    plait.nn.utils.parameters_to_vector(params, frozen=False). All rows are computed together, without the matrix.

    >>> loss = lambda params, x, y: plait.sum(params["w"] ** 3 * x) + y
    >>> plait.optim.hessian_diag(loss, {"w": plait.tensor([1.0, 2.0])}, plait.tensor([1.0, 10.0]), 0.0)
    [  6. 120.] : f32[2]
    """
    vector, of_vector = _of_vector("optim.hessian_diag", loss, params, arguments)
    if not vector.size:
        return vector
    slope = grad(of_vector)
    return vmap(lambda unit: _core.dot(unit, jvp(slope, (vector,), (unit,))[1]))(_core.eye(vector.size, dtype=vector.dtype))


def fisher_diag(negative_log_likelihood, params, *arguments):
    """The squares of the gradient of negative_log_likelihood(params, *arguments) by the weights, the diagonal of the observed Fisher information of
    one sample, as a vector in the order of plait.nn.utils.parameters_to_vector(params, frozen=False).

    >>> loss = lambda params, x, y: plait.sum((params["w"] * x - y) ** 2)
    >>> plait.optim.fisher_diag(loss, {"w": plait.tensor([1.0, 2.0])}, plait.tensor([1.0, 1.0]), 0.0)
    [ 4. 16.] : f32[2]
    """
    vector, of_vector = _of_vector("optim.fisher_diag", negative_log_likelihood, params, arguments)
    return _core.square(grad(of_vector)(vector))
