"""Layers of a model replaced by others, by their paths."""

import functools

from plait import _core
from plait.inside.trees.module import Module, copy_of
from plait.inside.trees.patterns import as_patterns, chosen


def replaced(what, model, kinds, make, pattern="*", closed=()):
    """The model with make(layer, path) in place of each layer of these kinds whose path matches the pattern, or one of several;
    ValueError if there is none. Layers of the closed kinds remain, with what is in them."""
    paths = [path for path, _ in _layers(model, kinds, closed, "")]
    found = set(chosen(what, as_patterns(what, pattern), paths, " or ".join(kind.__name__ for kind in kinds)))

    def replacement(layer, path):
        if path not in found:
            return layer
        made = make(layer, path)
        return made if layer.training else made.eval()

    return _replaced(copy_of(model), kinds, closed, replacement, "")


def _layers(tree, kinds, closed, path):
    if isinstance(tree, kinds):
        yield path, tree
        return
    for name, child in () if isinstance(tree, closed) else _core._children(tree) or ():
        yield from _layers(child, kinds, closed, f"{path}.{name}" if path else str(name))


def _replaced(tree, kinds, closed, replacement, path):
    """Changes a tree of new nodes, and returns it; nodes that cannot be changed are rebuilt."""
    if isinstance(tree, kinds):
        return replacement(tree, path)
    if isinstance(tree, closed):
        return tree
    children = [(name, child, _replaced(child, kinds, closed, replacement, f"{path}.{name}" if path else str(name)))
                for name, child in _core._children(tree) or ()]
    if not any(new is not child for _, child, new in children):
        return tree
    if isinstance(tree, tuple):
        parts = [new for _, _, new in children]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, functools.partial):
        parts = {name: new for name, _, new in children}
        return functools.partial(parts["func"], *parts["args"], **parts["keywords"])
    for name, child, new in children:
        if new is not child:
            _set(tree, name, new)
    return tree


def _set(tree, name, value):
    if isinstance(tree, list):
        tree[int(name)] = value
    elif isinstance(tree, dict):
        tree[next(key for key in tree if str(key) == str(name))] = value
    else:
        (Module.__setattr__ if isinstance(tree, Module) else object.__setattr__)(tree, name, value)
