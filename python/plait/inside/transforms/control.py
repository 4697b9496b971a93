"""Branches and loops on trees of tensors. Without a trace they run as Python code; in a trace they are instructions."""

import functools

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.transforms.changing_bodies import Bodies
from plait.inside.transforms.derivatives import _results, _tensors, _with_tensors, pair_of
from plait.inside.transforms.recording import named
from plait.inside.trees.given import Copies, Handed, place_of
from plait.inside.trees.module import holds_module
from plait.inside.trees.sharing import distinct


class _Results:
    """The results of several functions (branches, steps), which must have the same structure."""

    def __init__(self, what):
        self.what, self.structure, self._places = what, None, []

    def leaves(self, result):
        leaves, structure = _results(result)
        if self.structure is None:
            self.structure = structure
        elif structure != self.structure:
            raise errors.TypeError(f"{self.what} return different trees: {self.structure} and {structure}")
        return leaves

    def tied_leaves(self, result):
        """The same; notes which of them are one tensor."""
        leaves = self.leaves(result)
        self._places.append(distinct(leaves).places)
        return leaves

    def tree(self, leaves):
        """The tree, where leaves that are one tensor in all results are one."""
        if self._places:
            first = {}
            leaves = [first.setdefault(places, leaf) for places, leaf in zip(zip(*self._places), leaves)]
        return self.structure.unflatten(leaves)


def cond(predicate, then, otherwise, *operands):
    """then(*operands) if the predicate, a bool[], is true, else otherwise(*operands).

    >>> plait.cond(plait.tensor(3.0) > 2, lambda x: x * 2, lambda x: -x, plait.tensor(5.0))
    10. : f32[]
    """
    def run(leaves, branch):
        return _core._cond(asarray(predicate), branch(then), branch(otherwise), leaves)

    def by_host(known):
        return then if known(bool, asarray(predicate)) else otherwise

    return _branched("cond", (then, otherwise), run, by_host, operands)


def switch(index, branches, *operands):
    """branches[index](*operands); IndexError if the index is out of range.

    >>> plait.switch(plait.tensor(1), [plait.sin, plait.square, plait.exp], plait.tensor(3.0))
    9. : f32[]
    """
    def run(leaves, branch):
        return _core._switch(asarray(index), [branch(each) for each in branches], leaves)

    def by_host(known):
        for i, branch in enumerate(branches):
            if known(bool, asarray(index) == i):
                return branch
        raise errors.IndexError(f"switch: the index is out of range for {len(branches)} branches")

    return _branched("switch", branches, run, by_host, operands)


def _branched(what, functions, run, by_host, operands):
    """The result of one of several functions of the operands, chosen by run(leaves, branch): branch makes functions of leaves. Tensors that are one
    in the results of all functions stay one. by_host(known) is the chosen function."""
    leaves, structure = _tensors(_with_tensors(operands))
    once, results = distinct(leaves), _Results(f"{what}: the branches")

    def branch(function):
        return lambda given: results.tied_leaves(Handed(structure, once.spread(given), sees_assignments=True).call(what, function))

    bodies = Bodies(what, functions, named(operands))
    return results.tree(bodies.run(lambda: run(once.values, branch), lambda: branch(by_host(bodies.known))(once.values)))


def checkpoints(every=None, memory=None):
    """For loops: the backward pass keeps the carry of every `every`-th step only, and recomputes the others. `memory`:
    keeps as many carries as fit into that many bytes. With neither, about the square root of n are kept for n steps.

    >>> x = plait.tensor(1.0)
    >>> plait.grad(lambda x: plait.for_loop(0, 100, lambda i, h: plait.sin(h), x, plait.checkpoints(every=10)))(x)
    0.00369862 : f32[]
    """
    return _core._checkpoints(every, memory)


def while_loop(test, body, initial, checkpoints=None):
    """body(...body(initial)), as long as test(carry) is true. A carry keeps its structure, dtypes and ranks; its sizes
    may change from step to step, and the test may read them: lambda x: x.shape[0] > 1.

    >>> plait.while_loop(lambda x: x < 100, lambda x: x * 2, plait.tensor(3))
    192 : i64[]
    """
    return _while("while_loop", test, body, initial, checkpoints, place_of("the carry"))


