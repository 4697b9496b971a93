"""Tensors that are at several places of a tree: a result for such a tensor is computed once, and put at all its
places."""


class Distinct:
    """Values without duplicates, by key."""

    def __init__(self, values, keys):
        numbers, self.values = {}, []
        for value, key in zip(values, keys):
            if key not in numbers:
                numbers[key] = len(numbers)
                self.values.append(value)
        self.places = [numbers[key] for key in keys]

    def take(self):
        """The values, which are no longer kept."""
        values, self.values = self.values, []
        return values

    def spread(self, made):
        """Puts the results at all places of their values."""
        return [made[place] for place in self.places]


def distinct(leaves):
    """The leaves without duplicates."""
    return Distinct(leaves, list(map(id, leaves)))


def distinct_pairs(leaves, kinds):
    """(leaf, kind) for each leaf; one tensor with two kinds counts as two."""
    return Distinct(list(zip(leaves, kinds)), [(id(leaf), kind) for leaf, kind in zip(leaves, kinds)])


def of_one_object(structure, leaves):
    """The leaves, but those of an object that is in the tree already are those at its first place."""
    return [leaves[place] for place in structure._first_leaves] if structure._objects_twice else leaves


def apart(leaves, others=()):
    """The leaves, with a copy of each that is among the others or was there before: jit would record again when they come apart."""
    seen, found = {id(each) for each in others}, []
    for leaf in leaves:
        found.append(leaf.copy() if id(leaf) in seen else leaf)
        seen.add(id(leaf))
    return found
