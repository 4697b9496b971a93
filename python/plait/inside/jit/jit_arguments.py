"""The arguments of a jitted call: their leaves, and their representation for the host code. An argument that is a float is
recorded as an f64 scalar, which takes the dtype of the other operand, as long as host code does not need its number."""

import collections

from plait import _core
from plait.inside.arrays.interop import asarray
from plait.inside.arrays.items import Item
from plait.inside.jit.jit_integers import Lent, Sized
from plait.inside.later import Later
from plait.inside.trees.given import Handed
from plait.tree import flatten

np = Later("numpy")

LEAF = _core.Structure()
FLOATS = frozenset({float, complex, Item})

Weak = collections.namedtuple("Weak", "scalar")  # a float as a tensor: one record for all values
Fixed = collections.namedtuple("Fixed", "value")  # as a constant: a record for each value


def weak(value):
    """A float, a complex number or an item as a tensor."""
    if type(value) is Item:
        return Weak(value._constant())
    return Weak(_core.full((), value, _core.f64 if type(value) is float else _core.c128))


class Needed(BaseException):
    """These arguments must be recorded otherwise: host code needs their numbers, and starts again with constants for them. Not an
    Exception, so that host code does not catch it."""

    def __init__(self, owner, names, is_certain=True, mode="constant"):
        super().__init__(owner, names)
        self.owner, self.names, self.is_certain, self.mode = owner, names, is_certain, mode


class Origin:
    """The arguments from which an item was computed."""

    def __init__(self, owner, names):
        self.owner, self.names = owner, names

    def joined(self, other):
        """The arguments of both; None if those of one are unknown."""
        return None if other is None or other.owner is not self.owner else Origin(self.owner, self.names | other.names)

    def need(self):
        self.owner.need(self.names)


def argument_of(value):
    return SizedArgument(value) if type(value) is Sized else Argument(value)


class Argument:
    """An argument of a call: its leaves, and its representation for the host code."""

    def __init__(self, value):
        self.value, self.sign = value, _core._integer_argument(value)
        self.is_weak, self.is_own = type(value) is Weak, False
        if self.is_weak:
            self.leaves, self.structure = [value.scalar], LEAF
        elif isinstance(value, (float, complex)):  # also derived classes: they count as tensors
            self.leaves, self.structure = [asarray(value)], LEAF
        elif self.sign != 0:  # integers are passed as sizes
            self.leaves, self.structure = [_core._size_argument(value)], LEAF
        else:
            self.leaves, self.structure = flatten(value)
            # Otherwise it has NumPy arrays, which are replaced by tensors: the host code has a copy.
            self.is_own = type(value) is not Fixed and all(type(leaf) is _core.Tensor for leaf in self.leaves)

    @property
    def key(self):
        """The part of the key of records: arguments with different keys are recorded separately."""
        return (self.structure, self.sign, self.is_weak) if self.sign or self.is_weak else self.structure

    def is_recorded(self, given, place):
        """True if it is a number that stays unknown in the record, by the leaves of a call."""
        return given[place].is_traced if self.is_weak else bool(self.sign) and type(given[place].shape[0]) is _core.Dim

    def of(self, given, as_numbers, copies, origin):
        """The argument with these leaves, which its own tensors share already if it is passed unchanged."""
        if type(self.value) is Fixed:
            return self.value.value
        if self.is_own:
            return self.value
        if self.is_weak:
            return Item(given[0], origin) if given[0].is_traced else given[0].item()
        if self.sign == 0:
            return Handed(self.structure, [copies.add(leaf) for leaf in given])
        size = int(given[0].shape[0]) if as_numbers else given[0].shape[0]
        return size if self.sign == 1 else -size


class SizedArgument:
    """A tuple, list or dict with integers that are passed as sizes."""

    is_weak, is_own = False, True

    def __init__(self, given):
        self.value, self.signs = given
        self.leaves, self.structure = flatten(self.value)
        self.sign = max(self.signs)

    @property
    def key(self):
        return self.structure, self.signs

    def is_recorded(self, given, place):
        sizes = [leaf.shape[0] for leaf, sign in zip(given[place:], self.signs) if sign]
        return any(type(size) is _core.Dim for size in sizes)

    def of(self, given, as_numbers, copies, origin):
        """The tree with integers, and otherwise with the caller's tensors."""
        def leaf_of(leaf, content, sign):
            if sign == 0:
                return leaf
            size = int(content.shape[0]) if as_numbers else content.shape[0]
            return size if sign == 1 else -size

        return Lent(self.structure, list(map(leaf_of, self.leaves, given, self.signs)))


def shared(leaves):
    """(number, number of the first) for each leaf that is the same object as an earlier one."""
    first = {}
    return tuple((i, at) for i, leaf in enumerate(leaves) if (at := first.setdefault(id(leaf), i)) != i)


def sample(argument):
    """A tensor in place of a float."""
    return asarray(argument) if isinstance(argument, (float, complex)) else argument


def agree(arrays, others):
    """True if NumPy arrays have equal elements."""
    return len(arrays) == len(others) and all(frozen(now) == was for was, now in zip(arrays, others))


def frozen(array):
    """Distinguishes NumPy arrays with different elements."""
    array = np.asarray(array)
    flags = array.flags.writeable, array.flags.c_contiguous, array.flags.f_contiguous
    return flags, array.dtype.str, array.shape, tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
