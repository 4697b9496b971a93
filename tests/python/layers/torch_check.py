"""Comparison of values and gradients of a function with PyTorch; shared by tests of networks."""

import numpy as np
import plait
import torch


def t(array):
    return torch.from_numpy(np.asarray(array).copy())


def cotangent_of(shape):
    return np.cos(np.arange(np.prod(shape, dtype=int)) + 1.0).reshape(shape)


def close(found, wanted, accuracy, what):
    found, wanted = found.numpy(), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what}: the shape {found.shape} instead of {wanted.shape}"
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), rtol=accuracy, atol=accuracy, err_msg=what)


def weighted(function, cotangent):
    """The sum of the results times the cotangent; results with a zero cotangent may be infinite."""
    return lambda *given: plait.sum(plait.where(cotangent == 0, 0, function(*given) * cotangent))


def check(ours, theirs, given, accuracy=1e-9):
    """Compares values, and gradients with respect to all floats."""
    tensors = [t(x).requires_grad_(np.asarray(x).dtype.kind == "f") for x in given]
    expected = theirs(*tensors)
    found = ours(*[plait.asarray(np.asarray(x)) for x in given])
    close(found, expected.detach(), accuracy, "value")
    places = tuple(i for i, x in enumerate(tensors) if x.requires_grad)
    cotangent = cotangent_of(found.shape)
    expected.backward(t(cotangent).to(expected.dtype))
    slopes = plait.grad(weighted(ours, plait.asarray(cotangent)), places)(*[plait.asarray(np.asarray(x)) for x in given])
    for place, slope in zip(places, slopes):
        theirs_by = tensors[place].grad
        close(slope, np.zeros(slope.shape) if theirs_by is None else theirs_by, accuracy, f"gradient by {place}")


def check_told(ours, given, value, slope=None):
    """Compares the value, and the gradient of its sum, with given ones."""
    given = plait.asarray(np.asarray(given))
    found = ours(given)
    close(found, value, 1e-12, "value")
    if slope is not None:
        close(plait.grad(weighted(ours, plait.ones(found.shape, "f64")))(given), slope, 1e-12, "gradient")
