"""Pruned weights: weight_orig, which is trained, times weight_mask, a buffer. Names and numbers are those of torch.nn.utils.prune; a weight
that is pruned again keeps its mask, and only what remains is chosen from."""

import math
from numbers import Integral, Real

from plait import _core, errors
from plait.inside.arrays.devices import moved
from plait.inside.arrays.dtype_info import finfo
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words
from plait.inside.help.unused import expect_model_used
from plait.inside.layers.first_weights import drawn
from plait.inside.models.parametrizations import make_plain
from plait.inside.models.state import freeze_in, owner_of
from plait.inside.trees.buffers import Buffer, Names
from plait.inside.trees.computed import PRUNED, is_pruned as is_pruned_in, mask_of, original_of
from plait.inside.trees.module import copy_of, holds_module, modules_in
from plait.inside.trees.patterns import as_patterns, chosen
from plait.tree import flatten


class _Weight:
    """A weight of a model that is pruned, or may be: where it is, and its tensors."""

    def __init__(self, what, path, owner, name):
        self.what, self.path, self.owner, self.name = what, path, owner, name
        self.is_pruned = is_pruned_in(owner, name)
        self.original = getattr(owner, original_of(name) if self.is_pruned else name)
        self.mask = getattr(owner, mask_of(name)) if self.is_pruned else None
        if not isinstance(self.original, _core.Tensor) or self.original.dtype.kind not in ("floating", "complex"):
            raise errors.TypeError(f"{what}: {path} is not a weight that is an attribute of a Module")

    @property
    def value(self):
        return getattr(self.owner, self.name)

    @property
    def key(self):
        """Weights that are one tensor get one mask."""
        return id(self.original), id(self.mask)

    def ones(self):
        return _core.ones_like(_core.stop_gradient(self.original)) if self.mask is None else self.mask

    def set_mask(self, mask):
        owner, name = self.owner, self.name
        if not self.is_pruned:
            is_buffer, is_frozen = name in owner._buffers, name in owner._frozen
            delattr(owner, name)
            object.__setattr__(owner, PRUNED, Names(vars(owner).get(PRUNED, Names()) | {name}))
            setattr(owner, original_of(name), Buffer(self.original) if is_buffer else self.original)
            if is_frozen:
                freeze_in(owner, original_of(name))
        setattr(owner, mask_of(name), Buffer(mask))

    def remove(self, value):
        """Makes the weight a tensor again."""
        original = original_of(self.name)
        if original not in vars(self.owner):
            raise errors.TypeError.with_hint(f"{self.what}: {self.path} is computed from {original}, which is computed, too",
                                             f"plait.nn.remove_parametrizations(model, {original!r}) first")
        make_plain(self.owner, self.name, value)


def _weights(what, model, names, only_pruned=False):
    """The chosen weights of a model, each by the name that it has when it is not pruned."""
    if not holds_module(model):
        raise errors.TypeError(f"{what}: the model is {in_words(model)}, expected a Module, or a tree of them")
    found = {}
    for path in flatten(model)[1].paths:
        try:
            owner, name = owner_of(what, model, path)
        except errors.TypeError:  # beside the Modules of a tree
            continue
        above = path[:len(path) - len(name)]
        pruned = next((each for each in vars(owner).get(PRUNED, ()) if name in (original_of(each), mask_of(each))), None)
        if pruned is not None:
            found[above + pruned] = owner, pruned
        elif not only_pruned and "." not in name:
            found[path] = owner, name
    patterns = as_patterns(what, names)
    paths = chosen(what, patterns, found, "pruned weight" if only_pruned else "weight of the model")
    return [_Weight(what, path, *found[path]) for path in paths]


def _pruned(what, model, names, new_mask):
    """The model with new_mask(weight, one of the weights) as their masks."""
    made, masks = copy_of(model), {}
    for weight in _weights(what, made, names):
        if weight.key not in masks:
            masks[weight.key] = _core.astype(new_mask(weight), weight.original.dtype)
        weight.set_mask(masks[weight.key])
    expect_model_used(what, depth=3)
    return made


# ---- How many, and which.


def _amount(what, amount):
    if isinstance(amount, bool) or not isinstance(amount, Real):
        raise errors.TypeError(f"{what}: amount is {in_words(amount)}, expected a number: a count, 2, or a fraction, 0.5")
    is_count = isinstance(amount, Integral)
    if not (amount >= 0 if is_count else 0 <= amount <= 1):
        raise errors.ValueError(f"{what}: amount is {amount}, expected 0 or more of an integer, and of a fraction 0 to 1")
    return int(amount) if is_count else float(amount)


