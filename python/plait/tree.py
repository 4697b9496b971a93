"""Trees: lists, tuples, named tuples, dicts in their order, dataclasses, Modules and records. Their leaves are tensors and
arrays; all else, None and numbers among it, is part of the structure."""

import builtins

from . import errors
from .tracing import _same
from .tracing import flatten as _flatten
from .tracing import unflatten as _unflatten


class Structure:
    """A tree without its leaves. Equal ones have leaves in the same places, and the same all else."""

    def __init__(self, skeleton, paths):
        self._skeleton, self._paths = skeleton, tuple(paths)

    @property
    def paths(self):
        """The names of the leaves in order, such as "blocks.3.norm1.scale"."""
        return self._paths

    def unflatten(self, leaves):
        return unflatten(self, leaves)

    def __eq__(self, other):
        return isinstance(other, Structure) and _same(self._skeleton, other._skeleton)

    __hash__ = None

    def __len__(self):
        return len(self._paths)

    def __repr__(self):
        return f"Structure({', '.join(self._paths)})"


def flatten(tree):
    """The leaves, a list, and the structure."""
    found, skeleton = _flatten(tree)
    return [leaf for _, leaf in found], Structure(skeleton, [path for path, _ in found])


def unflatten(structure, leaves):
    """The tree of that structure with these leaves."""
    leaves = list(leaves)
    if len(leaves) != len(structure):
        raise errors.ValueError(f"tree.unflatten: {len(leaves)} leaves for a structure of {len(structure)}")
    return _unflatten(structure._skeleton, iter(leaves))


def leaves(tree):
    """The leaves in order."""
    return flatten(tree)[0]


def leaves_with_paths(tree):
    """(path, leaf) for each leaf, such as ("blocks.3.norm1.scale", x)."""
    return _flatten(tree)[0]


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
    return unflatten(form, builtins.map(function, *columns))
