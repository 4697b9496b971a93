"""Random numbers: the same for the same key, on every machine and in any order."""

from ._core.random import *  # noqa: F403
