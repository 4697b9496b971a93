"""Tensors of a recording that a function keeps outside of it, in Modules, lists, dicts and objects that it did not receive: they are invalid
afterwards."""

import gc
import types
import weakref

from plait import _core, errors
from plait.inside.jit.host_reach import reach_of
from plait.inside.jit.host_state import tensors_below
from plait.inside.trees.outside import innermost

_fruitless = {}  # by code: calls with survivors since a search has found nothing


def _is_due(code):
    """True unless a search has found nothing: then for calls 2, 4, 8, ... after it. Tensors also survive in cycles of the function itself,
    at each call."""
    if code not in _fruitless:
        return True
    _fruitless[code] += 1
    return _fruitless[code].bit_count() == 1


def _results_of_memoised(function):
    """The tensors among the results that functools.lru_cache keeps: in a dict, or, if their number is limited, by themselves."""
    for kept in gc.get_referents(function):
        for value in kept.values() if isinstance(kept, dict) else (kept,):
            yield from (tensor for _, tensor in tensors_below(value))


def _forgotten(functions, traces):
    """True if memoised functions kept tensors of traces that have ended: they forget all results."""
    found = [each for each in functions if any(map(traces.had, _results_of_memoised(each)))]
    for function in found:
        function.cache_clear()
    return bool(found)


_HINTS = {
    "remat": "plait.remat(model)(x), or pass the model as an argument of the function: its changes reach it then",
    "scan": "make the model part of the carry, and let the body return it",
    "while_loop": "make the model part of the carry, and let the body return it",
    "for_loop": "make the model part of the carry, and let the body return it",
}
_HINT = "pass the model as an argument, and return it: output, model = plait.nn.call(model, x); model.eval() changes nothing"


class Lost(errors.TypeError):
    """A tensor of a recording is held by something outside, at `place`."""

    def __init__(self, message, place):
        super().__init__(message)
        self.place = place


Lost.__name__, Lost.__qualname__, Lost.__module__ = "TypeError", "TypeError", "plait.errors"


class Recording:
    """While functions may be recorded: notes which Modules they assign to. Afterwards those that hold tensors of the recording are as
    they were before; unless a function failed, that is a TypeError, which names the attribute. So it is, by a search of what the
    functions and the classes of their arguments, trees by name, can reach, if a list, a dict or another object holds such tensors.
    Functions of functools.lru_cache that do forget their results."""

    def __init__(self, what, functions=(), arguments=types.MappingProxyType({})):
        self._what, self._functions, self._arguments = what, functions, arguments
        self._earlier = {}  # (weak reference, attributes) by the identity of the Module
        self._traces = _core._EndedTraces()

    def __enter__(self):
        self._outer, innermost.recording = innermost.recording, self
        self._traces.begin()
        return self

    def __exit__(self, _kind, failure, _traceback):
        innermost.recording = self._outer
        has_survivors = self._traces.end()
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
        if has_survivors and failure is None:
            self._expect_nothing_outside()

    def _expect_nothing_outside(self):
        code = tuple(getattr(each, "__code__", type(each)) for each in self._functions)
        if not _is_due(code):
            return
        reach = reach_of(self._functions, self._arguments)
        has_forgotten = _forgotten(reach.memoised, self._traces)
        place = next(self._places_of_lost(reach), None)
        if place is None and not has_forgotten:
            _fruitless.setdefault(code, 1)
        else:
            _fruitless.pop(code, None)
        if place is not None:
            raise Lost(f"{self._what}: the function puts a tensor into {place}, which it did not receive: the tensor is invalid after the "
                       "recording\n  hint: make it part of the function's result", place)

    def _places_of_lost(self, reach):
        trees = [*self._arguments.items(), *((path, found.value) for path, found in reach.values.items())]
        for path, tree in trees:
            for names, tensor in tensors_below(tree):
                if self._traces.had(tensor):
                    yield ".".join(map(str, (path, *names)))

    def forget(self):
        """Called when the Modules are as they were before."""
        self._earlier = {}

    def note(self, module, attributes):
        known = self._earlier.get(id(module))
        if known is None or known[0]() is not module:
            self._earlier[id(module)] = weakref.ref(module), dict(attributes)


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


def named(arguments, keywords=types.MappingProxyType({}), of_tree=None):
    """The arguments of a function by name; with `of_tree`, the first one is what is called."""
    own = int(of_tree is not None)
    return {f"argument {i - own}" if i >= own else "the function": each for i, each in enumerate(arguments)} | dict(keywords)
