"""Modules of Plait that get no new attributes once they are made, so that a misspelt name is not ignored."""

import inspect

from plait import _core
from plait.inside.help.names import of_assignment
from plait.inside.trees.module import Module

_IN_MAKING = "_in_making"


class _Making(type):
    """Marks an object while its __init__ runs."""

    @_core._boundary  # errors end in the user's own line
    def __call__(cls, *arguments, **named):
        made = cls.__new__(cls)
        object.__setattr__(made, _IN_MAKING, True)
        made.__init__(*arguments, **named)
        object.__delattr__(made, _IN_MAKING)
        return made

    @property
    def __signature__(cls):
        own = inspect.signature(cls.__init__)
        return own.replace(parameters=list(own.parameters.values())[1:])


class Closed(Module, metaclass=_Making):
    """Classes of users that derive from such a class are open."""

    def __setattr__(self, name, value):
        own, cls = vars(self), type(self)
        is_known = name in own or _IN_MAKING in own or name.startswith("_") or hasattr(cls, name)
        if not is_known and cls.__module__.startswith("plait."):
            raise of_assignment(self, name, self._names())
        super().__setattr__(name, value)

    def _names(self):
        return list(vars(self))
