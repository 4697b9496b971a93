"""State in installed code that does not use Plait, such as a module of settings in site-packages: what host code names of its modules
and classes, and what its functions read. Values that cannot be compared are named in a warning: they never make the host code run at
each call."""

import builtins
import enum
import functools
import sys
import types

from plait import _core
from plait.inside.jit.host_code import absolute, is_compiled, is_installed, is_library, is_library_class, module_of, names_in
from plait.inside.jit.host_constants import (OF_CLASSES, PLAIN, array_or_none, attributes_of, changing_or_none, has_class_in_sight, is_fixed,
                                              is_of_python)
from plait.inside.jit.host_effects import is_logger, is_path, kind_of
from plait.inside.jit.host_unseen import Unseen
from plait.inside.jit.static_values import told_apart

# Functions that host code names, and those that they call, are read; state beyond these limits is reported.
_MOST_CALLS, _MOST_FUNCTIONS, _MOST_PARTS = 8, 300, 256
_FAR = _MOST_CALLS + 1
# Names of what runs code in other threads, where it is not seen.
_IN_THREADS = {"submit", "Thread", "ThreadPoolExecutor", "ThreadPool", "apply_async", "map_async", "run_in_executor", "to_thread"}
_DESCRIPTORS = {staticmethod: ("__func__",), classmethod: ("__func__",), property: ("fget", "fset"), functools.cached_property: ("func",),
                functools._lru_cache_wrapper: ("__wrapped__",), types.MethodType: ("__func__",)}
# Parts of containers that are compared by their identities.
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)
_SYNCHRONISATION = {"lock", "RLock", "Lock", "Condition", "Semaphore", "BoundedSemaphore", "Event"}


