"""State outside of its arguments that host code changed while it was recorded. It is found by comparing with a
snapshot. Changes are repeated when the record runs, and undone when the host code has to run once more
(docs/jit.md)."""

import collections
import dataclasses
import types

from plait import _core
from plait.inside.jit.host_code import module_of
from plait.inside.jit.host_constants import is_fixed
from plait.inside.jit.host_reach import ABSENT, attributes_of
from plait.inside.jit.jit_arguments import frozen
from plait.inside.jit.settling import settled
from plait.tree import flatten

_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice, _core.DType)


def value_at(place):
    return _core._value_at(place[0], place[1], ABSENT)


def put(holder, key, value):
    """Stores a value at its key, or removes the key if it is ABSENT."""
    if isinstance(holder, types.CellType):
        if value is ABSENT:
            del holder.cell_contents
        else:
            holder.cell_contents = value
    elif isinstance(holder, dict):
        if value is ABSENT:
            holder.pop(key, None)
        else:
            holder[key] = value
    elif isinstance(holder, (list, collections.deque)):
        holder[key] = value
    elif not isinstance(holder, type) and _is_member(holder, key):
        if value is not ABSENT:
            object.__setattr__(holder, key, value)
        elif value_at((holder, key)) is not ABSENT:
            object.__delattr__(holder, key)
    elif attributes_of(holder) is not None and not isinstance(holder, type):
        put(attributes_of(holder), key, value)
    elif value is ABSENT:
        if value_at((holder, key)) is not ABSENT:
            delattr(holder, key)
    else:
        setattr(holder, key, value)


def _is_member(holder, key):
    """True for __class__, for slots, and for attributes that a class written in C gives its objects."""
    found = next((vars(cls)[key] for cls in type(holder).__mro__ if key in vars(cls)), None)
    return isinstance(found, (types.MemberDescriptorType, types.GetSetDescriptorType))


def contents_of(container):
    """A shallow copy."""
    if isinstance(container, (list, set, dict, collections.deque)):
        return container.copy()
    return _own(container)


def _own(thing):
    """Its attributes and slots."""
    slots = {name: value_at((thing, name)) for base in type(thing).__mro__ for name, each in vars(base).items()
             if isinstance(each, types.MemberDescriptorType)}
    return {**(attributes_of(thing) or {}), **{name: value for name, value in slots.items() if value is not ABSENT}}


def changed_keys(container, before):
    """Keys, names or indices whose value is another object; None if the change is a different one."""
    if isinstance(container, set):
        return [] if container == before else None
    if isinstance(container, (list, collections.deque)):
        if len(container) != len(before):
            return None
        return [i for i, (now, was) in enumerate(zip(container, before)) if now is not was]
    now = container if isinstance(container, dict) else _own(container)
    if [key for key in before if key in now] != [key for key in now if key in before]:
        return None  # the order differs
    return [key for key in {**before, **now} if now.get(key, ABSENT) is not before.get(key, ABSENT)]


def _restore(container, before):
    if isinstance(container, (list, collections.deque)):
        container.clear()
        container.extend(before)
    elif isinstance(container, (set, dict)):
        container.clear()
        container.update(before)
    else:
        now = _own(container)
        for key in {**before, **now}:
            if now.get(key, ABSENT) is not before.get(key, ABSENT):
                put(container, key, before.get(key, ABSENT))


def _value_of(container, key):
    if isinstance(container, (list, collections.deque)):
        return container[key]
    entries = container if isinstance(container, dict) else _own(container)
    return entries.get(key, ABSENT)


def _may_change(leaf):
    return hasattr(type(leaf), "__array_interface__") and hasattr(leaf, "flags") and leaf.flags.writeable and type(leaf.copy()) is type(leaf)


def _put_back(array, before):
    """Whatever was changed of an array: its shape, whether it may be written, its elements."""
    was_locked = not array.flags.writeable
    if was_locked:
        array.flags.writeable = True
    if array.shape != before.shape or array.dtype != before.dtype:
        array.dtype, array.shape = before.dtype, before.shape
    array[...] = before


