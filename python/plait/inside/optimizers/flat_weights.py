"""The weights of a tree, all together: as one vector, and trees of other values at their places."""

import math

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.transformations.transformation import Columns
from plait.inside.trees.sharing import Distinct
from plait.tree import flatten


class FlatWeights:
    """The weights of a tree; one that is at two places counts once. Frozen ones are left out, unless with_frozen."""

    def __init__(self, what, tree, with_frozen=False):
        self._columns, self._tree = Columns(what, tree, with_frozen), tree
        self.leaves = self._once(map(asarray, self._columns.leaves))
        if not self.leaves:
            raise errors.TypeError(f"{what}: there are no weights in {in_words(tree)}, expected a tree of tensors")
        self.is_complex = any(each.dtype.kind == "complex" for each in self.leaves)

    def _once(self, values):
        self._distinct = Distinct(list(values), list(map(id, self._columns.leaves)))
        return self._distinct.values

    @property
    def size(self):
        return sum(math.prod(each.shape) for each in self.leaves)

    def of(self, what, other):
        """The values of another tree at these places, or a number for all of them."""
        leaves, _ = flatten(other)
        if isinstance(other, (int, float)) or len(leaves) == 1 and leaves[0] is other and not asarray(other).ndim:
            return [other for _ in self.leaves]
        return self.of_tree(what, other)

    def of_tree(self, what, other):
        """The values of another tree at these places."""
        return self._once(map(asarray, self._columns.of(what, other)))

    def tree(self, values):
        """The tree with these weights, and all else as it is."""
        made = dict(zip(self._columns.paths, self._distinct.spread(values)))
        leaves, structure = flatten(self._tree)
        return structure.unflatten([made.get(path, leaf) for path, leaf in zip(structure.paths, leaves)])

    def flat(self):
        """All numbers as one vector."""
        return _core.concat([_core.flatten(each) for each in self.leaves], 0)

    def of_flat(self, vector):
        """The tree with the weights of a vector."""
        made, begin = [], 0
        for each in self.leaves:
            end = begin + math.prod(each.shape)
            part = _core.reshape(vector[begin:end], each.shape)
            if each.dtype.kind != "complex" and part.dtype.kind == "complex":  # beside complex ones
                part = _core.real(part)
            made.append(_core.astype(part, each.dtype))
            begin = end
        return self.tree(made)

    def scaled(self, factor):
        return self.tree([each * _core.astype(factor, each.dtype) for each in self.leaves])
