"""Warnings that name the user's line."""

import sys
import warnings

from plait import errors
from plait.inside.folder import FOLDER
from plait.inside.later import Later

host_code = Later("plait.inside.jit.host_code")
_said = set()  # (file, line) of warnings that are given once for each line


def warn(message, category=UserWarning):
    """Warns at the innermost line that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(FOLDER):
        frame = frame.f_back
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno)


def warn_of_number(function):
    """Warns, once for each line of the user, that float() or complex() cuts a derivative. Libraries call them too."""
    frame = sys._getframe(1)
    while frame.f_back is not None and host_code.is_library(frame.f_globals.get("__name__")):
        frame = frame.f_back
    place = frame.f_code.co_filename, frame.f_lineno
    if place in _said:
        return
    warnings.warn_explicit(f"{function}() of a tensor that is being differentiated returns a constant, which cuts the derivative; NumPy and math "
                           "call it for single numbers\n  hint: Plait's functions have derivatives: plait.exp instead of math.exp; x.item() or "
                           "x.detach() cuts on purpose", errors.UnconnectedWarning, *place)
    _said.add(place)
