"""Gradient transformations: values that map the gradient to the update of the weights, step by step."""

import inspect
import math
import types

from plait import _core, errors
from plait.inside.arrays.devices import beside
from plait.inside.help.names import in_words
from plait.inside.optimizers.base import ModelOptimizer
from plait.inside.optimizers.numbers import number, number_at
from plait.inside.optimizers.weights import is_inexact
from plait.inside.trees.buffers import FROZEN, MARK, of_structure as buffers_of
from plait.inside.trees.closed import Closed
from plait.inside.trees.module import Module
from plait.inside.trees.patterns import expect_distinct
from plait.inside.trees.sharing import Distinct
from plait.tree import flatten


class Limits:
    """The annotation of an attribute that is a number of a transformation: which values it may have."""

    def __init__(self, least=-math.inf, below=math.inf, optional=False):
        self.least, self.below, self.optional = least, below, optional

    def __repr__(self):  # in signatures
        return "number | None" if self.optional else "number"


ANY, POSITIVE, DECAY, OPTIONAL = Limits(), Limits(0.0), Limits(0.0, 1.0), Limits(optional=True)


class State(Module):
    """The state of a transformation: a tree with named parts."""

    def __init__(self, **parts):
        for name, part in parts.items():
            setattr(self, name, part)

    def with_(self, **parts):
        return State(**{**vars(self), **parts})


class GradientTransformation(Closed):
    """A gradient transformation of two functions, as in optax: init(params) returns the state, and update(updates, state, params)
    the transformed updates and the next state. An update function with **extra gets the further arguments of `update`.

    >>> halved = plait.optim.GradientTransformation(lambda params: (), lambda updates, state, params: (0.5 * updates, state))
    >>> halved.update(plait.tensor([2.0, 4.0]), halved.init(plait.zeros(2)))
    ([1. 2.] : f32[2], ())
    """

    _limits = {}

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        own = {name: each for name, each in cls.__dict__.get("__annotations__", {}).items() if isinstance(each, Limits)}
        cls._limits = {**cls._limits, **own}
        for name in ("init", "update"):
            method = cls.__dict__.get(name)
            if isinstance(method, types.FunctionType) and method.__doc__ is None:
                method.__doc__ = getattr(GradientTransformation, name).__doc__

    def __init__(self, init, update):
        self.init_function = expect_function("optim.GradientTransformation: init", init)
        self.update_function = expect_function("optim.GradientTransformation: update", update)

    def __setattr__(self, name, value):
        limits = self._limits.get(name)
        if limits is not None and not (value is None and limits.optional):
            value = number(f"{self._name()}: {name}", value, limits.least, limits.below)
        super().__setattr__(name, value)

    @classmethod
    def _name(cls):
        return f"optim.{cls.__name__}"

    def init(self, params):
        """The state before the first step, for these weights, a tree or a model."""
        return self.init_function(params)

    def update(self, updates, state, params=None, **extra):
        """The transformed updates, a tree like the gradient, and the state of the next step. `params` are the weights, which some
        transformations need; further arguments, such as value and value_fn, are for those that name them."""
        return self.update_function(updates, state, params, **(extra if takes_extra(self.update_function) else {}))

    def _expect_params(self, params):
        if params is None:
            raise errors.TypeError.with_hint(f"{self._name()}: the weights are missing", "pass them: update(updates, state, params)")

    def _numbers_at(self, step):
        """The numbers of a step, by name, as f64[]."""
        values = {name: getattr(self, name) for name in self._limits}
        return {name: number_at(value, step) for name, value in values.items() if value is not None}


def takes_extra(function):
    """True if a function takes any named arguments."""
    try:
        return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False


class Columns:
    """The leaves of a tree of updates or weights, and of trees that go with it, which are found by their paths."""

    def __init__(self, name, tree, with_frozen=False):
        self._name = name
        leaves, self.structure = flatten(tree)
        self._all = self.structure.paths
        expect_distinct(name, self._all)
        left_out = buffers_of(self.structure, (MARK,) if with_frozen else (MARK, FROZEN))
        self._is_used = [not is_left_out and is_inexact(leaf) for leaf, is_left_out in zip(leaves, left_out)]
        self.leaves, self.paths = self._used(leaves), self._used(self._all)

    def _used(self, values):
        return [value for value, is_used in zip(values, self._is_used) if is_used]

    def of(self, what, tree):
        """The leaves of another tree at these places."""
        leaves, structure = flatten(tree)
        if structure.paths == self._all:
            return self._used(leaves)
        found = dict(zip(structure.paths, leaves))
        for path in self.paths:
            if path not in found:
                raise errors.ValueError.with_hint(f"{self._name}: {what} has no {path!r}; its leaves are {list(found)[:8]}",
                                                  "init(params) of these weights makes the state")
        return [found[path] for path in self.paths]

    def tree(self, values):
        """The tree of the values; None for what is not a weight."""
        values = iter(values)
        return self.structure.unflatten([next(values) if is_used else None for is_used in self._is_used])

    def by_path(self):
        return dict(zip(self.paths, self.leaves))


