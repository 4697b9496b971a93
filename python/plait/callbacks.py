"""callback(f, *operands): host code that a program comes back to."""

from . import _core, errors
from ._core import Tensor
from .interop import asarray
from .tracing import Spec


def _is_one(result):
    return isinstance(result, (Tensor, Spec, str))


def callback(function, *operands, results=()):
    """Calls function(*operands) with tensors that have numbers: at once, and in a program (trace, jit, staged control flow)
    whenever that comes there, in order with whatever else is seen from outside; under vmap sample by sample.

    `results` says what it gives: a tensor like it, a Spec, or a type such as "f64[3]", or a list of those; nothing where it
    is called for what it does. It has no derivative: custom_vjp and custom_jvp tell one. A program that calls host code
    runs in the process that made it, which keeps the function: name it once, instead of writing a lambda in a loop."""
    if not callable(function):
        raise errors.TypeError(f"callback: expected a function, not {type(function).__name__}")
    is_one = _is_one(results)
    types = [results] if is_one else list(results)
    for each in types:
        if not _is_one(each):
            raise errors.TypeError(f"callback: results: expected a tensor, a Spec or a type as text, not {type(each).__name__}")
    given = _core._callback(function, is_one, [asarray(each) for each in operands], types)
    return given[0] if is_one else given if types else None
