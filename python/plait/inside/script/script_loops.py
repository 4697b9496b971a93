"""Loops of scripted functions whose number of steps depends on tensors, and the variables that they assign."""

import contextlib

from plait import _core, errors
from plait._core import Dim, Tensor
from plait.inside.arrays.interop import asarray
from plait.inside.script.script_branches import _both, _decided
from plait.inside.script.syntax_code import VALUE
from plait.inside.script.script_values import (
    _Again, _Lost, _MOST_ROUNDS, _Region, _UNBOUND, _are_same, _as, _as_leaf, _common, _error, _is_number, _spread, _state, _text, _truth,
    note_uncertain, origin_of)
from plait.inside.transforms.recording import Recording


class _Carry:
    """The variables of a loop, and the tensors that are carried from step to step."""

    may_be_skipped = True  # the loop may have no step

    def __init__(self, site, names, before, may_begin_empty):
        self.passed_on = set()  # places of tensors that a step may pass on as it received them
        self.site, self.names, self.may_begin_empty = site, names, may_begin_empty
        # A variable that is assigned before it is read is not carried.
        self.before = [value if site.uses(name) else _UNBOUND for name, value in zip(names, before)]
        self.wide = {}  # numbers that become tensors, by slot
        self.filled = {}  # variables that are first assigned in the loop: (structure, types)
        self.assigned = set()
        self.written = {}  # tensors that the steps assign into, by id: carried by their contents, and the same objects in each step
        self.replaced = set()  # ids of such tensors whose variable is bound to another one as well

    def _again(self):
        raise _Again(self)

    def places(self):
        """(i, j) of all tensors that are carried."""
        for i, name in enumerate(self.names):
            for j, leaf in enumerate(self._leaves(i)):
                if id(leaf) not in self.written and (not _is_number(leaf) or (i, j) in self.wide or name in self.site.flags):
                    yield i, j

    def __len__(self):
        return len(list(self.places())) + len(self.written)

    def _is_absent(self, i):
        return self.before[i] is _UNBOUND or isinstance(self.before[i], _Lost)

    def _leaves(self, i):
        if i in self.filled:
            return [_core.zeros(shape, dtype=dtype) for dtype, shape in self.filled[i][1]]
        return [] if self._is_absent(i) else [_as_leaf(leaf) for leaf in _spread(self.before[i])[0]]

    def initial(self):
        leaves = {i: self._leaves(i) for i in range(len(self.names))}
        carried = [_as(leaves[i][j], *self.wide[i, j]) if (i, j) in self.wide else asarray(leaves[i][j]) for i, j in self.places()]
        return carried + self._contents()

    def _contents(self):
        return [tensor._share() for tensor in self.written.values()]

    @contextlib.contextmanager
    def lending(self, given):
        """The tensors that the steps assign into have these contents, those of the beginning of a step."""
        self._begun = [(tensor, tensor._share()) for tensor in given]
        tensors, own = list(self.written.values()), self._put_contents(given)
        self._note_origins(given)
        try:
            yield
        finally:
            for tensor, content in zip(tensors, own):
                _core._exchange(tensor, content)

    def _note_origins(self, given):
        """A tensor that steps receive in place of a caller's represents it."""
        for (i, j), tensor in zip(self.places(), given):
            origin = None if i in self.filled else origin_of(self._leaves(i)[j])
            if origin is not None:
                _state.origins[id(tensor)] = tensor, origin

    def _put_contents(self, given):
        return [_core._exchange(tensor, content) for tensor, content in zip(self.written.values(), given[len(given) - len(self.written):])]

    def values(self, given, is_kept=False):
        """The variables at the beginning of a step."""
        given, result = dict(zip(self.places(), given)), []
        for i in range(len(self.names)):
            if i in self.filled:
                tree = self.filled[i][0].unflatten([given[i, j] for j in range(len(self.filled[i][1]))])
                result.append(tree if is_kept else _UNBOUND)
            elif self._is_absent(i):
                result.append(self.before[i])
            else:
                leaves, structure = _spread(self.before[i])
                leaves = [given.get((i, j), leaf) for j, leaf in enumerate(leaves)]
                result.append(structure.unflatten(leaves) if leaves else self.before[i])
        return tuple(result)

    def after_step(self, given, values, written):
        """The tensors that a step passes to the next one."""
        self._expect_known(written)
        given, result = dict(zip(self.places(), given)), []
        for i, (name, value) in enumerate(zip(self.names, values)):
            result += self._filled(i, name, value) if self._is_absent(i) else self._kept(i, name, value, given)
        return result + self._contents()

    def _expect_known(self, written):
        """Begins again if a step assigns into other tensors than before. Those that it has received represent tensors from before the loop."""
        received = {id(tensor): place for place, (tensor, content) in zip(self.places(), self._begun) if not _core._is_same(tensor, content)}
        found = {key: tensor for key, tensor in written.items() if key not in received}
        for i, j in received.values():
            leaf = self._leaves(i)[j]
            if i not in self.filled and (i, j) not in self.wide and isinstance(leaf, Tensor):
                found[id(leaf)] = leaf
        new = {key: tensor for key, tensor in found.items() if key not in self.written and key not in self.replaced}
        if new:
            self.written.update(new)
            self._again()

    def _filled(self, i, name, value):
        if value is not self.before[i]:
            self.assigned.add(i)
        if i in self.filled:
            if value is _UNBOUND or isinstance(value, _Lost):
                return self._leaves(i)
            return [_as(leaf, *kind) for leaf, kind in zip(_spread(value)[0], self.filled[i][1])]
        if value is _UNBOUND or isinstance(value, _Lost) or not (name == VALUE or self.may_begin_empty) or not self.site.uses(name):
            return []
        leaves, structure = _spread(value)
        types_ = [_common(leaf, leaf) for leaf in map(_as_leaf, leaves)]
        if any(isinstance(size, Dim) for _, shape in types_ for size in shape) and name != VALUE:
            return []
        self.filled[i] = (structure, types_)
        return self._again()

    def _kept(self, i, name, value, given):
        before, structure = _spread(self.before[i])
        if value is _UNBOUND or isinstance(value, _Lost):
            self.before[i] = value
            return self._again()
        if value is self.before[i]:
            return [given[i, j] for j in range(len(before)) if (i, j) in given]
        leaves, other = _spread(value)
        if structure != other:
            raise self._changed(name, self.before[i], value)
        result = []
        for j, (old, new) in enumerate(zip(map(_as_leaf, before), map(_as_leaf, leaves))):
            if (i, j) not in given:
                if _are_same(old, new):
                    continue
                if id(old) in self.written:
                    self._replace(name, old)
                self._widen(i, j, old, new)
            carried = given[i, j]
            if _is_number(new):
                if _core.promote(carried.dtype, type(new)) != carried.dtype:
                    self._misfit(i, j, name, old, carried, new)
                result.append(_as(new, carried.dtype, tuple(carried.shape)))
            else:
                if new.dtype != carried.dtype or new.ndim != carried.ndim:
                    self._misfit(i, j, name, old, carried, new)
                if origin_of(new) is not None:
                    self.passed_on.add((i, j))
                result.append(new)
        return result

    def _replace(self, name, tensor):
        """A step assigns into the tensor of a variable, and to the variable: the next one would assign into another tensor."""
        if origin_of(tensor) is not None:
            raise _error(errors.TypeError, f"the loop assigns into {name}, the caller's tensor, and to {name} itself: which of its steps would "
                         "change the caller's tensor cannot be recorded", self.site.place, f"begin with a tensor of its own: {name} = {name} * 1")
        del self.written[id(tensor)]
        self.replaced.add(id(tensor))
        self._again()

    def _widen(self, i, j, old, new):
        self.wide[i, j] = _common(old, new)
        self._again()

    def _misfit(self, i, j, name, old, carried, new):
        if _is_number(old) and (i, j) in self.wide:
            dtype = _core.promote(carried.dtype, type(new) if _is_number(new) else new.dtype)
            shape = tuple(carried.shape) if _is_number(new) or not new.ndim else tuple(new.shape)
            if (dtype, shape) != self.wide[i, j] and (not carried.ndim or len(shape) == carried.ndim):
                self.wide[i, j] = (dtype, shape)
                self._again()
        raise self._changed(name, carried, new)

    def _changed(self, name, before, after):
        return _error(errors.TypeError, f"{name} is {_text(before)} before a step of the loop and {_text(after)} after it", self.site.place,
                      f"a tensor decides the number of steps: {name} must have the same structure, dtype and rank in each (plait.astype, "
                      "plait.zeros)")

    def afterwards(self, results):
        self._put_contents(results)
        for (i, j), tensor in zip(self.places(), results):
            leaf = None if i in self.filled else self._leaves(i)[j]
            if leaf is not None and (self.may_be_skipped or (i, j) in self.passed_on):
                note_uncertain(tensor, [leaf], self.names[i])
        values = list(self.values(results, is_kept=True))
        for i, name in enumerate(self.names):
            if self._is_absent(i) and i not in self.filled and i in self.assigned:
                values[i] = _Lost(errors.ValueError, f"{name} has a value only if the loop runs", self.site.place,
                                  f"a tensor decides whether it does: assign to {name} before the loop")
        return tuple(values)


