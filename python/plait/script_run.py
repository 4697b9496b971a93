"""What scripted functions call while they are recorded: branches and steps, which are functions of variables that they read
and write, become `cond`, `while_loop` and `scan`."""

import builtins
import collections
import operator
import threading
import types

from . import _core, errors
from ._core import Dim, Structure, Tensor
from .interop import asarray
from .items import Item
from .script_syntax import RETURNED, VALUE

_NUMBERS = (bool, int, float, complex)
_MOST_UNROLLED = 16  # steps that are left of a range when a tensor decides whether there are more
_MOST_ROUNDS = 12


class _State(threading.local):
    depth = 0  # how many branches and steps that a tensor decides are being recorded
    floating = None  # the dtype of floats that differ from path to path

    def __init__(self):
        self.running = []


_state = _State()


def _error(kind, message, place, hint):
    error = kind(f"{kind.__name__}: {message}, at {place}\n  hint: {hint}")
    error.message, error.hint, error.location = message, hint, place
    return error


class _Unbound:
    """Of a variable that has no value yet."""

    def __repr__(self):
        return "no value"


_UNBOUND = _Unbound()


class _Lost:
    """Of a variable that came out differently on two paths; an error for whoever looks at it."""

    def __init__(self, kind, message, place, hint):
        self._given = kind, message, place, hint

    def error(self):
        return _error(*self._given)


class _Again(BaseException):
    """Passes through what is being recorded, to record it anew."""

    def __init__(self, owner):
        self.owner = owner


# ---- Values of variables: numbers and tensors in a tree.


def _spread(value):
    """The numbers and tensors of a tree, and the structure of all else."""
    return _core._flatten(value, numbers=True)


def _is_number(leaf):
    return type(leaf) in _NUMBERS


def _as_leaf(leaf):
    return leaf if _is_number(leaf) or isinstance(leaf, Tensor) else asarray(leaf)


def _are_same(a, b):
    """Two leaves of which one may stand for the other."""
    return a is b or (_is_number(a) and type(a) is type(b) and repr(a) == repr(b))


def _text(value):
    """A value as a message shows it."""
    if isinstance(value, Tensor):
        return f"{value.dtype}[{', '.join(str(each) for each in value.shape)}]"
    if _is_number(value) or value is None or isinstance(value, str):
        return repr(value)
    if value is _UNBOUND:
        return "without a value"
    if isinstance(value, _Lost):
        return "of two kinds"
    leaves, _ = _spread(value)
    return f"a {type(value).__name__}" + (f" of {', '.join(_text(each) for each in leaves[:6])}" if leaves else "")


def _default_dtype(*kinds):
    kind = max(kinds, key=_NUMBERS.index)
    floating = _state.floating or _core.f32
    if kind is complex:
        return _core.c128 if floating == _core.f64 else _core.c64
    return {bool: _core.boolean, int: _core.i64, float: floating}[kind]


def _common(a, b):
    """(dtype, shape) that two leaves, either of them a number, both take; None where there is none."""
    if _is_number(a) and _is_number(b):
        return _default_dtype(type(a), type(b)), ()
    if _is_number(a) or _is_number(b):
        number, tensor = (a, b) if _is_number(a) else (b, a)
        return _core.promote(tensor.dtype, type(number)), tuple(tensor.shape)
    fits = a.dtype == b.dtype and a.ndim == b.ndim and all(p == q for p, q in zip(a.shape, b.shape))
    return (a.dtype, tuple(a.shape)) if fits else None


def _as(leaf, dtype, shape):
    tensor = asarray(leaf, dtype)
    return _core.broadcast_to(tensor, shape) if shape and not tensor.ndim else tensor


def _type_of(leaf):
    return (leaf.dtype, tuple(leaf.shape))


# ---- What must not be done where a tensor decides.


_PLAIN = (*_NUMBERS, str, bytes, type(None), Tensor, types.ModuleType, types.BuiltinFunctionType, type)


def _contents(value):
    """What is in something that can be changed; None for all else."""
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    if isinstance(value, (list, set, collections.deque)):
        return list(value)
    if isinstance(value, (tuple, *_PLAIN)) or not hasattr(value, "__dict__"):
        return None
    if (type(value).__module__ or "").split(".")[0] in ("builtins", "plait", "numpy") or isinstance(value, types.FunctionType):
        return None
    return [part for pair in vars(value).items() for part in pair]


