"""callback(f, *operands): calls of host code from programs."""

from plait import _core, errors
from plait._core import Tensor
from plait.inside.arrays.interop import asarray
from plait.inside.transforms.tracing import Spec


def _is_one(result):
    return isinstance(result, (Tensor, Spec, str))


def callback(function, *operands, results=()):
    """Calls function(*operands) with concrete tensors: immediately in eager code, and in a program (trace, jit, staged
    control flow) each time the program reaches the call, in order with other effects; under vmap sample by sample.

    `results` declares what the function returns: a tensor of that type, a Spec, or a type such as "f64[3]", or a
    list of those; nothing if it is called for its effect. It has no derivative unless custom_vjp or custom_jvp
    defines one. A program that calls host code runs only in the process that recorded it, which keeps the function
    alive: define it once instead of writing a lambda in a loop."""
    if not callable(function):
        raise errors.TypeError(f"callback: expected a function, not {type(function).__name__}")
    is_one = _is_one(results)
    types = [results] if is_one else list(results)
    for each in types:
        if not _is_one(each):
            raise errors.TypeError(f"callback: results: expected a tensor, a Spec or a type as a string, not {type(each).__name__}")
    given = _core._callback(function, is_one, [asarray(each) for each in operands], types)
    return given[0] if is_one else given if types else None