def _run_loop(site, names, get, put, run, may_begin_empty=False):
    before = get()
    carry = _Carry(site, names, before, may_begin_empty)
    for _ in range(_MOST_ROUNDS):
        try:
            results = run(carry)
        except _Again as again:
            put(before)
            if again.owner is not carry:
                raise
            continue
        except BaseException:
            put(before)
            raise
        put(carry.afterwards(results))
        return
    raise _error(errors.TypeError, "the types of what the loop changes differ at each step", site.place, "use plait.while_loop")


def _while(site, names, test, step, get, put):
    def run(carry):
        def truth(given):
            with carry.lending(given):
                put(carry.values(given))
                with _Region(site, test) as region:
                    found = asarray(_truth(region.run(), site.place))
                    if region.written():
                        raise _error(errors.TypeError, "the condition of the loop assigns into a tensor", site.place, "do that in a step")
                    return [found]

        def body(given):
            with carry.lending(given):
                put(carry.values(given))
                with _Region(site, step) as region:
                    region.run()
                    return carry.after_step(given, get(), region.written())

        with Recording("script"):
            return _core._while(truth, body, carry.initial(), None)

    _run_loop(site, names, get, put, run)


class _Items:
    """The items of a loop, one per recorded step; if others are zipped with it, one by one."""

    def __iter__(self):
        stacked = self.stacked()
        return (self.item([each[i] for each in stacked]) for i in range(self.length))


