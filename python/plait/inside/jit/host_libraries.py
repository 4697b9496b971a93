"""State in installed code that does not use Plait, such as a module of settings in site-packages: what host code names of its modules
and classes, and what its functions read. Only values that can be compared are inspected: none makes the host code run at each call."""

import functools
import types

from plait import _core
from plait.inside.jit.host_code import is_installed, is_library, is_library_class, names_in
from plait.inside.jit.host_constants import PLAIN, array_or_none, attributes_of, is_fixed, is_of_python
from plait.inside.jit.host_effects import is_logger, is_path
from plait.inside.jit.static_values import told_apart

# Functions that host code names, and those that they call, are read; state beyond these limits counts as constant.
_MOST_CALLS, _MOST_FUNCTIONS, _MOST_PARTS = 2, 50, 64
_FAR = _MOST_CALLS + 1
_SPECIAL = ("__call__", "__init__")
_DESCRIPTORS = {staticmethod: ("__func__",), classmethod: ("__func__",), property: ("fget", "fset"), functools.cached_property: ("func",)}


class Installed:
    """The part of a Reach in installed code. `depth` is the number of calls from host code to what is found.

    It does not hold the Reach: without a cycle, what was found is released with it."""

    def __init__(self):
        self.names = {}  # that its functions use
        self.places = set()  # numbers of the places of its values
        self._looked_up = {}
        self._functions, self._unread, self._objects = set(), [], []

    def progress(self):
        return len(self._looked_up), len(self.names), len(self._objects), len(self._functions)

    def enter(self, function, depth=0):
        """Notes a function, whose code is read later."""
        if function not in self._functions and len(self._functions) < _MOST_FUNCTIONS:
            self._functions.add(function)
            self._unread.append((function, depth))

    def settle(self, reach, names):
        """Reads the code of functions, and looks up these names and those that they use."""
        while self._unread:
            function, depth = self._unread.pop(0)
            used = names_in(function.__code__)
            self.names |= dict.fromkeys(used.attributes)
            for each in used.globals:
                self._add(reach, function.__globals__, each, f"{function.__module__}.{each}", depth + 1)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
                self._add(reach, cell, None, f"{function.__name__}.{name}", depth + 1)
        for value, path in list(self._objects):
            self.look_up(reach, attributes_of(value), attributes_of(value), path, names)

    def look_up(self, reach, holder, own, path, names, takes_any=False):
        """Adds those of the attributes `own` that have these names, or those that functions use; with `takes_any` all."""
        for name in [name for name in own if isinstance(name, str)]:
            if name in names:
                self._add(reach, holder, name, f"{path}.{name}", 0)
            elif isinstance(holder, type) and name in _SPECIAL:
                self._add(reach, holder, name, f"{path}.{name}", _MOST_CALLS - 1)
            elif takes_any or name in self.names:
                self._add(reach, holder, name, f"{path}.{name}", _MOST_CALLS if name in self.names else _FAR)

    def _add(self, reach, holder, key, path, depth):
        """Adds a place, if it is near and its value can be compared."""
        if self._looked_up.get((id(holder), key), _FAR + 1) <= depth:
            return
        value = _core._value_at(holder, key, self)
        if value is self:
            return
        self._looked_up[id(holder), key] = depth
        if _is_of_user(value):
            reach._add(holder, key, path)
        elif _is_plain(value, [_MOST_PARTS]) or _is_entered(value, depth):
            if (id(holder), key) not in reach.placed:
                self.places.add(len(reach.places))
            reach._add(holder, key, path, is_held=False)
        elif depth < _MOST_CALLS and ((functions := _functions_of(value)) or _is_seen(value)):
            reach._add_same(holder, key, value)
            self._enter_parts(reach, value, functions, path, depth)

    def _enter_parts(self, reach, value, functions, path, depth):
        for function in functions:
            reach.kinds.append(function.__code__)
            if is_installed(function.__globals__.get("__name__", "")):
                self.enter(function, depth)
        if not functions and all(each is not value for each, _ in self._objects):
            self._objects.append((value, path))
            reach._enter_class_of(value)


def _is_of_user(value):
    """True for functions, classes and modules of the user, and for objects of such classes."""
    if isinstance(value, types.FunctionType):
        return not is_library(value.__globals__.get("__name__", ""))
    if isinstance(value, types.ModuleType):
        return not is_library(value.__name__)
    return not is_library_class(value if isinstance(value, type) else type(value))


def is_installed_class(cls):
    return isinstance(cls.__module__, str) and is_library_class(cls) and is_installed(cls.__module__)


def _is_entered(value, depth):
    """True for modules of installed code that a name leads to, and for classes that are near."""
    if isinstance(value, types.ModuleType):
        return depth < _FAR and is_installed(value.__name__)
    return isinstance(value, type) and depth < _MOST_CALLS and is_installed_class(value)


def _is_plain(value, left):
    """True for a number, a text, another constant, a tensor, and a container of a few of them."""
    left[0] -= 1
    if left[0] < 0 or isinstance(value, (type, types.ModuleType, functools.partial)) or is_logger(value) or is_path(value):
        return False
    if type(value) in PLAIN or isinstance(value, _core.Tensor):
        return True
    if hasattr(type(value), "__array_interface__"):
        return getattr(value, "size", left[0]) < left[0] and array_or_none(value) is None
    children = _core._children(value)
    if children is None and not isinstance(value, (set, frozenset)):
        return is_fixed(value) and not told_apart([value])
    parts = [child for _, child in children] if children is not None else []
    members = list(value) if isinstance(value, (dict, set, frozenset)) else []
    return not (children is None and told_apart([value])) and all(_is_plain(each, left) for each in (*parts, *members))


def _functions_of(value):
    """The functions of a function or a descriptor."""
    found = [value, *(getattr(value, name) for name in _DESCRIPTORS.get(type(value), ()))]
    return [each for each in found if isinstance(each, types.FunctionType)]


def _is_seen(value):
    """True for an object whose attributes are all visible."""
    return is_installed_class(type(value)) and is_of_python(type(value)) and attributes_of(value) is not None
