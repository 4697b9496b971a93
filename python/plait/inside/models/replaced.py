"""Layers of a model replaced by others, by their paths."""

import difflib
import fnmatch
import functools

from plait import _core, errors
from plait.inside.help.names import expect_pattern
from plait.inside.trees.module import Module, copy_of


def replaced(what, model, kinds, make, pattern="*"):
    """The model with make(layer, path) in place of each layer of these kinds whose path matches the pattern, or one of several;
    ValueError if there is none."""
    patterns = tuple(expect_pattern(what, each) for each in (pattern if isinstance(pattern, (list, tuple)) else [pattern]))
    paths = [path for path, _ in _layers(model, kinds, "")]
    for each in patterns:
        if not any(fnmatch.fnmatchcase(path, each) for path in paths):
            names = " or ".join(kind.__name__ for kind in kinds)
            near = difflib.get_close_matches(each, paths, 3, 0) or ["no such layers"]
            raise errors.ValueError.with_hint(f"{what}: no {names} matches {each!r}", f"the nearest paths: {', '.join(near)}")

    def replacement(layer, path):
        if not any(fnmatch.fnmatchcase(path, each) for each in patterns):
            return layer
        made = make(layer, path)
        return made if layer.training else made.eval()

    return _replaced(copy_of(model), kinds, replacement, "")


def _layers(tree, kinds, path):
    if isinstance(tree, kinds):
        yield path, tree
        return
    for name, child in _core._children(tree) or ():
        yield from _layers(child, kinds, f"{path}.{name}" if path else str(name))


def _replaced(tree, kinds, replacement, path):
    """Changes a tree of new nodes, and returns it; nodes that cannot be changed are rebuilt."""
    if isinstance(tree, kinds):
        return replacement(tree, path)
    children = [(name, child, _replaced(child, kinds, replacement, f"{path}.{name}" if path else str(name)))
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
