"""The weights of a model as optimizers see them: a dict from paths to tensors."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.trees.buffers import FROZEN, expect_frozen_at_all_places, of_structure as buffers_of
from plait.inside.trees.given import expect_tree
from plait.inside.trees.module import modules_in
from plait.inside.trees.patterns import expect_distinct
from plait.inside.trees.roles import expect_in_place, mark_parameters
from plait.inside.trees.sharing import Distinct
from plait.tree import flatten, map as map_tree

_ANOTHER_TREE = ("plait.grad(loss_of)(model) returns the gradient as a model of the same structure; gradients are added by "
                 "plait.optim.apply_updates(one, other), since + joins Sequentials and lists")
NO_WEIGHTS = "Python numbers and NumPy arrays in a Module are not weights: plait.tensor(2.0) is one"


def is_inexact(leaf):
    return leaf.dtype.kind in ("floating", "complex")


def _without_weights(name, model):
    if any(each._frozen for each in modules_in(model)):
        return errors.ValueError.with_hint(f"{name}: all weights of the model are frozen", 'plait.nn.freeze(model, "encoder.*") freezes some, '
                                           'model = plait.nn.unfreeze(model, "head.*") trains them again')
    return errors.ValueError.with_hint(f"{name}: the model has no weights", NO_WEIGHTS)


class Weights:
    """The weights of a model: `values` maps the path of each to its tensor. Buffers, frozen weights and integers are left out, and
    a tensor at several places is at its first path only; `names` has all its paths, and `paths` are those of all tensors. `name` is the
    optimizer's, for errors."""

    def __init__(self, name, model):
        self._name, self._model = name, model
        expect_tree(f"{name}: the model", model)
        self._leaves, self._structure = flatten(map_tree(asarray, model))
        expect_distinct(name, self._structure.paths)
        buffers = buffers_of(self._structure)
        expect_frozen_at_all_places(name, self._leaves, self._structure, buffers)
        self._is_trained = [not is_buffer and is_inexact(leaf) for leaf, is_buffer in zip(self._leaves, buffers)]
        self._once = Distinct(list(zip(self._structure.paths, self._leaves, self._is_trained)), list(zip(map(id, self._leaves), self._is_trained)))
        self.values = {path: leaf for path, leaf, is_trained in self._once.values if is_trained}
        if not self.values:
            raise _without_weights(name, model)
        self.paths, several = self._structure.paths, {}
        for path, place in zip(self.paths, self._once.places):
            several.setdefault(place, []).append(path)
        self.names = {paths[0]: paths for paths in several.values() if paths[0] in self.values}

    def frozen(self):
        """The paths of the frozen weights."""
        return {path for path, is_frozen in zip(self._structure.paths, buffers_of(self._structure, (FROZEN,))) if is_frozen}

    def of_gradient(self, gradient):
        """The gradient by path, checked: it is like the model. That of complex weights is conjugated, so that it points uphill: `grad`
        returns ∂/∂x - i ∂/∂y (docs/differentiation.md)."""
        name = self._name
        if gradient is None:
            raise errors.TypeError.with_hint(f"{name}: the gradient is missing", "loss, gradient = plait.value_and_grad(loss_of)(model), then "
                                             "model, optimizer = optimizer.update(model, gradient)")
        leaves, structure = flatten(gradient)
        found = dict(zip(structure.paths, leaves))
        trained = [leaf for leaf in leaves if isinstance(leaf, _core.Tensor) and is_inexact(leaf)]
        expect_in_place(name, list(self.values.values()), trained)
        paths = self.paths
        for path in [path for path in found if path not in set(paths)]:
            raise errors.ValueError.with_hint(f"{name}: the gradient has {path!r}, which the model does not have; its leaves are "
                                              f"{paths[:8]}", NO_WEIGHTS if path in _core._flatten(self._model, numbers=True)[1].paths else _ANOTHER_TREE)
        first_paths = self._once.spread([path for path, _, _ in self._once.values])
        for path, first, leaf, is_trained in zip(paths, first_paths, self._leaves, self._is_trained):
            if not is_trained:
                continue
            if path not in found:
                raise errors.ValueError(f"{name}: the gradient has no {path!r}, which the model has; its leaves are {list(found)[:8]}")
            if found[path] is not found.get(first):
                raise errors.ValueError(f"{name}: {path} is a tensor that the model has at two places, but the gradient has different tensors "
                                        "there\n  hint: grad returns one gradient for it; plait.tree.map and plait.jit keep it tied")
            if tuple(found[path].shape) != tuple(leaf.shape):
                raise errors.ShapeError(f"{name}: {path or 'the model'} is {list(leaf.shape)}, the gradient of it {list(found[path].shape)}")
        return {path: _core.conj(found[path]) if value.dtype.kind == "complex" else found[path] for path, value in self.values.items()}

    def model_with(self, values):
        """The model with other weights, by path, which are then known as weights."""
        mark_parameters([values[path] for path in self.values])
        return self.with_values(values)

    def with_values(self, values):
        """The model with other weights, by path."""
        made = [values[path] if is_trained else leaf for path, leaf, is_trained in self._once.values]
        return self._structure.unflatten(self._once.spread(made))


def with_states_of_frozen(before, after, frozen):
    """The state after a step, with the parts of the one before that belong to weights which are frozen now: they go on when the weights are
    trained again."""
    if not frozen:
        return after
    leaves, structure = flatten(before)
    following, following_structure = flatten(after)
    found = dict(zip(following_structure.paths, following))
    is_kept = [path in found or any(path == each or path.endswith(f".{each}") for each in frozen) for path in structure.paths]
    if len(found) == len(leaves) or not all(is_kept) or found.keys() - set(structure.paths):
        return after
    return structure.unflatten([found.get(path, leaf) for path, leaf in zip(structure.paths, leaves)])


def expect_shapes(name, what, tree, shapes):
    """ValueError if a dict by path, such as a state, has not these paths and shapes."""
    hint = "the optimizer was made for another model: make one for this model"
    for path, shape in shapes.items():
        if path not in tree:
            raise errors.ValueError.with_hint(f"{name}: {what} has no {path!r}, which the model has", hint)
        if tuple(tree[path].shape) != shape:
            raise errors.ShapeError(f"{name}: {what} of {path or 'the model'} is {list(tree[path].shape)}, expected {list(shape)}")
    for path in tree.keys() - shapes.keys():
        raise errors.ValueError.with_hint(f"{name}: {what} has {path!r}, which the model does not have as a weight", hint)


def expect_devices(name, path, weight, gradient, states, error):
    """DeviceError if a state of a weight, or its gradient, is elsewhere than the weight."""
    place, path = weight.device, path or "the model"
    if gradient.device != place:
        raise errors.DeviceError.with_hint(f"{name}: {path} is on {place}, and its gradient on {gradient.device}",
                                           "compute the gradient by this model") from error
    for each, state in states.items():
        if state.device != place:
            raise errors.DeviceError.with_hint(
                f"{name}: {path} is on {place}, and the optimizer's state.{each}[{path!r}] on {state.device}",
                f'make the optimizer after the model was moved; or move it: optimizer = plait.to_device(optimizer, "{place}")') from error