def _made_of(each):
    """The parts of a function or a class that may be assigned, beside its attributes."""
    names = ("__bases__",) if isinstance(each, type) else ("__code__", "__defaults__", "__kwdefaults__")
    return {name: getattr(each, name) for name in names}


def containers_below(value, names=(), seen=None):
    """(path of names, container) for each list, dict, set and object with attributes in a tree."""
    seen = set() if seen is None else seen
    if type(value) in _CONSTANTS or isinstance(value, _core.Tensor) or id(value) in seen:
        return
    seen.add(id(value))
    children = _core._children(value)
    if isinstance(value, set) or (children is not None and not isinstance(value, tuple)):
        yield names, value
    for name, child in children or ():
        yield from containers_below(child, (*names, name), seen)


def tensors_below(value, names=(), seen=None):
    """(path of names, tensor) for each tensor in a tree."""
    seen = set() if seen is None else seen
    if isinstance(value, _core.Tensor):
        yield names, value
    elif type(value) not in _CONSTANTS and id(value) not in seen:
        seen.add(id(value))
        for name, child in _core._children(value) or ():
            yield from tensors_below(child, (*names, name), seen)


def _child_at(value, names):
    for name in names:
        value = value[name] if isinstance(value, (list, tuple, dict, collections.deque)) else getattr(value, name)
    return value


@dataclasses.dataclass(frozen=True)
class Write:
    """A value that host code stored at a place, or at the end of the path `names` from an argument or from the value
    at a place."""

    place: object  # the index of a place outside, or the name of an argument
    path: str
    structure: object = None  # None if it was removed
    count: int = 0  # count of its leaves
    names: tuple = None  # None for the place itself
    key: object = None
    is_content: bool = False  # the contents of a tensor: x[i] = y
    source: tuple = None  # (place, names) of a tensor that existed before and was moved here

    def value(self, places, call, leaves):
        """The value to be stored; computed before anything is written."""
        if self.source is not None:
            return looked_up(places, call, *self.source)
        return ABSENT if self.structure is None else self.structure.unflatten(leaves)

    def again(self, places, call, value):
        if self.names is None:
            put(*places[self.place][:2], value)
            return
        holder = looked_up(places, call, self.place, self.names)
        if self.is_content:
            _core._exchange(holder, value)
        else:
            put(holder, self.key, value)


def looked_up(places, call, place, names):
    """The value at a place outside, by number, or in an argument, by name, or what names lead to from there."""
    return _child_at(call.value_at(place) if isinstance(place, str) else value_at(places[place]), names)


def source_of(value, reach, arguments):
    """(place, names) where an object is found outside or in an argument, None where it is not."""
    for number, place in enumerate(reach.places):
        if value_at(place) is value:
            return number, ()
    trees = [*arguments.items(), *((number, value_at(place)) for number, place in enumerate(reach.places) if not place[2])]
    for place, tree in trees:
        names = _names_to(value, tree, (), set())
        if names is not None:
            return place, names
    return None


def _names_to(value, tree, names, seen):
    if tree is value:
        return names
    if type(tree) in _CONSTANTS or isinstance(tree, _core.Tensor) or id(tree) in seen:
        return None
    seen.add(id(tree))
    for name, child in _core._children(tree) or ():
        found = _names_to(value, child, (*names, name), seen)
        if found is not None:
            return found
    return None


