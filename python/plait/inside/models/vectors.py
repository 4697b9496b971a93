"""The weights of a model as one vector."""

from collections.abc import Iterable

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.optimizers.flat_weights import FlatWeights


def _weights(what, parameters, frozen):
    if not isinstance(frozen, bool):
        raise errors.TypeError(f"{what}: frozen is {in_words(frozen)}, expected True or False")
    if _core._children(parameters) is None and isinstance(parameters, Iterable) and not isinstance(parameters, (str, bytes, _core.Tensor)):
        parameters = list(parameters)  # such as the values of a dict
    return FlatWeights(what, parameters, with_frozen=frozen)


def parameters_to_vector(parameters, *, frozen=True):
    """All weights of a model, or of another tree, as one vector: in the order of plait.nn.state(model, buffers=False), without what is not
    floating-point or complex. A weight that is at two places (tied weights) counts once. Without `frozen`, weights that are frozen are left out.

    >>> plait.nn.utils.parameters_to_vector({"w": plait.tensor([[1.0, 2.0]]), "b": plait.tensor(3.0)})
    [1. 2. 3.] : f32[3]
    """
    return _weights("nn.utils.parameters_to_vector", parameters, frozen).flat()


def vector_to_parameters(vec, parameters, *, frozen=True):
    """The model, or other tree, whose weights are those of a vector, in the order of parameters_to_vector and in the dtypes that they have.

    >>> layer = plait.nn.utils.vector_to_parameters(plait.tensor([1.0, 2.0, 3.0]), plait.nn.Linear(2, 1))
    >>> layer.weight, layer.bias
    ([[1. 2.]] : f32[1, 2], [3.] : f32[1])
    """
    what = "nn.utils.vector_to_parameters"
    weights = _weights(what, parameters, frozen)
    if not isinstance(vec, _core.Tensor) and not hasattr(vec, "__array__"):
        hint = "vector_to_parameters(vector, model)" if isinstance(parameters, _core.Tensor) else None
        message = f"{what}: the vector is {in_words(vec)}, expected a tensor"
        raise errors.TypeError(message) if hint is None else errors.TypeError.with_hint(message, hint)
    vec = asarray(vec)
    if vec.ndim != 1 or vec.shape[0] != weights.size:
        raise errors.ShapeError(f"{what}: the vector is {list(vec.shape)}, expected [{weights.size}], as many numbers as the weights have")
    if vec.dtype.kind == "complex" and not weights.is_complex:
        raise errors.TypeError.with_hint(f"{what}: the vector is {vec.dtype.name}, and the weights are real, so the imaginary parts would be lost",
                                         "plait.real(x) takes the real parts")
    return weights.of_flat(vec)
