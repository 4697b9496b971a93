"""Tracebacks end in the user's own line: at the public entry points, frames of the package are removed."""

import types

from plait import _core
from plait.inside.arrays.array_api import NamespaceInfo
from plait.inside.jit.jitting import Jitted
from plait.inside.transforms.applied import Applied


def guard(namespace):
    """Makes the public functions of a module, and the calls of its objects, such entry points. Its classes name it as their module,
    wherever they are defined."""
    made = {}  # keeps aliases of one function identical
    for name, value in list(namespace.items()):
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("plait."):
            continue
        if isinstance(value, (types.FunctionType, type(_core.promote))):
            namespace[name] = made.setdefault(value, _core._boundary(value))
        elif isinstance(value, type):
            _guard_methods(value, ["__call__", "update"])
            if value.__module__.startswith("plait.inside."):
                value.__module__ = namespace["__name__"]
    for cls in Jitted, Applied:
        _guard_methods(cls, ["__call__"])
    for cls in (_core.Tensor, NamespaceInfo):
        _guard_methods(cls, [name for name in vars(cls) if not name.startswith("_")])


def _guard_methods(cls, names):
    for owner in cls.__mro__:
        for name in names:
            found = vars(owner).get(name)
            if isinstance(found, types.FunctionType):
                setattr(owner, name, _core._boundary(found))
            elif isinstance(found, property) and isinstance(found.fget, types.FunctionType):
                setattr(owner, name, property(_core._boundary(found.fget), doc=found.__doc__))
