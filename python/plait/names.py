"""What was meant by a name that is not there."""

import sys

from . import _core, errors
from .later import Later

difflib = Later("difflib")


def nearest(name, names, cutoff=0.6):
    """The one of the names that looks most like it, or None."""
    found = difflib.get_close_matches(name, names, 1, cutoff)
    return found[0] if found else None


def _public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]


def _with_hint(message, name, names, prefix=""):
    near = None if name.startswith("_") else nearest(name, names)
    return errors.AttributeError(message if near is None else f"{message}; did you mean {prefix}{near}?")


def of_module(module):
    """The __getattr__ of a module."""

    def missing(name):
        raise _with_hint(f"{module} has no {name!r}", name, _public(sys.modules[module]), f"{module}.")

    return _core._boundary(missing)


def of_tensor(tensor, name):
    """Tensor.__getattr__: most of what other libraries have as methods is a function."""
    message, own = f"a tensor has no {name!r}", _public(type(tensor))
    if not name.startswith("_") and nearest(name, own) is None:
        functions = [each for each, value in vars(sys.modules["plait"]).items() if callable(value) and not isinstance(value, type)]
        near = nearest(name, functions)
        if near is not None:
            raise errors.AttributeError(f"{message}; did you mean plait.{near}(x)?")
    raise _with_hint(message, name, own)
