"""Runtime of scripted functions while they are recorded. Branches and steps are functions of the variables that they
read and assign; they become `cond`, `while_loop` and `scan`. Functions that call themselves become functions of the
program."""

import builtins

from plait import _core, errors
from plait._core import Dim, Tensor
from plait.inside.arrays.interop import asarray
from plait.inside.script.script_branches import _OPERATORS, _both, _choose, _decided
from plait.inside.script.script_loops import _Counted, _Zipped, _count, _scan, _staged, _while
from plait.inside.script.syntax_code import VALUE
from plait.inside.script.script_values import (
    _Again, _Lost, _MOST_ROUNDS, _MOST_UNROLLED, _UNBOUND, _are_same, _as, _as_leaf, _common, _default_dtype, _error,
    _is_number, _spread, _state, _truth, _type_of, expect_certain)
from plait.inside.transforms.recording import Recording
from plait.inside.trees.given import Copies


class _Call:
    """A scripted function that is being recorded, with its arguments."""

    def __init__(self, function, leaves, structure):
        self.function, self.leaves, self.structure = function, leaves, structure
        self.depth = _state.depth
        self.name = None  # set when it calls itself
        self.wide = set()  # number arguments that differ from call to call
        self.expected = {}  # types of results that are numbers where the recursion ends

    def is_like(self, function, leaves, structure):
        if self.function is not function or len(self.leaves) != len(leaves) or (self.name is None and _state.depth <= self.depth):
            return False
        for a, b in zip(self.leaves, leaves):
            alike = type(a) is type(b) if _is_number(a) and _is_number(b) else True
            if _is_number(a) != _is_number(b) and not (_is_number(a) and b.ndim == 0):
                return False
            if not alike or (isinstance(a, Tensor) and isinstance(b, Tensor) and (a.dtype != b.dtype or a.ndim != b.ndim)):
                return False
        return self.structure == structure

    def again(self, wide):
        self.name = self.name or _core._recursive_name(self.function.name)
        self.wide |= wide
        raise _Again(self)

    def differing(self, leaves):
        return {i for i, (a, b) in enumerate(zip(self.leaves, leaves)) if _is_number(a) and not _are_same(a, b)} - self.wide

    def record(self, body, leaves):
        """Calls the function of the program."""
        def is_given(i, leaf):
            return isinstance(leaf, Tensor) or i in self.wide

        def dtype_of(leaf):
            own = self.leaves[leaf]
            return _default_dtype(type(own)) if _is_number(own) else own.dtype

        operands = [asarray(leaf, dtype_of(i)) for i, leaf in enumerate(leaves) if is_given(i, leaf)]
        places = [i for i, leaf in enumerate(leaves) if is_given(i, leaf)]
        copies = Copies(self.function.name, "a recursive function that is recorded", self.structure)
        numbers = {}  # results that are numbers, and their types as tensors

        def on_leaves(given):
            given = dict(zip(places, given))
            found, structure = _spread(copies.call(body, [given.get(i, leaf) for i, leaf in enumerate(self.leaves)]))
            results = []
            for i, leaf in enumerate(map(_as_leaf, found)):
                if _is_number(leaf):
                    kind = self.expected.get(i) or _common(leaf, leaf)
                    numbers.setdefault(i, kind)
                    leaf = _as(leaf, *kind)
                elif i in numbers and _type_of(leaf) != numbers[i] and self.expected.get(i) != _type_of(leaf):
                    self.expected[i] = _type_of(leaf)
                    raise _Again(self)
                results.append(leaf)
            return results, structure

        with Recording("script"):
            given, structure = _core._call_recursive(self.name, "", operands, on_leaves)
        return structure.unflatten(given)


class Function:
    """A scripted function; a nested one is a new object each time that it is defined."""

    def __init__(self, name):
        self.name = name


