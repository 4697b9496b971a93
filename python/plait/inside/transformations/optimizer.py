"""Applies updates to weights."""

import functools

from plait import _core, errors
from plait.inside.optimizers.base import ModelOptimizer
from plait.inside.optimizers.weights import Weights
from plait.inside.transformations.transformation import Columns, expect_transformation, loss_scale_of, map_leaves, squared_norm, wide, zero_steps
from plait.inside.trees.module import copy_of
from plait.inside.trees.sharing import Distinct, apart, distinct
from plait.tree import flatten


def _applied(path, weight, update):
    if tuple(update.shape) != tuple(weight.shape) or (update.dtype.kind == "complex") > (weight.dtype.kind == "complex"):
        raise errors.ValueError.with_hint(f"optim.apply_updates: {path or 'the tree'} is {_type(weight)}, but its update is {_type(update)}",
                                          "a transformation returns updates of the shapes of the weights")
    dtype = wide(weight.dtype)
    return _core.astype(_core.astype(weight, dtype) + _core.astype(update, dtype), weight.dtype)


def _type(x):
    return f"{x.dtype.name}{list(x.shape)}"


def apply_updates(params, updates):
    """The weights plus their updates, in the dtypes of the weights.

    >>> plait.optim.apply_updates({"w": plait.tensor([1.0, 2.0])}, {"w": plait.tensor([0.5, -0.5])})
    {'w': [1.5 1.5] : f32[2]}
    """
    columns = Columns("optim.apply_updates", params)
    rows = zip(columns.paths, columns.leaves, columns.of("the tree of updates", updates))
    once = Distinct(rows, list(map(id, columns.leaves)))  # a tied weight is updated once
    made = dict(zip(columns.paths, once.spread([_applied(*row) for row in once.values])))
    leaves, structure = flatten(params)
    return structure.unflatten([made.get(path, leaf) for path, leaf in zip(structure.paths, leaves)])


def global_norm(updates):
    """The norm of all leaves together.

    >>> plait.optim.global_norm({"a": plait.tensor([3.0]), "b": plait.tensor(4.0)})
    5. : f32[]
    """
    _expect_tensors("optim.global_norm", updates)
    return _core.sqrt(squared_norm(distinct(Columns("optim.global_norm", updates).leaves).values))


def _expect_tensors(name, tree):
    """TypeError for arrays of other libraries and floats, which are not followed, and would count as 0."""
    leaves, structure = flatten(tree)
    found = [(path, leaf) for path, leaf in zip(structure.paths, leaves) if not isinstance(leaf, _core.Tensor)] + list(_floats(tree))
    for path, leaf in found:
        raise errors.TypeError.with_hint(f"{name}: {path or 'the tree'} is a {type(leaf).__name__}, expected a tensor", "plait.asarray makes one of it")


def _floats(tree, path=""):
    if isinstance(tree, (float, complex)):
        yield path, tree
    items = tree.items() if type(tree) is dict else enumerate(tree) if type(tree) in (list, tuple) else ()
    for name, each in items:
        yield from _floats(each, f"{path}.{name}" if path else str(name))


def incremental_update(new_tensors, old_tensors, step_size):
    """The average step_size · new + (1 - step_size) · old, for each leaf.

    >>> plait.optim.incremental_update({"w": plait.tensor(4.0)}, {"w": plait.tensor(0.0)}, 0.25)
    {'w': 1. : f32[]}
    """
    return map_leaves("optim.incremental_update", lambda new, old: step_size * new + (1.0 - step_size) * old, new_tensors, old_tensors)


def periodic_update(new_tensors, old_tensors, steps, update_period):
    """The new tensors if the number of steps is a multiple of the period, else the old ones.

    >>> [plait.optim.periodic_update(plait.tensor(1.0), plait.tensor(0.0), step, 2).item() for step in (1, 2)]
    [0.0, 1.0]
    """
    return map_leaves("optim.periodic_update", lambda new, old: _core.where(_core.equal(steps % update_period, 0), new, old),
                      new_tensors, old_tensors)


class Optimizer(ModelOptimizer):
    """An optimizer of a gradient transformation, whose updates are added to the weights. Further arguments of `update` are passed to
    the transformation; functions among them that take weights get a model.

    >>> model = plait.tensor([1.0, -2.0])
    >>> optimizer = plait.optim.Optimizer(plait.optim.sgd(0.5), model)
    >>> model, optimizer = optimizer.update(model, plait.tensor([1.0, 1.0]))
    >>> model, optimizer.steps
    ([ 0.5 -2.5] : f32[2], 1 : i64[])

    `lr` and `learning_rate` are the rate of the transformation, if one of its parts has one; they can be assigned, too.

    >>> optimizer.lr = 0.25
    >>> optimizer.transformation.learning_rate
    0.25 : f64[]
    """

    def __getattr__(self, name):
        return self._rate() if name in _RATES and "transformation" in vars(self) else super().__getattr__(name)

    def __setattr__(self, name, value):
        if name in _RATES:
            self._rate()
            transformation = copy_of(self.transformation)  # other optimizers may have it, too
            transformation.learning_rate = value
            name, value = "transformation", transformation
        super().__setattr__(name, value)

    def _rate(self):
        try:
            return self.transformation.learning_rate
        except AttributeError as error:
            raise errors.AttributeError.with_hint(f"Optimizer has no learning rate of its own: {str(error).partition(chr(10))[0]}",
                                                  "numbers are attributes of the transformation, or of its parts: "
                                                  "optimizer.transformation.learning_rate, optimizer.transformation.transformations[0]") from None

    def __init__(self, transformation, model):
        self.transformation = expect_transformation("optim.Optimizer", transformation)
        weights = Weights("optim.Optimizer", model).values
        leaves, structure = flatten(transformation.init(weights))
        self.state = structure.unflatten(apart(leaves, [*weights.values(), *flatten(transformation)[0]]))
        self.steps = zero_steps()

    @property
    def loss_scale(self):
        """The factor of the loss, with loss_scale in the transformation; else 1."""
        scale = loss_scale_of(self.state)
        return 1.0 if scale is None else scale

    def _of_model(self, weights, extra):
        found = {}
        for name, value in extra.items():
            if name in _FUNCTIONS and callable(value):
                value = _FUNCTIONS[name](value, weights)
            elif name == "grad":
                value = weights.of_gradient(value)
            found[name] = value
        return found

    def _step(self, weights, gradients, **extra):
        updates, self.state = self.transformation.update(gradients, self.state, weights, **extra)
        self.steps = self.steps + 1
        return apply_updates(weights, updates)


_RATES = ("lr", "learning_rate")


def _of_values(function, weights):
    """The function of weights by path, for one of a model."""
    @functools.wraps(function)
    def of_values(values, *rest, **named):
        return function(weights.with_values(values), *rest, **named)

    return of_values


def _gradient_of_values(function, weights):
    of_values = _of_values(function, weights)
    return lambda values, *rest, **named: weights.of_gradient(of_values(values, *rest, **named))


_FUNCTIONS = {"value_fn": _of_values, "obj_fn": _of_values, "grad_fn": _gradient_of_values}  # optax's names
