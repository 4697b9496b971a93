"""Branches of scripted functions that depend on a tensor, and the variables that they assign."""

import operator

from plait import _core, errors
from plait._core import Structure, Tensor
from plait.inside.script.syntax_code import RETURNED, VALUE
from plait.inside.script.script_values import (
    _Again, _Lost, _MOST_ROUNDS, _Region, _UNBOUND, _are_same, _as, _as_leaf, _common, _error, _is_number, _spread, _text, _type_of, note_uncertain)
from plait.inside.transforms.recording import Recording


class _Merge:
    """The value of one variable after two branches: the origin of each of its leaves."""

    def __init__(self, structure, leaves, values=()):
        self.structure, self.leaves = structure, leaves  # each ("same", leaf) or ("tensor", dtype, shape)
        self.values = values  # on the paths that go on

    @staticmethod
    def same(value):
        return _Merge(Structure(), [("same", value)])

    @staticmethod
    def of_one(value):
        """The value of one of the branches."""
        if value is _UNBOUND or isinstance(value, _Lost):
            return _Merge.same(value)
        leaves, structure = _spread(value)
        if not any(isinstance(_as_leaf(leaf), Tensor) for leaf in leaves):
            return _Merge.same(value)
        return _Merge(structure, [("same", leaf) if _is_number(leaf) else ("tensor", *_type_of(_as_leaf(leaf))) for leaf in leaves], (value,))

    def slots(self, i):
        return {(i, j): leaf[1:] for j, leaf in enumerate(self.leaves) if leaf[0] == "tensor"}

    def value(self, i, tensors, name):
        spread = [_spread(each)[0] for each in self.values]
        for j, leaf in enumerate(self.leaves):
            if leaf[0] == "tensor":
                note_uncertain(tensors[i, j], [leaves[j] for leaves in spread], name)
        return self.structure.unflatten([leaf[1] if leaf[0] == "same" else tensors[i, j] for j, leaf in enumerate(self.leaves)])


def _is_dead(site, names, values, name, skipped):
    """True if this path leaves to a place where the variable is not used."""
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
                                 "a tensor decides here: use the same structure, dtype and shape on both paths, or separate variables"))
    if all(each[0] == "same" for each in common) and not any(isinstance(leaf, Tensor) for leaf, _ in pairs):
        return _Merge.same(a)
    return _Merge(structure, [each if each[0] == "same" else ("tensor", *each) for each in common], (a, b))


def _provisional(site, names, before, values):
    """The tensors and flags that a branch returns until the other branch is known."""
    slots = {}
    for i, (name, value) in enumerate(zip(names, values)):
        if name in site.flags:
            slots[i, 0] = (_core.boolean, ())
        elif site.uses(name) and value is not before[i] and value is not _UNBOUND and not isinstance(value, _Lost):
            slots.update(_Merge.of_one(value).slots(i))
    return slots


def _slots_of(slots, values):
    """The tensors of a branch for these slots; zeros where it has none, since they are never used."""
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
    """Records both branches, and sets the variables after them. `skipped`: the second branch is empty, and
    represents a loop that has ended."""
    before, slots, merges = get(), None, None
    owner, written = object(), {}  # the tensors that either branch assigns into
    for _ in range(_MOST_ROUNDS):
        outcomes = [None, None]

        def settle(values, is_new):
            nonlocal slots, merges
            if slots is None:
                slots = _provisional(site, names, before, values)
            if None in outcomes:
                merges = [_Merge.of_one(value) if any(place[0] == i for place in slots) else _Merge.same(value)
                          for i, value in enumerate(values)]
                return
            merges = [_merge(site, names, name, outcomes, skipped) for name in names]
            needed = {place: kind for i, merge in enumerate(merges) for place, kind in merge.slots(i).items()}
            if is_new or any(slots.get(place) != kind for place, kind in needed.items()):
                slots = needed
                raise _Again(owner)

        def recorded(which, function):
            def run(_given):
                put(before)
                with _Region(site, function) as region:
                    region.run()
                    values = outcomes[which] = get()
                    is_new = not region.written().keys() <= written.keys()
                    written.update(region.written())
                    settle(values, is_new)
                    return [*_slots_of(slots, values), *(tensor._share() for tensor in written.values())]

            return run

        try:
            with Recording("script"):
                results = _core._cond(truth, recorded(0, then), recorded(1, otherwise), [])
        except _Again as again:
            put(before)
            if again.owner is not owner:
                raise
            continue
        except BaseException:
            put(before)
            raise
        for tensor, content in zip(written.values(), results[len(slots):]):
            _core._exchange(tensor, content)
        tensors = dict(zip(slots, results))
        put(tuple(merge.value(i, tensors, names[i]) for i, merge in enumerate(merges)))
        return
    raise _error(errors.TypeError, "the values of the two paths differ whenever they are recorded", site.place, "use plait.cond")


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