class Snapshot:
    """The state that host code can reach, before it runs; `arguments`, by name, are the caller's own objects."""

    def __init__(self, reach, arguments):
        self._reach = reach
        self._values = [value_at(place) for place in reach.places]
        self._containers, self._tensors = [], []
        for name, value in arguments.items():
            self._add_tree(name, value)
        for number, ((_, _, entered), value) in enumerate(zip(reach.places, self._values)):
            if not entered and value is not ABSENT:
                self._add_tree(number, value)
        self._known = {id(each) for each in self._values} | {id(each[0]) for each in self._containers + self._tensors}
        self._arrays = [(leaf, leaf.copy(), path) for path, found in reach.values.items() for leaf in flatten(found.value)[0] if _may_change(leaf)]
        self._functions = [(each, _made_of(each)) for each in reach.replaceable()]
        self._keys = [(attributes, set(attributes)) for attributes in reach.attribute_dicts()]
        self._names_of_classes = [(cls, set(vars(cls))) for cls in reach.classes()]

    def _add_tree(self, place, value):
        for names, container in containers_below(value):
            self._containers.append((container, contents_of(container), place, names))
        self._tensors += [(tensor, tensor._share(), place, names) for names, tensor in tensors_below(value)]

    def restore(self):
        """Undoes all changes."""
        for container, before, *_ in self._containers:
            if changed_keys(container, before) != []:
                _restore(container, before)
        for place, before in zip(self._reach.places, self._values):
            if value_at(place) is not before:
                put(*place[:2], before)
        for attributes, before in self._keys:
            for key in [key for key in attributes if key not in before]:
                del attributes[key]
        for cls, name in self._new_of_classes():
            delattr(cls, name)
        for tensor, content, *_ in self._tensors:
            _core._exchange(tensor, content)
        for array, before, _ in self._changed_arrays():
            _put_back(array, before)
        for function, name, before in self._changed_functions():
            setattr(function, name, before)

    def _changed_functions(self):
        """(function or class, name, value before) of what was assigned."""
        return [(each, name, value) for each, before in self._functions for name, value in before.items() if getattr(each, name) is not value]

    def _changed_arrays(self):
        return [(array, before, path) for array, before, path in self._arrays
                if frozen(array)[1:] != frozen(before)[1:]]  # but for the flags, of which a copy may have others

    def _new_of_classes(self):
        """(class, name) of each attribute that a class has now, and had not."""
        return [(cls, name) for cls, before in self._names_of_classes for name in vars(cls) if name not in before and not name.startswith("__")]

    def first_change(self):
        """The path of something that was changed; None if all is as it was."""
        paths = {found.place: path for path, found in self._reach.values.items()}
        for number, (place, before) in enumerate(zip(self._reach.places, self._values)):
            if value_at(place) is not before:
                return paths.get(number, str(place[1]))
        for container, before, place, names in self._containers:
            keys = changed_keys(container, before)
            if keys != []:
                return ".".join(map(str, (paths.get(place, place), *names, *(keys or ())[:1])))
        for tensor, content, place, names in self._tensors:
            if not _core._is_same(tensor, content):
                return ".".join(map(str, (paths.get(place, place), *names)))
        for function, *_ in self._changed_functions():
            return function.__name__
        for _, _, path in self._changed_arrays():
            return path
        new = [f"{cls.__name__}.{name}" for cls, name in self._new_of_classes()]
        return next((key for attributes, before in self._keys for key in attributes if key not in before), next(iter(new), None))

    def changes(self, lent):
        """The writes that repeat the changes, with the leaves that they store, or the reason why this is impossible.

        `lent` has the contents of each tensor during the run, by the tensor's identity."""
        found = _Changes(self._reach, self._tensors, self._known)
        rebound = {number for number, (place, before) in enumerate(zip(self._reach.places, self._values)) if found.of_place(number, place, before)}
        for container, *rest in _once(self._containers):
            found.of_container(container, *rest, rebound)
        for tensor, content, place, names in _once(self._tensors):
            now = tensor._share()
            if not _core._is_same(now, lent.get(id(tensor), content)) and not _core._is_same(now, content):
                found.add(now, place=place, names=names, is_content=True)
        for function, *_ in self._changed_functions():
            found.refused = found.refused or f"{function.__name__} is changed"
        for _, _, path in self._changed_arrays():
            found.refused = found.refused or f"the NumPy array {path} is changed in place"
        for attributes, before in self._keys:
            found.of_attributes(attributes, before)
        for cls, name in self._new_of_classes():
            found.refused = found.refused or f"{cls.__name__}.{name} is a new attribute"
            settled(vars(cls)[name])
        return found.writes, found.leaves, found.refused


