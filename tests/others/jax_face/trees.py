"""JAX's trees: numbers are leaves, dicts are ordered by their sorted keys, and classes are registered."""

import collections

from face.values import faced, tensor_of

_registered = {}  # type: (flatten, unflatten)


def children_of(tree):
    """(kind, auxiliary data, children), or None for a leaf."""
    kind = type(tree)
    if kind in _registered:
        children, beside = _registered[kind][0](tree)
        return kind, beside, list(children)
    if tree is None:
        return kind, None, []
    if kind in (list, tuple):
        return kind, None, list(tree)
    if kind is dict or kind is collections.OrderedDict or kind is collections.defaultdict:
        names = tuple(sorted(tree)) if kind is not collections.OrderedDict else tuple(tree)
        return kind, (names, getattr(tree, "default_factory", None)), [tree[name] for name in names]
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind, None, list(tree)
    return None


def made_of(kind, beside, children):
    if kind in _registered:
        return _registered[kind][1](beside, tuple(children))
    if kind is type(None):
        return None
    if kind in (list, tuple):
        return kind(children)
    if kind is collections.defaultdict:
        return collections.defaultdict(beside[1], zip(beside[0], children))
    if kind in (dict, collections.OrderedDict):
        return kind(zip(beside[0], children))
    return kind(*children)


class TreeDef:
    """A tree without its leaves."""

    def __init__(self, node):
        self.node = node  # (kind, auxiliary data, TreeDefs), or None for a leaf

    @property
    def num_leaves(self):
        return 1 if self.node is None else sum(each.num_leaves for each in self.node[2])

    def unflatten(self, leaves):
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves):
        if self.node is None:
            return next(leaves)
        kind, beside, below = self.node
        return made_of(kind, beside, [each._unflatten(leaves) for each in below])

    def __eq__(self, other):
        return isinstance(other, TreeDef) and self.node == other.node

    def __hash__(self):
        return hash(repr(self))

    def __repr__(self):
        return "*" if self.node is None else f"{self.node[0].__name__}{self.node[1] or ''}{self.node[2]}"


def flatten(tree, is_leaf=None):
    leaves = []

    def look(tree):
        node = None if is_leaf is not None and is_leaf(tree) else children_of(tree)
        if node is None:
            leaves.append(tree)
            return TreeDef(None)
        return TreeDef((node[0], node[1], [look(each) for each in node[2]]))

    return leaves, look(tree)


def structure(tree, is_leaf=None):
    return flatten(tree, is_leaf)[1]


def leaves(tree, is_leaf=None):
    return flatten(tree, is_leaf)[0]


def unflatten(form, leaves):
    return form.unflatten(leaves)


def map(function, tree, *others, is_leaf=None):
    first, form = flatten(tree, is_leaf)
    columns = [first] + [_up_to(form, other) for other in others]
    return form.unflatten([function(*each) for each in zip(*columns)])


def _up_to(form, tree):
    """The subtrees of a tree at the positions of the leaves of a structure."""
    if form.node is None:
        return [tree]
    node = children_of(tree)
    if node is None or node[0] is not form.node[0] or len(node[2]) != len(form.node[2]):
        raise ValueError(f"another tree than {form}")
    return [leaf for below, child in zip(form.node[2], node[2]) for leaf in _up_to(below, child)]


def spread(prefix, form):
    """Broadcasts a prefix tree: its value for each leaf."""
    if form.node is None:
        return [prefix]
    node = children_of(prefix) if prefix is not None else None
    if node is None or prefix is None:
        return [prefix] * form.num_leaves
    if node[0] is not form.node[0] and not {node[0], form.node[0]} <= {list, tuple} or len(node[2]) != len(form.node[2]):
        raise ValueError(f"{prefix} is no beginning of {form}")
    return [each for below, child in zip(form.node[2], node[2]) for each in spread(child, below)]


def register_pytree_node(kind, to_children, from_children, *_):
    _registered[kind] = (to_children, from_children)


def register_pytree_node_class(kind):
    register_pytree_node(kind, lambda tree: tree.tree_flatten(), kind.tree_unflatten)
    return kind


def register_dataclass(kind, data_fields=None, meta_fields=None, drop_fields=()):
    import dataclasses

    if data_fields is None:
        data_fields = [each.name for each in dataclasses.fields(kind) if not each.metadata.get("static")]
        meta_fields = [each.name for each in dataclasses.fields(kind) if each.metadata.get("static")]
    register_pytree_node(kind, lambda tree: ([getattr(tree, name) for name in data_fields],
                                             tuple(getattr(tree, name) for name in meta_fields or ())),
                         lambda beside, children: kind(**dict(zip(data_fields, children)), **dict(zip(meta_fields or (), beside))))
    return kind


class Partial:
    """A function with bound arguments, which is a tree."""

    def __init__(self, function, *arguments, **named):
        self.func, self.args, self.keywords = function, arguments, named

    def __call__(self, *arguments, **named):
        return self.func(*self.args, *arguments, **self.keywords, **named)


register_pytree_node(Partial, lambda p: ((p.args, p.keywords), p.func), lambda function, children: Partial(function, *children[0],
                                                                                                        **children[1]))


def tensors(tree):
    """The leaves as tensors, and the structure."""
    found, form = flatten(tree)
    return [tensor_of(leaf) for leaf in found], form


def with_face(form, given):
    return form.unflatten([faced(each) for each in given])


class Forms:
    """The structures of the results of several functions, which must be equal."""

    def __init__(self):
        self.form = None

    def of(self, function, form):
        """The function on lists of tensors."""
        def on_list(given):
            result, found = tensors(function(*with_face(form, given)))
            self.note(found)
            return result

        return on_list

    def note(self, form):
        if self.form is not None and self.form != form:
            raise TypeError(f"different trees: {self.form} and {form}")
        self.form = form

    def tree(self, given):
        return with_face(self.form, given)


