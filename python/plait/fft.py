"""Fourier transforms of any length, like NumPy's."""

from ._core.fft import *  # noqa: F403
from .names import of_module as _of_module

__getattr__ = _of_module(__name__)
