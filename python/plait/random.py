"""Random numbers: determined by the key, on every machine and in any order."""

from plait._core.random import *  # noqa: F403
from plait.inside.help.names import of_public_module as _of_public_module

__getattr__, __dir__, __all__ = _of_public_module(globals())