class _Watch:
    """The lists, dicts, sets and objects that a function can reach, as they are now."""

    def __init__(self, function):
        self._seen = {}
        self._look_at_function(function, 0)

    def _look_at_function(self, function, depth):
        if id(function) in self._seen:
            return
        self._seen[id(function)] = (function, "", None)
        is_own = function.__globals__ is globals()
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # empty
                continue
            if not is_own:
                self._look_at(name, value, depth)
            elif isinstance(value, types.FunctionType):
                self._look_at_function(value, depth)
        if is_own:
            return
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, (list, dict, set, collections.deque)):
                self._look_at(name, value, depth)

    def _look_at(self, path, value, depth):
        if depth > 4 or len(self._seen) > 5000 or isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        if isinstance(value, types.FunctionType):
            if (value.__module__ or "").split(".")[0] not in ("plait", "numpy"):
                self._look_at_function(value, depth + 1)
            return
        contents = _contents(value)
        if contents is not None:
            self._seen[id(value)] = (value, path, contents)
        for each in value if isinstance(value, tuple) else contents or ():
            self._look_at(path, each, depth + 1)

    def check(self, site):
        for value, path, before in self._seen.values():
            if before is None:
                continue
            now = _contents(value)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before)):
                continue
            new = now[len(before):]
            is_cache = not isinstance(value, (list, set, collections.deque)) and all(a is b for a, b in zip(now, before))
            if is_cache and not any(isinstance(leaf, Tensor) for each in new for leaf in _spread(each)[0]):
                continue
            kind = type(value).__name__
            what = f"{path} is a {kind}" if path == "self" or _core._children(value) is not None else f"a {kind} that {path} leads to"
            what = what if isinstance(value, (list, dict, set, collections.deque)) else f"an attribute of {path}, a {kind},"
            joint = ", and is" if what.startswith(path) else " is"
            raise _error(errors.TypeError, f"{what}{joint} changed where a tensor decides how often that happens ({site.text})",
                         site.place, "it would happen once, while the program is recorded: put tensors into variables, write into one "
                         "by out[i] = ..., or collect what the steps give by plait.scan or plait.map")


class _Region:
    """A branch or a step is being recorded."""

    def __init__(self, site, function):
        self._site, self._function = site, function

    def __enter__(self):
        self._watch = _Watch(self._function)
        _state.depth += 1

    def __exit__(self, kind, *_):
        _state.depth -= 1
        if kind is None:
            self._watch.check(self._site)


def _truth(test, place):
    """A bool of Python's, or a bool[] that is being recorded."""
    if not isinstance(test, Tensor) or not _core._is_staging():
        return bool(test)
    if test.ndim:
        if test.size != 1:
            raise _error(errors.TypeError, f"a condition is {_text(test)}, expected one truth value", place,
                         "reduce it by plait.all or plait.any, or choose by element with plait.where")
        test = _core.reshape(test, ())
    return test if test.dtype == _core.boolean else test != 0


# ---- Branches.


class _Merge:
    """One variable after two branches: where its leaves come from."""

    def __init__(self, structure, leaves):
        self.structure, self.leaves = structure, leaves  # each ("same", leaf) or ("tensor", dtype, shape)

    @staticmethod
    def same(value):
        return _Merge(Structure(), [("same", value)])

    @staticmethod
    def of_one(value):
        """As one of the branches alone says."""
        if value is _UNBOUND or isinstance(value, _Lost):
            return _Merge.same(value)
        leaves, structure = _spread(value)
        if not any(isinstance(_as_leaf(leaf), Tensor) for leaf in leaves):
            return _Merge.same(value)
        return _Merge(structure, [("same", leaf) if _is_number(leaf) else ("tensor", *_type_of(_as_leaf(leaf))) for leaf in leaves])

    def slots(self, i):
        return {(i, j): leaf[1:] for j, leaf in enumerate(self.leaves) if leaf[0] == "tensor"}

    def value(self, i, tensors):
        return self.structure.unflatten([leaf[1] if leaf[0] == "same" else tensors[i, j] for j, leaf in enumerate(self.leaves)])


def _is_dead(site, names, values, name, skipped):
    """Whether a path has left for where the variable is not used."""
    value = values[names.index(name)]
    if name in site.flags:
        return False
    if name == VALUE:
        return value is _UNBOUND or values[names.index(RETURNED)] is False
    if skipped:
        return value is _UNBOUND and all(name in site.dead.get(flag, ()) for flag in site.guards)
    return any(values[names.index(flag)] is True and name in site.dead.get(flag, ()) for flag in site.flags if flag in names)


