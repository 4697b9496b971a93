"""State of installed code that is not compared at each call, so that it counts as constant: what host code may read of it, and
what it has read while it was recorded, which a warning names."""

import contextlib
import sys
import typing

from plait.inside.jit.host_code import names_in
from plait.inside.jit.host_values import line_of


class _Place(typing.NamedTuple):
    """The reader of the state: a line of code, a function's code, or any code that uses an attribute of that name."""

    value: tuple  # the place of the value, as in Reach.placed; None if there is none
    code: object = None
    line: int = None
    name: str = None
    unless: object = None  # code that has computed the value again if it ran


class _Watch:
    """The function that Python calls for each frame, and for each line of some codes. Notes both, also for an outer watch."""

    def __init__(self, lines, codes, outer):
        self._lines, self._codes, self._outer = lines, codes, outer

    def __call__(self, frame, event, _):
        self._note(frame.f_code)
        return self._next_line if self._asks_for_lines(frame.f_code) else None

    def _next_line(self, frame, event, _):
        self._note(frame.f_code, frame.f_lineno)
        return self._next_line

    def _note(self, code, line=None):
        self._lines.setdefault(code, set()).add(line)
        if self._outer is not None:
            self._outer._note(code, line)

    def _asks_for_lines(self, code):
        return code in self._codes or (self._outer is not None and self._outer._asks_for_lines(code))


class Unseen:
    """Notes of state that is not compared, and of the code that has run."""

    def __init__(self):
        self._noted = {}  # (origin, description, reader) to its place
        self._lines, self._is_watched = {}, False  # that have run, by code

    def note(self, origin, what, value=None, **reader):
        """`origin`: the name by which host code leads there; `what`: a description."""
        place = _Place(value, **reader)
        self._noted[origin, what, place] = place

    @contextlib.contextmanager
    def watching(self, placed, is_wanted):
        """Notes the code that runs within, unless a debugger or a measurement of coverage does. `placed`: what is compared."""
        self._noted = {each: place for each, place in self._noted.items() if place.value not in placed}
        outer = sys.gettrace()
        if not (self._noted or is_wanted) or not isinstance(outer, _Watch | None):
            yield
            return
        self._is_watched = True
        sys.settrace(_Watch(self._lines, {place.code for place in self._noted.values() if place.line is not None}, outer))
        try:
            yield
        finally:
            sys.settrace(outer)

    def ran(self):
        """The code that has run; None if that is not known."""
        return set(self._lines) if self._is_watched else None

    def read(self, functions):
        """(origin, description, file, line) of what was read, for host code that consists of these functions."""
        names = {name for code in self._lines for name in names_in(code).attributes} if self._noted else ()
        found = {(origin, what): None for (origin, what, _), place in self._noted.items() if self._has_run(place, names)}
        return [(origin, what, *line_of(origin, functions)) for origin, what in found]

    def _has_run(self, place, names):
        """True if it has read the state, or if that is not known."""
        if not self._is_watched:
            return True
        if place.unless in self._lines:
            return False
        if place.line is not None:
            return place.line in self._lines.get(place.code, ())
        return place.code in self._lines if place.code is not None else place.name in names
