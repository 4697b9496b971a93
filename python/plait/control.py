"""Branches and loops on trees of tensors. Without a trace they run as Python does; in a trace they are instructions."""

from . import _core, errors
from .interop import asarray
from .tracing import _same, unflatten
from .transforms import _tensors, _with_tensors


class _Results:
    """What functions of one place give: the structure, which must be one."""

    def __init__(self, what):
        self.what, self.structure = what, None

    def leaves(self, result):
        leaves, _, structure = _tensors(result)
        if self.structure is None:
            self.structure = structure
        elif not _same(structure, self.structure):
            raise errors.TypeError(f"{self.what} give different trees: {self.structure!r} and {structure!r}")
        return leaves

    def tree(self, leaves):
        return unflatten(self.structure, iter(leaves))


def cond(predicate, then, otherwise, *operands):
    """then(*operands) where the predicate, a bool[], is true, else otherwise(*operands)."""
    leaves, _, skeleton = _tensors(_with_tensors(operands))
    results = _Results("cond: the branches")

    def branch(function):
        return lambda given: results.leaves(function(*unflatten(skeleton, iter(given))))

    return results.tree(_core._cond(asarray(predicate), branch(then), branch(otherwise), leaves))


def switch(index, branches, *operands):
    """branches[index](*operands); IndexError where there is none of that number."""
    leaves, _, skeleton = _tensors(_with_tensors(operands))
    results = _Results("switch: the branches")

    def branch(function):
        return lambda given: results.leaves(function(*unflatten(skeleton, iter(given))))

    return results.tree(_core._switch(asarray(index), [branch(each) for each in branches], leaves))


def while_loop(test, body, initial):
    """body(...body(initial)), for as long as test(carry) is true. A carry keeps its structure and types."""
    leaves, _, skeleton = _tensors(initial if isinstance(initial, (float, complex)) else _with_tensors((initial,))[0])
    results = _Results("while_loop: the initial carry and the body")
    results.structure = skeleton

    def truth(given):
        return [asarray(test(results.tree(given)))]

    return results.tree(_core._while(truth, lambda given: results.leaves(body(results.tree(given))), leaves))


def scan(body, initial, stacked=(), length=None, reverse=False):
    """body(carry, slice) gives (carry, something), for each slice along the first axis; the last carry, and all of
    the others stacked. `length` is needed where nothing is stacked."""
    initial, stacked = _with_tensors((initial, stacked))
    carries, _, carry_skeleton = _tensors(initial)
    slices, _, slice_skeleton = _tensors(stacked)
    results = _Results("scan: the steps")

    def step(given):
        carry = unflatten(carry_skeleton, iter(given[:len(carries)]))
        each = unflatten(slice_skeleton, iter(given[len(carries):]))
        return results.leaves(tuple(body(carry, each)))

    return results.tree(_core._scan(step, carries, slices, length, reverse))


def for_loop(first, end, body, initial):
    """body(i, carry) for each i from `first` to before `end`; the last carry."""
    counted = _core.arange(first, end)
    return scan(lambda carry, i: (body(i, carry), ()), initial, counted)[0]


def map(function, stacked):  # noqa: A001: as in other libraries
    """The function of each slice along the first axis, one after the other; stacked."""
    return scan(lambda nothing, each: (nothing, function(each)), (), stacked)[1]
