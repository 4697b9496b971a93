"""Tensors that are at several places: what is made of one is made once, and is at all of them."""


class Distinct:
    """Values of which those with one key stand for one."""

    def __init__(self, values, keys):
        numbers, self.values = {}, []
        for value, key in zip(values, keys):
            if key not in numbers:
                numbers[key] = len(numbers)
                self.values.append(value)
        self.places = [numbers[key] for key in keys]

    def spread(self, made):
        """What was made of each, at all places where it stands."""
        return [made[place] for place in self.places]


def distinct(leaves):
    """The leaves, of which some may be one tensor."""
    return Distinct(leaves, list(map(id, leaves)))


def distinct_pairs(leaves, kinds):
    """(leaf, kind) for each leaf: those of two kinds are two, also where they are one tensor."""
    return Distinct(list(zip(leaves, kinds)), [(id(leaf), kind) for leaf, kind in zip(leaves, kinds)])
