"""Transformations of transformations: one after another, or each on some of the weights."""

from plait import _core, errors
from plait.inside.optimizers.numbers import pair
from plait.inside.trees.patterns import as_patterns, chosen, matches
from plait.inside.transformations.transformation import (Columns, GradientTransformation, State, expect_dict, expect_transformation, set_to_zero,
                                                    update_of)


class Composite(GradientTransformation):
    """The numbers of the parts can be read and assigned by name, if one part has the name."""

    def _parts(self):
        raise NotImplementedError

    def _names(self):
        return [*super()._names(), *(name for part in self._parts() if isinstance(part, GradientTransformation) for name in part._names())]

    def _owners(self, name):
        found = []
        for part in self._parts():
            if isinstance(part, Composite):
                found += part._owners(name)
            elif name in getattr(part, "_limits", ()):
                found.append(part)
        return found

    def __getattr__(self, name):
        owners = [] if name.startswith("_") or not self._is_made() else self._owners(name)
        if len(owners) == 1:
            return getattr(owners[0], name)
        if owners:
            raise errors.AttributeError(f"{self._name()}: {len(owners)} parts have {name}: take that of one part")
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        owners = self._owners(name) if self._is_made() and name not in vars(self) else []
        if len(owners) > 1:
            raise errors.AttributeError(f"{self._name()}: {len(owners)} parts have {name}: assign that of one part")
        if owners:
            return setattr(owners[0], name, value)
        super().__setattr__(name, value)

    def _is_made(self):
        return "transformations" in vars(self) or "inner" in vars(self)


class chain(Composite):  # noqa: N801: optax's names
    """Applies transformations one after another.

    >>> tx = plait.optim.chain(plait.optim.clip(1.0), plait.optim.scale(-0.1))
    >>> tx.update(plait.tensor([3.0, -0.5]), tx.init(plait.zeros(2)))[0]
    [-0.1   0.05] : f32[2]
    >>> tx.step_size
    -0.1 : f64[]
    """

    def __init__(self, *args):
        self.transformations = tuple(expect_transformation("optim.chain", each) for each in args)

    def _parts(self):
        return self.transformations

    def init(self, params):
        return tuple(each.init(params) for each in self.transformations)

    def update(self, updates, state, params=None, **extra):
        if len(state) != len(self.transformations):
            raise errors.ValueError(f"optim.chain: the state has {len(state)} parts, expected {len(self.transformations)}")
        following = []
        for each, own in zip(self.transformations, state):
            updates, own = update_of(each, updates, own, params, extra)
            following.append(own)
        return updates, tuple(following)


class named_chain(Composite):  # noqa: N801
    """Applies transformations one after another, given as pairs of a name and a transformation; the state is a dict by these names.

    >>> tx = plait.optim.named_chain(("clip", plait.optim.clip(1.0)), ("scale", plait.optim.scale(-0.1)))
    >>> list(tx.init(plait.zeros(2)))
    ['clip', 'scale']
    """

    def __init__(self, *args):
        names = [pair("optim.named_chain: an argument", each, "a pair: a name and a transformation")[0] for each in args]
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise errors.ValueError(f"optim.named_chain: the names are {names}, expected different strings")
        self.transformations = {name: expect_transformation(f"optim.named_chain: {name}", each) for name, each in args}

    def _parts(self):
        return self.transformations.values()

    def init(self, params):
        return {name: each.init(params) for name, each in self.transformations.items()}

    def update(self, updates, state, params=None, **extra):
        following = {}
        for name, each in self.transformations.items():
            updates, following[name] = update_of(each, updates, state[name], params, extra)
        return updates, following


_MISSING = object()


def _at_path(tree, path):
    """The subtree of a tree, or of the beginning of one, at a path."""
    children = _core._children(tree)
    if children is None:
        return tree
    for name, child in children:
        name = str(name)
        found = _at_path(child, path[len(name) + 1:]) if path == name or path.startswith(f"{name}.") else _MISSING
        if found is not _MISSING:
            return found
    return _MISSING


def _is_pattern(value):
    return isinstance(value, str) and any(each in value for each in "*?[")


