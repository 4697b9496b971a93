"""Transforms as trees: `remat(layer)`, `vmap(layer)` and `jit(layer)` are trees with the weights of the layer, and so is
`functools.partial(f, weight)`."""

import dataclasses
import functools

from plait import _core
from plait.tree import register


def is_tree(function):
    """True if the callable is a tree itself, for example a Module."""
    return _core._children(function) is not None


class Applied:
    """A transform of a tree that can be called: `how` is the transform, and is part of the structure."""

    def __init__(self, function, how):
        self.function, self.how = function, how

    def __call__(self, *arguments, **keywords):
        return self.how.call(self.function, arguments, keywords)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("function", "how"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def __repr__(self):
        return f"{self.how.name}({self.function!r})"


@dataclasses.dataclass(frozen=True)
class How:
    """A transform by its name and its options: `transform(function, **options)` returns the function."""

    name: str
    transform: object
    options: dict

    def call(self, tree, arguments, keywords):
        return self.transform(tree, arguments, keywords, **self.options)

    def __hash__(self):  # options may be lists or dicts
        return hash((self.name, repr(self.options)))


register(Applied, lambda each: ({"function": each.function}, each.how), lambda how, parts: Applied(parts["function"], how))
register(functools.partial,
         lambda each: ({"func": each.func, "args": each.args, "keywords": each.keywords}, None),
         lambda _, parts: functools.partial(parts["func"], *parts["args"], **parts["keywords"]))
