"""Linear algebra: factorizations, linear systems, norms."""

from plait._core.linalg import *  # noqa: F403
from plait.inside.help.names import of_module as _of_module

__getattr__ = _of_module(__name__)
