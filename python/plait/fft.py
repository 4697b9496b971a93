"""Fourier transforms of any length, as NumPy's."""

from ._core.fft import *  # noqa: F403