def _while(what, test, body, initial, checkpoints, place):
    leaves, structure = _results(initial)
    results = _Results(f"{what}: the initial carry and the body")
    results.structure = structure

    def loop(carry):
        def called(function, given):
            handed = Handed(structure, carry.spread(given), sees_assignments=True, place=place)
            result = function(handed.tree)
            handed.expect_unchanged(what, result)
            return result

        def truth(given):
            return [asarray(called(test, given))]

        def step(given):
            return carry.distinct_of(results.leaves(called(body, given)))

        def steps_by_host():
            given = carry.values
            while bodies.known(bool, truth(given)[0]):
                given = step(given)
            return given

        bodies = Bodies(what, (test, body), {"the carry": initial})
        return results.tree(carry.spread(bodies.run(lambda: _core._while(truth, step, carry.values, checkpoints), steps_by_host)))

    return _with_tied(loop, leaves, initial)


def scan(body, initial, stacked=(), length=None, reverse=False, checkpoints=None, unroll=1):
    """Calls body(carry, slice), which returns (carry, output), for each slice along the first axis; returns the last
    carry, whose type must stay the same, and all outputs stacked. `length` is needed if nothing is stacked. In programs
    `unroll` steps are unrolled into one step of the loop.

    >>> plait.scan(lambda total, x: (total + x, total * x), plait.tensor(0.0), plait.tensor([1.0, 2.0, 3.0]))
    (6. : f32[], [0. 2. 9.] : f32[3])
    """
    return _scan("scan", body, initial, stacked, length, reverse, checkpoints, unroll)


def _scan(what, body, initial, stacked, length=None, reverse=False, checkpoints=None, unroll=1):
    carries, carry_structure = _results(initial)
    slices, slice_structure = _tensors(_with_tensors((stacked,))[0])
    results = _Results(f"{what}: the steps")
    of_carry = place_of("the carry")
    of_slice = place_of("the index" if what == "for_loop" else "the slice")

    def loop(carry):
        count = len(carry.values)

        def step(given):
            before = Handed(carry_structure, carry.spread(given[:count]), sees_assignments=True, place=of_carry)
            each = Handed(slice_structure, given[count:], sees_assignments=True, place=of_slice)
            result = pair_of(body(before.tree, each.tree), "scan: expected a body that returns (carry, output)")
            for handed in before, each:
                handed.expect_unchanged(what, result)
            if results.structure is None:
                _expect_carry(what, carry_structure, result[0])
            leaves = results.leaves(tuple(result))
            return carry.distinct_of(leaves[:len(carries)]) + leaves[len(carries):]

        def steps_by_host():
            given, rows = carry.values, []
            steps = bodies.known(range, slices[0].shape[0] if slices else length)
            for i in reversed(steps) if reverse else steps:
                row = step([*given, *(each[i] for each in slices)])
                given, rows = row[:count], [*rows, row[count:]]
            if not rows:
                return staged()
            rows = rows[::-1] if reverse else rows
            return [*given, *(_core.stack(column) for column in zip(*rows))]

        def staged():
            return _core._scan(step, carry.values, slices, length, reverse, checkpoints, unroll)

        bodies = Bodies(what, (body,), {"the carry": initial})
        given = bodies.run(staged, steps_by_host)
        return results.tree(carry.spread(given[:count]) + given[count:])

    return _with_tied(loop, carries, initial)


def _expect_carry(what, before, carry):
    after = _results(carry)[1]
    if after != before:
        raise errors.TypeError.with_hint(f"{what}: the carry is the tree {before}, but {after} after a step",
                                         "begin with the tree that a step returns")


class _ComeApart(BaseException):
    """Raised if tensors of a carry that were one tensor are different tensors after a step."""


class _Carry:
    """The carry of a loop. With is_tied, a tensor that is at several places of a Module is carried once."""

    def __init__(self, leaves, is_tied):
        self._once = distinct(leaves) if is_tied else None
        self.values = self._once.values if is_tied else leaves

    def spread(self, values):
        return values if self._once is None else self._once.spread(values)

    def distinct_of(self, leaves):
        if self._once is None:
            return leaves
        values = {place: leaf for place, leaf in zip(self._once.places, leaves)}
        if any(values[place] is not leaf for place, leaf in zip(self._once.places, leaves)):
            raise _ComeApart
        return [values[i] for i in range(len(self.values))]