class Runtime:
    """The object __plait__ in the code generated for one function."""

    def __init__(self, unit, name):
        self._sites, self._functions = unit.sites, unit.functions
        self.top = Function(name)
        self.is_staging = _core._is_staging
        self.unbound, self.slice = _UNBOUND, builtins.slice

    def function(self, number):
        return Function(self._functions[number])

    def called(self, function, body, arguments):
        leaves, structure = _spread(arguments)
        leaves = [_as_leaf(leaf) for leaf in leaves]
        for call in reversed(_state.running):
            if call.is_like(function, leaves, structure):
                wide = call.differing(leaves)
                return call.again(wide) if wide or call.name is None else call.record(body, leaves)
        call, floating = _Call(function, leaves, structure), _state.floating
        for leaf in leaves:
            if isinstance(leaf, Tensor) and leaf.dtype.kind == "floating":
                _state.floating = leaf.dtype if _state.floating is None else _core.promote(_state.floating, leaf.dtype)
        try:
            for _ in range(_MOST_ROUNDS):
                _state.running.append(call)
                try:
                    return body(*arguments) if call.name is None else call.record(body, leaves)
                except _Again as again:
                    if again.owner is not call:
                        raise
                finally:
                    _state.running.pop()
        finally:
            _state.floating = floating
            if not _state.running:
                _state.origins.clear()
                _state.uncertain.clear()
        raise errors.TypeError(f"{function.name} returns different types each time it is recorded")

    # -- Variables.

    def use(self, value, name):
        if value is _UNBOUND:
            raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
        if isinstance(value, _Lost):
            raise value.error()
        return value

    def result(self, returned, value):
        if returned is False or value is _UNBOUND:
            return None
        return self.use(value, VALUE)

    def with_item(self, x, index, value):
        """x after x[index] = value. Where a tensor decides whether this happens, the branch or step passes on the contents of x."""
        expect_certain(x)
        x[index] = value
        return x

    def set_item(self, x, index, value, text, place):
        """x[index] = value, where x is not a variable of the function."""
        if isinstance(x, Tensor) and _state.depth:
            raise _error(errors.TypeError, f"{text}[...] is assigned to where a tensor decides how often, but {text} is not a variable of the function", place,
                         "write into a variable of the function, and pass that on")
        x[index] = value

    # -- Statements.

    def is_decided(self):
        return _state.depth > 0

    def branch(self, number, test, then, otherwise, get, put):
        site = self._sites[number]
        truth = _truth(test, site.place)
        if isinstance(truth, Tensor):
            _decided(site, site.names, truth, then, otherwise, get, put, skipped=bool(site.guards))
        elif truth:
            then()
        else:
            otherwise()

    def while_loop(self, number, goes, test, step, get, put):
        site = self._sites[number]
        while True:
            go = True if goes is None else _truth(goes(), site.place)
            if not isinstance(go, Tensor):
                if not go:
                    return
                go = _truth(test(), site.place)
            if isinstance(go, Tensor):
                break
            if not go:
                return
            step()

        def both():
            return test() if goes is None else _both(site, _truth(goes(), site.place), lambda: _truth(test(), site.place))

        _while(site, site.names, both, step, get, put)

    def iterable(self, function, arguments):
        if not _core._is_staging():
            return function(*arguments)
        if function is range and any(isinstance(each, (Tensor, Dim)) for each in arguments):
            first, end, *step = (0, *arguments) if len(arguments) == 1 else arguments
            return _Counted(first, end, step[0] if step else 1)
        place = "the loop"
        if function is enumerate and len(arguments) == 1:
            over = _staged(arguments[0], place)
            return function(*arguments) if over is None else _Zipped([_Counted(0, None, 1), over], place)
        if function is zip:
            members = [_staged(each, place) for each in arguments]
            return function(*arguments) if not members or None in members else _Zipped(members, place)
        if function is reversed and isinstance(arguments[0], Tensor):
            return _core.flip(arguments[0], 0)
        return function(*arguments)

    def for_loop(self, number, goes, iterable, step, get, put):
        site = self._sites[number]
        items = _staged(iterable, site.place)
        if items is not None:
            stage = _count if items.length is None else _scan
            stage(site, site.names, goes, items, step, get, put)
            return
        for i, item in enumerate(iterable):
            go = True if goes is None else _truth(goes(), site.place)
            if isinstance(go, Tensor):
                if type(iterable) is range and len(iterable) - i > _MOST_UNROLLED:
                    _count(site, site.names, goes, _Counted(item, iterable.stop, iterable.step), step, get, put)
                    return
                _decided(site, site.names, go, _with(step, item), lambda: None, get, put, skipped=True)
            elif go:
                step(item)
            else:
                return

    def asserted(self, test, message, text, place):
        truth = _truth(test, place)
        if isinstance(truth, Tensor):
            _core.check(truth, f"assert {text}" if message is None else str(message()))
        elif not truth:
            raise AssertionError(*([] if message is None else [message()]))

    def fails(self, raised, text):
        """`raise` that depends on a tensor: a check of the program."""
        error = raised()
        said = error.__name__ if isinstance(error, type) else f"{type(error).__name__}: {error}"
        _core.check(_core.zeros((), dtype=_core.boolean), said if isinstance(error, (type, BaseException)) else text)

    # -- Expressions.

    def none_set(self, *flags):
        if any(flag is True for flag in flags):
            return False
        result = True
        for flag in flags:
            if isinstance(flag, Tensor):
                result = ~flag if result is True else result & ~flag
        return result

    def choose(self, number, test, then, otherwise):
        site = self._sites[number]
        truth = _truth(test, site.place)
        return _choose(site, truth, then, otherwise) if isinstance(truth, Tensor) else then() if truth else otherwise()

    def both(self, number, first, later):
        site = self._sites[number]
        truth = _truth(first, site.place)
        return _choose(site, truth, later, lambda: first) if isinstance(truth, Tensor) else later() if truth else first

    def either(self, number, first, later):
        site = self._sites[number]
        truth = _truth(first, site.place)
        return _choose(site, truth, lambda: first, later) if isinstance(truth, Tensor) else first if truth else later()

    def negated(self, place, value):
        truth = _truth(value, place)
        return ~truth if isinstance(truth, Tensor) else not truth

    def compared(self, number, first, names, later):
        def from_here(i, left):
            right = later[i]()
            result = _OPERATORS[names[i]](left, right)
            return result if i + 1 == len(names) else self.both(number, result, lambda: from_here(i + 1, right))

        return from_here(0, first)

    def plain(self, value, what, place):
        if isinstance(value, Tensor) and _core._is_staging():
            raise _error(errors.TypeError, f"a tensor decides here, and there is {what}", place,
                         "that cannot be part of a program: move it out, or use plait.cond and plait.while_loop")
        return value

    def plain_here(self, what, place):
        if _state.depth:
            raise _error(errors.TypeError, f"a tensor decides whether this {what} is reached", place, "use assert or plait.check")

    def plain_items(self, iterable):
        if isinstance(iterable, _Counted):
            raise errors.TypeError("a generator iterates over a range whose bounds are not numbers")
        return iterable


def _with(step, item):
    return lambda: step(item)