def wide(dtype):
    """The dtype of computations."""
    return dtype if dtype == _core.f64 or dtype.kind == "complex" else _core.f32


def real_dtype(dtype):
    return {_core.c64: _core.f32, _core.c128: _core.f64}.get(dtype, dtype)


def widened(tensor):
    return _core.astype(tensor, wide(tensor.dtype))


def map_leaves(name, function, tree, *others):
    """The tree of function(leaf, leaves of the others at its path), computed in the dtype of computations."""
    columns = Columns(name, tree)
    rows = zip(columns.leaves, *(columns.of("another tree", other) for other in others))
    rows = list(rows)
    once = Distinct(rows, [tuple(map(id, row)) for row in rows])  # tied weights stay tied
    return columns.tree(once.spread([function(*map(widened, row)) for row in once.values]))


class Numbers:
    """The numbers of a step in one dtype, made from f64[]."""

    def __init__(self, exact, dtype):
        self.exact, self._dtype = exact, dtype

    def __getattr__(self, name):
        made = self._cast(self.exact[name])
        self.__dict__[name] = made
        return made

    def _cast(self, value):
        return _core.astype(value, self._dtype)

    def rest(self, name):
        """One minus the number."""
        key = f"one minus {name}"
        if key not in self.__dict__:
            self.__dict__[key] = self._cast(1.0 - self.exact[name])
        return self.__dict__[key]

    def mix(self, name, old, new):
        """The average of the old value, weighted by the number, and the new one."""
        return getattr(self, name) * old + self.rest(name) * new


class PerWeight(GradientTransformation):
    """The base of transformations that treat each weight by itself. `_kept` names the tensors that the state keeps for each weight,
    `_begin` makes them, and `_one` computes the update and their next values, from the numbers of the step `n`, the update, and with
    `_reads_params` the weight. `_at` adds what is computed once a step to the numbers."""

    _kept = ()
    _counts = False  # true if there is a count though no number needs one
    _reads_params = False

    def init(self, params):
        columns, n = Columns(self._name(), params), self._numbers_at(zero_steps())
        rows = [self._begin(leaf, Numbers(n, real_dtype(wide(leaf.dtype)))) for leaf in columns.leaves]
        kept = {name: columns.tree([row[i] for row in rows]) for i, name in enumerate(self._kept)}
        return self._state(zero_steps(), kept)

    def update(self, updates, state, params=None, **extra):
        if self._reads_params:
            self._expect_params(params)
        columns = Columns(self._name(), updates)
        count = state.count if self._has_count() else zero_steps()
        exact = self._numbers_at(count)
        common = self._at(exact, _core.astype(count + 1, _core.f64), columns)
        kept = [columns.of(f"the state's {name}", getattr(state, name)) for name in self._kept]
        weights = columns.of("the tree of weights", params) if self._reads_params else [None] * len(columns.leaves)
        numbers, made = {}, []
        is_spread = len({leaf.device for leaf in columns.leaves}) > 1
        for update, weight, *own in zip(columns.leaves, weights, *kept):
            kind = real_dtype(wide(update.dtype)), update.device
            if kind not in numbers:
                near = {name: beside(value, update) for name, value in common.items()} if is_spread else common
                numbers[kind] = Numbers(exact | near, kind[0])
            n = numbers[kind]
            made.append(self._one_widened(n, update, weight, own))
        following = {name: columns.tree([row[i + 1] for row in made]) for i, name in enumerate(self._kept)}
        return columns.tree([row[0] for row in made]), self._state(count + 1, following)

    def _one_widened(self, n, update, weight, kept):
        dtype = wide(update.dtype)
        weight = () if weight is None else (_core.astype(weight, dtype),)
        row = self._one(n, _core.astype(update, dtype), *weight, *(each if each.dtype.kind == "boolean" else widened(each) for each in kept))
        made, *following = row if isinstance(row, tuple) else (row,)
        return [made, *(_core.astype(new, old.dtype) for new, old in zip(following, kept))]

    def _has_count(self):
        return self._counts or bool(self._limits)

    def _state(self, count, kept):
        return State(count=count, **kept) if self._has_count() else State(**kept) if kept else ()

    def _begin(self, weight, n):
        return [_core.zeros_like(weight)] * len(self._kept)

    def _at(self, n, t, columns):
        """Further numbers of a step, f64[]; t is the number of steps with this one."""
        return {}

    def _one(self, n, update, *rest):
        raise NotImplementedError


def zero_steps():
    return _core.zeros((), dtype=_core.i64)


