"""State that applies within a `with` block, or while a decorated function runs."""

import functools
import threading


class _Open(threading.local):
    """The scopes of each kind that are open on this thread, innermost last."""

    def __init__(self):
        self.of_kind = {}


_open = _Open()


class _Opened:
    """One that was opened. It may be closed before those inside of it, as generators are: these are closed meanwhile."""

    def __init__(self, open_scope, others):
        self._open_scope, self._others, self._thread = open_scope, others, threading.get_ident()
        self._state, self._is_closed = open_scope(), False
        others.append(self)

    def close(self, ends_in_any_order):
        if threading.get_ident() != self._thread:
            self._is_closed = True  # its own thread ends it, when it closes another one
            return
        place = self._others.index(self)
        inner = [each for each in self._others[place + 1:] if not each._is_closed]
        if ends_in_any_order:
            self._others[place]._state = None
            del self._others[place]
        else:
            for each in reversed(self._others[place:]):
                each._state = None
            del self._others[place:]
            for each in inner:
                each._state = each._open_scope()
            self._others += inner
        while self._others and self._others[-1]._is_closed:
            self._others.pop()._state = None


class Scope:
    """`open_scope()` returns an object; the state applies as long as the object lives."""

    _ends_in_any_order = False  # true if such objects of a thread may be destroyed in any order

    def __init__(self, open_scope):
        self._open_scope = open_scope
        self._opened = []

    def __enter__(self):
        self._opened.append(_Opened(self._open_scope, _open.of_kind.setdefault(type(self), [])))
        return self

    def __exit__(self, *_):
        self._opened.pop().close(self._ends_in_any_order)

    def __call__(self, function):
        @functools.wraps(function)
        def within(*arguments, **keywords):
            scope = object.__new__(type(self))  # one per call: several threads may call
            Scope.__init__(scope, self._open_scope)
            with scope:
                return function(*arguments, **keywords)

        return within