def masked_paths(what, choice, columns, tree):
    """For each path, whether a mask has it."""
    choice = choice(tree) if callable(choice) else choice
    if isinstance(choice, bool):
        return [choice] * len(columns.paths)
    if isinstance(choice, str) or isinstance(choice, (list, tuple)) and choice and all(isinstance(each, str) for each in choice):
        found = set(chosen(what, as_patterns(what, choice), columns.paths, "weight"))
        return [path in found for path in columns.paths]
    found = labels_of(what, choice, columns)
    for path, each in zip(columns.paths, found):
        if not isinstance(each, bool):
            raise errors.TypeError(f"{what}: the mask of {path!r} is {each!r}, expected True or False")
    return found


def labels_of(what, labels, columns):
    """For each path, its label in a tree of labels."""
    found = [_at_path(labels, path) for path in columns.paths]
    for path, each in zip(columns.paths, found):
        if each is _MISSING:
            raise errors.ValueError.with_hint(f"{what}: nothing for the weight {path!r}",
                                              "give it a place in the tree, or use patterns such as '*.bias'")
    return found


def _parts_of(columns, tree, are_in):
    """The leaves of a tree at the chosen paths, as a dict by path."""
    if tree is None:
        return None
    return {path: leaf for path, leaf, is_in in zip(columns.paths, columns.of("the tree of weights", tree), are_in) if is_in}


class masked(Composite):  # noqa: N801
    """Applies a transformation to some of the weights; the updates of the others pass unchanged. The mask is a tree of True and False,
    a function that returns one for the weights, or patterns of paths.

    >>> tx = plait.optim.masked(plait.optim.scale(2.0), "*.weight")
    >>> params = {"first": {"weight": plait.ones(1), "bias": plait.ones(1)}}
    >>> tx.update(params, tx.init(params))[0]
    {'first': {'weight': [2.] : f32[1], 'bias': [1.] : f32[1]}}
    """

    def __init__(self, inner, mask, *, mask_compatible_extra_args=False):
        self.mask, self.mask_compatible_extra_args = mask, mask_compatible_extra_args
        self.inner = expect_transformation(self._name(), inner)

    def _parts(self):
        return [self.inner]

    def init(self, params):
        columns = Columns(self._name(), params)
        return State(inner_state=self.inner.init(_parts_of(columns, params, masked_paths(self._name(), self.mask, columns, params))))

    def update(self, updates, state, params=None, **extra):
        columns = Columns(self._name(), updates)
        are_in = masked_paths(self._name(), self.mask, columns, updates)
        if self.mask_compatible_extra_args:
            extra = {name: _parts_of(columns, value, are_in) if _is_alike(columns, value) else value for name, value in extra.items()}
        some = _parts_of(columns, updates, are_in)
        made, inner = update_of(self.inner, some, state.inner_state, _parts_of(columns, params, are_in), extra)
        return columns.tree([made.get(path, leaf) for path, leaf in zip(columns.paths, columns.leaves)]), State(inner_state=inner)


def _is_alike(columns, value):
    return _core._children(value) is not None and Columns("optim.masked", value).paths == columns.paths