def _count(weight, amount, is_left, things):
    """How many of those that are left are pruned, a number or a tensor."""
    left = is_left.size if weight.mask is None else _core.sum(_core.astype(is_left, _core.i64))
    if isinstance(amount, float):
        return round(amount * left) if isinstance(left, int) else _core.astype(_core.round(amount * _core.astype(asarray(left), _core.f64)), _core.i64)
    said = f"{weight.what}: amount is {amount}, and {weight.path} has only "
    if isinstance(left, _core.Tensor) and left.is_traced:
        _core.check(amount <= left, f"{said}fewer {things} that are left")
    elif amount > int(left):
        raise errors.ValueError(f"{said}{int(left)} {things} that are left")
    return amount


def _without_least(scores, is_left, count):
    """True for those that are left, except as many as the count, whose scores are least."""
    limit = finfo(scores.dtype).max
    ranked = _core.where(is_left, _core.clip(scores, -limit, limit), math.inf)
    ranks = _core.argsort(_core.argsort(ranked, axis=-1, stable=True), axis=-1)
    return _core.logical_and(is_left, ranks >= count)


def _elements(weight, scores, amount):
    """The mask without the elements whose scores, a vector, are least."""
    before = _core.flatten(weight.ones())
    is_left = before == 1
    kept = _without_least(scores, is_left, _count(weight, amount, is_left, "elements"))
    return _core.reshape(_core.where(is_left, _core.astype(kept, before.dtype), before), weight.original.shape)


def _channels(weight, scores, amount, dim):
    """The mask without the slices along dim whose scores are least; a slice that has no element left does not count."""
    before = weight.ones()
    others = tuple(axis for axis in range(before.ndim) if axis != dim)
    is_left = _core.sum(before, axis=others) != 0
    kept = _without_least(scores, is_left, _count(weight, amount, is_left, "channels"))
    return before * _core.astype(_along(kept, dim, before.ndim), before.dtype)


def _along(vector, dim, ndim):
    return _core.reshape(vector, [-1 if axis == dim else 1 for axis in range(ndim)])


def _checked_dim(weight, dim):
    shape = list(weight.original.shape)
    if len(shape) < 2:
        raise errors.ShapeError(f"{weight.what}: {weight.path} is {shape}, expected at least two dimensions: channels are slices along one of them")
    if isinstance(dim, bool) or not isinstance(dim, Integral):
        raise errors.TypeError(f"{weight.what}: dim is {in_words(dim)}, expected an integer")
    if not -len(shape) <= dim < len(shape):
        raise errors.IndexError(f"{weight.what}: dim is {dim}, out of range for {weight.path}, {shape}")
    return dim % len(shape)


def _given_by_name(what, given, name):
    """Tensors of a dict by the names of weights, or one tensor: a function of a weight."""
    def of(weight):
        found = given.get(weight.path) if isinstance(given, dict) else given
        if found is None:
            return None
        found = found if isinstance(found, _core.Tensor) else _beside(asarray(found), weight.original)
        if tuple(found.shape) != tuple(weight.original.shape):
            raise errors.ShapeError(f"{what}: {name} of {weight.path} is {list(found.shape)}, expected {list(weight.original.shape)}")
        return found

    return of


def _beside(found, tensor):
    """An array of NumPy on the device of a tensor."""
    return found if tensor.is_traced or not tensor.is_cuda else moved(found, str(tensor.device))


def _scores(what, importance_scores):
    given = _given_by_name(what, importance_scores, "importance_scores")

    def of(weight):
        found = given(weight)
        found = _core.stop_gradient(weight.value if found is None else found)
        return found if found.dtype.kind in ("floating", "complex") else _core.astype(found, _core.f64)

    return of


def _expect_known(what, given, model, names, name):
    """ValueError if a dict has a name that is not one of the weights."""
    if isinstance(given, dict):
        paths = [each.path for each in _weights(what, model, names)]
        unknown = next((each for each in given if each not in paths), None)
        if unknown is not None:
            raise errors.ValueError(f"{what}: {name} has {unknown!r}, which is not one of the weights that are pruned: {', '.join(paths[:8])}")


# ---- For users.


def identity(model, name):
    """The model whose weights of this name, or of names that match the pattern, are pruned by masks of ones: nothing is pruned yet.

    >>> layer = plait.nn.utils.prune.identity(plait.nn.Linear(2, 1), "weight")
    >>> layer.weight_mask
    [[1. 1.]] : f32[1, 2]
    """
    return _pruned("nn.utils.prune.identity", model, name, lambda weight: weight.ones())


