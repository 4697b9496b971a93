"""How often a jitted function was recorded and run, and why it was recorded again (plait.stats)."""

import dataclasses
import re
import types

from plait import _core
from plait.inside.jit.jit_arguments import Fixed
_LEAF = _core.zeros((), device="cpu")
_MOST_SHOWN = 60  # characters of a value


@dataclasses.dataclass(frozen=True)
class JitStats:
    """How often a jitted function was recorded and run, and why it was recorded again.

    >>> plait.stats(plait.jit(plait.sin)).hits
    0
    """

    traces: int
    hits: int
    failed_guards: int
    host_runs: int
    pieces: int
    retraces: tuple
    text: str

    def __str__(self):
        return self.text


def differences(earlier, later):
    """Names of what differs between two keys."""
    before, now = dict(earlier), dict(later)
    return [name for name in {**before, **now} if name not in before or name not in now or before[name] != now[name]]


class Reasons:
    """The known reasons for new records, in words that name the place."""

    def __init__(self):
        self._words = {}  # replacements for texts of the core
        self._of_integers = {}  # by name of an argument: words for its integers, which become sizes
        self.places = {}  # where host code read sizes as numbers (sizes.py)
        self.as_it_is = 0  # calls that ran the host code without a record

    def note_integers(self, name, before, now):
        """Integers in an argument differ: its next key has sizes."""
        self._of_integers[name] = _told(name, before, now)

    def note(self, earlier, later, names):
        """Two keys of records differ in these names."""
        before, now = dict(earlier), dict(later)
        for name in names:
            if name not in before or name not in now:
                continue
            shown = name if name.isidentifier() else f'"{name}"'
            self._words[f"{shown}: {before[name]} ≠ {now[name]}"] = self._of_integers.pop(name, None) or _told(name, before[name], now[name])

    def reworded(self, text):
        for said, words in self._words.items():
            text = text.replace(said, words)
        lines = [line + self._place_of(line) for line in text.split("\n")]
        if self.as_it_is:
            lines.append(f"  {self.as_it_is} calls ran the host code unrecorded: inside of autocast, or because recording failed")
        return "\n".join(lines)

    def _place_of(self, line):
        """Where host code read a size as a number, for a line that names the failed guard on it."""
        fact = re.match(r" *(.+) (==|!=|<=|<) \S+ does not hold for the sizes", line)
        place = self.places.get(fact[1]) if fact else None
        return f": read as a number at {place}" if place else ""


def _told(name, before, now):
    """The first place where two values, or structures of values, differ."""
    structures = [each[0] if isinstance(each, tuple) and isinstance(each[0], _core.Structure) else each for each in (before, now)]
    before, now = (before, now) if structures[0] == structures[1] else structures
    if not all(isinstance(each, _core.Structure) for each in (before, now)):
        return f"{name}: {_shown(before)} ≠ {_shown(now)}"
    try:
        trees = [each.unflatten([_LEAF] * len(each)) for each in (before, now)]
    except Exception:  # noqa: BLE001: a class that does not take this for its tensors
        return f"{name}: {before} ≠ {now}"
    path, a, b = _first_difference(*trees, name)
    return f"{path}: {_shown(a)} ≠ {_shown(b)}"


def _first_difference(a, b, path):
    if type(a) is Fixed and type(b) is Fixed:
        return path, a.value, b.value
    ours, theirs = _core._children(a), _core._children(b)
    if type(a) is type(b) and ours is not None and theirs is not None and [name for name, _ in ours] == [name for name, _ in theirs]:
        for (name, child), (_, other) in zip(ours, theirs):
            if _core._flatten(child)[1] != _core._flatten(other)[1]:
                return _first_difference(child, other, f"{path}.{name}")
    return path, a, b


def _shown(value):
    if value is _LEAF:
        return "a tensor"
    if isinstance(value, types.FunctionType):
        code = value.__code__
        return f"{value.__name__} of {code.co_filename}:{code.co_firstlineno}"
    text = repr(value) if _core._children(value) is None or not _core._flatten(value)[0] else str(_core._flatten(value)[1])
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "..."
