"""Tracebacks end in the user's own line: at the public entry points, frames of the package are removed."""

import builtins
import copyreg
import functools
import importlib
import inspect
import types

from plait import _core, errors
from plait.inside.arrays.array_api import NamespaceInfo
from plait.inside.arrays.devices import is_name_of_device
from plait.inside.help.keywords import keyword_for
from plait.inside.jit.jitting import Jitted
from plait.inside.optimizers.numbers import expect_flag
from plait.inside.transforms.applied import Applied
from plait.inside.trees.module import Module


def guard(namespace):
    """Makes the public functions of a module, its classes, and the calls of its objects, such entry points. Its classes name it as their
    module, wherever they are defined."""
    made, module = {}, namespace["__name__"]  # aliases of one function stay identical
    for name, value in list(namespace.items()):
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("plait."):
            continue
        if isinstance(value, (types.FunctionType, type(_core.promote))):
            namespace[name] = made.setdefault(value, _core._boundary(value))
            _places.setdefault(value, (module, name))
        elif isinstance(value, type):
            _guard_methods(value, ["__call__", *_methods_of(value)])
            if not issubclass(value, BaseException):
                _guard_constructor(value)
            if value.__module__.startswith("plait.inside."):
                value.__module__ = module
    for cls in Jitted, Applied:
        _guard_methods(cls, ["__call__"])
    for cls in (_core.Tensor, NamespaceInfo):
        _guard_methods(cls, _methods_of(cls))


# ---- Pickling: by the module and the name where users find a function; a boundary says that it is a member of plait.

_places = {}


def _member(module, name):
    return getattr(importlib.import_module(module), name)


def _pickled(boundary):
    place = _places.get(boundary.__wrapped__)
    return boundary.__qualname__ if place is None or place[0] == "plait" else (_member, place)


copyreg.pickle(_core._Boundary, _pickled)


# ---- Classes.


def _methods_of(cls):
    return [name for owner in cls.__mro__ for name in vars(owner) if not name.startswith("_")]


def _guard_methods(cls, names):
    for owner in cls.__mro__:
        for name in names:
            found = vars(owner).get(name)
            if isinstance(found, types.FunctionType):
                setattr(owner, name, _core._boundary(found))
            elif isinstance(found, property) and isinstance(found.fget, types.FunctionType):
                setattr(owner, name, property(_core._boundary(found.fget), doc=found.__doc__))


# Calls of constructors with wrong arguments, and with flags that are not True or False, get an error of the library.


def _guard_constructor(cls):
    for owner in cls.__mro__:
        found = vars(owner).get("__init__")
        if isinstance(found, types.FunctionType) and owner.__module__.startswith("plait."):
            if found.__code__.co_filename == "<string>":  # a dataclass's
                found.__code__ = found.__code__.replace(co_filename=__file__)
            owner.__init__ = _core._boundary(_constructor(found, _flags_of(found) if issubclass(owner, Module) else {}))


def _flags_of(init):
    """The parameters whose defaults are True or False: their places by name, None for those that are passed by name only."""
    init = inspect.unwrap(init)
    places = init.__code__.co_varnames[1:init.__code__.co_argcount]
    defaults = dict(zip(reversed(places), reversed(init.__defaults__ or ()))) | (init.__kwdefaults__ or {})
    return {name: places.index(name) if name in places else None for name, value in defaults.items() if isinstance(value, bool)}


def _constructor(init, flags):
    @functools.wraps(init)
    def construct(self, *arguments, **named):
        for name, place in flags.items():
            value = arguments[place] if place is not None and place < len(arguments) else named.get(name, True)
            if not isinstance(value, bool):
                expect_flag(f"{_name_of(self)}: {name}", value)
        try:
            init(self, *arguments, **named)
        except builtins.TypeError as error:
            if isinstance(error, errors.Error) or not _is_of_call(error, init):
                raise
            raise _wrong_arguments(self, init, str(error), arguments) from None

    return construct


def _is_of_call(error, init):
    """True if the error is that of calling __init__, or the function that it wraps, and not one within it."""
    below = error.__traceback__.tb_next
    return below is None or below.tb_next is None and hasattr(init, "__wrapped__") and below.tb_frame.f_code is init.__code__


def _name_of(made):
    """The public name of the class of an object, or of the one that it derives from: nn.Linear."""
    cls = next(each for each in type(made).__mro__ if each.__module__.startswith("plait"))
    return f"{cls.__module__.removeprefix('plait.')}.{cls.__name__}".removeprefix("plait.")


def _wrong_arguments(made, init, said, arguments):
    name = _name_of(made)
    _, *parameters = inspect.signature(init).parameters.values()
    _, is_unknown, keyword = said.partition("unexpected keyword argument ")
    renamed = keyword_for(keyword.strip("'"), [each.name for each in parameters]) if is_unknown else None
    here = f"{name}{inspect.Signature(parameters)}"
    if keyword == "'device'" and isinstance(made, Module):
        renamed = f'{name}(…).to("cuda"), or with plait.Device("cuda"): around it'
    if arguments and is_name_of_device(arguments[0]) and "multiple values" in said:  # PyTorch's autocast("cpu", dtype=…)
        renamed = f"without {arguments[0]!r}, as it holds on every device"
    return errors.TypeError.with_hint(f"{name}:{said.partition('()')[2]}", f"{renamed}: {here}" if renamed else here)
