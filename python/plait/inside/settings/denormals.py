"""Denormals: numbers too small for the normal exponent range."""

import functools

from plait import _core, errors
from plait.inside.settings.scopes import Scope


def _open(flush):
    if _core._is_tracing():
        raise errors.TypeError("flush_denormals: it applies to calls, and cannot be recorded\n"
                               "  hint: put it around the call of the jitted or traced function")
    return _core._flush_denormals(flush)


class flush_denormals(Scope):
    """`with flush_denormals():`, or as a decorator: denormals are flushed to 0 (in f32, numbers below 1.2e-38).
    Processors may be a hundred times slower for denormals, and gradients that vanish over many steps may be full of
    them.

    It applies to all computations of this thread, also inside of libraries, and to its helper threads;
    flush_denormals(False) turns it off. It is not part of a jit record: put it around the call. JAX always flushes,
    PyTorch after torch.set_flush_denormal(True).

    >>> x = plait.tensor(1e-30)
    >>> with plait.flush_denormals():
    ...     x * 1e-10
    0. : f32[]
    """

    def __init__(self, flush=True):
        super().__init__(functools.partial(_open, bool(flush)))
