"""Random numbers: determined by the key, on every machine and in any order."""

from plait._core.random import *  # noqa: F403
from plait.inside.help.names import of_module as _of_module

__getattr__ = _of_module(__name__)
