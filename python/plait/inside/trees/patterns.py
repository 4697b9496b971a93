"""Patterns of the paths of a tree, as of file names: "encoder.*"."""

import fnmatch

from plait import errors
from plait.inside.help.names import in_words, nearest

_MOST = 8  # paths that an error lists


def as_patterns(what, given):
    """One pattern, or several, as a tuple."""
    patterns = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    for each in patterns:
        if not isinstance(each, str):
            raise errors.TypeError(f"{what}: the pattern is {in_words(each)}, expected a string such as '*.weight'")
    return patterns


def matches(path, patterns):
    """True if the path matches one of the patterns."""
    return any(fnmatch.fnmatchcase(path, each) for each in patterns)


def chosen(what, patterns, paths, things="tensor of the model"):
    """The paths that match one of the patterns. ValueError for a pattern that matches none."""
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(path, pattern) for path in paths):
            near = nearest(pattern, paths, 0.3)
            listed = ", ".join(list(paths)[:_MOST]) or "none"
            raise errors.ValueError.with_hint(f"{what}: no {things} matches {pattern!r}", f"did you mean {near}?" if near else f"there are {listed}")
    return [path for path in paths if matches(path, patterns)]


def expect_distinct(what, paths):
    """ValueError if two tensors of a tree have one path, as of a dict with the keys "a.b" and "a"."""
    if len(set(paths)) == len(paths):
        return
    twice = next(path for i, path in enumerate(paths) if path in paths[:i])
    raise errors.ValueError.with_hint(f"{what}: two tensors of the tree have the path {twice!r}", "rename a key of a dict: a key that has a dot in it, or the "
                                      "keys 1 and '1', may mean another place")
