"""Trees: lists, tuples, named tuples, dicts in their order, dataclasses, Modules and records. Their leaves are tensors and
arrays; all else, None and numbers among it, is part of the structure."""

import builtins

from . import _core, errors
from ._core import Structure  # noqa: F401


def flatten(tree):
    """The leaves, a list, and the structure."""
    return _core._flatten(tree)


def unflatten(structure, leaves):
    """The tree of that structure with these leaves."""
    return structure.unflatten(leaves)


def leaves(tree):
    """The leaves in order."""
    return flatten(tree)[0]


def leaves_with_paths(tree):
    """(path, leaf) for each leaf, such as ("blocks.3.norm1.scale", x)."""
    found, form = flatten(tree)
    return list(zip(form.paths, found))


def structure(tree):
    """The tree without its leaves."""
    return flatten(tree)[1]


def map(function, tree, *others):  # noqa: A001: as in other libraries
    """The tree with function(leaf, leaves of the others in its place...) in the place of each leaf."""
    first, form = flatten(tree)
    columns = [first]
    for i, other in enumerate(others):
        found, own = flatten(other)
        if own != form:
            raise errors.ValueError(f"tree.map: tree {i + 1} is another one than the first: its leaves are {list(own.paths)}, expected "
                                    f"{list(form.paths)}, and the same all else")
        columns.append(found)
    return form.unflatten(builtins.map(function, *columns))
