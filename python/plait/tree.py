"""Trees: lists, tuples, named tuples, deques, dicts in their order, dataclasses, Modules, namespaces and records. Their leaves
are tensors and arrays; all else, None and numbers among it, is part of the structure. A tensor that is at two places of a
tree (tied weights) stays one there in what is made of it: by map, derivatives, optimizers and jit."""

import builtins

from . import _core, errors
from ._core import Structure
from .sharing import Distinct


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