class partition(Composite):  # noqa: N801
    """Applies a transformation to each group of weights: a dict of them by label, and the labels as a tree, a function that returns one
    for the weights, or a dict from patterns of paths to labels, of which the first that matches counts.

    >>> tx = plait.optim.partition({"slow": plait.optim.sgd(0.1), "fast": plait.optim.sgd(1.0)}, {"*.bias": "fast", "*": "slow"})
    >>> params = {"first": {"weight": plait.ones(1), "bias": plait.ones(1)}}
    >>> tx.update(params, tx.init(params))[0]
    {'first': {'weight': [-0.1] : f32[1], 'bias': [-1.] : f32[1]}}
    """

    def __init__(self, transforms, param_labels, *, mask_compatible_extra_args=False):
        expect_dict("optim.partition: transforms", transforms, "transformations by label")
        self.param_labels, self.mask_compatible_extra_args = param_labels, mask_compatible_extra_args
        self.transformations = {label: expect_transformation(f"optim.partition: {label}", each) for label, each in transforms.items()}

    def _parts(self):
        return self.transformations.values()

    def _labels(self, columns, tree):
        labels = self.param_labels(tree) if callable(self.param_labels) else self.param_labels
        if isinstance(labels, dict) and any(map(_is_pattern, labels)):
            chosen("optim.partition", list(labels), columns.paths, "weight")
            found = [next((label for pattern, label in labels.items() if matches(path, (pattern,))), None) for path in columns.paths]
        else:
            found = labels_of("optim.partition", labels, columns)
        for path, label in zip(columns.paths, found):
            if label is None:
                raise errors.ValueError.with_hint(f"optim.partition: no pattern matches the weight {path!r}", "add '*' as the last pattern")
            if label not in self.transformations:
                raise errors.ValueError(f"optim.partition: the label of {path!r} is {label!r}, which has no transformation; there are "
                                        f"{list(self.transformations)}")
        return found

    def _masked(self, labels):
        for label, each in self.transformations.items():
            mask = [own == label for own in labels]
            yield label, masked(each, lambda tree, mask=mask: Columns("optim.partition", tree).tree(mask),
                                mask_compatible_extra_args=self.mask_compatible_extra_args)

    def init(self, params):
        labels = self._labels(Columns("optim.partition", params), params)
        return State(inner_states={label: each.init(params) for label, each in self._masked(labels)})

    def update(self, updates, state, params=None, **extra):
        labels = self._labels(Columns("optim.partition", updates), updates)
        following = {}
        for label, each in self._masked(labels):
            updates, following[label] = each.update(updates, state.inner_states[label], params, **extra)
        return updates, State(inner_states=following)


multi_transform = partition


def freeze(mask):
    """Sets the updates of some weights to zero; a mask as in `masked` says of which.

    >>> tx = plait.optim.freeze({"w": False, "b": True})
    >>> params = {"w": plait.ones(1), "b": plait.ones(1)}
    >>> tx.update(params, tx.init(params))[0]
    {'w': [1.] : f32[1], 'b': [0.] : f32[1]}
    """
    return masked(set_to_zero(), mask)


def selective_transform(optimizer, *, freeze_mask):
    """Applies a transformation to the weights that are not frozen; the updates of the frozen ones are zero, without a state.

    >>> tx = plait.optim.selective_transform(plait.optim.sgd(0.1), freeze_mask={"w": False, "b": True})
    >>> params = {"w": plait.ones(1), "b": plait.ones(1)}
    >>> tx.update(params, tx.init(params))[0]
    {'w': [-0.1] : f32[1], 'b': [0.] : f32[1]}
    """
    def labels(params):
        columns = Columns("optim.selective_transform", params)
        return columns.tree(["freeze" if each else "train" for each in masked_paths("optim.selective_transform", freeze_mask, columns, params)])

    return partition({"train": optimizer, "freeze": set_to_zero()}, labels)


class flatten(Composite):  # noqa: N801
    """Applies a transformation to all weights as one vector.

    >>> tx = plait.optim.flatten(plait.optim.normalize())
    >>> params = {"w": plait.tensor([3.0]), "b": plait.tensor([4.0])}
    >>> tx.update(params, tx.init(params))[0]
    {'w': [0.6] : f32[1], 'b': [0.8] : f32[1]}
    """

    def __init__(self, inner):
        self.inner = expect_transformation("optim.flatten", inner)

    def _parts(self):
        return [self.inner]

    @staticmethod
    def _vector(tree):
        return None if tree is None else _core.concat([_core.reshape(each, (-1,)) for each in Columns("optim.flatten", tree).leaves], axis=0)

    def init(self, params):
        return self.inner.init(self._vector(params))

    def update(self, updates, state, params=None, **extra):
        columns = Columns("optim.flatten", updates)
        vector, state = update_of(self.inner, self._vector(updates), state, self._vector(params), extra)
        made, begin = [], 0
        for leaf in columns.leaves:
            end = begin + leaf.size
            made.append(_core.reshape(vector[begin:end], leaf.shape))
            begin = end
        return columns.tree(made), state
