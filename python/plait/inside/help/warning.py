"""Warnings that name the user's line."""

import sys
import warnings

from plait.inside.folder import FOLDER


def warn(message, category=UserWarning):
    """Warns at the innermost line that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(FOLDER):
        frame = frame.f_back
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno)
