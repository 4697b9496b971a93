"""Linear algebra: factorizations, linear systems, norms."""

from plait._core.linalg import *  # noqa: F403
from plait.inside.help.names import of_public_module as _of_public_module

__getattr__, __dir__, __all__ = _of_public_module(globals())
