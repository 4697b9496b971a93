"""Trees: lists, tuples, named tuples, deques, dicts in their order, dataclasses, Modules, namespaces and records. Their leaves
are tensors and arrays; all else, None and numbers among it, is part of the structure. A tensor that is at two places of a
tree (tied weights) stays one there in what is made of it: by map, derivatives, optimizers and jit."""

import builtins
import sys
import types

from . import _core, errors
from ._core import Structure


def flatten(tree):
    """The leaves, a list, and the structure.

    >>> plait.tree.flatten({"a": plait.tensor(1.0), "b": [plait.tensor(2.0), "fixed"]})
    ([1. : f32[], 2. : f32[]], {'a': *, 'b': [*, 'fixed']})
    """
    return _core._flatten(tree)


def unflatten(structure, leaves):
    """The tree of that structure with these leaves.

    >>> leaves, structure = plait.tree.flatten({"a": plait.tensor(1.0), "b": 2})
    >>> plait.tree.unflatten(structure, [plait.tensor(7.0)])
    {'a': 7. : f32[], 'b': 2}
    """
    if not isinstance(structure, Structure):
        raise errors.TypeError(f"tree.unflatten: expected a structure, not {type(structure).__name__}")
    return structure.unflatten(leaves)


def leaves(tree):
    """The leaves in order.

    >>> plait.tree.leaves({"a": plait.tensor(1.0), "b": (plait.tensor(2.0), None)})
    [1. : f32[], 2. : f32[]]
    """
    return flatten(tree)[0]


def leaves_with_paths(tree):
    """(path, leaf) for each leaf, such as ("blocks.3.norm1.scale", x).

    >>> plait.tree.leaves_with_paths({"layers": [{"weight": plait.tensor(1.0)}]})
    [('layers.0.weight', 1. : f32[])]
    """
    found, form = flatten(tree)
    return list(zip(form.paths, found))


def structure(tree):
    """The tree without its leaves.

    >>> plait.tree.structure({"a": plait.tensor(1.0), "b": [plait.tensor(2.0), "fixed"]})
    {'a': *, 'b': [*, 'fixed']}
    """
    return flatten(tree)[1]


def map(function, tree, *others):  # noqa: A001: as in other libraries
    """The tree with function(leaf, leaves of the others in its place...) in the place of each leaf. Where leaves are one
    tensor, in all trees, the function is called once, and what it gives is at all those places.

    >>> plait.tree.map(lambda p, g: p - 0.5 * g, {"w": plait.tensor(1.0)}, {"w": plait.tensor(4.0)})
    {'w': -1. : f32[]}
    """
    first, form = flatten(tree)
    columns = [first]
    for i, other in enumerate(others):
        found, own = flatten(other)
        if own != form:
            raise errors.ValueError(f"tree.map: tree {i + 1} is another one than the first: its leaves are {list(own.paths)}, expected "
                                    f"{list(form.paths)}, and the same all else")
        columns.append(found)
    rows = list(zip(*columns))
    once = Distinct(rows, [tuple(builtins.map(id, row)) for row in rows])
    return form.unflatten(once.spread([function(*row) for row in once.values]))


class Distinct:
    """Values of which those with one key stand for one."""

    def __init__(self, values, keys):
        numbers, self.values = {}, []
        for value, key in zip(values, keys):
            if key not in numbers:
                numbers[key] = len(numbers)
                self.values.append(value)
        self._places = [numbers[key] for key in keys]

    def spread(self, made):
        """What was made of each, at all places where it stands."""
        return [made[place] for place in self._places]


def distinct(leaves):
    """The leaves, of which some may be one tensor."""
    return Distinct(leaves, list(builtins.map(id, leaves)))


def distinct_pairs(leaves, kinds):
    """(leaf, kind) for each leaf: those of two kinds are two, also where they are one tensor."""
    return Distinct(list(zip(leaves, kinds)), [(id(leaf), kind) for leaf, kind in zip(leaves, kinds)])


def expect_tree(what, tree, form=None):
    """TypeError where an object that is no tree keeps tensors that could be trained: they would count as constants."""
    _expect_tree(what, structure(tree) if form is None else form, [])


def _expect_tree(what, form, seen):
    for path, value in form._objects():
        if any(value is each for each in seen):
            continue
        seen.append(value)
        inside, name = _attributes(value), type(value).__name__
        place = f"{what}{path and '.' + path}"
        names = [path for path, leaf in leaves_with_paths(inside)
                 if isinstance(leaf, _core.Tensor) and leaf.dtype.kind in ("floating", "complex")]
        if names:
            raise errors.TypeError(f"{place} is a {name}, which is no tree: its tensors ({', '.join(names[:4])}"
                                   f"{', ...' if len(names) > 4 else ''}) would count as constants\n"
                                   f"  hint: write class {name}(plait.Module), or keep it outside of the model")
        _expect_tree(place, structure(inside), seen)


class Handed:
    """A tree as a function is given it, made anew of these leaves: what the function changes in its lists, dicts and objects
    would be lost."""

    def __init__(self, structure, leaves):
        self._structure, self._leaves = structure, leaves
        self.tree = structure.unflatten(leaves)

    def expect_unchanged(self, what):
        """ValueError where it is another tree by now."""
        if self._structure._is_of(self.tree, self._leaves):
            return
        before, now = dict(zip(self._structure.paths, self._leaves)), dict(leaves_with_paths(self.tree))
        places = [path for path in {**before, **now} if before.get(path) is not now.get(path)]
        raise errors.ValueError(f"{what}: the function changes its argument{' at ' + places[0] if places else ', a constant in it'}, which would "
                                "be lost: it is given a tree of its own\n  hint: let the function return what it changes")


def _attributes(value):
    """What an object of a user's class keeps, by name, or the elements of a set."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, types.ModuleType) or type(value).__module__.split(".")[0] in _OTHERS:
        return {}
    found = dict(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        found |= {name: getattr(value, name) for name in names if name not in found and hasattr(value, name)}
    return found


_OTHERS = sys.stdlib_module_names | {"plait", "numpy"}