class Installed:
    """The part of a Reach in installed code. `depth` is the number of calls from host code to what is found, `origin` the name by which
    host code led there.

    It does not hold the Reach: without a cycle, what was found is released with it."""

    def __init__(self):
        self.names = {}  # that its functions use
        self.functions = []  # their code and defaults may be replaced
        self.places = set()  # numbers of the places of its values
        self._looked_up, self._takes_any = {}, False
        self._unread, self.objects, self._known = [], [], set()  # the identities of all functions and objects
        # By holder and key: the numbers of its places, and who may read it: (code, name). Without code: any that has the name; without
        # both: any.
        self._groups = {}
        self._unseen_at = {}  # by holder and key: the description of a value that is not compared
        self.unseen = Unseen()

    def progress(self):
        return len(self._looked_up), len(self.names), len(self.objects), len(self.functions)

    def enter(self, function, depth=0, origin=None):
        """Notes a function, whose code is read later."""
        origin = origin or f"{function.__module__}.{function.__name__}"
        if id(function) in self._known:
            return
        if len(self.functions) < _MOST_FUNCTIONS:
            self._known.add(id(function))
            self.functions.append(function)
            self._unread.append((function, depth, origin))
        else:
            self.unseen.note(origin, f"what {function.__module__}.{function.__name__} reads (more than {_MOST_FUNCTIONS} functions are reached)",
                             code=function.__code__)

    def note_named(self, names, function):
        """Notes functions written in C that host code names."""
        for value, chain, is_end in names.named(function):
            if is_end and _is_compiled(value):
                self._note_compiled(".".join(chain), ".".join(chain), function.__code__)

    def _note_compiled(self, origin, path, code, name=None):
        self.unseen.note(origin, f"{path} is a function written in C", code=code, name=name)

    def settle(self, reach, names):
        """Reads the code of functions, and looks up these names and those that they use."""
        while self._unread:
            function, depth, origin = self._unread.pop(0)
            used = names_in(function.__code__)
            self.names |= dict.fromkeys(used.attributes)
            self.names |= dict.fromkeys(used.asked)
            self._takes_any = self._takes_any or used.takes_any
            reach.met.forms_text = reach.met.forms_text or used.forms_text
            reach.kinds.append(function.__code__)
            read_by, name = (origin, function.__code__), f"{function.__module__}.{function.__name__}"
            reach.note_namespace(function.__globals__, function.__globals__)
            for each in used.globals:
                self._add(reach, function.__globals__, each, f"{function.__module__}.{each}", depth + 1, read_by)
            for each, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
                self._add(reach, cell, None, f"{name}.{each}", depth + 1, read_by)
            for holder, keys in ((function.__defaults__ or (), range(len(function.__defaults__ or ()))), (function.__kwdefaults__ or {},) * 2):
                for key in keys:
                    self._add(reach, holder, key, f"{name}.default {key}", depth + 1, read_by)
            for module, _ in used.imports:
                if (found := absolute(module, function.__globals__)) in sys.modules:
                    self._add(reach, sys.modules, found, found, depth + 1, read_by)
            reach.matches = reach.matches or used.matches
            for holder, each, module, is_code in used.held_by_libraries(function):
                if is_code:
                    reach.add_code(holder, each)
                else:
                    self._add(reach, holder, each, f"{module}.{each}", depth + 1, read_by)
            self.objects.append((function, name, depth))
            for what, _, _, line in used.unsteady(function):
                if what != "id()":
                    self.unseen.note(origin, f"{what} in {name}", code=function.__code__, line=line)
        for value, path, depth in list(self.objects):
            own = attributes_of(value)
            if own is not None:
                reach.note_namespace(own, own)
                self.look_up(reach, own, own, path, names, takes_any=_has_base_in_library(type(value)), depth=depth)
            if not isinstance(value, types.FunctionType):
                self.look_up(reach, value, _slots_of(type(value)), path, names, depth=depth)

    def look_up(self, reach, holder, own, path, names, takes_any=False, depth=0):
        """Adds those of the attributes `own` that have these names, or those that functions use; with `takes_any` all. What Python itself
        calls by name, such as the methods of operators, is far away."""
        for name in [name for name in own if isinstance(name, str)]:
            if name in names or name in self.names:
                self._add(reach, holder, name, f"{path}.{name}", depth if name in names else depth + 1)
            elif _is_called_by_python(holder, own, name):
                for code in [each.__code__ for each in _functions_of(own[name])] or [None]:
                    self._add(reach, holder, name, f"{path}.{name}", _MOST_CALLS - 2, (f"{path}.{name}", code), is_named=False)
            elif takes_any:
                self._add(reach, holder, name, f"{path}.{name}", _FAR, is_named=False)
            elif self._takes_any and isinstance(holder, type) and name not in OF_CLASSES:
                self._add(reach, holder, name, f"{path}.{name}", _MOST_CALLS // 2, is_named=False)

    def _add(self, reach, holder, key, path, depth, read_by=None, is_named=True):
        """Adds a place, if it is near and its value can be compared. `read_by`: the origin and the code of a function that reads it;
        `is_named`: else it is read by its name."""
        place, (origin, code) = (id(holder), key), read_by or (path, None)
        numbers, readers = self._groups.setdefault(place, ([], set()))
        readers.add((code, key if is_named else None))
        if place in self._unseen_at:
            self.unseen.note(origin, self._unseen_at[place], place, code=code, name=key)
        if self._looked_up.get(place, _FAR + 1) <= depth:
            return
        before = len(reach.places)
        self._add_value(reach, holder, key, path, depth, read_by, origin, code)
        if reach.placed.get(place, -1) >= before:  # not what it holds, which may be the user's
            numbers.append(reach.placed[place])

    def irrelevant(self, functions, ran):
        """Numbers of places that code which has run does not read, and namespaces that it does not search; None if more may have run."""
        codes = {each.__code__ for each in (*functions, *self.functions)} & ran
        found = [names_in(code) for code in codes]
        names = {name for each in found for name in (*each.attributes, *each.asked)}
        if names & _IN_THREADS:
            return None
        takes_any = any(each.takes_any or each.matches for each in found)
        dropped = {number for numbers, readers in self._groups.values() for number in numbers
                   if not any(code in codes if code is not None else name is None or takes_any or name in names for code, name in readers)}
        searched = {id(each.__globals__) for each in self.functions if each.__code__ in codes}
        return dropped, {id(each.__globals__) for each in self.functions} - searched

    def _add_value(self, reach, holder, key, path, depth, read_by, origin, code):
        value = _core._value_at(holder, key, self)
        if value is self:
            if not isinstance(holder, dict) or read_by is not None and key not in vars(builtins):
                reach._add(holder, key, path, is_held=False)
            return
        reach.met.note(value)
        self._looked_up[id(holder), key] = depth
        if _is_compiled(value):
            self._note_compiled(origin, path, code, key)
        elif isinstance(holder, (tuple, types.CellType)) and callable(value) and kind_of(value, "") is not None:
            self.unseen.note(origin, f"{path} is {value.__name__}()", code=code)
        if _is_of_user(value):
            reach._add(holder, key, path)
        elif isinstance(value, enum.Enum) and is_installed_class(type(value)):
            reach._add_same(holder, key, value)
            self._enter_parts(reach, value, [], path, depth, origin)
        elif isinstance(value, (functools.partial, BaseException)):
            reach._add_same(holder, key, value)
            reach._enter(value, path)
        elif _is_plain(value, [_MOST_PARTS]) or _is_entered(value, depth):
            if (id(holder), key) not in reach.placed:
                self.places.add(len(reach.places))
            reach._add(holder, key, path, is_held=False)
        elif depth < _MOST_CALLS and ((functions := _functions_of(value)) or _is_seen(value)):
            reach._add_same(holder, key, value)
            self._enter_parts(reach, value, functions, path, depth, origin)
        elif isinstance(value, types.FunctionType) and is_installed(value.__globals__.get("__name__", "")):
            self.unseen.note(origin, f"{path} is a function more than {_MOST_CALLS} calls away", code=value.__code__)
        elif depth < _FAR and (what := _unseen_or_none(value)) is not None:
            self._unseen_at[id(holder), key] = f"{path} is {what}"
            self.unseen.note(origin, f"{path} is {what}", (id(holder), key), code=code, name=key)
        else:
            reach._add_same(holder, key, value)
            reach.kinds.append(told_apart([value]))

    def _enter_parts(self, reach, value, functions, path, depth, origin):
        for function in functions:
            if is_installed(function.__globals__.get("__name__", "")):
                self.enter(function, depth, origin)
            else:
                reach._enter(function, path)  # one of functools, around a function that it holds
        if isinstance(value, functools._lru_cache_wrapper) and _reads_state(value.__wrapped__):
            self.unseen.note(origin, f"{path} keeps results of earlier calls (functools.lru_cache)", name=path.rpartition(".")[2],
                             unless=value.__wrapped__.__code__)
        if isinstance(value, types.MethodType):
            self._add(reach, value, "__self__", f"{path}.__self__", depth)
        if not functions and id(value) not in self._known:
            self._known.add(id(value))
            self.objects.append((value, path, depth))
            if has_class_in_sight(value):
                reach._add_same(value, "__class__", type(value))
                if (own := attributes_of(value)) is not None:
                    reach._add_same(value, "__dict__", own)
            reach._enter_class_of(value)


def _is_called_by_python(holder, own, name):
    """True for methods such as __add__, _missing_ of enumerations and __getattr__ of modules; in classes that are derived from one of a
    library, whose methods call others by name, for all methods."""
    if not isinstance(holder, type):
        return name == "__getattr__"
    if name in OF_CLASSES:
        return False
    is_method = callable(own[name]) or hasattr(type(own[name]), "__get__")
    return is_method and (name.startswith("__") or _has_base_in_library(holder))


def _has_base_in_library(cls):
    """True if methods of Python's own library, or of a large one, call its methods and read its attributes."""
    return any(is_library_class(base) and not is_installed_class(base) and base.__module__ != "builtins" for base in cls.__mro__)


def _is_of_user(value):
    """True for functions, classes and modules of the user, and for objects of such classes."""
    if isinstance(value, types.FunctionType):
        return not is_library(value.__globals__.get("__name__", ""))
    if isinstance(value, types.ModuleType):
        return not is_library(value.__name__)
    return not is_library_class(value if isinstance(value, type) else type(value))


def _is_compiled(value):
    return isinstance(value, types.BuiltinFunctionType) and is_compiled(module_of(value))


def is_installed_class(cls):
    return isinstance(cls.__module__, str) and is_library_class(cls) and is_installed(cls.__module__)


def _is_entered(value, depth):
    """True for modules of installed code that a name leads to, and for classes that are near."""
    if isinstance(value, types.ModuleType):
        return depth < _FAR and is_installed(value.__name__)
    return isinstance(value, type) and depth < _MOST_CALLS and is_installed_class(value)


def _is_plain(value, left, is_part=False):
    """True for a number, a text, another constant, a tensor, and a container of a few of them, or of functions and classes."""
    left[0] -= 1
    if is_part and left[0] >= 0 and (isinstance(value, _NAMED) or _is_seen(value)):
        return True
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
    members = [each for each in value if type(each) not in PLAIN] if isinstance(value, dict) else list(value) if children is None else []
    return all(_is_plain(each, left, is_part=True) for each in (*parts, *members))


def _functions_of(value):
    """The functions of a function or a descriptor."""
    found = [value, *(getattr(value, name) for name in _DESCRIPTORS.get(type(value), ()))]
    return [each for each in found if isinstance(each, types.FunctionType)]


def _reads_state(function):
    """True if a memoised function may depend on more than its arguments, or on attributes of its first one."""
    names, code = names_in(function.__code__), function.__code__
    held = [function.__globals__.get(each) for each in names.globals] + [_core._value_at(cell, None, types) for cell in function.__closure__ or ()]
    is_method = code.co_argcount > 0 and code.co_varnames[0] in ("self", "cls") and names.attributes
    return is_method or any(each is not None and not isinstance(each, (types.ModuleType, *_NAMED)) for each in held)


@functools.lru_cache(maxsize=4096)
def _slots_of(cls):
    return [name for base in cls.__mro__ for name, each in vars(base).items() if isinstance(each, types.MemberDescriptorType)]


def _is_seen(value):
    """True for an object whose attributes are all visible."""
    return is_installed_class(type(value)) and is_of_python(type(value))


def _unseen_or_none(value):
    """A description if it may change and the change is not visible; None if it stays the same."""
    cls = type(value)
    if isinstance(value, (type, types.ModuleType, types.FunctionType)) or is_logger(value) or is_path(value) or is_fixed(value):
        return None
    if cls.__name__ in _SYNCHRONISATION and module_of(cls) in ("_thread", "threading"):
        return None
    if _core._children(value) is not None or isinstance(value, (set, frozenset)) or hasattr(cls, "__array_interface__"):
        return f"a {cls.__name__} with objects, or with more than {_MOST_PARTS} values"
    return changing_or_none(value) or f"a {cls.__name__}"