def _merge(site, names, name, outcomes, skipped):
    a, b = (values[names.index(name)] for values in outcomes)
    if a is b:
        return _Merge.same(a)
    if not site.uses(name):
        return _Merge.same(_UNBOUND)
    dead = [_is_dead(site, names, values, name, skipped and which == 1) for which, values in enumerate(outcomes)]
    if dead[0] or dead[1]:
        return _Merge.same(_UNBOUND) if all(dead) else _Merge.of_one(b if dead[0] else a)
    what = "what is returned" if name == VALUE else name
    what = f"the value of the {site.text}" if names == ("value",) else what
    if a is _UNBOUND or b is _UNBOUND:
        one = "else" if b is _UNBOUND else "if"
        return _Merge.same(_Lost(errors.ValueError, f"{what} has a value on one path only, {_text(b if a is _UNBOUND else a)}, and none "
                                 f"on the other ({one})", site.place,
                                 f"a tensor decides here: assign to {what} before, or on both paths"))
    for each in (a, b):
        if isinstance(each, _Lost):
            return _Merge.same(each)
    (ours, structure), (theirs, other) = _spread(a), _spread(b)
    pairs = list(zip([_as_leaf(leaf) for leaf in ours], [_as_leaf(leaf) for leaf in theirs]))
    common = [("same", p) if _are_same(p, q) else _common(p, q) for p, q in pairs] if structure == other else [None]
    if None in common:
        return _Merge.same(_Lost(errors.TypeError, f"{what} is {_text(a)} on one path, {_text(b)} on the other", site.place,
                                 "a tensor decides here: give both the same structure, dtype and shape, or have a variable each"))
    if all(each[0] == "same" for each in common) and not any(isinstance(leaf, Tensor) for leaf, _ in pairs):
        return _Merge.same(a)
    return _Merge(structure, [each if each[0] == "same" else ("tensor", *each) for each in common])


def _provisional(site, names, before, values):
    """What a branch gives as long as nobody has seen the other one: tensors that are new, and flags."""
    slots = {}
    for i, (name, value) in enumerate(zip(names, values)):
        if name in site.flags:
            slots[i, 0] = (_core.boolean, ())
        elif site.uses(name) and value is not before[i] and value is not _UNBOUND and not isinstance(value, _Lost):
            slots.update(_Merge.of_one(value).slots(i))
    return slots


def _slots_of(slots, values):
    """The tensors of a branch for these places; zeros where it has none, since nobody looks at them."""
    spread = {}
    for (i, j), (dtype, shape) in slots.items():
        if i not in spread:
            value = values[i]
            spread[i] = [] if value is _UNBOUND or isinstance(value, _Lost) else _spread(value)[0]
        leaf = _as_leaf(spread[i][j]) if j < len(spread[i]) else None
        fits = leaf is not None and (_is_number(leaf) or _can_be(leaf, dtype, shape))
        yield _as(leaf, dtype, shape) if fits else _core.zeros(shape, dtype=dtype)


def _can_be(leaf, dtype, shape):
    return leaf.ndim == len(shape) and all(p == q for p, q in zip(leaf.shape, shape)) and _core.promote(leaf.dtype, dtype) == dtype


def _decided(site, names, truth, then, otherwise, get, put, skipped=False):
    """Both branches, and the variables after them. `skipped`: the second one has nothing to do, and stands for a loop that
    has ended."""
    before, slots, merges = get(), None, None
    owner = object()
    for _ in range(_MOST_ROUNDS):
        outcomes = [None, None]

        def recorded(which, function):
            def run(_given):
                nonlocal slots, merges
                put(before)
                with _Region(site, function):
                    function()
                values = outcomes[which] = get()
                if slots is None:
                    slots = _provisional(site, names, before, values)
                if outcomes[1 - which] is None:
                    merges = [_Merge.of_one(value) if any(place[0] == i for place in slots) else _Merge.same(value)
                              for i, value in enumerate(values)]
                else:
                    merges = [_merge(site, names, name, outcomes, skipped) for name in names]
                    needed = {place: kind for i, merge in enumerate(merges) for place, kind in merge.slots(i).items()}
                    if any(slots.get(place) != kind for place, kind in needed.items()):
                        slots = needed
                        raise _Again(owner)
                return list(_slots_of(slots, values))

            return run

        try:
            results = _core._cond(truth, recorded(0, then), recorded(1, otherwise), [])
        except _Again as again:
            put(before)
            if again.owner is not owner:
                raise
            continue
        except BaseException:
            put(before)
            raise
        tensors = dict(zip(slots, results))
        put(tuple(merge.value(i, tensors) for i, merge in enumerate(merges)))
        return
    raise _error(errors.TypeError, "the values of the two paths differ whenever they are recorded", site.place, "use plait.cond")


