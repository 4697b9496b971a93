"""Trees: lists, tuples, named tuples, deques, dicts in their order, dataclasses, Modules, namespaces, records and
registered classes. Their leaves are tensors and arrays; everything else, such as None and numbers, is part of the
structure. A tensor at two places of a tree (tied weights) stays one tensor in the results of map, derivatives,
optimizers and jit."""

import builtins as _builtins

from plait import _core, errors as _errors
from plait._core import Structure
from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.trees.sharing import Distinct as _Distinct


def flatten(tree):
    """The list of leaves, and the structure.

    >>> plait.tree.flatten({"a": plait.tensor(1.0), "b": [plait.tensor(2.0), "fixed"]})
    ([1. : f32[], 2. : f32[]], {'a': *, 'b': [*, 'fixed']})
    """
    return _core._flatten(tree)


def unflatten(structure, leaves):
    """The tree of that structure with these leaves.

    >>> leaves, structure = plait.tree.flatten({"a": plait.tensor(1.0), "b": 2})
    >>> plait.tree.unflatten(structure, [plait.tensor(7.0)])
    {'a': 7. : f32[], 'b': 2}
    """
    if not isinstance(structure, Structure):
        raise _errors.TypeError(f"tree.unflatten: expected a structure, not {type(structure).__name__}")
    return structure.unflatten(leaves)


def leaves(tree):
    """The leaves in order.

    >>> plait.tree.leaves({"a": plait.tensor(1.0), "b": (plait.tensor(2.0), None)})
    [1. : f32[], 2. : f32[]]
    """
    return flatten(tree)[0]


def leaves_with_paths(tree):
    """(path, leaf) for each leaf, such as ("blocks.3.norm1.scale", x).

    >>> plait.tree.leaves_with_paths({"layers": [{"weight": plait.tensor(1.0)}]})
    [('layers.0.weight', 1. : f32[])]
    """
    found, form = flatten(tree)
    return list(zip(form.paths, found))


def structure(tree):
    """The tree without its leaves.

    >>> plait.tree.structure({"a": plait.tensor(1.0), "b": [plait.tensor(2.0), "fixed"]})
    {'a': *, 'b': [*, 'fixed']}
    """
    return flatten(tree)[1]


def map(function, tree, *others):  # noqa: A001: as in other libraries
    """The tree with each leaf replaced by function(leaf, corresponding leaves of the others...). If leaves are the same
    tensor, in all trees, the function is called once, and its result is put at all those places.

    >>> plait.tree.map(lambda p, g: p - 0.5 * g, {"w": plait.tensor(1.0)}, {"w": plait.tensor(4.0)})
    {'w': -1. : f32[]}
    """
    first, form = flatten(tree)
    columns = [first]
    for i, other in enumerate(others):
        found, own = flatten(other)
        if own != form:
            raise _differs(i + 1, own, form)
        columns.append(found)
    rows = list(zip(*columns))
    once = _Distinct(rows, [tuple(_builtins.map(id, row)) for row in rows])
    return form.unflatten(once.spread([function(*row) for row in once.values]))


def _differs(place, own, form):
    message = (f"tree.map: tree {place} differs in structure from the first: its leaves are {list(own.paths)}, expected {list(form.paths)}, and "
               "equal static parts")
    if not set(own.paths) < set(form.paths):
        return _errors.ValueError(message)
    return _errors.ValueError.with_hint(message, "a gradient has None for buffers and frozen weights: plait.optim.apply_updates(model, updates) adds "
                                        "updates to the others")


def register(cls, flatten=None, unflatten=None):
    """Registers a class, whose instances become trees; it need not be a Module. Also a decorator. Subclasses are
    registered separately.

    By default the attributes are the children, as for a Module. With functions, flatten(x) returns (children, static):
    a list of the children, or a dict of them by name, and the static part of the structure; unflatten(static, children)
    creates an instance from the result of flatten, with other leaves.

    >>> @plait.tree.register
    ... class Line:
    ...     def __init__(self, slope, offset):
    ...         self.slope, self.offset = slope, offset
    >>> line = Line(plait.tensor(2.0), plait.tensor(1.0))
    >>> plait.grad(lambda line, x: line.slope * x + line.offset)(line, 3.0).slope
    3. : f32[]

    >>> class Interval:
    ...     def __init__(self, low, high, name):
    ...         self._ends, self.name = (low, high), name
    >>> _ = plait.tree.register(Interval, lambda x: ({"low": x._ends[0], "high": x._ends[1]}, x.name),
    ...                         lambda name, ends: Interval(ends["low"], ends["high"], name))
    >>> plait.tree.leaves_with_paths(Interval(plait.tensor(1.0), plait.tensor(2.0), "time"))
    [('low', 1. : f32[]), ('high', 2. : f32[])]
    """
    if not isinstance(cls, type):
        raise _errors.TypeError(f"tree.register: expected a class, not {type(cls).__name__}")
    if (flatten is None) != (unflatten is None):
        raise _errors.TypeError("tree.register: flatten and unflatten must be passed together")
    if cls in _ALREADY or issubclass(cls, _core.Tensor):
        raise _errors.ValueError(f"tree.register: {cls.__name__} is registered already")
    if flatten is None and not cls.__dictoffset__:
        raise _errors.TypeError(f"tree.register: {cls.__name__} has slots: it needs flatten and unflatten")
    _core._register_class(cls, flatten, unflatten)
    return cls


_ALREADY = (list, tuple, dict, bool, int, float, complex, str, type(None))

__getattr__, __dir__, __all__ = _of_public_module(globals())