def _once(entries):
    """The first entry of each object: an object at two places is written once."""
    return {id(entry[0]): entry for entry in reversed(entries)}.values()


def _stays_the_same(value):
    """True of constants, and of functions that hold nothing."""
    if isinstance(value, frozenset):
        return all(map(_stays_the_same, value))
    if isinstance(value, types.FunctionType):
        return not any(getattr(value, name, None) for name in ("__closure__", "__defaults__", "__kwdefaults__"))
    return type(value) in _CONSTANTS or is_fixed(value)


# Modules whose objects are values: code that holds one under another name does not change it in place.
_OF_VALUES = ("plait.optim", "plait.metrics", "plait.inside.optimizers.", "plait.inside.transformations.", "plait.inside.metrics.")


class _Changes:
    """Changes by host code, as writes; `refused` is the reason if they cannot be repeated."""

    def __init__(self, reach, tensors, known):
        self.writes, self.leaves, self.refused = [], [], None
        self._reach, self._known = reach, known
        self._moved = set()  # containers that some write stores; each may be stored only once
        self._sources = {id(tensor): (place, names) for tensor, _, place, names in reversed(tensors)}
        self._paths = {found.place: path for path, found in reach.values.items()}

    def of_place(self, number, place, before):
        """True if the place has another value."""
        now = value_at(place)
        if now is before or isinstance(place[0], tuple):
            return False
        plain = settled(now)
        if plain is not now:
            put(*place[:2], plain)
        self.add(plain, place=number)
        return True

    def of_container(self, container, before, place, names, rebound):
        changed = changed_keys(container, before)
        if changed == []:
            return
        settled(container)
        if changed is None or place in rebound:
            self.refused = self.refused or f"{self._path_of(place, names)} is changed in place"
            return
        for key in map(settled, changed):
            self.add(_value_of(container, key), place=place, names=names, key=key)

    def of_attributes(self, attributes, before):
        added = [key for key in attributes if key not in before and (id(attributes), key) not in self._reach.placed]
        if added:
            settled(attributes)
            self.refused = self.refused or f"{added[0]} is a new attribute"

    def add(self, value, place, names=None, key=None, is_content=False):
        path = self._path_of(place, names or (), *([] if key is None else [key]))
        where = {"place": place, "path": path, "names": names, "key": key, "is_content": is_content}
        if value is ABSENT:
            self.writes.append(Write(**where))
        elif id(value) in self._sources and not is_content:
            self.writes.append(Write(source=self._sources[id(value)], **where))
        else:
            reason = self._unwritable(value)
            self.refused = self.refused or (reason and f"{path} becomes {reason}")
            found, structure = flatten(value)
            self.leaves += found
            self.writes.append(Write(structure=structure, count=len(found), **where))

    def _path_of(self, place, names, *key):
        first = place if isinstance(place, str) else self._paths.get(place, str(self._reach.places[place][1]))
        return ".".join([first, *map(str, names), *map(str, key)])

    def _unwritable(self, value, is_ours=False):
        """The reason if the value cannot be created again at each call. Objects that existed before keep their identity, except in
        optimizers and the like (`is_ours`)."""
        if isinstance(value, _core.Tensor) or type(value) in _CONSTANTS:
            return None
        children = _core._children(value)
        if children is None:
            return None if _stays_the_same(value) else f"a {type(value).__name__}"
        is_ours = module_of(type(value)).startswith(_OF_VALUES) or is_ours and isinstance(value, (list, dict, tuple))
        if not isinstance(value, tuple):
            if (id(value) in self._known and not is_ours) or id(value) in self._moved:
                return f"a {type(value).__name__} that is at two places"
            self._moved.add(id(value))
        return next(filter(None, (self._unwritable(child, is_ours) for _, child in children)), None)