def l1_unstructured(model, name, amount, importance_scores=None):
    """The model whose weights of this name, or of names that match the pattern, lose the elements of the least absolute values: a count
    of them, 2, or a fraction, 0.5, of what is left. importance_scores is a tensor that decides instead of the weight, or a dict of
    them by name.

    >>> layer = plait.nn.Linear(3, 1)
    >>> layer.weight = plait.tensor([[3.0, -1.0, 2.0]])
    >>> layer = plait.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
    >>> layer.weight, list(plait.nn.state(layer))
    ([[3. 0. 2.]] : f32[1, 3], ['bias', 'weight_orig', 'weight_mask'])
    """
    what = "nn.utils.prune.l1_unstructured"
    amount, scores = _amount(what, amount), _scores(what, importance_scores)
    _expect_known(what, importance_scores, model, name, "importance_scores")
    return _pruned(what, model, name, lambda weight: _elements(weight, _core.flatten(_core.absolute(scores(weight))), amount))


def random_unstructured(model, name, amount, *, key=None):
    """Like l1_unstructured, but elements are chosen at random, by a key or the next of the default stream.

    >>> layer = plait.nn.utils.prune.random_unstructured(plait.nn.Linear(4, 5), "weight", amount=0.25)
    >>> plait.sum(layer.weight_mask)
    15. : f32[]
    """
    what, keys = "nn.utils.prune.random_unstructured", _Keys(key)
    amount = _amount(what, amount)
    return _pruned(what, model, name, lambda weight: _elements(weight, keys.uniform(weight.original.size), amount))


def ln_structured(model, name, amount, n, dim, importance_scores=None):
    """The model whose weights of this name, or of names that match the pattern, lose the slices along dim of the least norms: a count of
    them, 2, or a fraction, 0.5, of those that are left. n is the order of the norm, a number or "fro"; "nuc" for slices that are matrices.

    >>> layer = plait.nn.Linear(2, 3)
    >>> layer.weight = plait.tensor([[1.0, 2.0], [0.5, -0.5], [3.0, 0.0]])
    >>> plait.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight
    [[ 1.  2.]
     [ 0. -0.]
     [ 3.  0.]] : f32[3, 2]
    """
    what = "nn.utils.prune.ln_structured"
    amount, scores = _amount(what, amount), _scores(what, importance_scores)
    if n not in ("fro", "nuc") and (isinstance(n, bool) or not isinstance(n, Real) or math.isnan(n)):
        raise errors.ValueError(f"{what}: n is {in_words(n)}, expected the order of a norm: a number, 'fro' or 'nuc'")
    _expect_known(what, importance_scores, model, name, "importance_scores")

    def new_mask(weight):
        axis = _checked_dim(weight, dim)
        return _channels(weight, _norms(weight, _core.moveaxis(scores(weight), axis, 0), n), amount, axis)

    return _pruned(what, model, name, new_mask)


def _norms(weight, slices, n):
    """The norm of each slice along the first axis."""
    if n == "nuc":
        if slices.ndim != 3:
            raise errors.ShapeError(f"{weight.what}: n is 'nuc', and {weight.path} is {list(weight.original.shape)}, expected three dimensions: slices "
                                    "that are matrices")
        return _core.linalg.matrix_norm(slices, "nuc")
    return _core.linalg.norm(_core.reshape(slices, (slices.shape[0], math.prod(slices.shape[1:]))), 2.0 if n == "fro" else float(n), axis=1)


def random_structured(model, name, amount, dim, *, key=None):
    """Like ln_structured, but slices are chosen at random, by a key or the next of the default stream.

    >>> layer = plait.nn.utils.prune.random_structured(plait.nn.Linear(4, 5), "weight", amount=2, dim=0)
    >>> plait.sum(plait.sum(layer.weight_mask, axis=1) == 0)
    2 : i64[]
    """
    what, keys = "nn.utils.prune.random_structured", _Keys(key)
    amount = _amount(what, amount)

    def new_mask(weight):
        axis = _checked_dim(weight, dim)
        return _channels(weight, keys.uniform(weight.original.shape[axis]), amount, axis)

    return _pruned(what, model, name, new_mask)


class _Keys:
    """Keys for several draws, derived from one."""

    def __init__(self, key):
        self._key = key

    def uniform(self, size):
        self._key, own = _core.random.split_key(drawn(self._key), 2)
        return _core.random.uniform(own, (size,))


