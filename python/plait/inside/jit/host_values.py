"""Functions of libraries that host code reaches as values, not by their names: self.clock, CLOCKS[0](), a module that is an argument."""

import functools
import types

from plait import _core
from plait.inside.jit.host_code import SEEDED, is_library, is_library_class, module_of, names_in
from plait.inside.jit.host_constants import PLAIN
from plait.inside.jit.host_effects import all_of_module, kind_of


class Held:
    """Values that no record can contain if host code calls them (host_effects.py), and where they were found."""

    def __init__(self):
        self._found, self._named, self._alive = [], set(), []

    def add(self, value, path, is_named=False):
        """`is_named`: it is a global or in a cell. If code calls it by that name, its lines are known (Names.unsteady)."""
        if type(value) not in PLAIN and not isinstance(value, _core.Tensor) and (callable(value) or _is_owner(value)):
            self._found.append((value, path, is_named))

    def add_names(self, names, function):
        """Notes what the names of a function lead to; modules and classes that it does more with than to read an attribute."""
        for value, chain, is_end in names.named(function):
            self._named.add(id(value))
            self._alive.append(value)
            if is_end and _is_owner(value):
                self._found.append((value, ".".join(chain), None))

    def lines(self, names, takes_any, functions):
        """(what, kind as in host_effects.py, file, line), for code that uses these names and consists of these functions."""
        lines, ours = {}, [function for function in functions if not _is_generated(function)]
        generated = set() if takes_any else _names_of(set(functions) - set(ours)) - _names_of(ours)
        for value, path, is_named in self._found:
            if is_named and id(value) in self._named or path.rpartition(".")[2] in generated:
                continue
            for what, kind in _effects(value, path, is_named is not None, names, takes_any):
                lines[what] = (what, kind, *line_of(path, ours))
        return list(lines.values())


def _is_generated(function):
    """True for methods of dataclasses, which compare attributes and do not call them."""
    return function.__code__.co_filename == "<string>" and function.__name__.startswith("__")


def _names_of(functions):
    return {name for function in functions for name in names_in(function.__code__).attributes}


def is_seeded(partial):
    """True if it makes a generator of random numbers from a seed."""
    seeds = *partial.args, *partial.keywords.values()
    return getattr(partial.func, "__name__", None) in SEEDED and any(seed is not None for seed in seeds)


def _is_owner(value):
    """True for modules and classes of libraries, and for objects with the methods of such a class that returns the time."""
    if isinstance(value, types.ModuleType):
        return is_library(value.__name__)
    cls = value if isinstance(value, type) else type(value)
    return any(base.__module__ == "datetime" for base in cls.__mro__) or (value is cls and is_library_class(cls))


_FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType, types.MethodType, type, _core._Boundary)


def _is_function(value):
    return isinstance(value, _FUNCTIONS) or is_library_class(type(value)) or type(value).__name__ == "cython_function_or_method"


def _effects(value, path, is_itself, names, takes_any):
    """(what, kind) of a value, and of what code with these names can call of it."""
    if is_itself and _is_function(value):
        kind = kind_of(value, "")
        if kind is not None:
            name = getattr(value, "__name__", type(value).__name__)
            yield (f"{path}()" if path.endswith(name) else f"{path} ({name})"), kind
            return
    if _is_owner(value):
        yield from _effects_within(value, path, names, takes_any, set())


def _effects_within(owner, path, names, takes_any, seen):
    """The same for what code can call of a module or a class; with `takes_any`, by computed names, too."""
    seen.add(id(owner))
    kind = all_of_module(owner) if takes_any and isinstance(owner, types.ModuleType) else None
    if kind is not None:
        yield path, kind
    for name in names:
        found = _member(owner, name)
        kind = None if found is None else kind_of(found, name)
        if kind is not None:
            yield f"{path}.{name}" + "()" * callable(found), kind
        elif found is not None and id(found) not in seen and _is_owner(found):
            yield from _effects_within(found, f"{path}.{name}", names, takes_any, seen)


def _member(owner, name):
    """An object that a module holds, or a method of a class that needs no object; None if there is none."""
    if isinstance(owner, types.ModuleType):
        is_lazy = name not in vars(owner) and "__getattr__" in vars(owner) and name in dir(owner)
        return getattr(owner, name, None) if is_lazy else vars(owner).get(name)
    found = getattr(owner, name, None)
    return found if isinstance(found, (types.MethodType, types.BuiltinMethodType)) else None


def line_of(path, functions):
    """(file, line) that reads the last name of a path which occurs in the code; by default where the function begins."""
    for name in reversed(path.split(".")):
        for function in functions:
            line = names_in(function.__code__).lines.get(name)
            if line is not None:
                return function.__code__.co_filename, line
    code = functions[0].__code__ if functions else None
    return (code.co_filename, code.co_firstlineno) if code else (None, None)
