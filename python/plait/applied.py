"""Transforms of what holds weights: `remat(layer)`, `vmap(layer)` and `jit(layer)` are trees, of the layer, and so is
`functools.partial(f, weight)`."""

import dataclasses
import functools

from . import _core
from .tree import register


def is_tree(function):
    """Whether what is called is a tree itself: a Module, say."""
    return _core._children(function) is not None


class Applied:
    """A transform of a tree that can be called: `how` says which, and is part of the structure."""

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
    """A transform by its name and what it was told: `transform(function, **options)` gives the function."""

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