class _Counted(_Items):
    """A range whose bounds are tensors or sizes without a number."""

    def __init__(self, first, end, step):
        self.first, self.end, self.step = first, end, step

    @property
    def length(self):
        """None if it depends on values."""
        if any(isinstance(each, Tensor) for each in (self.first, self.end, self.step)):
            return None
        length = (self.end - self.first + (self.step - 1 if self.step > 0 else self.step + 1)) // self.step
        return max(length, 0) if type(length) is int else length

    def stacked(self):
        return [_core.arange(self.length)]

    def item(self, slices):
        scaled = slices[0] if self.step == 1 else slices[0] * self.step
        return scaled if type(self.first) is int and self.first == 0 else scaled + _size(self.first)

    def is_there(self, i):
        """True if i is still in the range."""
        if isinstance(self.step, Tensor):
            return _core.where(self.step > 0, i < self.end, i > self.end)
        return i < _size(self.end) if self.step > 0 else i > _size(self.end)


def _size(value):
    """A size as a number for arithmetic."""
    return _core.full((), value, dtype=_core.i64) if isinstance(value, Dim) else value


class _Slices(_Items):
    """The slices of a tensor along its first axis."""

    def __init__(self, tensor, place):
        if not tensor.ndim:
            raise _error(errors.TypeError, f"a for loop iterates over {_text(tensor)}, which has no first axis", place, "use range(...)")
        self.tensor, self.length = tensor, tensor.shape[0]

    def stacked(self):
        return [self.tensor]

    def item(self, slices):
        return slices[0]


