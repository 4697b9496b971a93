"""Modules that a recorded function changes without having received them: what it assigns to them is invalid afterwards."""

import threading
import weakref

from plait import _core, errors

_HINTS = {
    "remat": "plait.remat(model)(x), or pass the model as an argument of the function: its changes reach it then",
    "scan": "make the model part of the carry, and let the body return it",
    "while_loop": "make the model part of the carry, and let the body return it",
    "for_loop": "make the model part of the carry, and let the body return it",
}
_HINT = "pass the model as an argument, and return it: output, model = plait.nn.call(model, x); model.eval() changes nothing"


class _Innermost(threading.local):
    recording = None


_innermost = _Innermost()


class Recording:
    """While a function may be recorded: notes which Modules it assigns to. Afterwards those that hold tensors of the recording are as
    they were before; unless the function failed, that is a TypeError, which names the attribute."""

    def __init__(self, what):
        self._what, self._earlier = what, {}  # (weak reference, attributes) by the identity of the Module

    def __enter__(self):
        self._outer, _innermost.recording = _innermost.recording, self
        return self

    def __exit__(self, _kind, failure, _traceback):
        _innermost.recording = self._outer
        lost = None
        for reference, earlier in self._earlier.values():
            module = reference()
            name = module is not None and _invalid(vars(module), earlier)
            if name:
                lost = lost or f"{name} of a {type(module).__name__}"
                vars(module).clear()
                vars(module).update(earlier)
            elif module is not None and self._outer is not None:
                self._outer.note(module, earlier)
        if lost and failure is None:
            raise errors.TypeError.with_hint(f"{self._what}: the function assigns to {lost} that it did not receive: the tensor is invalid after "
                                             "the recording, and the change would be lost", _HINTS.get(self._what, _HINT))

    def forget(self):
        """Called when the Modules are as they were before."""
        self._earlier = {}

    def note(self, module, attributes):
        known = self._earlier.get(id(module))
        if known is None or known[0]() is not module:
            self._earlier[id(module)] = weakref.ref(module), dict(attributes)


def note_change(module):
    """Called before an attribute of a Module is assigned to or deleted."""
    if _innermost.recording is not None:
        _innermost.recording.note(module, vars(module))


def _invalid(attributes, earlier):
    """The name of an attribute that was valid before, and now holds a tensor of a trace that has ended. None for a Module that had no
    attributes: the function made it."""
    if not earlier:
        return None
    for name, value in attributes.items():
        before = earlier.get(name)
        if value is not before and _has_ended(value) and not _has_ended(before):
            return name
    return None


def _has_ended(value):
    return any(_core._is_of_ended_trace(leaf) for leaf in _core._flatten(value)[0] if isinstance(leaf, _core.Tensor))
