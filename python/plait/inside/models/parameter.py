"""PyTorch's name for a weight of a Module."""

from plait import errors
from plait.inside.arrays.interop import asarray


def Parameter(data, requires_grad=True):  # noqa: N802: PyTorch's name
    """The tensor itself: every floating tensor in a Module is a parameter.

    >>> class Scale(plait.nn.Module):
    ...     def __init__(self):
    ...         self.factor = plait.nn.Parameter([2.0, 3.0])
    >>> plait.grad(lambda model: plait.sum(model.factor**2))(Scale()).factor
    [4. 6.] : f32[2]
    """
    made = asarray(data)
    if not requires_grad:
        raise errors.ValueError.with_hint("nn.Parameter: requires_grad=False, but a parameter is trained",
                                          "plait.nn.Buffer(x), or freeze the model's weight later: plait.nn.freeze(model, 'name')")
    if made.dtype.kind not in ("floating", "complex"):
        raise errors.TypeError.with_hint(f"nn.Parameter: data is {made.dtype.name}, expected floating or complex numbers", "plait.nn.Buffer(x)")
    return made
