"""Changes of state and results of host code, with plain numbers instead of symbolic sizes and items, which are invalid after the
call (docs/jit.md)."""

import collections
import functools
import types

from plait import _core
from plait.inside.arrays.items import Item
from plait.inside.jit.host_code import is_library_class
from plait.inside.jit.host_constants import PLAIN
from plait.inside.jit.host_reach import attributes_of

_PLAIN = frozenset((*PLAIN, range, _core.DType, _core.Tensor))


def settled(value, keeps_leaves=False):
    """The value with numbers in it: the same object if it can be changed in place. With `keeps_leaves`, leaves of the tree stay
    unchanged, and keys, sets and objects that are not trees receive numbers."""
    return _Settling().of(value, keeps_leaves)


class _Settling:
    def __init__(self):
        self._seen = {}  # visited objects, by identity

    def of(self, value, keeps_leaves=False):
        cls = type(value)
        if cls is _core.Dim or isinstance(value, Item):
            return value if keeps_leaves else int(value) if cls is _core.Dim else value._number()
        if cls in _PLAIN or id(value) in self._seen:
            return value
        if isinstance(value, (tuple, frozenset)) or cls in _PARTS:
            return self._made_again(value, keeps_leaves)
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            self._in_function(value)
        elif isinstance(value, types.MethodType):
            self.of(value.__self__)
        elif isinstance(value, (list, collections.deque)):
            for i, each in enumerate(value):
                self._put(value.__setitem__, i, each, keeps_leaves)
        elif isinstance(value, dict):
            self._in_dict(value, keeps_leaves)
        elif isinstance(value, set):
            self._in_set(value)
        elif not isinstance(value, (type, types.ModuleType)):
            self._in_object(value, keeps_leaves and _core._children(value) is not None)
        return value

    def _put(self, put, key, value, keeps_leaves=False):
        plain = self.of(value, keeps_leaves)
        if plain is not value:
            put(key, plain)

    def _made_again(self, value, keeps_leaves):
        """An immutable value, rebuilt if one of its parts differs."""
        take, make = _PARTS.get(type(value), (tuple, None))
        parts = take(value)
        plain = [self.of(each, keeps_leaves and isinstance(value, tuple)) for each in parts]
        if all(a is b for a, b in zip(parts, plain)):
            return value
        if make is not None:
            return make(*plain)
        return type(value)._make(plain) if hasattr(type(value), "_make") else type(value)(plain)

    def _in_dict(self, value, keeps_leaves):
        keys = [self.of(key) for key in value]
        if any(a is not b for a, b in zip(keys, value)):
            entries = list(zip(keys, value.values()))
            value.clear()
            value.update(entries)
        for key, each in list(value.items()):
            self._put(value.__setitem__, key, each, keeps_leaves)

    def _in_set(self, value):
        plain = [self.of(each) for each in value]
        if any(a is not b for a, b in zip(plain, value)):
            value.clear()
            value.update(plain)

    def _in_function(self, function):
        for cell in function.__closure__ or ():
            try:
                self._put(lambda _, plain, cell=cell: setattr(cell, "cell_contents", plain), None, cell.cell_contents)
            except ValueError:  # it has no value yet
                continue
        if function.__defaults__:
            self._put(functools.partial(setattr, function), "__defaults__", function.__defaults__)

    def _in_object(self, value, keeps_leaves):
        if is_library_class(type(value)) and _core._children(value) is None:
            return
        own = attributes_of(value)
        for name, each in list((own or {}).items()):
            self._put(own.__setitem__, name, each, keeps_leaves)
        for cls in type(value).__mro__:
            for name, slot in vars(cls).items():
                if isinstance(slot, types.MemberDescriptorType) and not is_library_class(cls) and hasattr(value, name):
                    self._put(functools.partial(object.__setattr__, value), name, getattr(value, name), keeps_leaves)


# How to split containers into parts, and to build them again.
_PARTS = {slice: (lambda value: (value.start, value.stop, value.step), slice),
          functools.partial: (lambda value: (value.func, value.args, value.keywords),
                              lambda func, args, keywords: functools.partial(func, *args, **keywords))}
