"""Numbers that are too small for their exponent."""

import functools

from . import _core


class flush_denormals:
    """`with flush_denormals():`, or as a decorator: numbers that are too small for their exponent count as 0, of f32 those below
    1.2e-38. Processors may take a hundred times as long for one, and gradients that vanish over many steps are full of them.

    It holds for what this thread computes, with whatever library, and for the threads that help it; flush_denormals(False) the
    other way round. JAX does so always, PyTorch behind torch.set_flush_denormal(True).

    >>> x = plait.tensor(1e-30)
    >>> with plait.flush_denormals():
    ...     x * 1e-10
    0. : f32[]
    """

    def __init__(self, flush=True):
        self._flush = bool(flush)
        self._scopes = []

    def __enter__(self):
        self._scopes.append(_core._flush_denormals(self._flush))
        return self

    def __exit__(self, *_):
        self._scopes.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def flushed(*arguments, **keywords):
            with flush_denormals(self._flush):
                return function(*arguments, **keywords)

        return flushed