class _All:
    """All weights that are pruned together, as one vector."""

    def __init__(self, what, weights):
        self.what, self.path, self._weights = what, "the model", weights
        self.original = _core.concat([_core.flatten(_core.stop_gradient(each.original)) for each in weights])
        self.mask = None if all(each.mask is None for each in weights) else self.ones()

    def ones(self):
        return _core.concat([_core.flatten(_core.astype(each.ones(), self.original.dtype)) for each in self._weights])

    def parts(self, vector):
        begin = 0
        for each in self._weights:
            end = begin + each.original.size
            yield _core.reshape(vector[begin:end], each.original.shape)
            begin = end


def global_unstructured(model, names, pruning_method="l1_unstructured", importance_scores=None, *, amount, key=None):
    """The model whose weights of these names, which may be patterns, lose the elements that are least among all of them together. The method
    is l1_unstructured or random_unstructured, or its name. importance_scores is a dict by name of tensors that decide instead of the weights.

    >>> model = plait.nn.Sequential(plait.nn.Linear(2, 3), plait.nn.Linear(3, 1))
    >>> model = plait.nn.utils.prune.global_unstructured(model, "*.weight", amount=4)
    >>> plait.sum(model[0].weight_mask) + plait.sum(model[1].weight_mask)
    5. : f32[]
    """
    what = "nn.utils.prune.global_unstructured"
    amount = _amount(what, amount)
    methods, method = (l1_unstructured, random_unstructured), getattr(pruning_method, "__wrapped__", pruning_method)
    method = next((each for each in methods if method is each or isinstance(method, str) and method == each.__name__), None)
    if method is None:
        raise errors.TypeError(f"{what}: pruning_method is {in_words(pruning_method)}, expected prune.l1_unstructured or prune.random_unstructured")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise errors.TypeError(f"{what}: importance_scores is {in_words(importance_scores)}, expected a dict of tensors by name")
    _expect_known(what, importance_scores, model, names, "importance_scores")
    made, scores = copy_of(model), _scores(what, importance_scores)
    weights = _weights(what, made, names)
    once = list({each.key: each for each in weights}.values())
    together = _All(what, once)
    if method is l1_unstructured:
        values = _core.concat([_core.flatten(_core.absolute(scores(each))) for each in once])
    else:
        values = _Keys(key).uniform(together.original.size)
    parts = together.parts(_elements(together, values, amount))
    masks = {each.key: _core.astype(part, each.original.dtype) for each, part in zip(once, parts)}
    for each in weights:
        each.set_mask(masks[each.key])
    expect_model_used(what)
    return made


def custom_from_mask(model, name, mask):
    """The model whose weights of this name, or of names that match the pattern, have the mask, times the one that they had: a tensor
    of the shape of the weight, or a dict of tensors by name.

    >>> layer = plait.nn.utils.prune.custom_from_mask(plait.nn.Linear(2, 1), "weight", plait.tensor([[0, 1]]))
    >>> layer.weight[0, 0].item()
    0.0
    """
    what = "nn.utils.prune.custom_from_mask"
    if isinstance(mask, (type(None), str)) or callable(mask):
        raise errors.TypeError(f"{what}: mask is {in_words(mask)}, expected a tensor, or a dict of tensors by name")
    _expect_known(what, mask, model, name, "mask")
    given = _given_by_name(what, mask, "mask")

    def new_mask(weight):
        found = given(weight)
        if found is None:
            raise errors.ValueError(f"{what}: mask has no {weight.path!r}")
        return weight.ones() * _core.astype(found, weight.original.dtype)

    return _pruned(what, model, name, new_mask)


def remove(model, name="*"):
    """The model whose pruned weights of this name, or of names that match the pattern, are plain tensors of the values that they have: what
    is pruned stays 0, and is trained again.

    >>> layer = plait.nn.utils.prune.l1_unstructured(plait.nn.Linear(2, 1), "weight", amount=1)
    >>> list(plait.nn.state(plait.nn.utils.prune.remove(layer, "weight")))
    ['bias', 'weight']
    """
    made, values = copy_of(model), {}
    for weight in _weights("nn.utils.prune.remove", made, name, only_pruned=True):
        if weight.key not in values:
            values[weight.key] = weight.value
        weight.remove(values[weight.key])
    expect_model_used("nn.utils.prune.remove")
    return made


def is_pruned(model):
    """True if a weight of the model is pruned.

    >>> plait.nn.utils.prune.is_pruned(plait.nn.Linear(2, 1))
    False
    """
    if not holds_module(model):
        raise errors.TypeError(f"nn.utils.prune.is_pruned: the model is {in_words(model)}, expected a Module, or a tree of them")
    return any(vars(each).get(PRUNED) for each in modules_in(model))
