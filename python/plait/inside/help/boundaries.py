"""Tracebacks end in the user's own line: at the public entry points, frames of the package are removed."""

import builtins
import functools
import inspect
import os
import sys
import types

from plait import _core, errors
from plait.inside.arrays.array_api import NamespaceInfo
from plait.inside.folder import FOLDER
from plait.inside.jit.jitting import Jitted
from plait.inside.transforms.applied import Applied


def guard(namespace):
    """Makes the public functions of a module, its classes, and the calls of its objects, such entry points. Its classes name it as their
    module, wherever they are defined."""
    made = {}  # keeps aliases of one function identical
    for name, value in list(namespace.items()):
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("plait."):
            continue
        if isinstance(value, (types.FunctionType, type(_core.promote))):
            namespace[name] = made.setdefault(value, _core._boundary(value))
        elif isinstance(value, type):
            _guard_methods(value, ["__call__", "update"])
            if not issubclass(value, BaseException):
                _guard_constructor(value)
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


# ---- Constructors. Their errors are raised in Python, and get the user's line here.


def _guard_constructor(cls):
    for owner in cls.__mro__:
        found = vars(owner).get("__init__")
        if isinstance(found, types.FunctionType) and owner.__module__.startswith("plait."):
            if found.__code__.co_filename == "<string>":  # a dataclass's
                found.__code__ = found.__code__.replace(co_filename=__file__)
            owner.__init__ = _core._boundary(_constructor(found))


def _constructor(init):
    @functools.wraps(init)
    def construct(self, *arguments, **named):
        try:
            init(self, *arguments, **named)
        except errors.Error as error:
            _add_location(error)
            raise
        except builtins.TypeError as error:
            if error.__traceback__.tb_next is not None:
                raise
            wrong = _wrong_arguments(self, init, str(error))
            _add_location(wrong)
            raise wrong from None

    return construct


def _wrong_arguments(made, init, said):
    cls = next(each for each in type(made).__mro__ if each.__module__.startswith("plait"))
    name = f"{cls.__module__.removeprefix('plait.')}.{cls.__name__}".removeprefix("plait.")
    _, *parameters = inspect.signature(init).parameters.values()
    return errors.TypeError.with_hint(f"{name}:{said.partition('()')[2]}", f"{name}{inspect.Signature(parameters)}")


def _add_location(error):
    """Adds the innermost line outside of the package to an error that has none, as to those of the core."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(FOLDER):
        frame = frame.f_back
    if error.location or frame is None:
        return
    error.location = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    error.message, *hint = str(error).split("\n", 1)
    error.args = ("\n".join([f"{error.message}, at {error.location}", *hint]),)
