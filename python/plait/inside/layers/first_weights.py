"""Initial weights and checks of sizes, which layers share."""

import math

from plait import _core, errors
from plait.inside.settings.memory_tag import memory_tag


def drawn(key):
    """The key, or else the next of the default stream."""
    return _core.random.draw_key() if key is None else key


def fans(shape):
    """Fan-in and fan-out: the number of inputs of one output, and of outputs of one input."""
    shape = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if len(shape) < 2:
        raise errors.ShapeError(f"weights are {list(shape)}, expected at least two dimensions: [outputs, inputs, …]")
    space = math.prod(shape[2:])
    return shape[1] * space, shape[0] * space


def uniform_weights(shape, bound, key, dtype):
    """Uniform numbers between -bound and bound."""
    key = drawn(key)
    with memory_tag("weights"):
        return _core.random.uniform(key, shape, -bound, bound, dtype) if bound else _core.zeros(shape, dtype=dtype)


def default_weights(shape, bias, key, dtype, *, bound=None, outputs=None):
    """PyTorch's default: weight and bias, of as many numbers as there are outputs, are uniform in ±bound, which is 1/√fan-in."""
    keys = _core.random.split_key(drawn(key), 2)
    if bound is None:
        fan = fans(shape)[0]
        bound = 1 / math.sqrt(fan) if fan else 0.0
    outputs = shape[0] if outputs is None else outputs
    return uniform_weights(shape, bound, keys[0], dtype), uniform_weights((outputs,), bound, keys[1], dtype) if bias else None
