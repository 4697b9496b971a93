"""Numbers that are too small for their exponent."""

import functools

from . import _core, errors
from .scopes import Scope


def _open(flush):
    if _core._is_tracing():
        raise errors.TypeError("flush_denormals: says how a call computes, and is no part of what is recorded\n"
                               "  hint: put it around the call of the jitted or traced function")
    return _core._flush_denormals(flush)


class flush_denormals(Scope):
    """`with flush_denormals():`, or as a decorator: numbers that are too small for their exponent count as 0, of f32 those below
    1.2e-38. Processors may take a hundred times as long for one, and gradients that vanish over many steps may be full of them.

    It holds for what this thread computes, with whatever library, and for the threads that help it; flush_denormals(False) the
    other way round. It is no part of what jit records: put it around the call. JAX does so always, PyTorch behind torch.set_flush_denormal(True).

    >>> x = plait.tensor(1e-30)
    >>> with plait.flush_denormals():
    ...     x * 1e-10
    0. : f32[]
    """

    def __init__(self, flush=True):
        super().__init__(functools.partial(_open, bool(flush)))