# ---- Loops.


class _Carry:
    """The variables of a loop: which tensors go from step to step."""

    def __init__(self, site, names, before, may_begin_empty):
        self.site, self.names, self.may_begin_empty = site, names, may_begin_empty
        # What nobody looks at before it is assigned again does not go from step to step.
        self.before = [value if site.uses(name) else _UNBOUND for name, value in zip(names, before)]
        self.wide = {}  # numbers that become tensors, by place
        self.filled = {}  # variables that only the loop gives a value: (structure, types)
        self.assigned = set()

    def _again(self):
        raise _Again(self)

    def places(self):
        """(i, j) of all tensors that are carried."""
        for i, name in enumerate(self.names):
            for j, leaf in enumerate(self._leaves(i)):
                if not _is_number(leaf) or (i, j) in self.wide or name in self.site.flags:
                    yield i, j

    def _is_absent(self, i):
        return self.before[i] is _UNBOUND or isinstance(self.before[i], _Lost)

    def _leaves(self, i):
        if i in self.filled:
            return [_core.zeros(shape, dtype=dtype) for dtype, shape in self.filled[i][1]]
        return [] if self._is_absent(i) else [_as_leaf(leaf) for leaf in _spread(self.before[i])[0]]

    def initial(self):
        leaves = {i: self._leaves(i) for i in range(len(self.names))}
        return [_as(leaves[i][j], *self.wide[i, j]) if (i, j) in self.wide else asarray(leaves[i][j]) for i, j in self.places()]

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

    def after_step(self, given, values):
        """The tensors that a step hands on."""
        given, result = dict(zip(self.places(), given)), []
        for i, (name, value) in enumerate(zip(self.names, values)):
            result += self._filled(i, name, value) if self._is_absent(i) else self._kept(i, name, value, given)
        return result

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
                self._widen(i, j, old, new)
            carried = given[i, j]
            if _is_number(new):
                if _core.promote(carried.dtype, type(new)) != carried.dtype:
                    self._misfit(i, j, name, old, carried, new)
                result.append(_as(new, carried.dtype, tuple(carried.shape)))
            else:
                if new.dtype != carried.dtype or new.ndim != carried.ndim:
                    self._misfit(i, j, name, old, carried, new)
                result.append(new)
        return result

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
                      f"a tensor decides how many steps there are: give {name} the same structure, dtype and rank in each (plait.astype, "
                      "plait.zeros)")

    def afterwards(self, results):
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
            put(carry.values(given))
            with _Region(site, test):
                return [asarray(_truth(test(), site.place))]

        def body(given):
            put(carry.values(given))
            with _Region(site, step):
                step()
            return carry.after_step(given, get())

        return _core._while(truth, body, carry.initial(), None)

    _run_loop(site, names, get, put, run)


class _Items:
    """What a loop goes over, step by step in the record; where others are zipped with it, one by one."""

    def __iter__(self):
        stacked = self.stacked()
        return (self.item([each[i] for each in stacked]) for i in range(self.length))


class _Counted(_Items):
    """A range whose bounds are tensors or sizes without a number."""

    def __init__(self, first, end, step):
        self.first, self.end, self.step = first, end, step

    @property
    def length(self):
        """None where only the values tell."""
        if any(isinstance(each, Tensor) for each in (self.first, self.end, self.step)):
            return None
        length = (self.end - self.first + (self.step - 1 if self.step > 0 else self.step + 1)) // self.step
        return max(length, 0) if isinstance(length, int) else length

    def stacked(self):
        return [_core.arange(self.length)]

    def item(self, slices):
        scaled = slices[0] if self.step == 1 else slices[0] * self.step
        return scaled if isinstance(self.first, int) and self.first == 0 else scaled + _size(self.first)

    def is_there(self, i):
        """Whether i is in the range still."""
        if isinstance(self.step, Tensor):
            return _core.where(self.step > 0, i < self.end, i > self.end)
        return i < _size(self.end) if self.step > 0 else i > _size(self.end)


def _size(value):
    """A size as a number that is computed with."""
    return _core.full((), value, dtype=_core.i64) if isinstance(value, Dim) else value


class _Slices(_Items):
    """The slices of a tensor along its first axis."""

    def __init__(self, tensor, place):
        if not tensor.ndim:
            raise _error(errors.TypeError, f"a for loop goes over {_text(tensor)}, which has no first axis", place, "use range(...)")
        self.tensor, self.length = tensor, tensor.shape[0]

    def stacked(self):
        return [self.tensor]

    def item(self, slices):
        return slices[0]


