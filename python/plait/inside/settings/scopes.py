"""State that applies within a `with` block, or while a decorated function runs."""

import functools


class Scope:
    """`open_scope()` returns an object; the state applies as long as the object lives."""

    def __init__(self, open_scope):
        self._open_scope = open_scope
        self._opened = []

    def __enter__(self):
        self._opened.append(self._open_scope())
        return self

    def __exit__(self, *_):
        self._opened.pop()

    def __call__(self, function):
        @functools.wraps(function)
        def within(*arguments, **keywords):
            with Scope(self._open_scope):  # one per call: several threads may call
                return function(*arguments, **keywords)

        return within
