"""Objects in the result of a jitted function: objects created by its host code are created again at each call, with the tensors of
that call, and objects that existed before are looked up (docs/jit.md)."""

import collections
import enum
import functools
import sys
import types

from plait import _core
from plait.inside.jit.host_code import is_library_class, module_of
from plait.inside.jit.host_constants import PLAIN, hidden_base, is_fixed, is_of_python
from plait.inside.jit.host_reach import ABSENT, attributes_of, unwrapped
from plait.inside.transforms.tracing import Spec

_KEPT = frozenset((*PLAIN, _core.Dim, _core.DType, range, slice))


class Refused(Exception):
    """An object that cannot be created again: its place, and a description."""


class _Fresh:
    """Represents in a tree an object that is built from its children."""

    def __init__(self, make, children):
        self.make, self.children = make, children


_core._register_class(_Fresh, lambda fresh: (fresh.children, fresh.make), lambda make, children: make(children))


class Given(Spec):
    """A leaf that is an object which existed before the call: `source` is (place, names), as in writes."""

    def __init__(self, source):
        object.__setattr__(self, "type", "given")
        object.__setattr__(self, "source", source)


def standing_in(tree, source_of):
    """The tree, with each mutable object that is not a tree replaced by a node that creates it again or looks it up. `source_of`
    returns where an object was before the call, None if it did not exist. Raises Refused."""
    return _StandIns(source_of).of(tree, "")


class _StandIns:
    def __init__(self, source_of):
        self._source_of, self._made, self._alive = source_of, set(), []

    def of(self, value, path):
        cls = type(value)
        if cls is _core.Tensor or cls in _KEPT or isinstance(value, (types.ModuleType, types.BuiltinFunctionType)):
            return value
        children = None if isinstance(value, functools.partial) else _core._children(value)
        if children is not None:
            return self._of_node(value, children, path)
        if hasattr(cls, "__array_interface__") or (isinstance(value, frozenset) and all(type(each) in _KEPT for each in value)):
            return value
        return self._of_object(value, path)

    def _of_node(self, value, children, path):
        found = [self.of(child, f"{path}.{name}" if path else str(name)) for name, child in children]
        if isinstance(value, dict):
            for key in value:
                if self.of(key, path) is not key:
                    raise Refused(path, f"a {type(key).__name__} as a key")
        if all(new is child for new, (_, child) in zip(found, children)):
            return value
        if isinstance(value, (list, tuple, collections.deque)):
            return type(value)._make(found) if hasattr(value, "_fields") else type(value)(found)
        names = [name for name, _ in children]
        if isinstance(value, dict):
            return dict(zip(names, found))
        if attributes_of(value) is None or set(names) != set(attributes_of(value)):
            raise Refused(path, f"a {type(value).__name__} that holds objects")
        made = object.__new__(type(value))
        attributes_of(made).update(zip(names, found))
        return made

    def _of_object(self, value, path):
        if _is_steady(value):
            return value
        function = unwrapped(value)
        if isinstance(function, types.FunctionType) and (not _parts_of_function(function) or _is_known(function)):
            return value
        source = self._source_of(value)
        if source is not None:
            return Given(source)
        if id(value) in self._made:
            raise Refused(path, f"one {type(value).__name__} at two places")
        self._made.add(id(value))
        self._alive.append(value)
        return self._made_again(value, type(value), path)

    def _made_again(self, value, cls, path):
        if cls in (set, frozenset):
            return self._fresh(cls, list(value), path)
        if cls is bytearray:
            return _Fresh(functools.partial(_bytes_again, bytes(value)), [])
        if cls is functools.partial:
            return self._fresh(_partial_again, [value.func, value.args, value.keywords], path)
        names = _names_in(value, cls)
        if names is None or not (_is_known(cls) or self._source_of(cls) is not None):
            raise Refused(path, f"a {type(unwrapped(value)).__name__}")
        return self._fresh(functools.partial(_object_again, cls, names), [_attribute(value, name) for name in names], path, names)

    def _fresh(self, make, parts, path, names=None):
        paths = [path] * len(parts) if names is None else [f"{path}.{name}" if path else name for name in names]
        return _Fresh(make, [self.of(part, its) for part, its in zip(parts, paths)])


def _is_steady(value):
    """True if it stays the same as long as it is the same object, and is not a class that is created again."""
    if isinstance(value, (type, enum.Enum)):
        return True
    if isinstance(unwrapped(value), (types.FunctionType, functools.partial)) or not is_library_class(type(value)) or not is_fixed(value):
        return False
    return module_of(type(value)).split(".")[0] != "plait" or attributes_of(value) is None


def _parts_of_function(function):
    return function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function)


def _names_in(value, cls):
    """The attributes and slots that are the whole state of an object; None if there may be more."""
    is_library = is_library_class(cls)
    if (is_library and (not is_of_python(cls) or module_of(cls).split(".")[0] == "plait")) or hidden_base(cls) is not None:
        return None
    if issubclass(cls, _BUILT_IN) or hasattr(cls, "__next__") or hasattr(cls, "__del__"):
        return None
    return [*(attributes_of(value) or ()), *(name for name in _slots_of(cls) if _attribute(value, name) is not ABSENT)]


_BUILT_IN = (int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset, BaseException, types.FunctionType, types.MethodType)


def _attribute(value, name):
    own = attributes_of(value)
    if own is not None and name in own:
        return own[name]
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return ABSENT


def _is_known(thing):
    """True if the attribute of its module with its name is this class or function."""
    found = sys.modules.get(module_of(thing))
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return unwrapped(found) is thing


def _object_again(cls, names, parts):
    made = object.__new__(cls)
    own, slots = attributes_of(made), _slots_of(cls)
    for name, part in zip(names, parts):
        if name in slots:
            object.__setattr__(made, name, part)
        else:
            own[name] = part
    return made


def _slots_of(cls):
    return [name for base in cls.__mro__ for name, each in vars(base).items() if isinstance(each, types.MemberDescriptorType)]


def _bytes_again(content, parts):
    return bytearray(content)


def _partial_again(parts):
    function, arguments, named = parts
    return functools.partial(function, *arguments, **named)
