"""Errors end in the user's own line: where users enter the package, its own lines are left out of tracebacks."""

import types

from . import _core
from .jitting import Jitted


def guard(namespace):
    """Makes boundaries of the public functions of a module, and of how its objects are called."""
    made = {}  # so that names of one function stay so
    for name, value in [*namespace.items(), ("Jitted", Jitted)]:
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("plait."):
            continue
        if isinstance(value, types.FunctionType):
            namespace[name] = made.setdefault(value, _core._boundary(value))
        elif isinstance(value, type) and isinstance(vars(value).get("__call__"), types.FunctionType):
            value.__call__ = _core._boundary(vars(value)["__call__"])