class _Zipped(_Items):
    """Several iterables, zipped."""

    def __init__(self, members, place):
        self.members = members
        lengths = [each.length for each in members if not isinstance(each, _Counted) or each.end is not None]
        if None in lengths:
            raise _error(errors.TypeError, "a range up to a tensor cannot be part of zip or enumerate", place, "use one range and index by it")
        numbers = [each for each in lengths if type(each) is int]
        if len(numbers) == len(lengths):
            self.length = min(lengths)
        elif all(each == lengths[0] for each in lengths):
            self.length = lengths[0]
        else:
            raise _error(errors.ShapeError, f"zip of different sizes, {', '.join(map(str, lengths))}", place, "slice them to one size")

    def stacked(self):
        result = []
        for each in self.members:
            if isinstance(each, _Counted) and each.end is None:
                result.append(_core.arange(self.length))
            else:
                result += [one if one.shape[0] == self.length else one[:self.length] for one in each.stacked()]
        return result

    def item(self, slices):
        result, slices = [], list(slices)
        for each in self.members:
            count = len(each.members) if isinstance(each, _Zipped) else 1
            result.append(each.item(slices[:count]))
            slices = slices[count:]
        return tuple(result)


def _staged(value, place):
    """The items of a recorded loop; None for one that is unrolled."""
    if isinstance(value, _Items):
        return value
    return _Slices(value, place) if isinstance(value, Tensor) and _core._is_staging() else None


def _count(site, names, goes, counted, step, get, put):
    """A loop over a range whose number of steps depends on values."""
    box = [asarray(_size(counted.first))]
    if box[0].dtype != _core.i64:
        box[0] = _core.astype(box[0], _core.i64)

    def get_all():
        return (*get(), box[0])

    def put_all(values):
        put(values[:-1])
        box[0] = values[-1]

    def test():
        is_there = counted.is_there(box[0])
        return is_there if goes is None else _both(site, _truth(goes(), site.place), lambda: is_there)

    def one():
        item = box[0]
        step(item)
        box[0] = item + counted.step

    _while(site, (*names, "the range"), test, one, get_all, put_all)


def _scan(site, names, goes, items, step, get, put):
    """A loop whose number of steps depends on sizes only."""
    if type(items.length) is int and items.length == 0:
        return

    def run(carry):
        carry.may_be_skipped = type(items.length) is not int

        def one(given):
            given, slices = given[:len(carry)], given[len(carry):]
            item = items.item(slices)
            fresh, kept = carry.values(given), carry.values(given, is_kept=True)
            with carry.lending(given), _Region(site, step) as region:
                go = True if goes is None else None
                if go is None:
                    put(kept)
                    go = _truth(goes(), site.place)
                if isinstance(go, Tensor):
                    _decided(site, names, go, lambda: (put(fresh), step(item)), lambda: None, get, put, skipped=True)
                else:
                    put(fresh)
                    step(item)
                region.check()
                return carry.after_step(given, get(), region.written())

        with Recording("script"):
            return _core._scan(one, carry.initial(), items.stacked(), None, False, None, 1)

    _run_loop(site, names, get, put, run, may_begin_empty=type(items.length) is int)
