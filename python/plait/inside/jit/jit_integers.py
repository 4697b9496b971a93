"""Integers in a tuple, list or dict that is an argument of a jitted function. After one of them has differed, they are sizes of tensors, as
integers that are arguments themselves are."""

import collections

from plait import _core

_CONTAINERS = (list, tuple, dict)  # a copy of another class of dicts would be a dict

# A tree with the tensor of a size instead of each integer. `signs`, for each leaf: 1, 2 if the integer is negative, 0 for other tensors.
Sized = collections.namedtuple("Sized", "tree signs")


def sized(value):
    """The Sized of a tree; None if it has no integers, or nodes besides containers, which would have to be copied."""
    if not _is_of_containers(value):
        return None
    leaves, form = _core._flatten(value, numbers=True)
    signs = [_core._integer_argument(leaf) for leaf in leaves]
    tree = form.unflatten([_core._size_argument(leaf) if sign else leaf for leaf, sign in zip(leaves, signs)])
    kept = tuple(sign for leaf, sign in zip(leaves, signs) if sign or type(leaf) is _core.Tensor)
    return Sized(tree, kept) if any(kept) else None


def _is_of_containers(value):
    cls = type(value)
    if cls in _CONTAINERS or (isinstance(value, tuple) and hasattr(cls, "_make")):
        return all(map(_is_of_containers, value.values() if isinstance(value, dict) else value))
    return cls is _core.Tensor or (_core._children(value) is None and not hasattr(cls, "__array_interface__"))


def differ_in_integers(before, now):
    """True if two structures of arguments differ in integers alone."""
    if not (isinstance(before, _core.Structure) and isinstance(now, _core.Structure)) or len(before) != len(now):
        return False
    try:
        (earlier, form), (later, other) = (_core._flatten(each.unflatten([None] * len(each)), numbers=True) for each in (before, now))
    except Exception:  # noqa: BLE001: a class that does not take None for its tensors, and no container of numbers
        return False
    differing = [(a, b) for a, b in zip(earlier, later) if type(a) is not type(b) or a != b]
    return form == other and bool(differing) and all(type(a) is type(b) is int for a, b in differing)


class Lent:
    """A copy of the tree of a Sized, as the host code receives it: its containers must stay as they are, since the caller has others."""

    def __init__(self, structure, leaves):
        self.tree, self._containers = structure.unflatten(leaves), []
        self._note(self.tree)

    def _note(self, value):
        if type(value) in _CONTAINERS or isinstance(value, tuple):
            self._containers.append((value, _contents(value)))
            for each in _contents(value):
                self._note(each)

    def is_unchanged(self):
        return all(len(now := _contents(container)) == len(before) and all(a is b for a, b in zip(now, before))
                   for container, before in self._containers)


def _contents(container):
    return [*container, *container.values()] if isinstance(container, dict) else list(container)
