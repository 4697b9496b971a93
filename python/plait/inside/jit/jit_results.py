"""Results and changes of state of a jitted function: as leaves in its record, and rebuilt from them."""

import itertools

from plait import _core
from plait.inside.arrays.interop import asarray
from plait.inside.arrays.items import Item
from plait.inside.jit.host_state import looked_up
from plait.inside.jit.jit_fresh import Given
from plait.inside.jit.settling import settled
from plait.tree import flatten


class Finish:
    """The result of a recorded call, rebuilt from its leaves, and the changes of its host code outside of its arguments."""

    def __init__(self, structure, once, numbers, given, writes):
        """`once`: the leaves of the result, then those of the writes; `given`: sources of leaves that are looked up, by number."""
        self.structure, self._once, self._numbers, self._given, self._writes = structure, once, numbers, given, writes

    def finish(self, leaves, places, call):
        all_leaves, count = self._once.spread(leaves), len(self.structure) - len(self._given)
        # If the host code has run, its own writes exist already, except that derivatives must pass through.
        if self._writes and (not call.has_run or _core._is_followed(leaves)):
            written = iter(all_leaves[count:])
            values = [write.value(places, call, list(itertools.islice(written, write.count))) for write in self._writes]
            for write, value in zip(self._writes, values):
                write.again(places, call, value)
            call.has_written = True
            call.writes_into_trees = any(write.names is not None for write in self._writes)
        elif call.has_run and not _core._is_tracing():  # a tensor that is both a result and written is the result itself
            all_leaves = [call.written.get(number, leaf) for number, leaf in zip(self._once.places, all_leaves)]
        results = [each.item() if i in self._numbers else each for i, each in enumerate(all_leaves[:count])]
        for number, source in self._given.items():
            results.insert(number, looked_up(places, call, *source))
        return self.structure.unflatten(results)


def results_of(tree, stand_in=lambda tree: tree):
    """The leaves of the result of a function, its structure, the leaves that represent numbers, sizes and items, which may be unknown
    while it is recorded, and the sources of those that are looked up, by number."""
    tree = stand_in(settled(tree, keeps_leaves=True))
    leaves, structure = _core._flatten(tree, numbers=True)
    made = {}  # tensors of numbers, by identity

    def plain(leaf):
        if type(leaf) is _core.Dim:
            number = _core.add(leaf, _core.zeros((), dtype=_core.i64))
        elif isinstance(leaf, Item):
            number = _core.stop_gradient(leaf._tensor)
        else:
            return leaf
        return made.setdefault(id(number), number)

    if any(type(leaf) is _core.Dim or isinstance(leaf, Item) for leaf in leaves):
        tree = structure.unflatten([plain(leaf) for leaf in leaves])
    leaves, structure = flatten(tree)
    given = {i: leaf.source for i, leaf in enumerate(leaves) if type(leaf) is Given}
    leaves = [leaf for leaf in leaves if type(leaf) is not Given]
    return [asarray(leaf) for leaf in leaves], structure, {i for i, leaf in enumerate(leaves) if id(leaf) in made}, given
