"""Branches and loops whose functions change host state: a trace would record such a function once, whereas Python runs it at each
step, or not at all. They run as Python's own branches and loops instead, whose operations are recorded one after another."""

import functools
import threading
import types
import warnings

from plait import _core, errors
from plait.inside.jit.host_code import is_library
from plait.inside.jit.host_reach import reach_of, unwrapped
from plait.inside.jit.host_state import Snapshot
from plait.inside.transforms.recording import Recording


class Refused(errors.TypeError):
    """Such a body, which changes what is at the path `changed`, is within a recorded function, where values are unknown."""

    def __init__(self, message, changed):
        super().__init__(message)
        self.changed = changed


Refused.__name__, Refused.__qualname__, Refused.__module__ = "TypeError", "TypeError", "plait.errors"


class _Jitted(threading.local):
    def __init__(self):
        self.functions = []  # whose host code is running, outermost first


_jitted = _Jitted()
_found = {}  # by code that changes state, as far as it has been recorded: the path of what it changes


class jitting:
    """While the host code of a jitted function runs. If a body in it is found to change state, its record is not used again:
    `unrolled`, a part of its key, has grown."""

    def __init__(self, function):
        self._function = function

    def __enter__(self):
        _jitted.functions.append(self._function)

    def __exit__(self, *_):
        _jitted.functions.pop()


class Bodies:
    """The functions of a branch or a loop, and the trees that they receive, by name, whose classes have functions."""

    def __init__(self, what, functions, arguments=types.MappingProxyType({})):
        self._what, self._functions, self._arguments = what, functions, arguments

    def run(self, stage, by_host):
        """stage(), which may record each function, unless one of them changes host state: then by_host()."""
        if not _core._is_tracing():
            with Recording(self._what, self._functions, self._arguments):
                return stage()
        codes = {code for each in self._functions for code in _codes_of(each)}
        self._changed = next((_found[code] for code in codes if code in _found), None)
        if self._changed is not None:
            return by_host()
        state = _State(self._functions, self._arguments)
        with Recording(self._what, self._functions, self._arguments) as recording:
            try:
                result = stage()
                changed = state.changed()
            except Refused as refused:  # a branch or a loop within it
                result, changed = None, refused.changed
            if changed is None:
                self._warn_of_unseen(state)
                return result
            state.restore()
            recording.forget()
        self._changed = changed
        _found.update(dict.fromkeys(codes, changed))
        self._warn(f"{self._what} runs step by step, as Python code, because its function changes {changed}",
                   "make such state an operand, and let the function return it")
        for each in _jitted.functions:
            each.unrolled += 1
        return by_host()

    def expect_steady(self, run):
        """run(), which records each function; warns if one of them changes host state."""
        state = _State(self._functions, self._arguments) if _core._is_tracing() else None
        with Recording(self._what, self._functions, self._arguments):
            result = run()
        changed = None if state is None else state.changed()
        if changed is not None:
            self._warn(f"{self._what} changes {changed} whenever it is recorded, which is not once a call",
                       "make such state an argument, and return it")
        return result

    def _warn_of_unseen(self, state):
        if state.unseen is not None:
            self._warn(f"{self._what} runs its function once, while it is recorded, and not at each step, although {state.unseen}",
                       "write a loop of Python, or do it outside of the function")

    def _warn(self, message, hint):
        code = next((code for each in self._functions for code in _codes_of(each) if isinstance(code, types.CodeType)), None)
        file, line = (self._what, 1) if code is None else (code.co_filename, code.co_firstlineno)
        warnings.warn_explicit(f"{message}\n  hint: {hint}", errors.HostStateWarning, file, line)

    def known(self, read, value):
        """read(value), which decides about the next step; Refused if the value is unknown."""
        try:
            return read(value)
        except errors.ValueError as error:
            raise Refused(f"{self._what}: the function changes {self._changed}, state outside of it, which cannot be recorded here, where values are "
                          f"unknown ({str(error).splitlines()[0]})\n  hint: make such state an operand, and let the function return it",
                          self._changed) from None


class _State:
    """The state that functions can reach outside of their arguments."""

    def __init__(self, functions, arguments):
        self._reach = reach_of(functions, arguments)
        self._snapshot = Snapshot(self._reach, {})

    @property
    def unseen(self):
        """Why changes may not be seen; None if all are."""
        return self._reach.opaque

    def changed(self):
        return self._snapshot.first_change()

    def restore(self):
        self._snapshot.restore()


def _codes_of(function):
    """The code of a function, or of those that a function of a library calls."""
    function = unwrapped(function)
    if isinstance(function, functools.partial):
        yield from _codes_of(function.func)
    elif isinstance(function, types.MethodType):
        yield from _codes_of(function.__func__)
    elif not isinstance(function, types.FunctionType):
        yield getattr(getattr(type(function), "__call__", None), "__code__", type(function))
    else:
        cells = [each.cell_contents for each in function.__closure__ or () if each != types.CellType()]
        called = [each for each in cells if callable(each)] if is_library(function.__globals__.get("__name__", "")) else []
        for each in called:
            yield from _codes_of(each)
        if not called:
            yield function.__code__
