"""Buffers: tensors of a model that are not trained."""

from plait import _core, errors
from plait.inside.trees.computed import is_computed, set_computed
from plait.inside.trees.outside import note_change

MARK = "_buffers"  # the attribute of a Module that has their names
FROZEN = "_frozen"  # that of the paths of frozen weights, which are not trained either


class Buffer:
    """Marks an attribute of a Module as not trained: a mask, a table, running statistics, a frozen model. The attribute
    is x itself, a tensor or a tree of tensors, and is part of the model except for training: `grad` and `value_and_grad`
    return None for it, and optimizers do not change it. What is assigned to the name later is a buffer too.

    >>> class Masked(plait.Module):
    ...     def __init__(self):
    ...         self.weight, self.mask = plait.ones(2), plait.nn.Buffer(plait.tensor([1.0, 0.0]))
    >>> gradient = plait.grad(lambda model: plait.sum(model.weight * model.mask))(Masked())
    >>> gradient.weight, gradient.mask
    ([1. 0.] : f32[2], None)
    """

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Names(frozenset):
    """The names of a Module's buffers."""

    __slots__ = ()


NONE = Names()


def set_attribute(module, name, value):
    """Module.__setattr__: marks buffers, and assigns what a computed weight is computed from."""
    if is_computed(module, name):
        return set_computed(module, name, value)
    if name == "__call__" or name == "forward" and type(module).__module__.startswith("plait."):
        raise errors.TypeError.with_hint(f"{type(module).__name__}: {name} is assigned, which nothing calls: the class has the code",
                                         "write a class(plait.Module) that holds the layer, and whose __call__ does more")
    note_change(module, name)
    if type(value) is Buffer:
        _mark(module, name)
        value = _tensors_in(value.value)
    elif type(value) is not _core.Tensor and _is_of_arrays(module, name, value):
        _mark(module, name)
    elif name in module._buffers and _arrays(vars(module).get(name)):  # a buffer as long as it is a NumPy array
        _unmark(module, name)
    object.__setattr__(module, name, value)


def delete_attribute(module, name):
    """Module.__delattr__."""
    note_change(module, name)
    object.__delattr__(module, name)
    if name in module._buffers:
        _unmark(module, name)


def _mark(module, name):
    object.__setattr__(module, MARK, Names(module._buffers | {name}))


def _unmark(module, name):
    names = Names(module._buffers - {name})
    object.__setattr__(module, MARK, names) if names else object.__delattr__(module, MARK)


def _tensors_in(tree):
    """The tree, with tensors instead of NumPy arrays and numbers."""
    from plait.inside.arrays.interop import asarray

    leaves, structure = _core._flatten(tree, numbers=_core._children(tree) is None)
    return structure.unflatten([asarray(leaf) for leaf in leaves])


def _arrays(value):
    """The leaves that are arrays of other libraries."""
    return [leaf for leaf in _core._flatten(value)[0] if not isinstance(leaf, _core.Tensor)]


def _arrays_outside_modules(tree, path):
    """The paths of arrays of other libraries, except those in Modules, which mark their own."""
    children = _core._children(tree)
    if children is None and _arrays(tree):
        yield path
    if not hasattr(type(tree), MARK):
        for name, child in children or ():
            yield from _arrays_outside_modules(child, f"{path}.{name}" if path else str(name))


def _is_of_arrays(module, name, value):
    """True if its leaves are NumPy arrays, alone or in a list, a tuple or a dict: they are constant."""
    if type(value) not in (list, tuple, dict) and not hasattr(value, "__array_interface__"):
        return False
    leaves, structure = _core._flatten(value)
    what = f"{type(module).__name__}.{name}"
    if any(type(each) is Buffer for _, each in structure._objects()):
        raise errors.TypeError.with_hint(f"{what} has a Buffer inside of a {type(value).__name__}",
                                         f"mark all of it: self.{name} = plait.nn.Buffer([x, y])")
    found = list(_arrays_outside_modules(value, "")) if _arrays(value) else []
    if found and len(found) < len(leaves):
        path = found[0]
        raise errors.TypeError.with_hint(
            f"{what} has NumPy arrays, which are constant, beside tensors, which are trained: {path} is one",
            "plait.asarray(a) makes it a weight; store constants in a separate attribute")
    return bool(found)


def of_structure(structure, marks=(MARK, FROZEN)):
    """For each leaf of a tree, whether it is not trained: a buffer of a Module, or frozen; or only one of these."""
    marked = {f"{path.removesuffix(mark)}{name}" for path, value in structure._objects() if type(value) is Names for mark in marks
              if path.rpartition(".")[2] == mark for name in value}
    if not marked:
        return [False] * len(structure)
    return [_is_below(marked, path) for path in structure.paths]


def expect_frozen_at_all_places(what, leaves, structure, left_out):
    """ValueError if a tensor of a tree is frozen at one of its places and trained at another: the two would come apart. `left_out` says
    which leaves are not trained."""
    if not any(left_out):
        return
    frozen = {id(leaf): path for leaf, path, is_frozen in zip(leaves, structure.paths, of_structure(structure, (FROZEN,))) if is_frozen}
    for path, trained in trained_among(frozen, leaves, structure, left_out):
        raise errors.ValueError.with_hint(
            f"{what}: {path} is frozen, but the same tensor is trained at {trained}",
            f"tie weights before you freeze them, or plait.nn.freeze(model, {trained!r}), which freezes both; a copy, x.copy(), is another weight")


def trained_among(places, leaves, structure, left_out):
    """The place of each tensor in `places`, a dict from the ids of tensors, that a tree trains, and where it does so."""
    for leaf, path, is_left_out in zip(leaves, structure.paths, left_out):
        if id(leaf) in places and not is_left_out:
            yield places[id(leaf)], path


def _is_below(marked, path):
    while path and path not in marked:
        path = path.rpartition(".")[0]
    return bool(path)