def square(x):
    """|x|², real."""
    return _core.square(_core.absolute(x)) if x.dtype.kind == "complex" else x * x


def sum_of(values, dtype=_core.f32):
    """The sum of the values; zero of the dtype if there are none."""
    values = list(values)
    return sum((beside(each, values[0]) for each in values[1:]), values[0]) if values else _core.zeros((), dtype=dtype)


def squared_norm(leaves):
    """The sum of |x|² over all leaves."""
    return sum_of(_core.sum_of_squares(widened(each)) for each in leaves)


def _like(new, old, function):
    leaves, structure = flatten(old)
    found, own = flatten(new)
    by_path = dict(zip(own.paths, found))
    return structure.unflatten([function(_core.astype(by_path[path], leaf.dtype), leaf) for path, leaf in zip(structure.paths, leaves)])


def cast_like(new, old):
    """The new tree in the dtypes of the old one."""
    return _like(new, old, lambda each, _: each)


def choose(condition, new, old):
    """The new tree where the condition is true, else the old one, in the dtypes of the old one."""
    return _like(new, old, lambda each, leaf: _core.where(condition, each, leaf))


def loss_scale_of(state):
    """The scale in a state, or None."""
    if "loss_scale" in getattr(state, "__dict__", ()):
        return state.loss_scale
    found = (loss_scale_of(child) for _, child in _core._children(state) or () if _core._children(child) is not None)
    return next((each for each in found if each is not None), None)


ALSO_TRANSFORMATIONS = {"Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LAMB", "LARS", "LBFGS", "Lion", "Muon", "NAdam", "RAdam",
                        "RMSprop", "Rprop", "SGD"}  # optimizers that have a lower-case name


def expect_transformation(what, value):
    if hasattr(value, "init") and hasattr(value, "update"):
        return value
    message = f"{what}: {in_words(value)} is not a gradient transformation"
    cls = value if isinstance(value, type) else type(value)
    if issubclass(cls, ModelOptimizer):
        name, message = cls.__name__, f"{what}: an optimizer, {cls.__name__}, is not a gradient transformation"
        raise errors.TypeError.with_hint(message, f"use the lower-case optim.{name.lower()}(…)" if name in ALSO_TRANSFORMATIONS else
                                         "those are the functions with lower-case names: optim.adamw(1e-3)")
    raise errors.TypeError.with_hint(message, "call the function: optim.adam(1e-3)")


def expect_function(what, value):
    if not callable(value):
        raise errors.TypeError(f"{what} is {in_words(value)}, expected a function")
    return value


def expect_dict(what, value, form):
    if not isinstance(value, dict):
        raise errors.TypeError(f"{what} is {in_words(value)}, expected a dict of {form}")
    return value


def update_of(inner, updates, state, params, extra):
    """inner.update, which gets the extra arguments if it takes any."""
    takes = isinstance(inner, GradientTransformation) or takes_extra(inner.update)
    return inner.update(updates, state, params, **(extra if takes else {}))


class identity(PerWeight):  # noqa: N801: optax's names
    """Passes the updates on unchanged.

    >>> tx = plait.optim.identity()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))
    ([ 1. -2.] : f32[2], ())
    """

    def __init__(self):
        pass

    def _one(self, n, update):
        return update


class set_to_zero(PerWeight):  # noqa: N801
    """Updates of zero.

    >>> tx = plait.optim.set_to_zero()
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.zeros(2)))[0]
    [0. 0.] : f32[2]
    """

    def __init__(self):
        pass

    def _one(self, n, update):
        return _core.zeros_like(update)


def stateless(f):
    """A transformation without a state, by a function of the updates and the weights.

    >>> tx = plait.optim.stateless(lambda updates, params: updates + 0.1 * params)
    >>> tx.update(plait.tensor([1.0, -2.0]), tx.init(plait.ones(2)), plait.ones(2))[0]
    [ 1.1 -1.9] : f32[2]
    """
    expect_function("optim.stateless: f", f)
    return GradientTransformation(lambda params: (), lambda updates, state, params: (f(updates, params), state))


def stateless_with_tree_map(f):
    """A transformation without a state, by a function of one update and its weight.

    >>> tx = plait.optim.stateless_with_tree_map(lambda update, weight: update * 2)
    >>> tx.update({"w": plait.tensor(1.0)}, tx.init({"w": plait.ones(())}), {"w": plait.ones(())})[0]
    {'w': 2. : f32[]}
    """
    expect_function("optim.stateless_with_tree_map: f", f)

    def update(updates, state, params):
        columns = Columns("optim.stateless_with_tree_map", updates)
        weights = [None] * len(columns.leaves) if params is None else columns.of("the tree of weights", params)
        return columns.tree([f(*row) for row in zip(columns.leaves, weights)]), state

    return GradientTransformation(lambda params: (), update)