def _with_tied(loop, leaves, initial):
    """loop(carry), with tied weights of Modules carried once, as long as the body keeps them tied."""
    carry = _Carry(leaves, True)
    if len(carry.values) < len(leaves) and holds_module(initial):
        try:
            return loop(carry)
        except _ComeApart:
            pass
    return loop(_Carry(leaves, False))


def for_loop(first, end, body, initial, checkpoints=None):
    """carry = body(i, carry) for each i from `first` up to but excluding `end`; returns the last carry.

    >>> plait.for_loop(1, 6, lambda i, product: product * i, plait.tensor(1))
    120 : i64[]
    """
    if any(isinstance(bound, _core.Tensor) and bound.is_traced for bound in (first, end)):
        first, end = _bounds(first, end)
        return _while("for_loop", lambda carry: carry[0] < end, lambda carry: (carry[0] + 1, body(carry[0], carry[1])), (first, initial),
                      checkpoints, place_of("the carry", "1"))[1]
    counted = _core.arange(first, end)
    return _scan("for_loop", lambda carry, i: (body(i, carry), ()), initial, counted, checkpoints=checkpoints)[0]


def _bounds(*bounds):
    """Bounds of a loop whose number of steps is known only when it runs."""
    bounds = [asarray(bound) for bound in bounds]
    for bound in bounds:
        if bound.ndim or bound.dtype.kind != "integer":
            raise errors.TypeError(f"for_loop: a bound is {bound.dtype.name}{list(bound.shape)}, expected an integer")
    return [_core.astype(bound, _core.i64) for bound in bounds]


def associative_scan(function, elements, axis=0, reverse=False):
    """Prefix scan of an associative function along an axis: function(a, b) receives many pairs together. With
    `reverse` it begins at the last element, and b comes before a in `elements`, as in JAX.

    >>> plait.associative_scan(plait.add, plait.tensor([1.0, 2.0, 3.0]))
    [1. 3. 6.] : f32[3]
    """
    leaves, structure = _tensors(_with_tensors((elements,))[0])
    results = _Results("associative_scan: the elements and the function")
    results.structure = structure

    def joined(given):
        half = len(given) // 2
        return results.leaves(function(results.tree(given[:half]), results.tree(given[half:])))

    return results.tree(_core._associative_scan(joined, leaves, axis, reverse))


class Recursive:
    """The result of `recursive`."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self._name = _core._recursive_name(getattr(function, "__name__", "recursive"))
        self._structures = []  # structures of the arguments, in the order of first use

    def __call__(self, *arguments):
        if not _core._is_staging():
            return self._function(*arguments)
        leaves, structure = _tensors(_with_tensors(arguments))
        copies = Copies(f"recursive function {self.__name__}", "a recursive function that is recorded", structure)

        def on_leaves(given):
            return _tensors(copies.call(self._function, given))

        given, found = Bodies(self.__name__, (self._function,), named(arguments)).expect_steady(
            lambda: _core._call_recursive(self._name, str(self._number_of(structure)), leaves, on_leaves))
        return found.unflatten(given)

    def _number_of(self, structure):
        for number, known in enumerate(self._structures):
            if known == structure:
                return number
        self._structures.append(structure)
        return len(self._structures) - 1


def recursive(function):
    """The function, which may call itself by its name, and other recursive functions. Without a trace it runs as Python
    code. In a trace it becomes one function of the program, which recurses as deep as its values require; the types of
    its results are taken from a branch of a `cond` that does not recurse.

    >>> @plait.recursive
    ... def factorial(n):
    ...     return plait.cond(n <= 1, plait.ones_like, lambda n: n * factorial(n - 1), n)
    >>> plait.jit(factorial)(plait.tensor(5))
    120 : i64[]
    """
    return Recursive(function)


def map(function, stacked):  # noqa: A001: as in other libraries
    """The function applied to each slice along the first axis, one after the other; the results are stacked.

    >>> plait.map(lambda row: row / plait.sum(row), plait.tensor([[1.0, 3.0], [2.0, 2.0]]))
    [[0.25 0.75]
     [0.5  0.5 ]] : f32[2, 2]
    """
    return _scan("map", lambda nothing, each: (nothing, function(each)), (), stacked)[1]