class _Zipped(_Items):
    """Several at once."""

    def __init__(self, members, place):
        self.members = members
        lengths = [each.length for each in members if not isinstance(each, _Counted) or each.end is not None]
        if None in lengths:
            raise _error(errors.TypeError, "a range up to a tensor is no part of zip or enumerate", place, "use one range and index by it")
        numbers = [each for each in lengths if isinstance(each, int)]
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
    """What a loop over it goes over step by step, in the record; None for what is unrolled."""
    if isinstance(value, _Items):
        return value
    return _Slices(value, place) if isinstance(value, Tensor) and _core._is_staging() else None


def _count(site, names, goes, counted, step, get, put):
    """A loop over a range of so many steps as the values tell."""
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
    """A loop over so many steps as the sizes tell."""
    if isinstance(items.length, int) and items.length == 0:
        return

    def run(carry):
        def one(given):
            count = len(list(carry.places()))
            item = items.item(given[count:])
            fresh, kept = carry.values(given[:count]), carry.values(given[:count], is_kept=True)
            with _Region(site, step):
                go = True if goes is None else None
                if go is None:
                    put(kept)
                    go = _truth(goes(), site.place)
                if isinstance(go, Tensor):
                    _decided(site, names, go, lambda: (put(fresh), step(item)), lambda: None, get, put, skipped=True)
                else:
                    put(fresh)
                    step(item)
            return carry.after_step(given[:count], get())

        return _core._scan(one, carry.initial(), items.stacked(), None, False, None, 1)

    _run_loop(site, names, get, put, run, may_begin_empty=isinstance(items.length, int))


# ---- Expressions.


def _choose(site, truth, then, otherwise):
    box = [_UNBOUND]

    def put(values):
        box[0] = values[0]

    _decided(site, ("value",), truth, _setting(put, then), _setting(put, otherwise), lambda: (box[0],), put)
    if isinstance(box[0], _Lost):
        raise box[0].error()
    return box[0]


def _setting(put, function):
    return lambda: put((function(),))


def _both(site, first, later):
    return _choose(site, first, later, lambda: first) if isinstance(first, Tensor) else first and later()


_OPERATORS = {"Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
              "Is": operator.is_, "IsNot": operator.is_not, "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b}


# ---- Calls.


class _Call:
    """A scripted function that is being recorded, and what it was called with."""

    def __init__(self, function, leaves, structure):
        self.function, self.leaves, self.structure = function, leaves, structure
        self.depth = _state.depth
        self.name = None  # once it calls itself
        self.wide = set()  # numbers among the arguments that differ from call to call
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
        """The function of the program, called."""
        def is_given(i, leaf):
            return isinstance(leaf, Tensor) or i in self.wide

        def dtype_of(leaf):
            own = self.leaves[leaf]
            return _default_dtype(type(own)) if _is_number(own) else own.dtype

        operands = [asarray(leaf, dtype_of(i)) for i, leaf in enumerate(leaves) if is_given(i, leaf)]
        places = [i for i, leaf in enumerate(leaves) if is_given(i, leaf)]
        numbers = {}  # results that are numbers, and the types that stand for them

        def on_leaves(given):
            given = dict(zip(places, given))
            arguments = self.structure.unflatten([given.get(i, leaf) for i, leaf in enumerate(self.leaves)])
            found, structure = _spread(body(*arguments))
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

        given, structure = _core._call_recursive(self.name, "", operands, on_leaves)
        return structure.unflatten(given)


class Function:
    """A scripted function, or one inside of it each time that it is defined."""

    def __init__(self, name):
        self.name = name


class Runtime:
    """What the code that is made of one function refers to as __plait__."""

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
        raise errors.TypeError(f"{function.name} gives other types whenever it is recorded")

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
        """x after x[index] = value; a tensor of its own where a tensor decides whether that happens."""
        if isinstance(x, Tensor) and _state.depth:
            x = x._share()
        x[index] = value
        return x

    def set_item(self, x, index, value, text, place):
        """x[index] = value, where x is no variable of the function."""
        if isinstance(x, Tensor) and _state.depth:
            raise _error(errors.TypeError, f"{text}[...] is assigned to where a tensor decides how often, and {text} belongs to others", place,
                         "write into a variable of the function, and hand that on")
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
        """`raise` where a tensor decides: a check of the program."""
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
            raise errors.TypeError("a generator goes over a range whose bounds are no numbers")
        return iterable


def _with(step, item):
    return lambda: step(item)
