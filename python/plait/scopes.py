"""What holds while a `with` lasts, or a function runs that it decorates."""

import functools


class Scope:
    """`open_scope()` gives what holds for as long as it lives."""

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
            with Scope(self._open_scope):  # one for each call: threads may call at once
                return function(*arguments, **keywords)

        return within
